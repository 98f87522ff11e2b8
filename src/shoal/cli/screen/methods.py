"""Methods on the screen, by themselves and side by side."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from shoal.cli.screen.page import escape, table_of_figures

if TYPE_CHECKING:
    import shoal

__all__ = ["method_facts", "show_comparison", "show_methods"]


def show_comparison(comparison: shoal.Comparison, plot: Path) -> None:
    """Loss, ratio and time, one line per method and k."""
    console = Console(highlight=False)
    table = table_of_figures("method", "k", "loss", "apart", "ratio", "classes", "seconds", "", figures=6)
    for column in table.columns[:-1]:
        column.no_wrap = True
    before = note = None
    for trial in comparison.trials:
        if trial.note and trial.seconds is None:  # it could not run: say so once for all k
            if (trial.method, trial.note) != (before, note):
                table.add_row(escape(trial.method), *"------", escape(trial.note))
            before, note = trial.method, trial.note
            continue
        objective = f"objective {trial.objective}" if trial.objective != "loss" else ""
        table.add_row(
            escape(trial.method) if trial.method != before else "",
            str(trial.k),
            "-" if trial.loss_percent is None else f"{trial.loss_percent:.2f} %",
            "-" if trial.told_apart_percent is None else f"{trial.told_apart_percent:.1f} %",
            "-" if trial.ratio is None else f"{trial.ratio:.3f}",
            "-" if trial.classes is None else f"{trial.classes:,}",
            "-" if trial.seconds is None else f"{trial.seconds:.3f}",
            escape(trial.note or objective),
        )
        before = trial.method
    console.print(table)
    console.print(
        "\napart: of the pairs of records that may differ in a column, the share still told apart, on "
        "average; it compares across kinds and hierarchies, which losses do not.",
        style="dim",
    )
    console.print(f"\nplot  {escape(str(plot))}", soft_wrap=True)


def method_facts(facts: shoal.Facts) -> dict[str, Any]:
    """What `shoal methods --json` says of a method."""
    words = (
        "title",
        "objective",
        "guarantee",
        "time",
        "paper",
        "takes",
        "most_columns",
        "only_k",
        "styles",
    )
    options = facts.options.items()
    return {
        **{word: getattr(facts, word) for word in words},
        "options": {name: {"default": its.default, "meaning": its.meaning} for name, its in options},
    }


def show_methods(methods: Mapping[str, shoal.Facts]) -> None:
    """Every method with objective, guarantee, cost, paper and options."""
    console = Console(highlight=False)
    for name, facts in methods.items():
        console.print(f"[bold]{escape(name)}[/]  {escape(facts.title) if facts.title != name else ''}")
        grid = Table.grid(padding=(0, 2))
        for word, text in (
            ("objective", facts.objective),
            ("guarantee", facts.guarantee),
            ("cost", facts.time),
            ("paper", facts.paper),
            *((f"--option {option}", its.meaning) for option, its in facts.options.items()),
        ):
            grid.add_row(Text(word, style="dim", no_wrap=True), escape(text))
        console.print(Padding(grid, (0, 2)))
