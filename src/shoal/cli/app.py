"""The commands, in the order in which help lists them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import typer

from shoal.cli import options as o
from shoal.cli.usage import Commands

__all__ = ["COMMANDS", "app_of"]

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

HELP = "Make tables of people safe to publish, and prove how close to the best possible that came."


def app_of(commands: Sequence[str] = COMMANDS) -> typer.Typer:
    """The command line with these commands alone: one that is typed need not wait for the others."""
    app = typer.Typer(
        name="shoal",
        cls=Commands,
        help=HELP,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,  # a pretty traceback shows locals, and locals hold cells
        rich_markup_mode="rich",
    )
    app.callback(help=HELP)(_start)
    for name in commands:
        file = import_module(f"shoal.cli.commands.{name}")
        app.command(epilog=f"Example: {file.EXAMPLE}")(getattr(file, name))
    return app


def _start(_: o.Version = False) -> None:
    """Before every command."""
