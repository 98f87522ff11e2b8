"""What stands on the screen after `verify` and `report`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from shoal.cli.screen.page import escape, table_of_figures

if TYPE_CHECKING:
    import shoal

__all__ = ["show_findings", "show_report", "sum_up"]

GIVEN = {
    "original": "--original",
    "receipt": "--receipt",
    "hierarchies": "--hierarchies",
    "graphs": "--graph",
    "missing": "--missing",
    "before": "--before",
    "state": "--state",
    "key": "--key",
}
"""The options of `shoal verify` that give what a finding needs."""


def show_findings(findings: Sequence[Any]) -> None:
    """What `shoal verify` found, claim by claim."""
    console = Console(highlight=False)
    marks = {True: "[green]✓[/]", False: "[bold red]✗[/]", None: "[yellow]?[/]"}
    table = Table.grid(padding=(0, 2))
    for finding in findings:
        mark = marks[finding.holds] if finding.claimed else "[dim]-[/]"
        table.add_row(mark, escape(finding.claim), escape(finding.detail))
    console.print(table)
    console.print()
    console.print(sum_up(findings))


def show_report(report: shoal.Report, path: Path) -> None:
    """What `shoal report` found, and where it stands."""
    console = Console(highlight=False)
    colour = "green" if report.holds else "red"
    console.print(f"[bold {colour}]{escape(report.in_words())}[/]")
    console.print()
    table = table_of_figures("question", "answer", figures=0)
    for question in report.questions:
        table.add_row(escape(question.asks), question.answer)
    console.print(Padding(table, (0, 2)))
    console.print()
    if report.has_original and report.linkage is None:
        console.print(f"Linkage trial: not measured. {escape(report.untried)}")
        console.print()
    console.print(f"report       {escape(str(path))}", soft_wrap=True)


def sum_up(findings: Sequence[Any]) -> str:
    """How many claims hold, do not, and could not be checked, and what would help."""
    findings = [finding for finding in findings if finding.claimed]
    holds = sum(finding.holds is True for finding in findings)
    wrong = sum(finding.holds is False for finding in findings)
    unknown = [finding for finding in findings if finding.holds is None]
    needed = {word for finding in unknown for word in finding.needs}
    wanted = [option for word, option in GIVEN.items() if word in needed]
    aside = f", {len(unknown)} could not be checked" if unknown else ""
    if wanted:
        aside += f": give {', '.join(wanted)}"
    if wrong:
        said = f"NOT VERIFIED: {wrong} of {len(findings)} claims do not hold"
        return f"[bold red]{said}[/], {holds} hold{aside}."
    if unknown:
        return f"[bold yellow]{holds} hold[/]{aside}."
    return f"[bold green]Verified: all {holds} claims hold.[/]"
