"""What stands on the screen after a check."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.padding import Padding

from shoal.cli.screen.page import classes, escape, measures, show_losses, table_of_figures

if TYPE_CHECKING:
    import shoal

__all__ = ["show_verdict"]


def show_verdict(verdict: shoal.Verdict) -> None:
    """What `shoal check` found."""
    console = Console(highlight=False)
    words, doubt = verdict.in_words(), verdict.doubt
    colour = "red" if not verdict.has_passed else "yellow" if doubt else "green"
    console.print(escape(words.removesuffix(verdict.judgement).strip()))
    console.print(f"[bold {colour}]{escape(verdict.judgement)}[/]")
    if doubt:
        console.print(f"[bold yellow]{escape(doubt)}[/]")
    for ruling in verdict.rules:
        word = "holds" if ruling.holds else f"fails in {ruling.failing:,} {classes(ruling.failing)}"
        console.print(f"{escape(ruling.rule)}: {word}{measures(ruling)}.")
    console.print()
    if verdict.loss_percent is not None:
        apart = verdict.told_apart_percent
        still = "" if apart is None else f" Pairs of records still told apart: {apart:.1f} %."
        console.print(f"Loss {verdict.loss_percent:.2f} %.{still}")
        show_losses(console, verdict.columns)
        console.print()
    table = table_of_figures("re-identification", "", figures=1)
    for name, figure in verdict.risks():
        table.add_row(name, figure)
    console.print(Padding(table, (0, 2)))
    if verdict.sensitive:
        console.print()
        _sensitive(console, verdict.sensitive)


def _sensitive(console: Console, columns: Iterable[Any]) -> None:
    measures = ("distinct", "effective", "(c,2), c", "top share", "t equal", "t ordered")
    table = table_of_figures("sensitive, worst class", *measures, figures=len(measures))
    for column in columns:
        ordered = column.closeness_ordered
        table.add_row(
            escape(column.name),
            str(column.distinct),
            f"{column.entropy:.2f}",
            "none" if math.isinf(column.recursive) else f"{column.recursive:.2f}",
            f"{column.largest_share:.0%}",
            f"{column.closeness_equal:.3f}",
            "-" if ordered is None else f"{ordered:.3f}",
        )
    console.print(Padding(table, (0, 2)))
