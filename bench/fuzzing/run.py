"""One case from a number to what is wrong with its release."""

from __future__ import annotations

import contextlib
import io
import json
import random
import re
import shutil
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

import shoal
from fuzzing.cases import Case, make_case
from fuzzing.frames import cells_of, frame_of, kind_of, plain_value, read_as, write_file
from fuzzing.judge import Fault, judge
from fuzzing.leaks import needles, scan
from fuzzing.published import Published, bytes_of_table, read_published
from shoal.cli import main

__all__ = ["Outcome", "run_seed"]

HEX = re.compile(r"[0-9a-f]{64}")
FAST = Path("/dev/shm")  # files are forced to the disk: in memory that costs nothing


@dataclass
class Outcome:
    """What became of one table: published, or refused with a message, and the faults that were found."""

    seed: int
    method: str
    is_published: bool = False
    refusal: str = ""
    faults: list[Fault] = field(default_factory=list)
    plan: str = ""


def run_seed(seed: int) -> Outcome:
    """Make the table of this number, publish it and judge the release."""
    case = make_case(seed)
    outcome = Outcome(seed, case.words["method"], plan=case.describe())
    folder = Path(tempfile.mkdtemp(prefix="shoal-fuzz-", dir=FAST if FAST.is_dir() else None))
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            run = _run_file if case.door == "file" else _run_frame
            outcome.faults += run(case, folder, outcome)
        outcome.faults += _warned(case, said)
    except shoal.ShoalError as error:
        outcome.refusal = _without_names(str(error))
        outcome.faults += _told(case, str(error))
        if outcome.is_published:
            outcome.faults.append(Fault("refused", f"an honest release: {_without_names(str(error))}"))
    except (Exception, pl.exceptions.PanicException) as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        ours = [line for line in traceback.extract_tb(error.__traceback__) if "/shoal/" in line.filename]
        at = ours[-1] if ours else place
        where = f"{'/'.join(Path(at.filename).parts[-2:])}:{at.lineno}"
        what = "crash" if ours else "crash of the fuzzer"
        outcome.faults.append(Fault(what, f"{type(error).__name__} at {where}"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    outcome.faults = list(dict.fromkeys(outcome.faults))
    return outcome


def _without_names(message: str) -> str:
    """The class of a message: without files, names and numbers."""
    message = re.sub(r"\S*shoal-fuzz-\S*", "…", message).partition(" Its columns are")[0]
    return re.sub(r"\d[\d.,e+-]*", "#", re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", message))[:150]


def _told(case: Case, message: str) -> Iterator[Fault]:
    if any(
        needle in message for needle in needles(case) if "leaf" not in needle and "region" not in needle
    ):
        yield Fault("leak", "a message shows a cell")


def _warned(case: Case, said: list[warnings.WarningMessage]) -> Iterator[Fault]:
    for warning in said:
        if "shoal" in warning.filename:
            where = f"{'/'.join(Path(warning.filename).parts[-2:])}:{warning.lineno}"
            yield Fault("warning", f"{warning.category.__name__} at {where}")
        yield from _told(case, str(warning.message))


# frames


def _run_frame(case: Case, folder: Path, outcome: Outcome) -> Iterator[Fault]:
    original = frame_of(case)
    extra = {} if case.matrix is None else {"matrix": case.matrix}
    release = shoal.anonymize(original, threads=1, **extra, **case.words)
    files = release.write(folder / f"out{case.ending}")
    outcome.is_published = True
    published = read_published(files)
    groups = release.groups
    behind = dict(zip(groups.source.tolist(), groups.line.tolist(), strict=True))
    lines = [behind.get(row) for row in range(case.rows)]
    yield from judge(case, published, original, groups.label.tolist(), lines)
    yield from _shown(case, published, release.table, original)
    table_bytes = bytes_of_table(release.table)
    yield from (Fault(f"leak to {case.ending}", f.detail) for f in scan(case, published, published.hay))
    yield from (Fault("leak to release.table", f.detail) for f in scan(case, published, table_bytes))
    yield from _verified(case, files, original)
    if case.seed % 2 == 0:
        yield from _again(case, folder, published, table_bytes)


def _shown(case: Case, published: Published, table: Any, original: Any) -> Iterator[Fault]:
    """What the user is shown is what was written, and values came back as they went in."""
    names = list(table.column_names if hasattr(table, "column_names") else table.columns)
    if names != published.names:
        yield Fault("shown differs", "other columns than the written table")
        return
    shown, written = [], []
    for name in names:
        cells = cells_of(table, name)
        shown.append([_day(plain_value(cell)) for cell in cells])
        found = published.cells(name)
        what = kind_of(cells)
        written.append([_day(read_as(c, what) if published.is_text else plain_value(c)) for c in found])
    if Counter(zip(*shown, strict=True)) != Counter(zip(*written, strict=True)):
        yield Fault("shown differs", f"release.table as {case.door} and the written table have other rows")
    if case.words["style"] == "centres" or case.count is not None:
        return
    for name in case.kept:
        had = Counter(plain_value(cell, case.marks) for cell in cells_of(original, name))
        has = Counter(plain_value(cell, case.marks) for cell in cells_of(table, name))
        if has - had:
            kind = kind_of(cells_of(original, name))
            yield Fault("values changed", f"in release.table as {case.door}: column of {kind}")


def _day(value: Any) -> Any:
    """A date as the midnight it begins with: pandas has no type for quasi-identifiers that are dates."""
    return ("moment", f"{value[1]}T00:00:00") if value is not None and value[0] == "date" else value


def _verified(case: Case, files: Any, original: Any) -> Iterator[Fault]:
    words = case.words
    given = {"hierarchies": words["hierarchies"], "graphs": words["graphs"], "missing": case.marks}
    ways: dict[str, dict[str, Any]] = {
        "with original and receipt": {"original": original, "receipt": files.receipt, **given}
    }
    if case.seed % 3 == 0:
        ways["alone"] = {}
        ways["with hierarchies"] = given
        ways["with original"] = {"original": original, **given}
    # a matrix is nobody's but the keeper's, and lists cannot be compared: docs/how-to/frames.md
    if case.matrix is not None or any(case.column(name).dtype == pl.List for name in case.kept):
        ways = {"alone": {}, "with hierarchies": given}
    found: dict[tuple[str, str], list[str]] = {}
    for way, words in ways.items():
        try:
            findings = shoal.verify(files.table, files.certificate, **words)
        except shoal.ShoalError as error:
            found.setdefault(("verify refuses", _without_names(str(error))), []).append(way)
            yield from _told(case, str(error))
            continue
        for finding in findings:
            if finding.holds is False:
                found.setdefault(("verify denies", _claim(case, finding.claim)), []).append(way)
            yield from _told(case, finding.detail)
    for (what, detail), denied in found.items():
        only = "" if len(denied) == len(ways) else f" ({' and '.join(denied)})"
        yield Fault(what, f"{detail}{only}")


def _claim(case: Case, claim: str) -> str:
    for column in case.columns:
        claim = re.sub(
            rf"(?<!\w){re.escape(column.name)}(?!\w)", f"<{column.role} {column.dtype!r:.12}>", claim
        )
    return claim


def _again(
    case: Case, folder: Path, published: Published, table_bytes: dict[str, bytes]
) -> Iterator[Fault]:
    """The same table in another order of rows and on another number of threads: the same bytes."""
    order = list(range(case.rows))
    by_order = case.seed % 4 == 0
    if by_order:
        random.Random(case.seed).shuffle(order)
    extra = {} if case.matrix is None else {"matrix": [[case.matrix[a][b] for b in order] for a in order]}
    release = shoal.anonymize(frame_of(case, order), threads=2, **extra, **case.words)
    (folder / "again").mkdir()
    files = release.write(folder / "again" / f"out{case.ending}")
    other = read_published(files)
    what = "order of rows matters" if by_order else "threads matter"
    for name, before in published.hay.items():
        after = other.hay.get(name)
        if "receipt" in name or ": " in name or after == before:
            continue
        if "certificate" in name and _unsalted(published.certificate) == _unsalted(other.certificate):
            continue
        same = sorted(map(repr, published.rows)) == sorted(map(repr, other.rows))
        kind = (
            "certificate"
            if "certificate" in name
            else f"rows of {case.ending}"
            if not same
            else f"bytes of {case.ending}"
        )
        yield Fault(what, kind)
    if case.door == "polars" and bytes_of_table(release.table)["ipc"] != table_bytes["ipc"]:
        yield Fault(what, "bytes of release.table")


def _unsalted(certificate: dict[str, Any]) -> str:
    """A certificate without fingerprints, which may be salted."""
    return HEX.sub("", json.dumps(certificate, sort_keys=True))


# files


def _run_file(case: Case, folder: Path, outcome: Outcome) -> Iterator[Fault]:
    """Through the command line: a CSV file, a plan, and `verify` of what comes out."""
    source, target = folder / "in.csv", folder / f"out{case.ending}"
    write_file(case, source)
    (folder / "trees").mkdir()
    plan = {name: value for name, value in case.words.items() if name not in {"hierarchies", "graphs"}}
    plan["hierarchies"] = dict(_trees(case, folder))
    plan["graphs"] = dict(_graphs(case, folder))
    plan = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in plan.items()
        if value not in ((), {})
    }
    (folder / "plan.yaml").write_text(json.dumps(plan), "utf-8")
    code, said = _command("anonymize", str(source), "--plan", str(folder / "plan.yaml"), "-o", str(target))
    yield from _told(case, said)
    if code != 0:
        if code == 1:
            yield Fault("crash", f"exit 1: {_without_names(said.strip())}")
        outcome.refusal = "cli: " + _without_names(said.strip().replace("\n", " "))
        return
    outcome.is_published = True
    files = shoal.Files.beside(target)
    lookups = sorted(path for path in folder.glob("out.*.csv"))
    files = type(files)(files.table, files.certificate, files.receipt, tuple(lookups))
    published = read_published(files)
    original = pl.DataFrame(
        {c.name: [None if x is None else str(x) for x in c.cells] for c in case.columns}
    )
    yield from judge(case, published, original, None)
    yield from (Fault(f"leak to {case.ending}", f.detail) for f in scan(case, published, published.hay))
    marks = [word for mark in case.marks for word in ("--missing", mark)]
    trees = [
        word
        for name, path in plan.get("hierarchies", {}).items()
        if (folder / path).exists()
        for word in ("--hierarchies", f"{name}={folder / path}")
    ]
    graphs = [
        word
        for name, path in plan.get("graphs", {}).items()
        for word in ("--graph", f"{name}={folder / path}")
    ]
    full = ["--original", str(source), "--receipt", str(files.receipt), *marks, *trees, *graphs]
    for way, words in (("alone", []), ("with original and receipt", full)):
        code, said = _command("verify", str(target), str(files.certificate), *words, "--json")
        yield from _told(case, said)
        if code:
            yield Fault("verify denies", f"cli {way}: exit {code}, {_denied(case, said)}")


def _denied(case: Case, said: str) -> str:
    with contextlib.suppress(ValueError, KeyError):
        findings = json.loads(said)["findings"]
        return ", ".join(
            _claim(case, finding["claim"]) for finding in findings if finding["holds"] is False
        )
    return _without_names(said.strip())


def _trees(case: Case, folder: Path) -> Iterator[tuple[str, str]]:
    grown = {
        one.name: one.tree for one in case.quasi if one.tree and one.tree.plan is not None
    } | case.rule_trees
    for name, tree in grown.items():
        if tree.paths is None:
            yield name, tree.plan.text
        else:
            path = folder / "trees" / f"{name}.csv"
            path.write_text("".join(";".join([*line, "*"]) + "\n" for line in tree.paths), "utf-8")
            yield name, f"trees/{name}.csv"


def _graphs(case: Case, folder: Path) -> Iterator[tuple[str, str]]:
    for name, graph in case.words["graphs"].items():
        path = folder / f"{name}.edges.csv"
        # a border of a region with itself is dropped, and makes the region known
        lines = [f"{name},{name}" for name in graph.names] + [
            f"{graph.names[at]},{graph.names[other]}"
            for at in range(len(graph.names))
            for other in graph.neighbour[graph.start[at] : graph.start[at + 1]].tolist()
        ]
        path.write_text("\n".join(["from,to", *lines]) + "\n", "utf-8")
        yield name, path.name


def _command(*words: str) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(words))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    return code, out.getvalue() + err.getvalue()
