"""What stands on the screen after a release."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from shoal.cli.screen.page import classes, escape, measures, show_list, show_losses

if TYPE_CHECKING:
    import shoal

__all__ = ["release_facts", "show_release"]


def release_facts(
    release: shoal.Release, files: shoal.Files | shoal.Stored, said: Sequence[str]
) -> dict[str, Any]:
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


def show_release(
    release: shoal.Release,
    files: shoal.Files | shoal.Stored,
    said: Sequence[str],
    *,
    key: Path | None = None,
) -> None:
    """The summary after `shoal anonymize`."""
    console = Console(highlight=False)
    about = release.certificate
    withheld = f" Withheld: {about.withheld:,}." if about.withheld else ""
    console.print(
        f"[bold]{about.published:,}[/] of {about.records:,} rows published in "
        f"[bold]{about.classes:,}[/] {classes(about.classes)}; the smallest holds "
        f"[bold]{about.smallest_class:,}[/] (k = {about.k}).{withheld} Method {escape(about.method)}, "
        f"seed {about.seed}."
    )
    console.print(f"[bold]{escape(about.in_words())}[/]")
    if about.told_apart_percent is not None:
        console.print(escape(about.apart_in_words()))
    if about.series is not None:
        console.print(escape(about.series.in_words()))
    for ruling in about.rules:
        console.print(f"{escape(ruling.rule)}: holds{measures(ruling)}.")
    if any(column.loss is not None for column in about.columns):
        console.print()
        show_losses(console, about.columns)
    guessed = f"Guessed of the file: {', '.join(said)}." if said else ""
    notes = [*([guessed] if guessed else ()), *release.notes, *_formulas(files), *_dates(files)]
    if notes:
        console.print()
        show_list(console, notes)
    console.print()
    for what, path, aside in (
        ("release", getattr(files, "address", None) or files.table, ""),
        *(("lookup", path, "  (what the ids stand for)") for path in files.lookups),
        *_if_there("map", files.map, ""),
        *_if_there("lists", getattr(files, "lists", None), "  (what persons have, school by school)"),
        ("certificate", files.certificate, ""),
        ("receipt", files.receipt, "  (private: keep it, do not publish it)"),
        *_if_there("key", key, "  (private: whoever has it can tell whose the pseudonyms are)"),
        *_if_there("state", getattr(files, "state", None), "  (private: the next release needs it)"),
    ):
        console.print(f"{what:<12} {escape(str(path))}{aside}", soft_wrap=True)


def _if_there(what: str, path: Path | None, aside: str) -> Iterable[tuple[str, Path, str]]:
    return () if path is None else ((what, path, aside),)


def _formulas(files: shoal.Files | shoal.Stored) -> Iterable[str]:
    if files.formulas:
        counts = ", ".join(f"{name} {count:,}" for name, count in files.formulas.items())
        yield (
            f"Cells that begin like formulas (=, +, -, @), by column: {counts}. They stand as they were. "
            "Spreadsheets may run them: clean them first, or tell readers to import these columns as text."
        )


def _dates(files: shoal.Files | shoal.Stored) -> Iterable[str]:
    if files.dates:
        counts = ", ".join(f"{name} {count:,}" for name, count in files.dates.items())
        yield (
            f"Texts that spreadsheets turn into dates (10-12, 3/4, SEPT2), by column: {counts}. They stand "
            "as they were: tell readers to import these columns as text, or write .xlsx."
        )
