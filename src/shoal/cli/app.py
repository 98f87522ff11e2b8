"""The commands, in the order in which help lists them."""

from __future__ import annotations

from importlib import import_module

import typer

from shoal.cli import options as o
from shoal.cli.usage import Commands

__all__ = ["COMMANDS", "app"]

COMMANDS = (
    "anonymize",
    "apply",
    "plan",
    "hierarchy",
    "check",
    "risk",
    "attack",
    "verify",
    "report",
    "workbench",
    "tabulate",
    "utility",
    "compare",
    "methods",
)

app = typer.Typer(
    name="shoal",
    cls=Commands,
    help="Make tables of people safe to publish, and prove how close to the best possible that came.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a pretty traceback shows locals, and locals hold cells
    rich_markup_mode="rich",
)


@app.callback()
def _start(_: o.Version = False) -> None:
    """Make tables of people safe to publish, and prove how close to the best possible that came."""


for _name in COMMANDS:
    _file = import_module(f"shoal.cli.commands.{_name}")
    app.command(epilog=f"Example: {_file.EXAMPLE}")(getattr(_file, _name))
