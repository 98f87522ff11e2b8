"""The words of the command line, each defined once; they are the names of a plan's fields."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ROLES, TABLE, METHOD, RESULT = "Roles", "Table", "Method", "Result"


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(version("shoal"))
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
]

File = Annotated[Path, typer.Argument(help="The table: CSV, Parquet, Arrow or Excel.", show_default=False)]
K = Annotated[int | None, typer.Option("-k", help="Every class holds at least k rows.", show_default=False)]
Ks = Annotated[
    str | None, typer.Option("-k", help="Several k, comma-separated: 2,5,10.", show_default=False)
]
Quasi = Annotated[
    list[str] | None,
    typer.Option(
        "-q",
        "--quasi",
        metavar="COLUMNS",
        help="Quasi-identifiers: what others may know. Comma-separated, repeatable.",
        rich_help_panel=ROLES,
    ),
]
Sensitive = Annotated[
    list[str] | None,
    typer.Option(
        "-s",
        "--sensitive",
        metavar="COLUMNS",
        help="Sensitive columns: published as they are, measured by the check.",
        rich_help_panel=ROLES,
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Columns published as they are.", rich_help_panel=ROLES),
]
Identifier = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Identifiers: always dropped.", rich_help_panel=ROLES),
]
Count = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="A row stands for that many records.", rich_help_panel=ROLES),
]
Unit = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Who a row belongs to: k counts its distinct values, not rows. Never published.",
        rich_help_panel=ROLES,
    ),
]
Rule = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RULE",
        help='On a sensitive column: "x: 3-diverse", "x: entropy 3-diverse", "x: (2, 3)-diverse", '
        '"x: 0.2-close", "x: at most 50%". Repeatable.',
        rich_help_panel=ROLES,
    ),
]
Sampling = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="The share of the population that the table holds."),
]
Threshold = Annotated[
    float, typer.Option(metavar="CHANCE", help="A record found with more than this chance is at high risk.")
]
Known = Annotated[
    Path,
    typer.Option(metavar="FILE", help="The register an outsider might hold.", show_default=False),
]
Match = Annotated[
    list[str],
    typer.Option(
        metavar="COLUMN=COLUMN",
        help="Column of the release = column of the register, comma-separated; a place: home=lat+lon.",
        show_default=False,
    ),
]
Few = Annotated[
    int,
    typer.Option("-k", help="Persons with fewer candidates than this are counted."),
]
Certain = Annotated[
    list[str] | None,
    typer.Option(
        "-s",
        "--sensitive",
        metavar="COLUMNS",
        help="Columns of the release: for how many persons is the value certain?",
    ),
]
Nearest = Annotated[
    bool,
    typer.Option("--nearest", help="Persons whom no record covers get the nearest ones: for means."),
]
KnownKind = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=KIND",
        help="How the register writes dates, by column of the release: birth=date(%d.%m.%Y). Repeatable.",
    ),
]
Kind = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=KIND",
        help="number, date, date(%d.%m.%Y), label, tree, place(lat, lon) or region. Repeatable; guessed "
        "where not given.",
        rich_help_panel=TABLE,
    ),
]
Hierarchies = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FOLDER|COLUMN=FILE",
        help="A folder of hierarchies named after their columns, or one file. Repeatable.",
        rich_help_panel=TABLE,
    ),
]
Hierarchy = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=BUILDER",
        help="zip=prefixes(5,3,0), age=bins(5,10), birth=calendar(month,year) or sex=flat(). Repeatable.",
        rich_help_panel=TABLE,
    ),
]
Graph = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=EDGES[,NODES]",
        help="A region column's borders: a file of pairs, and one of regions with lat, lon. Repeatable.",
        rich_help_panel=TABLE,
    ),
]
Map = Annotated[
    Path | None,
    typer.Option(
        "--map",
        metavar="FILE",
        help="Draw the release to an .html page or a .png picture: rectangles or regions.",
        rich_help_panel=TABLE,
    ),
]
Weight = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=NUMBER", help="How much a column's loss counts. Repeatable.", rich_help_panel=TABLE
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MARK",
        help="A cell that means missing, such as '?'. Repeatable; empty cells always do.",
        rich_help_panel=TABLE,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="SIGN", help="Between the cells of a CSV; 'tab' works. Guessed.", rich_help_panel=TABLE
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Of a CSV: utf-8, latin-1, ... Guessed.", rich_help_panel=TABLE),
]
Decimal = Annotated[
    str | None,
    typer.Option(metavar="SIGN", help="Decimal sign of a CSV: '.' or ','. Guessed.", rich_help_panel=TABLE),
]
Loss = Annotated[
    str | None,
    typer.Option(metavar="leaves|levels|sets", help="How loss is measured.", rich_help_panel=METHOD),
]
Method = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="See `shoal methods`; auto, the default, is crowd.", rich_help_panel=METHOD
    ),
]
Option = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="An option that only the chosen method knows. Repeatable.",
        rich_help_panel=METHOD,
    ),
]
Style = Annotated[
    str | None,
    typer.Option(
        metavar="generalize|suppress|centres|means", help="What a group publishes.", rich_help_panel=RESULT
    ),
]
Cells = Annotated[
    str | None,
    typer.Option(
        metavar="text|bounds|middle|id",
        help="Ranges as text, two typed columns or a typed middle; id: sets by name, with a lookup table.",
        rich_help_panel=RESULT,
    ),
]
Distance = Annotated[
    str | None,
    typer.Option(
        metavar="span|euclidean|great-circle", help="How methods measure distance.", rich_help_panel=METHOD
    ),
]
Withhold = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="The share of rows that may be left out.", rich_help_panel=METHOD),
]
Effort = Annotated[
    str | None,
    typer.Option(
        metavar="LEVEL",
        help="quick, normal, thorough, steps=N or seconds such as 60s.",
        rich_help_panel=METHOD,
    ),
]
Improve = Annotated[
    bool | None,
    typer.Option(
        "--improve/--no-improve",
        help="Improve the method's groups by local search.",
        show_default=False,
        rich_help_panel=METHOD,
    ),
]
StopAt = Annotated[
    float | None,
    typer.Option(
        metavar="RATIO", help="Stop once this close to the bound, such as 1.10.", rich_help_panel=METHOD
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(metavar="NUMBER", help="The same seed gives the same release.", rich_help_panel=METHOD),
]
Threads = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER", help="Threads to use; 0 is all. Never changes the result.", rich_help_panel=METHOD
    ),
]
PlanFile = Annotated[
    Path | None,
    typer.Option("--plan", metavar="FILE", help="A plan file; options given here override it."),
]
Output = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="The release: .csv, .tsv, .parquet or .arrow.",
        show_default=False,
    ),
]
Plot = Annotated[
    Path,
    typer.Option("-o", "--output", metavar="FILE", help="The plot: .png or .svg."),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES", help="Methods to compare, comma-separated, or all.", rich_help_panel=METHOD
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Facts as JSON instead of a page to read.")]
Certificate = Annotated[
    Path, typer.Argument(help="The certificate that goes with the release.", show_default=False)
]
Original = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The original table: also checks that its rows fit the release."),
]
Receipt = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="The private receipt: also checks that the original is the very one."
    ),
]
