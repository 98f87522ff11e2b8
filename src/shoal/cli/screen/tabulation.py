"""What stands on the screen after `tabulate`: what is published, counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding

from shoal.cli.screen.page import escape, table_of_figures

if TYPE_CHECKING:
    import shoal

__all__ = ["show_tabulation"]


def show_tabulation(found: shoal.Tabulation) -> None:
    """A line for each combination of values."""
    console = Console(highlight=False)
    table = table_of_figures(", ".join(found.by), "least", "expected", "most", figures=3)
    for one in found.lines:
        what = ", ".join(one.values)
        table.add_row(escape(what), f"{one.least:,}", *one.shown)
    console.print(Padding(table, (0, 2)))
    console.print(
        f"\n{found.records:,} records. Least: cells that say just this. Most: cells that may be this. "
        "Expected: each cell in equal parts over what it may be."
    )
    if found.unknown:
        console.print(
            f"Not known: {escape(', '.join(found.unknown))} is published as nodes, and one node may hold "
            "another. Give --hierarchies."
        )
