"""The docs hold: links lead somewhere, commands parse, examples run, pages repeat what the code says."""

from __future__ import annotations

import csv
import importlib.util
import re
import shlex
import shutil
import sqlite3
import subprocess
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
from typer.main import get_command

from shoal.cli.app import app_of
from shoal.group import METHODS
from shoal.model.column import KINDS
from shoal.model.plan import Plan
from test_rooms import MAY_IMPORT

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "bench" / "README.md",
    *sorted(DOCS.rglob("*.md")),
]
NOT_RUN = {
    "docs/how-to/spark.md": "it needs a Spark",
    "docs/how-to/databases.md": "it names a server",
    "docs/how-to/large.md": "its files are large",
    "docs/how-to/series.md": "the frames are the reader's",
}
"""Pages with Python that no test runs, and why."""
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def table_rows(page: Path, first: str) -> list[list[str]]:
    """The rows of the table whose first heading is `first`."""
    rows: list[list[str]] = []
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0] == first:
            inside = True
        elif inside and not line.startswith("|"):
            break
        elif inside and not set(cells[0]) <= {"-", ":"}:
            rows.append(cells)
    return rows


def commands(page: Path) -> list[list[str]]:
    """Every command of ours that a page shows, as words."""
    found = []
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        match = re.match(r"(?:    |\$ )?(?:\S*bin/)?(shoal [a-z-].*)$", line)
        if match:
            found.append(shlex.split(match[1].partition(" > ")[0], comments=True))
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_between_pages_lead_somewhere(page):
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(prose):
        if "://" not in target and not target.startswith("#"):
            assert (page.parent / target.partition("#")[0]).exists(), target


def test_every_page_is_reached_from_the_readme():
    reached, border = set(), [ROOT / "README.md"]
    while border:
        page = border.pop().resolve()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            if "://" not in target and not target.startswith("#"):
                border.append(page.parent / target.partition("#")[0])
    assert {page.resolve() for page in DOCS.rglob("*.md")} <= reached


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_shown_parses(page):
    root = get_command(app_of())
    for _, name, *words in commands(page):
        assert name in root.commands, name
        with root.commands[name].make_context(name, words):
            pass


@pytest.mark.parametrize(
    ("page", "code"),
    [
        pytest.param(page, code, id=f"{name_of(page)}:{number}")
        for page in PAGES
        for number, (info, code) in enumerate(FENCE.findall(page.read_text(encoding="utf-8")))
        if info.split() == ["python", "run"]
    ],
)
def test_python_examples_run(page, code, tmp_path, monkeypatch, capsys):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, name_of(page), "exec"), {"__name__": "example"})


USING = DOCS / "how-to" / "using.md"
BEFORE = "1960-01-01"


@pytest.fixture(scope="module")
def received(make, tmp_path_factory) -> Path:
    """The folder in which the commands of the page on using a release were run."""
    folder = tmp_path_factory.mktemp("received")
    (block,) = [code for info, code in FENCE.findall(USING.read_text("utf-8")) if info == "sh run"]
    make.run(block, folder)
    return folder


def counts_of(folder: Path) -> tuple[tuple[int, int], dict[str, int]]:
    """Who surely and who perhaps was born before, and records by area, counted cell by cell."""
    least = most = 0
    areas: dict[str, int] = {}
    with (folder / "out.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            ends = re.findall(r"\d{4}-\d\d-\d\d", row["birth_date"]) or ["0000", "9999"]
            least += ends[-1] < BEFORE
            most += ends[0] < BEFORE
            if not row["zip"]:
                continue
            digits = row["zip"].rstrip("*")
            area = digits[:3] if len(digits) >= 3 else "coarser"
            areas[area] = areas.get(area, 0) + 1
    return (least, most), areas


def code_of(language: str) -> str:
    (code,) = [code for info, code in FENCE.findall(USING.read_text("utf-8")) if info == f"{language} run"]
    return code


def test_the_sql_of_a_reader_runs_as_printed(received):
    with sqlite3.connect(":memory:") as database:
        for table, name in (("release", "out.csv"), ("bounds", "bounds.csv")):
            with (received / name).open(encoding="utf-8", newline="") as file:
                head, *rows = csv.reader(file)
            database.execute(f"CREATE TABLE {table} ({', '.join(f'{one} TEXT' for one in head)})")
            database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(head))})", rows)
        answers = [
            database.execute(query).fetchall() for query in code_of("sql").split(";") if query.strip()
        ]
    ends, areas = counts_of(received)
    assert 0 < ends[0] < ends[1]
    assert answers[:2] == [[ends], [ends]]
    assert dict(answers[2]) == areas


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_r_of_a_reader_runs_as_printed(received):
    code = code_of("r")
    needed = re.findall(r"library\((\w+)\)", code)
    asked = "".join(f"stopifnot(requireNamespace('{name}', quietly = TRUE));" for name in needed)
    if subprocess.run(["Rscript", "-e", asked], capture_output=True, check=False).returncode:
        pytest.skip(f"R lacks one of {', '.join(needed)}")
    ran = subprocess.run(
        ["Rscript", "-e", code], capture_output=True, text=True, check=False, cwd=received, encoding="utf-8"
    )
    assert ran.returncode == 0, ran.stderr
    (least, most), areas = counts_of(received)
    assert len(re.findall(rf"^1 +{least} +{most}$", ran.stdout, re.MULTILINE)) == 2
    slope, error = map(
        float, re.findall(r"cost per year of birth: (\S+) give or take (\S+)", ran.stdout)[0]
    )
    assert slope + error < 0  # who is older costs more in the example
    first = max(areas, key=areas.get)
    assert re.search(rf"^ *1 {first} +{areas[first]}$", ran.stdout, re.MULTILINE)


def test_python_that_is_not_run_parses_and_has_a_reason():
    found = set()
    for page in PAGES:
        for info, code in FENCE.findall(page.read_text(encoding="utf-8")):
            if info.split() == ["python"]:
                compile(code, name_of(page), "exec")
                found.add(name_of(page))
    assert found == set(NOT_RUN)


@pytest.fixture(scope="module")
def make():
    spec = importlib.util.spec_from_file_location("make", DOCS / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def words_of(text: str) -> str:
    """A text without its numbers, the bars drawn from them, and where its lines happen to break."""
    return " ".join(re.sub(r"[\d.,]*\d|[█░]+", "0", text).split())


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_shell_examples_run(page, make, tmp_path):
    blocks = [code for info, code in FENCE.findall(page.read_text(encoding="utf-8")) if info == "sh run"]
    for block in blocks:
        make.run(block, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_transcripts_are_those_of_a_run(page, make):
    text = page.read_text(encoding="utf-8")
    if make.TRANSCRIPT.search(text):
        now, then = words_of(make.with_transcripts(text)), words_of(text)
        at = next(
            (at for at, (a, b) in enumerate(zip(now, then, strict=False)) if a != b),
            min(len(now), len(then)),
        )
        assert now == then, f"run python docs/make.py; now it says: {now[at : at + 400]}"


def test_a_transcript_is_what_was_printed_and_nothing_said_aside(make, tmp_path):
    assert make.run("echo aside >&2; echo said", tmp_path) == "said\n"
    with pytest.raises(RuntimeError, match=r"said\naside"):
        make.run("echo said; echo aside >&2; exit 3", tmp_path)


def test_generated_pages_are_current(make):
    for name, write in make.PAGES.items():
        assert (DOCS / name).read_text(encoding="utf-8") == write(), f"{name}: run python docs/make.py"


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_page(method):
    page = DOCS / "methods" / f"{method}.md"
    assert page.read_text(encoding="utf-8").startswith(f"# {method}\n")


def test_the_design_page_shows_the_rules_of_the_rooms():
    shown = {}
    for room, others in table_rows(DOCS / "design.md", "room"):
        may = set() if others == "nothing of ours" else {word.strip() for word in others.split(",")}
        shown[room.strip("`")] = set() if others.startswith("the public names") else may
    assert shown == {room: may - {room} for room, may in MAY_IMPORT.items()}


def test_the_places_to_change_things_exist():
    rows = table_rows(DOCS / "design.md", "what")
    named = [path for row in rows for path in re.findall(r"`([\w/]+(?:\.py|/))`", row[1])]
    assert len(rows) >= 20
    for path in named:
        assert (ROOT / "src" / "shoal" / path).exists(), path


def test_the_page_on_plans_names_every_key():
    rows = table_rows(DOCS / "how-to" / "plans.md", "key")
    named = {key.strip("` ") for row in rows for key in row[0].split(",")}
    assert named == {item.name for item in fields(Plan)}


def test_the_glossary_knows_every_kind_and_role():
    words = {row[0]: row[1] for row in table_rows(DOCS / "glossary.md", "word")}
    assert all(kind in words["kind"] for kind in KINDS)
    assert {"identifier", "quasi-identifier", "sensitive", "keep"} <= set(words)


def test_every_dependency_has_a_reason():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [words for extra, words in project["optional-dependencies"].items() if extra != "test"]
    wanted = {
        re.match(r"[\w-]+", word)[0] for words in [project["dependencies"], *extras] for word in words
    }
    assert wanted == {row[0] for row in table_rows(DOCS / "parts.md", "part")}


def test_the_readme_has_one_command_to_try_and_one_to_test():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line.startswith("python3 -m venv")]
    assert len(commands) == 2
    assert "pytest" in commands[1]
    assert "examples/hospital.csv" in commands[0]


def test_the_map_of_kernels_names_every_folder_and_file():
    text = (DOCS / "design.md").read_text(encoding="utf-8")
    lines = text.partition("## Kernels")[2].partition("\n## ")[0].splitlines()
    kernels = ROOT / "src" / "shoal" / "kernels"
    named = {}
    for line in lines:
        if line.startswith("| `"):
            places, what = (re.findall(r"`(\w+)/?`", part) for part in line.strip("|").split("|"))
            named |= {place: set(what) for place in places}
    files = {path.relative_to(kernels) for path in kernels.rglob("*.py") if path.stem != "__init__"}
    found: dict[str, set[str]] = {}
    for file in files:
        found.setdefault(file.parts[0].removesuffix(".py"), set()).update(file.stem for _ in file.parts[1:])
    assert named == found
