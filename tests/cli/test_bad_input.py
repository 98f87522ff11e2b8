"""Every line of the bad-input list: a clear error, exit 2, nothing written."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from shoal import engines
from shoal.errors import BrokenPromise

BASE = ("-k", "2", "-q", "age,zip,sex", "-s", "ill", "-o", "out.csv")


def listing(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write(name: str, content: str | bytes) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)


def refuses(run, folder, *arguments, match):
    before = listing(folder)
    ran = run(*arguments)
    assert ran.code == 2, ran.said
    assert not ran.out
    assert match in ran.err.replace("\n", " "), ran.err
    assert "Traceback" not in ran.err
    assert listing(folder) == before


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("absent.csv", None, "no file"),
        ("empty.csv", "", "is empty"),
        ("header.csv", "age,zip,sex,ill\n", "no rows"),
        ("ragged.csv", "age,zip,sex,ill\n1,2,f,x\n1,2,f,x,SECRET\n", "ragged.csv"),
        ("short.csv", "age,zip,sex,ill\n1,2,f,x\n1,SECRET\n", "short.csv"),
        ("doubled.csv", "age,zip,sex,ill,age\n1,2,f,x,1\n1,2,f,x,1\n", "1 and 5"),
        ("broken.parquet", b"PAR1 no parquet SECRET", "broken.parquet"),
        ("table.docx", "SECRET", "table.docx"),
    ],
)
def test_a_table_that_cannot_be_read(run, folder, name, content, match):
    if content is not None:
        write(name, content)
    refuses(run, folder, "anonymize", name, *BASE, match=match)
    assert "SECRET" not in run("anonymize", name, *BASE).said


def test_a_folder_is_no_table(run, folder):
    (folder / "folder.csv").mkdir()
    refuses(run, folder, "anonymize", "folder.csv", *BASE, match="folder")


def test_the_wrong_encoding(run, folder):
    write("latin.csv", "age,zip,sex,ill\n1,2,f,SECR\u00c9T\n1,2,f,x\n".encode("latin-1"))
    refuses(run, folder, "anonymize", "latin.csv", *BASE, "--encoding", "utf-8", match="latin.csv")
    refuses(run, folder, "anonymize", "latin.csv", *BASE, "--encoding", "klingon", match="klingon")


@pytest.mark.parametrize(
    ("more", "match"),
    [
        (("-q", "height"), "height"),
        (("-s", "age"), "'age'"),
        (("-q", "age"), "'age'"),
        (("--keep", "zip"), "'zip'"),
        (("--count", "sex"), "'sex'"),
        (("--count", "note"), "'note'"),
        (("-k", "1"), "k = 1"),
        (("-k", "9"), "k = 9"),
        (("-k", "many"), "-k"),
        (("--kind", "zip=number", "--kind", "sex=number"), "'sex'"),
        (("--kind", "sex=date"), "'sex'"),
        (("--kind", "sex=shape"), "no kind"),
        (("--kind", "sex"), "equals"),
        (("--kind", "note=label"), "'note'"),
        (("--kind", "zip=tree"), "no hierarchy"),
        (("--weight", "age=-1"), "weight"),
        (("--weight", "age=heavy"), "weight"),
        (("--weight", "age=0", "--weight", "zip=0", "--weight", "sex=0"), "weights are 0"),
        (("--withhold", "1"), "withhold"),
        (("--withhold", "-0.1"), "withhold"),
        (("--method", "mdva"), "k-member"),
        (("--method", "k-member", "--option", "speed=9"), "'speed'"),
        (("--loss", "much"), "leaves"),
        (("--style", "nice"), "generalize"),
        (("--cells", "round"), "bounds"),
        (("--distance", "far"), "euclidean"),
        (("--effort", "some"), "thorough"),
        (("--stop-at", "0.5"), "stop_at"),
        (("--seed", "-1"), "seed"),
        (("--threads", "-1"), "threads"),
        (("--hierarchies", "nowhere"), "nowhere"),
        (("--hierarchies", "zip=nowhere.csv"), "nowhere.csv"),
        (("--hierarchy", "zip=suffixes(3)"), "prefixes"),
        (("--hierarchy", "sex=bins(5,10)"), "'sex'"),
        (("--plan", "nowhere.yaml"), "nowhere.yaml"),
        (("--delimiter", "ab"), "elimiter"),
        (("--colour", "red"), "--colour"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_a_plan_that_cannot_be_right(run, folder, more, match):
    refuses(run, folder, "anonymize", "in.csv", *BASE, *more, match=match)


def test_nothing_asked(run, folder):
    refuses(run, folder, "anonymize", "in.csv", "-o", "out.csv", "-q", "age", match="k")
    refuses(run, folder, "anonymize", "in.csv", "-o", "out.csv", "-k", "2", match="quasi")
    refuses(run, folder, "anonymize", "in.csv", *BASE[:-2], match="-o")


def test_a_value_not_in_its_hierarchy(run, folder):
    write("sex.csv", "f;*\nx;*\n")
    refuses(run, folder, "anonymize", "in.csv", *BASE, "--hierarchies", "sex=sex.csv", match="'sex'")


@pytest.mark.parametrize(
    "tree",
    ["f;a;*\nm;b;*\nf;b;*\n", "f;a;top;*\nm;a;other;*\n", "f;;a;*\nm;b;a;*\n", "", "f;m;*\nm;*\n"],
)
def test_a_hierarchy_that_is_not_a_tree(run, folder, tree):
    write("sex.csv", tree)
    refuses(run, folder, "anonymize", "in.csv", *BASE, "--hierarchies", "sex=sex.csv", match="'sex'")


@pytest.mark.parametrize(
    "plan",
    [
        "k: 2\nquasi: [age]\ncolour: red\n",
        "k: two\n",
        "- k\n",
        "k: [\n",
        "k: !!python/object:os.system x\n",
        "",
    ],
)
def test_a_plan_file_with_unknown_keys_or_no_sense(run, folder, plan):
    write("plan.yaml", plan)
    refuses(run, folder, "anonymize", "in.csv", *BASE, "--plan", "plan.yaml", match="plan")


@pytest.mark.parametrize(
    ("output", "match"),
    [
        ("in.csv", "one of the inputs"),
        ("./in.csv", "one of the inputs"),
        ("linked.csv", "one of the inputs"),
        ("absent/out.csv", "cannot be written"),
        ("in.csv/out.csv", "cannot be written"),
        ("out.docx", ".parquet"),
        ("out", ".parquet"),
        (".", ".parquet"),
        ("..", ".parquet"),
        ("/", ".parquet"),
        (".csv", ".parquet"),
        ("folder.csv", "is a folder"),
    ],
)
def test_an_output_that_cannot_be(run, folder, output, match):
    (folder / "linked.csv").symlink_to("in.csv")
    (folder / "folder.csv").mkdir()
    refuses(run, folder, "anonymize", "in.csv", *BASE[:-1], output, match=match)


def test_the_plan_and_the_hierarchies_are_inputs_too(run, folder):
    write("plan.csv", "k: 2\nquasi: [age]\n")
    write("trees/sex.csv", "f;*\nm;*\n")
    refuses(run, folder, "anonymize", "in.csv", "--plan", "plan.csv", "-o", "plan.csv", match="inputs")
    more = (*BASE[:-1], "trees/sex.csv", "--hierarchies")
    refuses(run, folder, "anonymize", "in.csv", *more, "trees", match="inputs")
    refuses(run, folder, "anonymize", "in.csv", *more, "sex=trees/sex.csv", match="inputs")


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (("check", "in.csv"), "-q"),
        (("check", "in.csv", "-q", "height"), "height"),
        (("check", "absent.csv", "-q", "age"), "absent.csv"),
        (("plan", "absent.csv"), "absent.csv"),
        (("verify", "in.csv", "absent.json"), "absent.json"),
        (("verify", "in.csv", "in.csv"), "certificate"),
        (("compare", "in.csv", "-q", "age", "-k", "two"), "-k"),
        (("compare", "in.csv", "-q", "age", "-k", "2", "--methods", "mdva"), "k-member"),
        (("compare", "in.csv", "-q", "age", "-k", "2", "-o", "plot.docx"), ".svg"),
        (("compare", "in.csv", "-q", "age", "-k", "2", "-o", "absent/plot.svg"), "cannot be written"),
        (("compare", "in.csv", "-q", "age", "-k", "2,99"), "k = 99"),
        (("anonymise",), "anonymise"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_other_commands_refuse_too(run, folder, arguments, match):
    refuses(run, folder, *arguments, match=match)


def test_a_failed_check_exits_3_and_writes_nothing(run, folder, monkeypatch):
    memory = engines.load("memory")
    honest = memory.check

    def strict(*args, **more):
        return dataclasses.replace(honest(*args, **more), reasons=("The smallest class has 1 record.",))

    monkeypatch.setattr(memory, "check", strict)
    before = listing(folder)
    ran = run("anonymize", "in.csv", *BASE)
    assert ran.code == 3
    assert "nothing was written" in ran.err
    assert not ran.out
    assert listing(folder) == before


def test_ctrl_c_exits_130(run, folder, monkeypatch):
    memory = engines.load("memory")

    def interrupted(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(memory, "recode", interrupted)
    before = listing(folder)
    assert run("anonymize", "in.csv", *BASE).code == 130
    assert listing(folder) == before


def test_a_true_ctrl_c_exits_130(folder):
    """The signal itself, while a child is publishing."""
    code = (
        "import os, signal, sys\nfrom shoal.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it\n"
        "real = os.fsync\n"
        "def fsync(handle):\n    real(handle)\n    os.kill(os.getpid(), signal.SIGINT)\n"
        "os.fsync = fsync\nmain(sys.argv[1:])\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code, "anonymize", "in.csv", *BASE],
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 130, done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["in.csv"]
    assert signal.getsignal(signal.SIGINT) is not None


@pytest.mark.parametrize("kind", [ValueError, AssertionError, MemoryError, RecursionError])
def test_a_bug_of_ours_says_no_value(run, folder, monkeypatch, kind):
    memory = engines.load("memory")

    def broken(frame, *_args, **_words):
        secret = "SECRET"
        raise kind(f"{secret} {frame}")

    monkeypatch.setattr(memory, "survey", broken)
    before = listing(folder)
    ran = run("anonymize", "in.csv", *BASE)
    assert ran.code == 1
    assert "SECRET" not in ran.said
    assert "Traceback" not in ran.said
    assert "02139" not in ran.said
    assert listing(folder) == before
    if kind is ValueError:
        assert "ValueError at shoal" in ran.err


def test_a_broken_promise_names_the_invariant(folder, monkeypatch):
    memory = engines.load("memory")
    honest = memory.check

    def wrong(*args, **more):
        verdict = honest(*args, **more)
        return dataclasses.replace(verdict, loss=verdict.loss + 1)

    monkeypatch.setattr(memory, "check", wrong)
    frame = shoal.read_table("in.csv").frame
    with pytest.raises(BrokenPromise, match="the loss of the groups"):
        shoal.anonymize(frame, k=2, quasi=["age"])
