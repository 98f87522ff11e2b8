"""What stands on the screen after `utility`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding

from shoal.cli.screen.page import escape, table_of_figures

if TYPE_CHECKING:
    import shoal

__all__ = ["show_utility"]


def show_utility(found: shoal.Utility) -> None:
    """The release beside the other method, then means and models."""
    console = Console(highlight=False)
    names = [table.name for table in found.tables]
    table = table_of_figures("pairs of records still told apart by", *names, figures=len(names))
    for column in found.tables[0].told_apart:
        table.add_row(escape(column), *(f"{one.told_apart[column]:.1%}" for one in found.tables))
    console.print(Padding(table, (0, 2)))
    console.print()
    table = table_of_figures("error of counts", *names, figures=len(names))
    for column in found.tables[0].marginals:
        table.add_row(
            f"marginal of {escape(column)}", *(f"{one.marginals[column]:.2%}" for one in found.tables)
        )
    if found.tables[0].pairs is not None:
        table.add_row("pairs of columns, mean", *(f"{one.pairs or 0:.2%}" for one in found.tables))
    table.add_row(
        f"{found.queries:,} count queries, middle", *(f"{one.query_error:.2%}" for one in found.tables)
    )
    table.add_row("nine of ten below", *(f"{one.query_error_high:.2%}" for one in found.tables))
    console.print(Padding(table, (0, 2)))
    if found.moments:
        console.print()
        its = table_of_figures("", "original", "release", "between", figures=2)
        for one in found.moments:
            between = f"{one.low:.4g} and {one.high:.4g}"
            its.add_row(escape(one.what), f"{one.before:.4g}", f"{one.after:.4g}", between)
        console.print(Padding(its, (0, 2)))
    if found.learned:
        console.print()
        its = table_of_figures(f"{escape(str(found.target))} learned from", "right", "AUC", figures=2)
        for model in found.learned:
            auc = "" if model.auc is None else f"{model.auc:.4f}"
            its.add_row(escape(model.trained_on), f"{model.accuracy:.2%}", auc)
        console.print(Padding(its, (0, 2)))
    console.print(
        "\nErrors of counts are the share of records that stand elsewhere, of queries relative to the true "
        "count. A wide cell counts in equal parts for all it may be."
    )
