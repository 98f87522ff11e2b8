"""The words of the command line, each defined once; they are the names of a plan's fields."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import shoal

ROLES, TABLE, METHOD, RESULT = "Roles", "Table", "Method", "Result"


def _means(field: str, aside: str = "") -> str:
    """What a field of a plan means, and what is said of it here alone."""
    return f"{shoal.FIELDS[field].meaning} {aside}".rstrip()


def _choices(field: str, *, without: str = "") -> str:
    """The words that a field may be, as the name of its value."""
    return "|".join(word for word in shoal.FIELDS[field].choices if word != without)


def _share(text: str) -> float:
    """A share as typed."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter("it takes a share of the rows: 0.05 for 5 %.") from None


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(version("shoal"))
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
]

File = Annotated[
    str,
    typer.Argument(
        help="The table: CSV, Parquet, Arrow, Excel, Stata, SPSS or SAS, or a database: "
        "postgresql://user@host/db#table, sqlite:FILE#table.",
        show_default=False,
    ),
]
TableIn = Annotated[
    str | None,
    typer.Option("--table", metavar="NAME", help="The table of a database to read.", rich_help_panel=TABLE),
]
Query = Annotated[
    str | None,
    typer.Option(metavar="SQL", help="What to read of a database, by a query.", rich_help_panel=TABLE),
]
RecodingTo = Annotated[
    Path | None,
    typer.Option(
        "--recoding",
        metavar="FILE",
        help="Also write how the release was coarsened, for `shoal apply`: .json. It tells what the "
        "release tells, and which values each node stands for.",
        show_default=False,
        rich_help_panel=RESULT,
    ),
]
RecodingIn = Annotated[
    Path,
    typer.Option("--recoding", metavar="FILE", help="How a release was coarsened.", show_default=False),
]
AppliedTo = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="The table: .csv, .tsv, .parquet, .arrow, .xlsx, .dta or .sav.",
        show_default=False,
    ),
]
Unfit = Annotated[
    str,
    typer.Option(metavar="widen|withhold", help="What becomes of rows that no class of the release holds."),
]
Small = Annotated[
    str, typer.Option(metavar="join|withhold", help="What becomes of classes below k among the new rows.")
]
Replace = Annotated[
    bool,
    typer.Option(
        "--replace", help="Replace the table of a database, if there is one.", rich_help_panel=RESULT
    ),
]
ForExcel = Annotated[
    str | None,
    typer.Option(
        "--for-excel",
        metavar="comma|point",
        help="Write a .csv that Excel opens by a double click: its letters are known, and numbers have "
        "decimal commas with semicolons between cells, or decimal points with commas.",
        show_default=False,
        rich_help_panel=RESULT,
    ),
]
CertificateTo = Annotated[
    Path | None,
    typer.Option(
        "--certificate",
        metavar="FILE",
        help="Where the certificate of a table in a database goes, the receipt beside it.",
        show_default=False,
        rich_help_panel=RESULT,
    ),
]
K = Annotated[int | None, typer.Option("-k", help=_means("k"), show_default=False)]
Ks = Annotated[
    str | None, typer.Option("-k", help="Several k, comma-separated: 2,5,10.", show_default=False)
]
Quasi = Annotated[
    list[str] | None,
    typer.Option(
        "-q",
        "--quasi",
        metavar="COLUMNS",
        help=_means("quasi", "Comma-separated, repeatable."),
        rich_help_panel=ROLES,
    ),
]
Sensitive = Annotated[
    list[str] | None,
    typer.Option(
        "-s",
        "--sensitive",
        metavar="COLUMNS",
        help=_means("sensitive"),
        rich_help_panel=ROLES,
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help=_means("keep"), rich_help_panel=ROLES),
]
Identifier = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help=_means("identifier"), rich_help_panel=ROLES),
]
Pseudonym = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help=_means("pseudonym"), rich_help_panel=ROLES),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key",
        metavar="FILE",
        help="The key of pseudonyms, for you alone; where there is no such file, it is made.",
        show_default=False,
        rich_help_panel=RESULT,
    ),
]
KeyUsed = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="The key of pseudonyms: also recomputes them."),
]
Count = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN|persons(COLUMN)",
        help=_means("count"),
        rich_help_panel=ROLES,
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN|rows",
        help=_means("unit"),
        rich_help_panel=ROLES,
    ),
]
Rules = Annotated[
    list[str] | None,
    typer.Option(
        "--rules",
        "--rule",
        metavar="RULE",
        help=_means("rules", "Repeatable."),
        rich_help_panel=ROLES,
    ),
]
Sampling = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="The share of the population that the table holds."),
]
SamplingWeight = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="A column that says how many of the population each record speaks for."
    ),
]
Threshold = Annotated[
    float, typer.Option(metavar="CHANCE", help="A record found with more than this chance is at high risk.")
]
Known = Annotated[
    list[Path],
    typer.Option(
        metavar="FILE",
        help="The register an outsider might hold; of several releases, one for each, in their order.",
        show_default=False,
    ),
]
Match = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=COLUMN",
        help="Column of the release = column of the register, comma-separated; a place: home=lat+lon. "
        "With --plan, its quasi-identifiers where not given.",
        show_default=False,
    ),
]
Few = Annotated[
    int | None,
    typer.Option("-k", help="Persons with fewer candidates than this are counted: 5 where not given."),
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
        "--kinds",
        "--kind",
        metavar="COLUMN=KIND",
        help="How the register writes dates, by column of the release: birth=date(%d.%m.%Y). Repeatable.",
    ),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kinds",
        "--kind",
        metavar="COLUMN=KIND",
        help=_means("kinds", "Repeatable; guessed where not given."),
        rich_help_panel=TABLE,
    ),
]
Hierarchies = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchies",
        "--hierarchy",
        metavar="FOLDER|COLUMN=FILE|COLUMN=BUILDER",
        help="A folder of hierarchies named after their columns, or one column's: its file, or a builder "
        "such as zip=prefixes(5,3,0), age=bins(5,10), birth=calendar(month,year), illness=icd10(). "
        "Repeatable.",
        rich_help_panel=TABLE,
    ),
]
Graphs = Annotated[
    list[str] | None,
    typer.Option(
        "--graphs",
        "--graph",
        metavar="COLUMN=EDGES[,NODES]",
        help=_means("graphs", "Nodes have columns lat and lon. Repeatable."),
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
Weights = Annotated[
    list[str] | None,
    typer.Option(
        "--weights",
        "--weight",
        metavar="COLUMN=NUMBER",
        help=_means("weights", "Repeatable."),
        rich_help_panel=TABLE,
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MARK",
        help=_means("missing", "Repeatable; empty cells always do."),
        rich_help_panel=TABLE,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(metavar="SIGN", help=_means("delimiter"), rich_help_panel=TABLE),
]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help=_means("encoding"), rich_help_panel=TABLE),
]
Decimal = Annotated[
    str | None,
    typer.Option(metavar="SIGN", help=_means("decimal"), rich_help_panel=TABLE),
]
Sheet = Annotated[
    str | None,
    typer.Option(metavar="NAME", help=_means("sheet"), rich_help_panel=TABLE),
]
Loss = Annotated[
    str | None,
    typer.Option(metavar=_choices("loss"), help=_means("loss"), rich_help_panel=METHOD),
]
Method = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help=_means("method", "`shoal methods` lists all."), rich_help_panel=METHOD
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--options",
        "--option",
        metavar="NAME=VALUE",
        help=_means("options", "Repeatable."),
        rich_help_panel=METHOD,
    ),
]
Style = Annotated[
    str | None,
    typer.Option(metavar=_choices("style"), help=_means("style"), rich_help_panel=RESULT),
]
Cells = Annotated[
    str | None,
    typer.Option(
        metavar=_choices("cells"),
        help=_means("cells"),
        rich_help_panel=RESULT,
    ),
]
Distance = Annotated[
    str | None,
    typer.Option(
        metavar=_choices("distance", without="matrix"), help=_means("distance"), rich_help_panel=METHOD
    ),
]
Withhold = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help=_means("withhold"), rich_help_panel=METHOD, parser=_share),
]
Effort = Annotated[
    str | None,
    typer.Option(
        metavar="LEVEL",
        help=_means("effort"),
        rich_help_panel=METHOD,
    ),
]
Improve = Annotated[
    bool | None,
    typer.Option(
        "--improve/--no-improve",
        help=_means("improve"),
        show_default=False,
        rich_help_panel=METHOD,
    ),
]
StopAt = Annotated[
    float | None,
    typer.Option(metavar="RATIO", help=_means("stop_at", "Such as 1.10."), rich_help_panel=METHOD),
]
Seed = Annotated[
    int | None,
    typer.Option(metavar="NUMBER", help=_means("seed"), rich_help_panel=METHOD),
]
Threads = Annotated[
    int | None,
    typer.Option(metavar="NUMBER", help=_means("threads"), rich_help_panel=METHOD),
]
AskedBy = Annotated[
    Path | None,
    typer.Option(
        "--plan",
        metavar="FILE",
        help="A plan file, or the certificate of a release, that says what is not said here.",
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(
        metavar=_choices("engine"),
        help=_means("engine", "A folder, and a file too large for memory, is a stream."),
        rich_help_panel=METHOD,
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        metavar="MASTER",
        help="Where Spark runs, with the engine spark: local[4] for four cores, or the address of a "
        "cluster; all cores of this machine if not given.",
        rich_help_panel=METHOD,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help=_means("memory"), rich_help_panel=METHOD),
]
MemoryToVerify = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="A release that would need more, such as 2GB, is verified as a stream; two thirds of the "
        "machine's if not given.",
    ),
]
Scratch = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER", help=_means("scratch", "That of the output if not given."), rich_help_panel=METHOD
    ),
]
Part = Annotated[
    int | None,
    typer.Option(metavar="ROWS", help=_means("part"), rich_help_panel=METHOD),
]
PlanFile = Annotated[
    Path | None,
    typer.Option("--plan", metavar="FILE", help="A plan file; what is said here overrides it."),
]
PlanTo = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="A new file for the plan: .yaml."),
]
Output = Annotated[
    str,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="The release: .csv, .tsv, .parquet, .arrow, .xlsx, .dta or .sav, a table of a database: "
        "postgresql://user@host/db#table, or, with the engine spark, a new folder.",
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
Target = Annotated[
    str | None,
    typer.Option(
        "--for",
        "--target",
        metavar="COLUMN",
        help="A column to be learned from the release: a model is trained and tested.",
    ),
]
WeightsFor = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="COLUMN",
        help="Weights by what each quasi-identifier says about this column, where none are given.",
        rich_help_panel=TABLE,
    ),
]
Queries = Annotated[int, typer.Option(metavar="NUMBER", help="How many random count queries are asked.")]
TrueOriginal = Annotated[
    Path, typer.Option("--original", metavar="FILE", help="The original table.", show_default=False)
]
By = Annotated[
    list[str],
    typer.Option(metavar="COLUMNS", help="Columns to count by, comma-separated.", show_default=False),
]
Widths = Annotated[
    list[str] | None,
    typer.Option(
        "--widths",
        "--width",
        metavar="COLUMN=NUMBER",
        help="How wide the bins of a number column are; about ten of them where not given. Repeatable.",
    ),
]
CertificateOf = Annotated[
    Path | None,
    typer.Option("--certificate", metavar="FILE", help="The certificate, where it lies elsewhere."),
]
SkeletonTo = Annotated[
    Path,
    typer.Option("-o", "--output", metavar="FILE", help="The list of values: .csv.", show_default=False),
]
Levels = Annotated[
    int, typer.Option(metavar="NUMBER", help="Levels above the values that are to be filled in.", min=1)
]
MissingFrom = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A hierarchy: only values without a place in it are listed."),
]
Json = Annotated[bool, typer.Option("--json", help="Facts as JSON instead of a page to read.")]
Certificate = Annotated[
    Path, typer.Argument(help="The certificate that goes with the release.", show_default=False)
]
Original = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="The original table: also checks that its rows fit the release."),
]
Receipt = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="The private receipt: also checks that the original is the very one."
    ),
]
ContextFile = Annotated[
    Path | None,
    typer.Option(
        "--context",
        metavar="FILE",
        help="A YAML file with purpose, recipients, conditions, assessor, date, next_review, threshold, "
        "sampling.",
    ),
]
ReportTo = Annotated[
    Path,
    typer.Option("-o", "--output", metavar="FILE", help="The report: .html.", show_default=False),
]
Before = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="A release that this one follows in a series, its certificate beside it. Repeatable.",
    ),
]
State = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The private state of a register, with --before and --original: also who stands behind each "
        "line, and what all cells shown of him tell.",
    ),
]
Series = Annotated[
    str | None,
    typer.Option(metavar=_choices("series"), help=_means("series"), rich_help_panel=RESULT),
]
After = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="What this release follows: the .state of a register, or the certificate of a ledger.",
        rich_help_panel=RESULT,
    ),
]
Redo = Annotated[
    bool,
    typer.Option(
        "--redo",
        help="Make a release of a register again: the one that was made after this state reached nobody.",
        rich_help_panel=RESULT,
    ),
]
Forget = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Persons whom the state is to forget, one identifier per line. What was listed stays.",
        rich_help_panel=RESULT,
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit 3 also where a claim could not be checked.")]
