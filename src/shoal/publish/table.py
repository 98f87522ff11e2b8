"""A release on disk: all its files or none, in an order that survives a kill at any moment.

A release is a receipt, a certificate, perhaps lookup tables, perhaps a map, and the table. All of them are
written whole under temporary names first. Then, by one writer at a time, they get their names:

1. a map that is there is put aside, and so are lookup tables that a killed run left, and a release of a
   register that is made again, whose lists and state go with it;
2. the receipt, then the certificate. Where they replace those of an older release, they carry the older
   ones along (`replaces`), so both the old and the new table have their certificate;
3. the lookup tables. Their names hold their fingerprints: those of the older release stay beside them;
   Then what lies beside a register: its lists, its state, and the former state, which is now followed;
4. the table: the release is now the new one;
5. the map; then the older lookup tables go, and the certificate and the receipt are placed once more
   without the older ones.

An error or a signal before 4 puts everything back as it was; docs/publishing.md says what a kill leaves.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import DataError, PlanError, ShoalError
from shoal.model.certificate import Certificate
from shoal.model.files import Files, lookups_beside
from shoal.model.receipt import Receipt
from shoal.model.verdict import Verdict
from shoal.publish.alone import alone_in
from shoal.publish.atomic import PRIVATE, PUBLIC, Draft, Drafts, hash_of, is_same, sweep, sync_folder
from shoal.publish.change import Action, Step, change, place_new, put_aside, replace_file
from shoal.publish.formats import WRITERS, check_parts
from shoal.publish.large import LargeTable, check_large
from shoal.publish.target import Drawing, as_data_error, check_ending, check_folder, check_name
from shoal.publish.verdict import check_verdict

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Companion", "check_siblings", "check_target", "write_release"]


@dataclass(frozen=True, slots=True)
class Companion:
    """A file that appears with a release or not at all."""

    target: Path
    content: bytes
    is_private: bool = False


Companions = Callable[[str, str], Sequence[Companion]]
"""Files beside a release, given the SHA-256 of its table and of all that its certificate says."""


def check_target(
    path: str | os.PathLike[str],
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    delimiter: str = ",",
    in_parts: bool = False,
    for_excel: str | None = None,
) -> Files:
    """Whether a release can be written to `path`, before any work is done for it; or part by part."""
    table = check_ending(path, "output", WRITERS)
    if in_parts:
        check_large(table.suffix.lower())
    check_parts(table.suffix.lower())
    files = Files.beside(table)
    if for_excel is not None:
        from shoal.publish.spreadsheet import check_for_excel

        check_for_excel(table, for_excel)
        if in_parts:
            raise PlanError(
                "A table that is worked on in parts is not written for Excel.", field="for_excel"
            )
    if len(delimiter.encode()) != 1 or delimiter in '"\r\n':
        raise PlanError(
            "The delimiter is not one plain character. Give one such as ',' or ';'.", field="delimiter"
        )
    sources = list(inputs)
    for target in (table, files.certificate, files.receipt):
        check_name(target, "output", inputs=sources)
    check_folder(table, "output")
    with as_data_error(table, "output"):
        check_siblings(files)
    return files


def write_release(
    table: pl.DataFrame | LargeTable,
    verdict: Verdict,
    certificate: Certificate,
    receipt: Receipt,
    path: str | os.PathLike[str],
    *,
    delimiter: str = ",",
    inputs: Iterable[str | os.PathLike[str]] = (),
    lookups: Mapping[str, pl.DataFrame] | None = None,
    drawings: Sequence[Drawing] = (),
    companions: Companions | None = None,
    folders: Sequence[Path] = (),
    for_excel: str | None = None,
) -> Files:
    """Publish a table that has passed; there is no way around the verdict.

    `lookups` are those that the certificate names; `drawings` appear with the release or not at all, and so
    do `companions`, which may hold the digests of the table and the certificate, and are asked for when
    nobody else writes to the table's folder or to `folders`.
    """
    check_verdict(verdict, certificate)
    sources = list(inputs)
    files = check_target(
        path,
        inputs=sources,
        delimiter=delimiter,
        in_parts=isinstance(table, LargeTable),
        for_excel=for_excel,
    )
    beside = lookups_beside(files.table, certificate)
    files = replace(
        files,
        lookups=tuple(beside[name] for name in lookups or {}),
        map=next((drawing.target for drawing in drawings if drawing.what == "map"), None),
    )
    for target in files.lookups:
        check_name(target, "lookup table", inputs=sources)
    with as_data_error(files.table, "output"), Drafts(files.table) as drafts:
        draft = _write_table(drafts, files.table, table, delimiter, certificate, for_excel)
        seconds = [_write_lookup(drafts, beside[name], lookup) for name, lookup in (lookups or {}).items()]
        drawn = [_draw(drafts, drawing, files.table) for drawing in drawings]
        files = replace(
            files, formulas=_formulas(files.table, table, lookups or {}), dates=_dates(files.table, table)
        )
        release = draft.fingerprint()
        sealed = certificate.sealed(release=release, original=receipt.original)
        with alone_in(*folders, *(one.target.parent for one in (draft, *drawn))):
            check_siblings(files)
            for folder in folders:
                sweep(files.table, folder)
            spare = frozenset(path for path in _lookups_named(files) if _is_any(path, sources))
            sealed_receipt = receipt.sealed(release=release, certificate=sealed.digest)
            others = [] if companions is None else companions(release, sealed.digest)
            _place_all(drafts, files, draft, seconds, drawn, others, sealed, sealed_receipt, spare)
    return files


def _write_table(
    drafts: Drafts,
    target: Path,
    table: pl.DataFrame | LargeTable,
    delimiter: str,
    certificate: Certificate,
    for_excel: str | None,
) -> Draft:
    """The table's draft, forced to the disk; whoever reads it back and compares does so here."""
    draft = drafts.new(target)
    if isinstance(table, LargeTable):
        table.write(draft.path, target.suffix.lower(), delimiter)
        draft.keep()
        return draft
    if for_excel is not None:
        from shoal.publish.spreadsheet import write_for_excel

        write_for_excel(table, draft.path, for_excel)
    else:
        WRITERS[target.suffix.lower()](table, draft.path, delimiter, certificate)
    draft.keep()
    return draft


def _write_lookup(drafts: Drafts, target: Path, lookup: pl.DataFrame) -> Draft:
    draft = drafts.new(target)
    draft.write(lookup.write_csv())
    return draft


def _draw(drafts: Drafts, drawing: Drawing, release: Path) -> Draft:
    with as_data_error(drawing.target, drawing.what):
        with alone_in(drawing.target.parent):
            sweep(release, drawing.target.parent)
        draft = drafts.new(drawing.target)
        drawing.draw(draft.path)
        draft.keep()
    return draft


def _formulas(
    path: Path, table: pl.DataFrame | LargeTable, lookups: Mapping[str, pl.DataFrame]
) -> dict[str, int]:
    """The cells by column that a spreadsheet would take for formulas, in files that it opens."""
    if isinstance(table, LargeTable):
        return table.formulas(path.suffix.lower())
    from shoal.publish.formulas import count_formulas  # a target is checked before Polars is there

    counts = count_formulas(table) if path.suffix.lower() in {".csv", ".tsv"} else {}
    for name, lookup in lookups.items():
        counts[name] = counts.get(name, 0) + sum(count_formulas(lookup).values())
    return {name: count for name, count in counts.items() if count}


def _dates(path: Path, table: pl.DataFrame | LargeTable) -> dict[str, int]:
    """The cells by column that a spreadsheet would turn into dates, in files that it opens."""
    if isinstance(table, LargeTable) or path.suffix.lower() not in {".csv", ".tsv"}:
        return {}
    from shoal.publish.formulas import count_dates

    return count_dates(table)


def _place_all(
    drafts: Drafts,
    files: Files,
    table: Draft,
    lookups: Sequence[Draft],
    drawn: Sequence[Draft],
    others: Sequence[Companion],
    certificate: Certificate,
    receipt: Receipt,
    spare: frozenset[Path],
) -> None:
    """Give all drafts their names; the caller is alone in their folders. `spare` is never removed."""
    old = _old_release(files)
    needed = {draft.target for draft in lookups}
    dead = _lookups_named(files) - old.lookups - needed
    changed = [draft for draft in lookups if _bytes(draft.target) != draft.path.read_bytes()]
    targets = (*sorted(dead - spare), *(draft.target for draft in (*changed, *drawn)))
    if others:  # one name cannot hold two lists or states: a release that is made again is absent, not torn
        targets = (files.table, *targets)
    asides = [put_aside(drafts, path) for path in targets if path.is_file()]
    before: list[Step] = [
        *(step for step, _ in asides),
        *(replace_file(drafts, draft) for draft in _papers(drafts, files, certificate, receipt, old)),
        *(place_new(draft) for draft in changed),
        *(replace_file(drafts, _laid(drafts, one)) for one in others),
    ]
    after: list[Action] = [
        *(draft.place for draft in drawn),
        *(_quietly(remove) for _, remove in asides),
        *(_quietly(path.unlink) for path in sorted(old.lookups - needed - spare)),
    ]
    if old.is_there:
        plain = _papers(drafts, files, certificate, receipt, _Old())
        after += [_quietly(draft.place) for draft in plain]
    folders = {draft.target.parent for draft in (table, *drawn)} | {one.target.parent for one in others}
    syncs: list[Action] = [partial(sync_folder, folder) for folder in sorted(folders)]
    try:
        change(before, table, [*syncs, *after, *syncs], folders=folders)
    except OSError as error:
        if not table.is_placed:
            raise
        reason = error.strerror or type(error).__name__
        raise DataError(
            f"The release {str(files.table)!r} is published, but the system could not finish: {reason}. "
            "Verify it, and write it once more."
        ) from None


def _laid(drafts: Drafts, one: Companion) -> Draft:
    draft = drafts.new(one.target, mode=PRIVATE if one.is_private else PUBLIC)
    draft.write(one.content)
    return draft


def _papers(
    drafts: Drafts, files: Files, certificate: Certificate, receipt: Receipt, old: _Old
) -> tuple[Draft, Draft]:
    """Drafts of the receipt and the certificate, with those of an older release inside."""
    kept = drafts.new(files.receipt, mode=PRIVATE)
    kept.write(receipt.to_json(replaces=old.receipt))
    shown = drafts.new(files.certificate)
    shown.write(certificate.to_json(replaces=old.certificate))
    return kept, shown


def _quietly(action: Callable[[], None]) -> Action:
    """The release is complete without it; what it leaves is swept by the next run."""

    def act() -> None:
        with contextlib.suppress(OSError):
            action()

    return act


@dataclass(frozen=True, slots=True)
class _Old:
    certificate: Certificate | None = None
    receipt: Receipt | None = None
    lookups: frozenset[Path] = frozenset()

    @property
    def is_there(self) -> bool:
        return self.certificate is not None or self.receipt is not None


def _old_release(files: Files) -> _Old:
    """What vouches for the table that is about to be replaced, as far as it does."""
    if not files.table.is_file():
        return _Old()
    release = hash_of(files.table)
    certificate, receipt = None, None
    with contextlib.suppress(OSError, UnicodeDecodeError, ShoalError):
        certificate = Certificate.of_json(files.certificate.read_text("utf-8"), release=release)
    with contextlib.suppress(OSError, UnicodeDecodeError, ShoalError):
        receipt = Receipt.of_json(files.receipt.read_text("utf-8"), release=release)
    if certificate is not None and certificate.release != release:
        certificate = None
    if receipt is not None and receipt.release != release:
        receipt = None
    lookups = () if certificate is None else lookups_beside(files.table, certificate).values()
    return _Old(certificate, receipt, frozenset(lookups))


def _lookups_named(files: Files) -> frozenset[Path]:
    """The lookup tables of every certificate that lies beside the table, also of a run that was killed."""
    found: list[Path] = []
    with contextlib.suppress(OSError, ValueError, AttributeError, ShoalError):
        text = files.certificate.read_text("utf-8")
        found += lookups_beside(files.table, Certificate.of_json(text)).values()
        older = json.loads(text).get("replaces")
        if older is not None:
            certificate = Certificate.of_json(text, release=older.get("release"))
            found += lookups_beside(files.table, certificate).values()
    return frozenset(found)


def _is_any(path: Path, others: Iterable[str | os.PathLike[str]]) -> bool:
    return any(is_same(path, Path(other)) for other in others)


def check_siblings(files: Files) -> None:
    """Refuse to take the certificate from a release that differs in its ending only."""
    content = _bytes(files.certificate)
    if content is None:
        return
    stem = files.table.stem
    for sibling in files.table.parent.iterdir():
        if sibling.stem != stem or sibling.suffix.lower() not in WRITERS or sibling == files.table:
            continue
        if not sibling.is_file() or is_same(sibling, files.table):
            continue
        release = hash_of(sibling)
        found = None
        with contextlib.suppress(UnicodeDecodeError, ShoalError):
            found = Certificate.of_json(content.decode(), release=release).release
        if found == release:
            raise PlanError(
                f"{files.certificate.name!r} is the certificate of {sibling.name!r}. "
                "Write the release under another name."
            )


def _bytes(path: Path) -> bytes | None:
    with contextlib.suppress(FileNotFoundError):
        return path.read_bytes()
    return None
