"""What all pages on the screen are made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.markup import escape as escape_markup
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

__all__ = ["classes", "escape", "measures", "show_list", "show_losses", "table_of_figures"]

BAR = 20


def escape(text: str) -> str:
    """A text as it stands, for Rich: neither markup nor signs that a terminal would obey."""
    shown = "".join(
        sign if sign.isprintable() or sign == "\n" else sign.encode("unicode_escape").decode()
        for sign in text
    )
    return escape_markup(shown)


def classes(count: int) -> str:
    """One class, many classes."""
    return "class" if count == 1 else "classes"


def measures(ruling: Any) -> str:
    """What the worst class measures, where anybody may know."""
    return "" if ruling.measured is None else f"; the worst class measures {ruling.measured:.4g}"


def table_of_figures(*heads: str, figures: int) -> Table:
    """A table without lines: a column of names, then `figures` columns of numbers, then the rest."""
    table = Table(*heads, box=None, header_style="dim", pad_edge=False)
    for column in table.columns[1 : 1 + figures]:
        column.justify = "right"
    return table


def show_losses(console: Console, columns: Iterable[Any]) -> None:
    """The loss of each column, with a bar, and the pairs that it tells apart."""
    table = table_of_figures("column", "loss", "", "told apart", figures=1)
    table.columns[-1].justify = "right"
    for column in columns:
        if column.loss is None:
            table.add_row(escape(column.name), "unknown", "", "")
            continue
        full = round(BAR * min(1.0, column.loss))
        bar = Text("█" * full, style="cyan") + Text("░" * (BAR - full), style="dim")
        apart = "" if column.told_apart is None else f"{100 * column.told_apart:.3g} %"
        table.add_row(escape(column.name), f"{100 * column.loss:.3g} %", bar, apart)
    console.print(Padding(table, (0, 2)))


def show_list(console: Console, lines: Iterable[str]) -> None:
    """Sentences, one below the other."""
    for line in lines:
        grid = Table.grid(padding=(0, 1))
        grid.add_row("•", escape(line))
        console.print(grid)
