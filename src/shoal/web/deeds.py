"""What the hand can do with the table it holds, each by a public function of Shoal.

Facts go to the server as JSON: names, counts, words, drawings; and the few cells that a page shows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import shoal
from shoal.web.form import ColumnForm, PlanForm
from shoal.web.look import look_at

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DEEDS", "Grip"]

Facts = dict[str, Any]
Say = Callable[[Facts], None]

SAMPLE, LONGEST, FIRST = 3, 40, 8
"""Cells of a column that are shown, letters of each, and rows of a release."""
MOST_VALUES = 2_000
MOST_PAIRS = 300_000_000
"""Pairs of a row and a class in a linkage trial that a user waits for."""
MOST_DRAWN = 200_000
"""Rows of a table whose columns are drawn before and after, and counted in both."""
OFTEN = 0.1
"""Seconds between two words on progress."""
KS = (2, 3, 5, 10, 20, 50)
WRITTEN = (".csv", ".tsv", ".parquet", ".arrow", ".xlsx", ".dta", ".sav")


@dataclass(slots=True)
class Grip:
    """The table, how it was written, what was guessed of it, and the risk that was measured last."""

    folder: Path
    table: shoal.TableRead | None = None
    name: str = ""
    risk: tuple[Any, shoal.Exposure] | None = None
    suggestions: Mapping[str, str] = field(default_factory=dict)

    @property
    def frame(self) -> pl.DataFrame:
        """The table that was opened."""
        assert self.table is not None, "a table is opened before anything is asked of it"
        return self.table.frame


def open_table(held: Grip, _: Say, *, path: str, name: str, plan: str | None = None) -> Facts:
    """Read a table, and guess; a plan is laid over the guesses."""
    held.table, held.name, held.risk = shoal.read_table(path), name, None
    frame = held.frame
    guessed = shoal.guess(frame)
    form = PlanForm(
        columns=tuple(
            ColumnForm(
                name=one.name,
                role=one.role,
                kind=one.kind if one.role == "quasi" and one.kind != "tree" else "",
                tree=one.hierarchy if one.role == "quasi" and one.kind == "tree" else "",
                rule=one.rule.removeprefix(f"{one.name}: ") if not one.rule_costs else "",
                why=one.why,
            )
            for one in guessed.columns
        ),
        unit=guessed.unit or "",
        missing=", ".join(guessed.missing),
    )
    held.suggestions = {one.name: one.hierarchy for one in guessed.columns}
    if plan is not None:
        form = form.laid_over(shoal.plan_words(plan))
    marks = [mark.strip() for mark in form.missing.split(",") if mark.strip()]
    columns = [
        {
            "name": one.name,
            "cells": _sample(frame[one.name]),
            "distinct": one.distinct,
            "missing": one.missing + _marked(frame[one.name], marks),
        }
        for one in guessed.columns
    ]
    return {
        "rows": frame.height,
        "said": list(held.table.said),
        "columns": columns,
        "form": form.to_plain(),
    }


def _marked(series: pl.Series, marks: list[str]) -> int:
    """How many cells are marks for missing ones."""
    import polars as pl

    return int(series.str.strip_chars().is_in(marks).sum()) if series.dtype == pl.String and marks else 0


def load_plan(_held: Grip, _: Say, *, form: Facts, path: str) -> Facts:
    """Lay a plan file over the form."""
    return {"form": PlanForm.of_plain(form).laid_over(shoal.plan_words(path)).to_plain()}


def save_plan(_held: Grip, _: Say, *, form: Facts) -> Facts:
    """The plan as text."""
    return {"text": PlanForm.of_plain(form).plan().to_yaml()}


def measure_risk(held: Grip, _: Say, *, form: Facts) -> Facts:
    """The risk of the table as it is."""
    asked = PlanForm.of_plain(form)
    found = _risk(held, asked.of_role("quasi"), asked.unit)
    return {
        "words": found.in_words(),
        "is_high": found.is_high,
        "alone": [[", ".join(one.columns), one.uniques, one.at_risk] for one in found.columns[:5]],
        "counted": found.counted,
    }


def _risk(held: Grip, quasi: Sequence[str], unit: str) -> shoal.Exposure:
    key = (tuple(quasi), unit)
    if held.risk is None or held.risk[0] != key:
        held.risk = key, shoal.risk(held.frame, quasi=quasi, unit=unit or None, pairs=False)
    return held.risk[1]


def try_tree(held: Grip, _: Say, *, column: str, text: str, missing: Sequence[str] = ()) -> Facts:
    """What a hierarchy makes of a column: names per level, and values without a place."""
    tried = shoal.preview_hierarchy(
        held.frame, column, shoal.parse_hierarchy(text, column=column), missing=missing
    )
    return {
        "distinct": tried.values,
        "unplaced": list(tried.unplaced[:FIRST]),
        "without": len(tried.unplaced),
        "rows": tried.unplaced_rows,
        "levels": [
            {"names": one.names, "largest": [list(pair) for pair in one.largest]} for one in tried.levels
        ],
    }


def read_tree(_held: Grip, _: Say, *, column: str, path: str) -> Facts:
    """A hierarchy file as an outline."""
    return {"text": shoal.outline_of(shoal.read_hierarchy(path, column=column))}


def list_values(held: Grip, _: Say, *, column: str) -> Facts:
    """The values of a column, and a hierarchy that might fit them."""
    tried = shoal.preview_hierarchy(held.frame, column, shoal.flat())
    values = [] if not tried.levels or tried.values > MOST_VALUES else _names(held.frame[column])
    return {
        "listed": values,
        "distinct": tried.values,
        "suggestion": held.suggestions.get(column) or "flat()",
    }


def run(held: Grip, say: Say, *, form: Facts, number: int) -> Facts:
    """Make a release, write it into the private folder, and say what came of it."""
    asked = PlanForm.of_plain(form)
    plan = asked.plan()
    start = time.perf_counter()
    release = shoal.anonymize(held.frame, plan, progress=_telling(say, start))
    folder = held.folder / f"run-{number}"
    folder.mkdir(mode=0o700, exist_ok=True)
    stem, suffix = _target(held.name)
    assert held.table is not None
    files = release.write(folder / f"{stem}-k{plan.k}{suffix}", delimiter=held.table.delimiter or ",")
    say({"what": "measuring risks", "share": 0.0, "loss": None, "least": None, "seconds": _since(start)})
    before = _risk(held, plan.quasi, asked.unit)
    linkage, untried = _linked(held, release)
    about, verdict = release.certificate, release.verdict
    (folder / "plan.yaml").write_text(plan.to_yaml(), encoding="utf-8")
    drawn = held.frame.height <= MOST_DRAWN
    profiles = [
        shoal.profile(held.frame, release, name)
        for name in plan.quasi
        if drawn and _is_shown(release, name)
    ]
    return {
        "k": plan.k,
        "counted": before.counted,
        "passed": verdict.has_passed,
        "words": list(release.in_words()),
        "series": about.series.in_words() if about.series is not None else None,
        "seconds": _since(start),
        "method": about.method,
        "losses": shoal.svg(about),
        "loss": about.loss_percent,
        "least": about.least_percent,
        "ratio": about.ratio,
        "classes": about.classes,
        "sizes": shoal.svg(verdict),
        "size_rows": [list(pair) for pair in verdict.sizes[:200]],
        "risks": _risks(before, verdict),
        "utility": _good_for(held, plan, files) if drawn else None,
        "linkage": linkage.in_words() if linkage is not None else f"Not measured. {untried}",
        "look": look_at(asked, release, files, linkage),
        "left_out": list(release.left_out),
        "guessed": dict(release.guessed),
        "profiles": [_profile(one) for one in profiles],
        "columns": list(release.table.columns),
        "first": [[_text(cell) for cell in row] for row in release.table.head(FIRST).iter_rows()],
        "fingerprint": shoal.Certificate.of_json(files.certificate.read_text("utf-8")).release,
        "files": {
            "table": files.table.name,
            "certificate": files.certificate.name,
            "receipt": files.receipt.name,
            "plan": "plan.yaml",
        },
        "lookups": [path.name for path in files.lookups],
    }


def write_report(held: Grip, _: Say, *, form: Facts, number: int, files: Facts, context: Facts) -> Facts:
    """The report of a run for a data protection officer."""
    folder = held.folder / f"run-{number}"
    plan = PlanForm.of_plain(form).plan()
    assert held.table is not None
    shoal.report(
        folder / files["table"],
        folder / files["certificate"],
        folder / "report.html",
        original=held.frame,
        receipt=folder / files["receipt"],
        context=shoal.Context(**{**context, "confirmed": tuple(context.get("confirmed", ()))}),
        hierarchies=plan.hierarchies,
        missing=plan.missing,
        delimiter=held.table.delimiter,
    )
    return {"report": "report.html"}


def compare(held: Grip, say: Say, *, form: Facts) -> Facts:
    """What each k costs, quickly."""
    plan = replace(PlanForm.of_plain(form).plan(), effort="quick", stop_at=None)
    start = time.perf_counter()
    tell = _telling(say, start)
    ks = [k for k in KS if 2 * k <= held.frame.height] or [2]
    method = "crowd" if plan.method == "auto" else plan.method
    found = shoal.compare(held.frame, plan, methods=[method], ks=ks, progress=tell)
    trials = [
        {
            "k": one.k,
            "loss": one.loss_percent,
            "least": one.loss_percent / one.ratio if one.loss_percent is not None and one.ratio else None,
            "classes": one.classes,
            "note": one.note,
        }
        for one in found.trials
    ]
    return {"trials": trials, "curve": shoal.svg(found), "seconds": _since(start)}


def _telling(say: Say, start: float) -> Callable[[str, float], None]:
    last, words = 0.0, ""

    def tell(what: str, share: float) -> None:
        nonlocal last, words
        now = _since(start)
        if now - last < OFTEN and what.partition(",")[0] == words:
            return
        last, words = now, what.partition(",")[0]
        loss, least = getattr(what, "loss", None), getattr(what, "least", None)
        say({"what": str(what), "share": share, "loss": loss, "least": least, "seconds": now})

    return tell


def _linked(held: Grip, release: shoal.Release) -> tuple[shoal.Linkage | None, str]:
    """The linkage trial with the original as register, or why there was none."""
    plan = release.plan
    if plan.style != "generalize" or plan.cells not in {"text", "bounds"}:
        return None, "Cells of this release do not say what they cover."
    if held.frame.height * release.certificate.classes > MOST_PAIRS:
        return None, "The table is large; run shoal attack by itself."
    dates = {name: kind for name, kind in plan.kinds.items() if kind.startswith("date(")}
    match = {name: name for name in plan.quasi if name in held.frame.columns}
    try:
        found = shoal.attack(
            release.table,
            held.frame,
            match=match,
            sensitive=plan.sensitive,
            hierarchies=plan.hierarchies,
            kinds=dates,
            k=plan.k,
            missing=plan.missing,
        )
    except shoal.ShoalError as error:
        return None, str(error)
    return found, ""


def _good_for(held: Grip, plan: shoal.Plan, files: shoal.Files) -> Facts | None:
    """What the release is still good for, beside the original; None where its cells do not tell."""
    try:
        found = shoal.utility(
            files.table,
            held.frame,
            certificate=files.certificate,
            hierarchies=plan.hierarchies,
            missing=plan.missing,
            beside=False,
        )
    except shoal.ShoalError:
        return None
    good = found.tables[0]
    return {
        "columns": [
            [name, _percent(share), _percent(good.marginals[name])]
            for name, share in good.told_apart.items()
        ],
        "pairs": None if good.pairs is None else _percent(good.pairs),
        "queries": found.queries,
        "error": _percent(good.query_error),
        "error_high": _percent(good.query_error_high),
    }


def _risks(before: shoal.Exposure, verdict: shoal.Verdict) -> list[list[str]]:
    after = verdict.risk
    above = sum(size * classes for size, classes in verdict.sizes if 1 / size > before.threshold + 1e-12)
    return [
        [f"{before.counted} alone in their class", f"{before.uniques:,}", f"{after.uniques:,}"],
        [
            f"found with a chance above {100 * before.threshold:g} %",
            f"{before.at_risk:,}",
            f"{above:,}",
        ],
        ["highest chance", _percent(before.prosecutor_highest), _percent(after.prosecutor_highest)],
        ["mean chance", _percent(before.prosecutor_mean), _percent(after.prosecutor_mean)],
    ]


def _profile(one: shoal.Profile) -> Facts:
    return {
        "name": one.column,
        "before": one.distinct_before,
        "after": one.distinct_after,
        "coarser": one.coarser,
        "drawing": shoal.svg(one),
    }


def _is_shown(release: shoal.Release, name: str) -> bool:
    return name in release.table.columns


def _target(name: str) -> tuple[str, str]:
    """The stem and the ending of a release of a table of this name."""
    path = Path(name)
    stem = Path(path.stem).stem if path.suffix == ".gz" else path.stem
    suffix = path.suffix.lower()
    return stem or "table", suffix if suffix in WRITTEN else ".csv"


def _sample(series: pl.Series) -> list[str]:
    seen = series.drop_nulls().head(1000).unique(maintain_order=True).head(SAMPLE)
    return [_text(cell) for cell in seen.to_list()]


def _names(series: pl.Series) -> list[str]:
    return sorted({str(cell).strip() for cell in series.drop_nulls().unique().to_list()} - {""})


def _text(cell: object) -> str:
    text = "" if cell is None else str(cell)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _since(start: float) -> float:
    return time.perf_counter() - start


DEEDS: dict[str, Callable[..., Facts]] = {
    "open": open_table,
    "load_plan": load_plan,
    "save_plan": save_plan,
    "risk": measure_risk,
    "try_tree": try_tree,
    "read_tree": read_tree,
    "list_values": list_values,
    "run": run,
    "write_report": write_report,
    "compare": compare,
}
