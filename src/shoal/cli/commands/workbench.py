"""`shoal workbench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import shoal
from shoal.cli import options as o

__all__ = ["EXAMPLE", "workbench"]

EXAMPLE = "shoal workbench patients.csv"


def workbench(
    file: Annotated[
        Path | None,
        typer.Argument(help="The table to open; without one, choose it on the page.", show_default=False),
    ] = None,
    plan: o.PlanFile = None,
    port: Annotated[
        int, typer.Option(help="The port to listen at; 0 takes a free one.", min=0, max=65535)
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Open pages on this machine to choose, run, look and publish without programming.

    Prints a link that works once, in one browser. Nothing leaves this machine, nobody else can open the pages, and the copy of the table is removed when it ends: by Ctrl-C, or after half an hour without a click.
    """  # noqa: E501  (help keeps the line breaks of a docstring)
    if plan is not None and file is None:
        raise shoal.PlanError("A plan is given without its table. Name the table, too.", field="plan")
    try:
        from shoal.web.serve import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("shoal"):
            raise
        raise shoal.MissingExtra(error.name.partition(".")[0], extra="web") from None
    serve(file, plan=plan, port=port, browser=browser, say=lambda words: print(words, flush=True))
