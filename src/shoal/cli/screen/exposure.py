"""What stands on the screen after `risk` and `attack`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from shoal.cli.screen.page import escape, table_of_figures

if TYPE_CHECKING:
    import shoal

__all__ = ["show_exposure", "show_laid_over", "show_linkage"]

MOST_LINES = 20


def show_exposure(found: shoal.Exposure) -> None:
    """What `shoal risk` found: the verdict first."""
    console = Console(highlight=False)
    colour = {True: "red", False: "green", None: "yellow"}[found.is_high]
    console.print(f"[bold {colour}]{escape(found.in_words())}[/]")
    console.print()
    table = table_of_figures("risk", "", figures=1)
    for name, figure in found.figures():
        table.add_row(name, figure)
    console.print(Padding(table, (0, 2)))
    if found.sampling is not None and found.uniques:
        console.print(f"\n{found.on_sampling()}")
    for title, items in (
        ("columns that single out most", found.columns),
        ("pairs that single out most", found.pairs),
        ("left once a column is dropped", found.without),
    ):
        if items:
            console.print()
            its = table_of_figures(title, "alone", "at high risk", figures=2)
            for one in items[:MOST_LINES]:
                its.add_row(escape(" + ".join(one.columns)), f"{one.uniques:,}", f"{one.at_risk:,}")
            if len(items) > MOST_LINES:
                its.add_row(f"and {len(items) - MOST_LINES:,} columns that single out less", "", "")
            console.print(Padding(its, (0, 2)))
    if found.not_paired:
        console.print(
            f"\nPairs and what is left without a column: only of the {MOST_LINES} columns that single out "
            f"most by themselves; {found.not_paired:,} others were left out there."
        )


def show_linkage(found: shoal.Linkage) -> None:
    """What `shoal attack` found."""
    console = Console(highlight=False)
    console.print(f"[bold]{escape(found.in_words())}[/]")
    console.print()
    _show_figures(console, found)


def show_laid_over(found: shoal.LaidOver) -> None:
    """What `shoal attack` found in several releases."""
    console = Console(highlight=False)
    console.print(f"[bold]{escape(found.in_words())}[/]")
    console.print()
    _show_figures(console, found)


def _show_figures(console: Console, found: shoal.Linkage | shoal.LaidOver) -> None:
    (name, figure), *rest = found.figures()
    table = Table(escape(name), figure, box=None, pad_edge=False)
    table.columns[1].justify = "right"
    for name, figure in rest:
        table.add_row(escape(name), figure)
    console.print(Padding(table, (0, 2)))
