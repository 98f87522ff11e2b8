"""Holds a release against the table it was made from: no row lost, invented or changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.check import centres
from shoal.check.around import find_radii
from shoal.check.claims import MEASURED, Claims, published_columns
from shoal.check.kanonymity import Classes, classes_of, records_of
from shoal.check.loss import PublishedCells, by_axis, published_names, read_column
from shoal.check.matching import edges_of, nodes_of, shared_codes, unmatched
from shoal.check.ruler import PLACES, RANGES, Ruler, ruler_of
from shoal.errors import DataError
from shoal.model.certificate import Certificate
from shoal.model.coded import Coded
from shoal.model.missing import missing_to_null
from shoal.model.pseudonym import Key, identifiers_of
from shoal.model.verdict import GIVE, Finding

__all__ = ["verify_original"]


def verify_original(
    table: pl.DataFrame,
    certificate: Certificate,
    original: pl.DataFrame,
    coded: Coded,
    *,
    seen: Coded | None,
    missing: Sequence[str] = (),
    key: Key | None = None,
) -> list[Finding]:
    """Hold a release against the table it was made from: no row lost, invented or changed.

    `seen` is the coded table in the unit of what is published, None where that is not known. Missing is one
    value: an empty cell, a missing mark and not-a-number are the same in both tables. With the `key` of
    pseudonyms every row is held against the very one that it was made from.
    """
    claims = Claims.of(certificate)
    named, original, claims = _with_pseudonyms(table, original, claims, missing, key)
    original, table = _one_missing(original, table, claims, missing)
    rulers = {column.name: ruler_of(column, loss=claims.loss) for column in coded.columns}
    findings = [
        *named,
        Finding(
            "original records",
            coded.total == certificate.records,
            f"The certificate says {certificate.records}; the original has {coded.total}.",
        ),
    ]
    wanted = published_columns(claims, rulers)
    if any(name not in table.columns for name in wanted):
        return [*findings, Finding("rows", False, "The release lacks columns, so no row can be matched.")]
    if claims.style == "centres":
        rows = centres.publishes_rows(certificate)
        return [*findings, *_centre_findings(table, claims, original, coded, rulers, seen, rows=rows)]
    if claims.style not in MEASURED or None in rulers.values():
        detail = "Not recomputable: the published cells do not say which values they cover."
        return [*findings, Finding("rows", None, detail)]
    return [*findings, *_row_findings(table, claims, original, coded, rulers)]


def _with_pseudonyms(
    table: pl.DataFrame, original: pl.DataFrame, claims: Claims, missing: Sequence[str], key: Key | None
) -> tuple[list[Finding], pl.DataFrame, Claims]:
    """Whether pseudonyms are those of the original's persons, and both as columns that can be compared."""
    name, claim = claims.pseudonym, "pseudonyms of the original"
    if name is None or name not in table.columns:
        return [], original, claims
    if key is None:
        return [Finding(claim, None, f"Whose they are needs their key. {GIVE['key']}")], original, claims
    try:
        made = key.pseudonyms(identifiers_of(original[name], tuple(missing)))
    except DataError as error:
        return [Finding(claim, False, str(error))], original, claims
    strange = int((~table[name].cast(pl.String).is_in(made.drop_nulls().implode())).sum())
    detail = f"All {table.height} are made of identifiers of the original by the key given."
    if strange:
        detail = (
            f"{strange} of {table.height} are made of no identifier of the original by the key given: one "
            "of the two is not the one that was used."
        )
    beside = replace(claims, others=(*claims.others, name), pseudonym=None)
    return [Finding(claim, strange == 0, detail)], original.with_columns(made), beside


def _one_missing(
    original: pl.DataFrame, table: pl.DataFrame, claims: Claims, missing: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both tables with null for whatever means missing in sensitive and kept columns, and one zero."""
    marks = tuple(missing)
    for name in claims.others:
        if name in original.columns and name in table.columns:
            original = original.with_columns(missing_to_null(original[name], marks))
            if claims.style != "centres":  # whose cells are lists with counts
                table = table.with_columns(missing_to_null(table[name], marks))
    return original, table


def _centre_findings(
    table: pl.DataFrame,
    claims: Claims,
    original: pl.DataFrame,
    coded: Coded,
    rulers: Mapping[str, Ruler | None],
    seen: Coded | None,
    *,
    rows: bool,
) -> Iterator[Finding]:
    """Centres and radii fit the rows, and no value is more often in the groups than in the original."""
    classes = centres.lines_of(table)
    records = coded.records if coded.records is not None else records_of(original, None)
    named = [rulers[name] for name in claims.quasi]
    yield centres.find_centres(table, classes, coded, named, rows=rows)
    if seen is None:
        yield Finding(
            "radii", None, "The unit of radii is not known where cells are hidden: give the receipt."
        )
    else:
        yield find_radii(table, classes, seen, named)
    for name in claims.others:
        values, held, _ = centres.unfold(table[name], classes)
        before = centres.as_counted(original[name]).to_frame()
        yield from _kept_findings(before, values.to_frame(), replace(claims, others=(name,)), records, held)
    yield Finding("rows", None, "Not recomputable: a centre does not say which rows stand behind it.")


def _read(
    table: pl.DataFrame, claims: Claims, rulers: Mapping[str, Ruler | None]
) -> tuple[Classes, list[PublishedCells | None], list[str]]:
    """The classes, what their cells cover on each axis, and the columns whose cells do not say it."""
    quasi = [name for name in table.columns if name not in claims.beside]
    classes = classes_of(table, quasi, records_of(table, claims.count))
    lines = table[classes.row]
    cells: list[PublishedCells | None] = []
    unjudged = []
    for name in claims.quasi:
        ruler = rulers[name]
        blurred = ruler is not None and ruler.published in {RANGES, PLACES} and claims.cells == "middle"
        if ruler is None or blurred or claims.style not in MEASURED:
            cells += [None] * (len(ruler.sides) or 1) if ruler is not None else [None]
            unjudged.append(name)
        else:
            read = read_column(lines, published_names(ruler, claims.cells), ruler, classes.sizes)
            cells += by_axis(read)
    return classes, cells, unjudged


def _row_findings(
    table: pl.DataFrame,
    claims: Claims,
    original: pl.DataFrame,
    coded: Coded,
    rulers: Mapping[str, Ruler | None],
) -> Iterator[Finding]:
    classes, cells, unjudged = _read(table, claims, rulers)
    others = list(claims.others)
    before, after = shared_codes(original, table, others)
    records = coded.records if coded.records is not None else records_of(original, None)
    given = nodes_of(coded.row.astype(np.int64), before, records, coded.distinct)
    taken = nodes_of(classes.label, after, classes.records, classes.sizes.size)
    sizes = [axis.size for column in coded.columns for axis in column.axes]
    edges = edges_of(coded.codes, sizes, cells, classes, given, taken)
    lacking = unmatched(given, taken, edges)
    yield from _kept_findings(original, table, claims, records, classes)
    if lacking is None:
        yield Finding("rows", None, "Not recomputable: more than 2^31 records.")
        return
    aside = f" Middles were not compared: {', '.join(unjudged)}." if unjudged else ""
    yield Finding(
        "rows",
        lacking == 0,
        f"All {classes.total} published records fit rows of the original, none twice.{aside}"
        if lacking == 0
        else f"{lacking} of {classes.total} published records fit no row of the original that is left: "
        f"their cells do not cover it, or another value was changed.{aside}",
    )


def _kept_findings(
    original: pl.DataFrame,
    table: pl.DataFrame,
    claims: Claims,
    records: NDArray[np.int64],
    classes: Classes,
) -> Iterator[Finding]:
    """Per sensitive and kept column: no value more often than in the original."""
    for name in claims.others:
        before, after = shared_codes(original, table, [name])
        size = int(max(before.max(initial=0), after.max(initial=0))) + 1
        had = np.bincount(before, weights=records, minlength=size)
        has = np.bincount(after, weights=classes.records, minlength=size)
        surplus = int(np.maximum(has - had, 0.0).sum())
        detail = f"Column {name!r} holds no value more often than the original does."
        if surplus:
            detail = f"Column {name!r} holds values {surplus} times more often than the original does."
        yield Finding(f"values of {name}", surplus == 0, detail)
