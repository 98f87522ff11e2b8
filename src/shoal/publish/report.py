"""A report as one HTML page: no script, no network, the same bytes for the same facts."""

from __future__ import annotations

import base64
import hashlib
import math
import os
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.model.facts import OBJECTIVES
from shoal.model.report import BANDS, QUESTIONS, Report, as_percent
from shoal.publish.draw import Bar, bars
from shoal.publish.target import Drawing, check_file, draw_alone

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["check_report", "losses_drawn", "page_of", "write_report"]

FORMATS = (".html",)


def check_report(path: str | os.PathLike[str], *, inputs: Iterable[str | os.PathLike[str]] = ()) -> Path:
    """Whether a report can be written to `path`, before any work is done for it."""
    return check_file(path, "report", FORMATS, inputs=inputs)


def write_report(report: Report, target: Path) -> Path:
    """Write the page whole or not at all; `target` has been checked."""
    page = page_of(report)

    def write(to: Path) -> None:
        to.write_text(page, encoding="utf-8", newline="")

    return draw_alone(Drawing(target, "report", write))


def page_of(report: Report) -> str:
    """The page."""
    from markupsafe import Markup

    css = _part("report.css")
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return _template().render(
        report=report,
        about=report.certificate,
        plan=report.certificate.plan,
        context=report.context,
        questions_open=QUESTIONS.items(),
        bands=[name for name, _ in BANDS],
        objective=OBJECTIVES.get(report.certificate.objective, report.certificate.objective),
        least_k=math.ceil(1 / report.context.threshold - 1e-9),
        losses=Markup(losses_drawn((one.name, one.loss) for one in report.certificate.columns)),
        classes=Markup(_classes_drawn(report)),
        css=Markup(css),
        style_hash=f"sha256-{digest}",
    )


def losses_drawn(columns: Iterable[tuple[str, float | None]]) -> str:
    """Loss by column as SVG; "" where none is known."""
    rows = [(name, [Bar(loss, as_percent(loss))]) for name, loss in columns if loss is not None]
    said = ", ".join(f"{name} {its[0].text}" for name, its in rows)
    return bars(rows, label=f"Loss by column: {said}") if rows else ""


def _classes_drawn(report: Report) -> str:
    """Records or persons by the size of their class, before and now."""
    drawn = [
        (word, one) for word, one in (("before", report.before), ("now", report.now)) if one is not None
    ]
    if not drawn:
        return ""
    rows = []
    for at, (name, _) in enumerate(BANDS):
        rows.append(
            (name, [Bar(one.bands[at] / one.total, f"{one.bands[at]:,} {word}") for word, one in drawn])
        )
    return bars(rows, label="How many look alike, by size of class")


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    pages = Environment(autoescape=True, undefined=StrictUndefined)
    pages.filters |= {"percent": as_percent, "count": lambda number: f"{number:,}", "told": _told}
    return pages.from_string(_part("report.html"))


def _told(value: object) -> str:
    """A value of a plan in words."""
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_told(one)}" for name, one in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(str(one) for one in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None or value == "" else str(value)


def _part(name: str) -> str:
    return files("shoal.publish").joinpath(name).read_text(encoding="utf-8")
