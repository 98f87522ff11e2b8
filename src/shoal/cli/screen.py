"""What a person reads, and the same facts as JSON. Column names and counts, never a cell."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape as escape_markup
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from shoal.cli.terminal import shows_all

if TYPE_CHECKING:
    import shoal

__all__ = [
    "method_facts",
    "print_json",
    "release_facts",
    "show_comparison",
    "show_exposure",
    "show_findings",
    "show_linkage",
    "show_methods",
    "show_release",
    "show_report",
    "show_verdict",
]

BAR = 20
MOST_LINES = 20
GIVEN = {
    "original": "--original",
    "receipt": "--receipt",
    "hierarchies": "--hierarchies",
    "graphs": "--graph",
    "missing": "--missing",
}
"""The options of `shoal verify` that give what a finding needs."""


def escape(text: str) -> str:
    """A text as it stands, for Rich: neither markup nor signs that a terminal would obey."""
    shown = "".join(
        sign if sign.isprintable() or sign == "\n" else sign.encode("unicode_escape").decode()
        for sign in text
    )
    return escape_markup(shown)


def print_json(facts: Mapping[str, Any]) -> None:
    """Facts as JSON, which knows neither infinity nor our values."""
    escaped = not shows_all(sys.stdout)
    print(json.dumps(_plain(facts), indent=2, ensure_ascii=escaped, allow_nan=False))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def release_facts(release: shoal.Release, files: shoal.Files, said: Sequence[str]) -> dict[str, Any]:
    """What `shoal anonymize --json` says: of the figures those that everybody may see."""
    about = release.certificate
    verdict = dataclasses.replace(
        release.verdict,
        loss=about.loss,
        loss_percent=about.loss_percent,
        columns=about.columns,
        rules=about.rules,
        entropy=None,
    )
    return {
        "certificate": {
            item.name: getattr(about, item.name)
            for item in dataclasses.fields(about)
            if item.name != "unread"
        },
        "verdict": verdict,
        "files": files,
        "left_out": release.left_out,
        "guessed": release.guessed,
        "doubts": release.doubts,
        "repeats": release.repeats,
        "read": said,
    }


def show_release(release: shoal.Release, files: shoal.Files, said: Sequence[str]) -> None:
    """The summary after `shoal anonymize`."""
    console = Console(highlight=False)
    about = release.certificate
    withheld = f", {about.withheld:,} withheld" if about.withheld else ""
    console.print(
        f"[bold]{about.published:,}[/] of {about.records:,} rows published{withheld} in "
        f"[bold]{about.classes:,}[/] {_classes(about.classes)}; the smallest holds "
        f"[bold]{about.smallest_class:,}[/] (k = {about.k}). Method {escape(about.method)}, "
        f"seed {about.seed}."
    )
    console.print(f"[bold]{escape(about.in_words())}[/]")
    for ruling in about.rules:
        console.print(f"{escape(ruling.rule)}: holds{_measures(ruling)}.")
    if any(column.loss is not None for column in about.columns):
        console.print()
        _losses(console, about.columns)
    guessed = f"Guessed of the file: {', '.join(said)}." if said else ""
    notes = [*([guessed] if guessed else ()), *_notes(release), *_formulas(files)]
    if notes:
        console.print()
        _list(console, notes)
    console.print()
    for what, path, aside in (
        ("release", files.table, ""),
        *(("lookup", path, "  (what the ids stand for)") for path in files.lookups),
        *((("map", files.map, ""),) if files.map is not None else ()),
        ("certificate", files.certificate, ""),
        ("receipt", files.receipt, "  (private: keep it, do not publish it)"),
    ):
        console.print(f"{what:<12} {escape(str(path))}{aside}", soft_wrap=True)


def _measures(ruling: Any) -> str:
    """What the worst class measures, where anybody may know."""
    return "" if ruling.measured is None else f"; the worst class measures {ruling.measured:.4g}"


def _classes(count: int) -> str:
    return "class" if count == 1 else "classes"


def _table(*heads: str, figures: int) -> Table:
    """A table without lines: a column of names, then `figures` columns of numbers, then the rest."""
    table = Table(*heads, box=None, header_style="dim", pad_edge=False)
    for column in table.columns[1 : 1 + figures]:
        column.justify = "right"
    return table


def _losses(console: Console, columns: Iterable[Any]) -> None:
    table = _table("column", "loss", "", figures=1)
    for column in columns:
        if column.loss is None:
            table.add_row(escape(column.name), "unknown", "")
            continue
        full = round(BAR * min(1.0, column.loss))
        bar = Text("█" * full, style="cyan") + Text("░" * (BAR - full), style="dim")
        table.add_row(escape(column.name), f"{100 * column.loss:.3g} %", bar)
    console.print(Padding(table, (0, 2)))


def _notes(release: shoal.Release) -> Iterable[str]:
    for name, graph in release.plan.graphs.items():
        if graph.loops or graph.repeats:
            yield (
                f"The graph of {name} has {graph.loops:,} edges from a region to itself and "
                f"{graph.repeats:,} that stand twice; they were left out."
            )
    if release.guessed:
        kinds = ", ".join(f"{name} {kind}" for name, kind in release.guessed.items())
        yield f"Kinds were guessed: {kinds}. Declare them with --kind where that is wrong."
    yield from release.doubts
    if release.plan.identifier:
        yield f"Identifiers were dropped: {', '.join(release.plan.identifier)}."
    if release.plan.style == "centres" and release.plan.centre == "row":
        yield (
            "Centres are real rows: each line shows the exact quasi-identifiers of one of its records. "
            "Leave out --option centre=row to publish middles, which are nobody's."
        )
    if release.left_out:
        yield f"Left out, having no role: {', '.join(release.left_out)}."
    for one in release.repeats:
        how = f"{one.values:,} of its values stand in {one.rows:,} rows, one in up to {one.most:,}"
        missing = f" and {one.missing:,} are missing" if one.missing else ""
        if one.column in release.left_out:
            yield (
                f"Column {one.column} looks as if it told persons apart and repeats: {how}. k counts rows, "
                f"not persons; --unit {one.column} counts persons."
            )
            continue
        end = "k counts rows, as was asked for."
        if not release.plan.whom.means_rows:
            end = f"Every class still holds {release.plan.k:,} different ones."
        yield f"Identifier {one.column} repeats: {how}{missing}. {end}"
    for column in release.verdict.sensitive:
        if column.distinct == 1 and column.closeness_equal > 0:
            yield (
                f"In some class everybody has one value of {column.name}, so it is no secret there. "
                f'--rule "{column.name}: 2-diverse" prevents that.'
            )


def _formulas(files: shoal.Files) -> Iterable[str]:
    if files.formulas:
        counts = ", ".join(f"{name} {count:,}" for name, count in files.formulas.items())
        yield (
            f"Cells that begin like formulas (=, +, -, @), by column: {counts}. They stand as they were. "
            "Spreadsheets may run them: clean them first, or tell readers to import these columns as text."
        )


def _list(console: Console, lines: Iterable[str]) -> None:
    for line in lines:
        grid = Table.grid(padding=(0, 1))
        grid.add_row("•", escape(line))
        console.print(grid)


def show_verdict(verdict: shoal.Verdict) -> None:
    """What `shoal check` found."""
    console = Console(highlight=False)
    persons, counted = verdict.persons, "records" if verdict.persons is None else "persons"
    console.print(
        f"{verdict.records - verdict.withheld:,} records in {verdict.classes:,} "
        f"{_classes(verdict.classes)} of {verdict.smallest_class:,} to {verdict.largest_class:,}, "
        f"{verdict.mean_class:.2f} on average."
    )
    if persons is not None:
        console.print(f"{persons.total:,} persons, {persons.fewest:,} to {persons.most:,} in a class.")
    doubt = verdict.doubt
    if verdict.has_passed:
        asked = "" if verdict.k is None else f": k = {verdict.k} is met"
        least = verdict.smallest_class if persons is None else persons.fewest
        colour = "yellow" if doubt else "green"
        console.print(f"[bold {colour}]Every class holds at least {least:,} {counted}{asked}.[/]")
    else:
        console.print(f"[bold red]NOT ANONYMOUS.[/] {escape(' '.join(verdict.reasons))}")
    if doubt:
        console.print(f"[bold yellow]{escape(doubt)}[/]")
    for ruling in verdict.rules:
        word = "holds" if ruling.holds else f"fails in {ruling.failing:,} {_classes(ruling.failing)}"
        console.print(f"{escape(ruling.rule)}: {word}{_measures(ruling)}.")
    console.print()
    if verdict.loss_percent is not None:
        console.print(f"Loss {verdict.loss_percent:.2f} %.")
        _losses(console, verdict.columns)
        console.print()
    risk = verdict.risk
    table = _table("re-identification", "", figures=1)
    table.add_row(
        "highest risk, attacker knows the person is in the table", f"{risk.prosecutor_highest:.2%}"
    )
    table.add_row("the same on average", f"{risk.prosecutor_mean:.2%}")
    table.add_row("highest risk, attacker does not know it", f"{risk.journalist_highest:.2%}")
    table.add_row(f"share of all {counted} matched right", f"{risk.marketer:.2%}")
    table.add_row(f"{counted} alone in their class", f"{risk.uniques:,}")
    console.print(Padding(table, (0, 2)))
    if verdict.sensitive:
        console.print()
        _sensitive(console, verdict.sensitive)


def show_exposure(found: shoal.Exposure) -> None:
    """What `shoal risk` found: the verdict first."""
    console = Console(highlight=False)
    colour = {True: "red", False: "green", None: "yellow"}[found.is_high]
    console.print(f"[bold {colour}]{escape(found.in_words())}[/]")
    console.print()
    table = _table("risk", "", figures=1)
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
    for title, items in (
        ("columns that single out most", found.columns),
        ("pairs that single out most", found.pairs),
        ("left once a column is dropped", found.without),
    ):
        if items:
            console.print()
            its = _table(title, "alone", "at high risk", figures=2)
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


def _sensitive(console: Console, columns: Iterable[Any]) -> None:
    measures = ("distinct", "effective", "(c,2), c", "top share", "t equal", "t ordered")
    table = _table("sensitive, worst class", *measures, figures=len(measures))
    for column in columns:
        ordered = column.closeness_ordered
        table.add_row(
            escape(column.name),
            str(column.distinct),
            f"{column.entropy:.2f}",
            "none" if math.isinf(column.recursive) else f"{column.recursive:.2f}",
            f"{column.largest_share:.0%}",
            f"{column.closeness_equal:.3f}",
            "-" if ordered is None else f"{ordered:.3f}",
        )
    console.print(Padding(table, (0, 2)))


def show_findings(findings: Sequence[Any]) -> None:
    """What `shoal verify` found, claim by claim."""
    console = Console(highlight=False)
    marks = {True: "[green]✓[/]", False: "[bold red]✗[/]", None: "[yellow]?[/]"}
    table = Table.grid(padding=(0, 2))
    for finding in findings:
        table.add_row(marks[finding.holds], escape(finding.claim), escape(finding.detail))
    console.print(table)
    console.print()
    console.print(sum_up(findings))


def show_report(report: shoal.Report, path: Path) -> None:
    """What `shoal report` found, and where it stands."""
    console = Console(highlight=False)
    colour = "green" if report.holds else "red"
    console.print(f"[bold {colour}]{escape(report.in_words())}[/]")
    console.print()
    table = _table("question", "answer", figures=0)
    for question in report.questions:
        table.add_row(escape(question.asks), question.answer)
    console.print(Padding(table, (0, 2)))
    console.print()
    console.print(f"report       {escape(str(path))}", soft_wrap=True)


def sum_up(findings: Sequence[Any]) -> str:
    """How many claims hold, do not, and could not be checked, and what would help."""
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


def show_comparison(comparison: shoal.Comparison, plot: Path) -> None:
    """Loss, ratio and time, one line per method and k."""
    console = Console(highlight=False)
    table = _table("method", "k", "loss", "ratio", "classes", "seconds", "", figures=5)
    for column in table.columns[:-1]:
        column.no_wrap = True
    before = note = None
    for trial in comparison.trials:
        if trial.note and trial.seconds is None:  # it could not run: say so once for all k
            if (trial.method, trial.note) != (before, note):
                table.add_row(escape(trial.method), *"-----", escape(trial.note))
            before, note = trial.method, trial.note
            continue
        objective = f"objective {trial.objective}" if trial.objective != "loss" else ""
        table.add_row(
            escape(trial.method) if trial.method != before else "",
            str(trial.k),
            "-" if trial.loss_percent is None else f"{trial.loss_percent:.2f} %",
            "-" if trial.ratio is None else f"{trial.ratio:.3f}",
            "-" if trial.classes is None else f"{trial.classes:,}",
            "-" if trial.seconds is None else f"{trial.seconds:.3f}",
            escape(trial.note or objective),
        )
        before = trial.method
    console.print(table)
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
