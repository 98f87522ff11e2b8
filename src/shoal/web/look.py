"""*Look at this*: what a result should make its user think about, each with what may be done about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import shoal
from shoal.web.form import PlanForm

__all__ = ["apply", "look_at", "remedies_for"]

Look = dict[str, Any]
FAR, LOST, LEAST_K = 1.25, 0.5, 5


def look_at(
    form: PlanForm, release: shoal.Release, files: shoal.Files, linkage: shoal.Linkage | None
) -> list[Look]:
    """What speaks for another run, worst first; `remedy` says what the button changes."""
    return [
        *_certain(form, release, linkage),
        *_persons(release),
        *_chance(release),
        *_lost(form, release),
        *_far(form, release),
        *({"words": doubt} for doubt in release.doubts),
        *_formulas(files),
    ]


def remedies_for(error_at: str | None, column: str | None, words: str) -> list[Look]:
    """What may be done where a run failed."""
    if error_at == "unit" and column is not None:
        return [
            {
                "words": words,
                "button": f"Count persons by {column} and run again",
                "remedy": {"unit": column},
            },
            {
                "words": "Where every row is another person, say so.",
                "button": "Count rows and run again",
                "remedy": {"unit": "rows"},
            },
        ]
    return []


def apply(form: PlanForm, remedy: dict[str, Any]) -> PlanForm:
    """The form with a remedy applied."""
    from dataclasses import replace

    for column, rule in remedy.get("rule", {}).items():
        form = form.changed(column, rule=rule)
    for column, weight in remedy.get("weight", {}).items():
        form = form.changed(column, weight=weight)
    plain = {name: remedy[name] for name in ("k", "unit", "effort") if name in remedy}
    return replace(form, **plain) if plain else form


def _certain(form: PlanForm, release: shoal.Release, linkage: shoal.Linkage | None) -> Iterator[Look]:
    rules = {column.name: column.rule for column in form.columns}
    certain = {one.column: one.persons for one in linkage.homogeneous} if linkage is not None else {}
    for one in release.verdict.sensitive:
        if one.distinct > 1:
            continue
        who = f"for {certain[one.name]:,} persons" if certain.get(one.name) else "in at least one class"
        rule = "; ".join(text for text in (rules.get(one.name, ""), "2-diverse") if text)
        yield {
            "words": f"{one.name} is certain {who}: all rows that look alike have the same value.",
            "button": f"Ask for {one.name}: 2-diverse and run again",
            "remedy": {"rule": {one.name: rule}},
        }


def _persons(release: shoal.Release) -> Iterator[Look]:
    for one in release.repeats[:1]:
        yield {
            "words": f"Rows were counted, but {one.column} repeats: a person may have several rows.",
            "button": f"Count persons by {one.column} and run again",
            "remedy": {"unit": one.column},
        }


def _chance(release: shoal.Release) -> Iterator[Look]:
    if release.plan.k < LEAST_K:
        k = release.plan.k
        yield {
            "words": f"With k = {k} somebody is found with a chance of up to 1 in {k}.",
            "button": f"k = {LEAST_K} and run again",
            "remedy": {"k": str(LEAST_K)},
        }


def _lost(form: PlanForm, release: shoal.Release) -> Iterator[Look]:
    lost = [one for one in release.certificate.columns if (one.loss or 0) > LOST and one.weight < 4]
    others = len(release.certificate.columns) - len(lost)
    for one in lost[: 2 if others else 0]:
        yield {
            "words": f"{one.name} loses {100 * (one.loss or 0):.3g} % of its detail, more than half.",
            "button": f"Give {one.name} twice the weight and run again",
            "remedy": {"weight": {one.name: f"{2 * one.weight:g}"}},
        }


def _far(form: PlanForm, release: shoal.Release) -> Iterator[Look]:
    ratio = release.certificate.ratio
    if ratio is not None and ratio > FAR and form.effort in {"quick", "normal"}:
        yield {
            "words": "A better release may exist: a longer search comes closer to the best possible.",
            "button": "Search thoroughly and run again",
            "remedy": {"effort": "thorough"},
        }


def _formulas(files: shoal.Files) -> Iterator[Look]:
    if files.formulas:
        names = ", ".join(files.formulas)
        cells = sum(files.formulas.values())
        yield {
            "words": f"{cells:,} cells of {names} look like formulas to a spreadsheet. Import them as text."
        }
