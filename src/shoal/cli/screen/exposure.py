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
    table.add_row("records", f"{found.records:,}")
    if found.persons is not None:
        table.add_row("persons", f"{found.persons:,}")
    table.add_row("classes", f"{found.classes:,}")
    table.add_row(f"{found.counted} alone in their class", f"{found.uniques:,}")
    table.add_row(f"{found.counted} at high risk (above {found.threshold:.0%})", f"{found.at_risk:,}")
    table.add_row("prosecutor, highest", f"{found.prosecutor_highest:.2%}")
    table.add_row("prosecutor, mean", f"{found.prosecutor_mean:.2%}")
    table.add_row("journalist, highest", f"{found.journalist_highest:.2%}")
    table.add_row("marketer", f"{found.marketer:.2%}")
    if found.sampling is not None:
        name = f"alone in the population too, estimated ({found.estimator})"
        table.add_row(name, f"{found.population_uniques:,.0f}")
    console.print(Padding(table, (0, 2)))
    if found.sampling is not None:
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
    table = Table("persons in the register", f"{found.persons:,}", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    table.add_row("with a candidate", f"{found.found:,}")
    what = "person" if found.by_person else "record"
    table.add_row(f"pinned to one {what}", f"{found.one_record:,}")
    table.add_row("pinned to one class", f"{found.one_class:,}")
    table.add_row(f"with fewer than {found.fewer_than} candidate {what}s", f"{found.few:,}")
    table.add_row(f"fewest candidate {what}s", f"{found.fewest:,}")
    table.add_row("candidates in the middle", f"{found.median:g}")
    table.add_row("candidates on average", f"{found.mean:.1f}")
    for one in found.homogeneous:
        table.add_row(f"whose {escape(one.column)} is certain", f"{one.persons:,}")
    console.print(Padding(table, (0, 2)))


def show_laid_over(found: shoal.LaidOver) -> None:
    """What `shoal attack` found in several releases."""
    console = Console(highlight=False)
    console.print(f"[bold]{escape(found.in_words())}[/]")
    console.print()
    table = Table("persons in the registers", f"{found.persons:,}", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    table.add_row("releases", f"{found.releases:,}")
    table.add_row("with a candidate", f"{found.found:,}")
    for one in found.left:
        name = escape(one.column)
        table.add_row(f"whose {name} is certain", f"{one.certain:,}")
        table.add_row(f"with fewer than 3 values of {name} left", f"{one.below_three:,}")
        table.add_row(f"whose {name} has changed", f"{one.none:,}")
        table.add_row(f"values of {name} left on average", f"{one.mean:.1f}")
    table.add_row("covered by one class in every release", f"{found.one_class:,}")
    table.add_row(f"whose cells, cut, hold fewer than {found.fewer_than}", f"{found.cut_few:,}")
    table.add_row("whose cells, cut, hold nobody else", f"{found.cut_alone:,}")
    console.print(Padding(table, (0, 2)))
