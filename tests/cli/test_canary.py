"""A canary in each column is seen nowhere but in the release's own cells."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROWS = 12
K = "100003"  # above any single count, so that no class size is one row's count
# one mark per column, each of a form its kind allows, none of them part of another
CANARIES = {
    "name": "zqnamecanary",
    "age": "73519",
    "born": "1871-08-29",
    "city": "zqcitycanary",
    "job": "zqjobcanary",
    "ill": "zqillcanary",
    "note": "zqnotecanary",
    "left": "zqleftcanary",
    "copies": "86423",
}
ROLES = (
    *("-k", K, "-q", "age,born,city,job", "-s", "ill", "--keep", "note", "--identifier", "name"),
    *("--count", "persons(copies)", "--hierarchies", "job=job.csv"),
)
PUBLISHED = {"age", "born", "city", "job", "ill", "note", "copies"}


def table(**changed: str) -> str:
    """A table with the canaries in its first row, and `changed` columns' canary in its second."""
    lines = [",".join(CANARIES)]
    for i in range(ROWS):
        plain = {
            "name": f"n{i}",
            "age": str(20 + i),
            "born": f"1980-01-{i + 1:02d}",
            "city": f"c{i % 3}",
            "job": f"j{i % 4}",
            "ill": f"i{i}",
            "note": f"t{i}",
            "left": f"l{i}",
            "copies": "50001",
        }
        row = CANARIES if i == 0 else plain | changed if i == 1 else plain
        lines.append(",".join(row[name] for name in CANARIES))
    return "\n".join(lines) + "\n"


@pytest.fixture
def cage(folder) -> Path:
    (folder / "in.csv").write_text(table())
    leaves = [f"j{i};low;*" for i in range(4)] + [f"{CANARIES['job']};high;*"]
    (folder / "job.csv").write_text("\n".join(leaves) + "\n")
    return folder


def found_in(text: str) -> set[str]:
    # a number is not found inside the digits of another
    return {name for name, canary in CANARIES.items() if re.search(rf"(?<![0-9]){canary}(?![0-9])", text)}


def text_of(path: Path) -> str:
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    return content.decode("utf-8", errors="replace")


def assert_silent(ran, cage, *, but=()):
    assert not found_in(ran.said), f"on screen: {found_in(ran.said)}"
    for path in cage.rglob("*"):
        if path.is_file() and path.name not in {"in.csv", "job.csv", *but}:
            assert not found_in(text_of(path)), f"{path.name}: {found_in(text_of(path))}"


@pytest.mark.parametrize("method", ["k-member", "mondrian"])
@pytest.mark.parametrize("more", [(), ("--json",), ("--cells", "bounds"), ("--style", "suppress")])
def test_a_release_keeps_its_canaries_to_itself(run, cage, method, more):
    ran = run("anonymize", "in.csv", *ROLES, "-o", "out.csv", "--method", method, *more)
    assert ran.code == 0, ran.err
    assert_silent(ran, cage, but=("out.csv",))
    seen = found_in((cage / "out.csv").read_text())
    assert seen <= PUBLISHED
    assert {"ill", "note"} <= seen  # the test can see


def test_no_other_command_names_a_value(run, cage):
    assert run("anonymize", "in.csv", *ROLES, "-o", "out.csv").code == 0
    for arguments in (
        ("plan", "in.csv"),
        ("check", "in.csv", "-q", "age,born,city,job", "-s", "ill,note", "-k", "5"),
        ("check", "out.csv", "-q", "age,born,city,job", "-s", "ill", "--count", "persons(copies)"),
        ("verify", "out.csv", "out.certificate.json"),
        (
            "verify",
            "out.csv",
            "out.certificate.json",
            "--original",
            "in.csv",
            "--receipt",
            "out.receipt.json",
        ),
        ("verify", "in.csv", "out.certificate.json", "--original", "in.csv"),
        ("report", "out.csv", "out.certificate.json", "-o", "alone.html"),
        (
            *("report", "out.csv", "out.certificate.json", "-o", "whole.html", "--json"),
            *("--original", "in.csv", "--receipt", "out.receipt.json", "--hierarchies", "job=job.csv"),
        ),
        ("report", "in.csv", "out.certificate.json", "-o", "wrong.html", "--original", "in.csv"),
        (
            "compare",
            "in.csv",
            *ROLES[2:],
            "-k",
            f"{K},150000",
            "--methods",
            "k-member,mondrian",
            "-o",
            "plot.svg",
        ),
        ("compare", "in.csv", *ROLES[2:], "-k", K, "--methods", "mondrian", "-o", "plot.png", "--json"),
    ):
        ran = run(*arguments)
        assert ran.code in {0, 3}, ran.said
        assert_silent(ran, cage, but=("out.csv",))
    assert "k" in (cage / "plot.svg").read_text()


def ragged(cage):
    (cage / "in.csv").write_text(table() + ",".join(CANARIES.values()) + f",{CANARIES['name']}\n")


def unclosed(cage):
    (cage / "in.csv").write_text(table() + f'"{CANARIES["name"]},1\n')


def latin(cage):
    (cage / "in.csv").write_bytes(table().encode() + "é,".encode("latin-1") + b",".join([b"1"] * 8) + b"\n")


def doubled(cage):
    (cage / "in.csv").write_text(table().replace("name,age", "age,age", 1))


def not_in_tree(cage):
    (cage / "job.csv").write_text("j0;*\nj1;*\n")


def two_paths(cage):
    text = (cage / "job.csv").read_text()
    (cage / "job.csv").write_text(text + "j0;high;*\n")


def no_number(cage):
    (cage / "in.csv").write_text(table(age=CANARIES["ill"]))


def no_date(cage):
    (cage / "in.csv").write_text(table(born=CANARIES["ill"]))


def no_count(cage):
    (cage / "in.csv").write_text(table(copies=CANARIES["ill"]))


def negative_count(cage):
    (cage / "in.csv").write_text(table(copies="-" + CANARIES["copies"]))


@pytest.mark.parametrize(
    ("spoil", "more"),
    [
        (ragged, ()),
        (unclosed, ()),
        (latin, ("--encoding", "utf-8")),
        (doubled, ()),
        (not_in_tree, ()),
        (two_paths, ()),
        (no_number, ("--kind", "age=number")),
        (no_date, ("--kind", "born=date")),
        (no_date, ("--kind", "born=date(%Y-%m-%d)")),
        (no_count, ()),
        (negative_count, ()),
        (no_number, ("--hierarchy", "age=bins(5,10)")),
        (no_date, ("--hierarchy", "born=calendar(month,year)")),
        (lambda _cage: None, ("--kind", "city=number")),
        (lambda _cage: None, ("-k", "9999999")),
        (lambda _cage: None, ("-q", "nowhere")),
        (lambda _cage: None, ("--decimal", "x")),
        (lambda _cage: None, ("--delimiter", "z")),
        (lambda _cage: None, ("--delimiter", ";")),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else part.__name__,
)
def test_errors_name_columns_and_counts_only(run, cage, spoil, more):
    spoil(cage)
    before = sorted(path.name for path in cage.iterdir())
    ran = run("anonymize", "in.csv", *ROLES, *more, "-o", "out.csv")
    assert ran.code == 2, ran.said
    assert_silent(ran, cage)
    assert sorted(path.name for path in cage.iterdir()) == before
    ran = run("compare", "in.csv", *ROLES[2:], "-k", K, *more, "-o", "plot.svg")
    assert_silent(ran, cage)


def test_a_wide_number_is_not_in_a_message(run, cage):
    (cage / "in.csv").write_text(table(age="1e999"))
    ran = run("anonymize", "in.csv", *ROLES, "-o", "out.csv", "--kind", "age=number")
    assert "1e999" not in ran.said
    assert_silent(ran, cage, but=("out.csv",))


def test_warnings_of_other_libraries_are_not_shown():
    program = (
        "import sys, warnings, shoal, shoal.cli\n"
        "shoal.methods = lambda: warnings.warn('zqnamecanary') or {}\n"
        "sys.argv = ['shoal', 'methods', '--json']\n"
        "shoal.cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("{}\n", "")
    asked = subprocess.run(
        [sys.executable, "-W", "default", "-c", program], capture_output=True, check=True
    )
    assert b"zqnamecanary" in asked.stderr  # whoever asks for them sees them
