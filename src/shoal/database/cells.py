"""What a query finds, as a table of plain types; columns of other types are refused by name."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import polars as pl

from shoal.errors import DataError

__all__ = ["fetch"]

_PLAIN = frozenset(
    {"bool", "int2", "int4", "int8", "float4", "float8", "text", "varchar", "bpchar", "name"}
    | {"date", "timestamp", "timestamptz", "time"}
)
"""PostgreSQL's types that are read as they are."""
_KNOWN = _PLAIN | {"numeric", "uuid"}
_TYPE, _LIMITS = b"POSTGRESQL:type", b"POSTGRESQL:typmod"
_DIGITS = 38


def fetch(connection: Any, query: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The table that a query finds, batch by batch, and what was done to its columns in words."""
    with connection.cursor() as cursor:
        cursor.execute(query)
        reader = cursor.fetch_record_batch()
        twice = [name for name, times in Counter(reader.schema.names).items() if times > 1]
        if twice:
            raise DataError(f"The query gives several columns the name {twice[0]!r}. Name them apart.")
        kinds = {item.name: _kind(item) for item in reader.schema}
        for item in reader.schema:
            _check(item, kinds[item.name])
        parts = [_as_stored(batch) for batch in reader]
    if not parts:
        raise DataError("What is read of the database has no rows. Nothing can be published.")
    frame = pl.concat(parts, rechunk=True)
    enums = _enums(connection, {kind for kind in kinds.values() if not kind.startswith("arrow ")} - _KNOWN)
    columns = [
        _plain(frame[name], kinds[name], _limits(reader.schema.field(name)), enums) for name in kinds
    ]
    said = tuple(
        f"moments of column {one.name} in UTC"
        for one in columns
        if isinstance(one.dtype, pl.Datetime) and one.dtype.time_zone is not None
    )
    return pl.DataFrame(columns), said


def _kind(item: Any) -> str:
    """The type of a column as the database calls it, or Arrow where it does not say."""
    known = (item.metadata or {}).get(_TYPE)
    return known.decode() if known is not None else f"arrow {item.type}"


def _check(item: Any, kind: str) -> None:
    """Refuse a type before any row is read, but for types of users, of which enums are read."""
    import pyarrow as pa

    stored = getattr(item.type, "storage_type", item.type)
    is_plain = any(
        test(stored)
        for test in (
            pa.types.is_boolean,
            pa.types.is_integer,
            pa.types.is_floating,
            pa.types.is_decimal,
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_string_view,
            pa.types.is_date,
            pa.types.is_timestamp,
            pa.types.is_time,
            pa.types.is_null,
        )
    )
    if kind.startswith("arrow "):
        is_read = is_plain and stored == item.type
    else:
        is_read = kind in _KNOWN or pa.types.is_binary(stored) or pa.types.is_string(stored)
    if not is_read:
        raise _refused(item.name, kind.removeprefix("arrow "))


def _limits(item: Any) -> int:
    return int((item.metadata or {}).get(_LIMITS, b"-1"))


def _as_stored(batch: Any) -> pl.DataFrame:
    """A batch without the clothes of extension types."""
    import pyarrow as pa

    arrays = [
        array.storage if isinstance(array, pa.ExtensionArray) else array
        for array in (batch.column(at) for at in range(batch.num_columns))
    ]
    columns = [
        pl.Series(name, pl.from_arrow(array))
        for name, array in zip(batch.schema.names, arrays, strict=True)
    ]
    for series, array in zip(columns, arrays, strict=True):
        # 24:00 is a time of day in PostgreSQL and none elsewhere: it would be taken for missing
        if series.dtype == pl.Time and series.null_count() > array.null_count:
            raise DataError(
                f"Column {series.name!r} has times of day at 24:00, which is none elsewhere. Make them "
                "00:00 by a query.",
                column=series.name,
            )
    return pl.DataFrame(columns)


def _enums(connection: Any, kinds: set[str]) -> set[str]:
    """Which of these types of PostgreSQL are enums; a type that came after its driver has but a number."""
    found = set()
    for kind in kinds:
        number = re.fullmatch(r"unnamed<oid:(\d+)>", kind)
        which = f"oid = {number[1]}" if number else "typname::text = $1"
        with connection.cursor() as cursor:
            asked = f"select typtype::text from pg_catalog.pg_type where {which}"
            cursor.execute(asked, None if number else (kind,))
            if {row[0] for row in cursor.fetchall()} == {"e"}:
                found.add(kind)
    return found


def _plain(series: pl.Series, kind: str, limits: int, enums: set[str]) -> pl.Series:
    if kind in _PLAIN or kind.startswith("arrow "):
        return series
    if kind in enums:
        return series.cast(pl.String)
    if kind == "numeric":
        return _decimal(series, limits)
    if kind == "uuid":
        text = series.bin.encode("hex")
        return pl.select(
            pl.concat_str(
                [
                    pl.lit(text).str.slice(at, many)
                    for at, many in ((0, 8), (8, 4), (12, 4), (16, 4), (20, 12))
                ],
                separator="-",
            ).alias(series.name)
        ).to_series()
    raise _refused(series.name, kind)


def _refused(name: str, kind: str) -> DataError:
    kind = "type of its own" if kind.startswith("unnamed") else kind
    return DataError(
        f"Column {name!r} is of the type {kind}, which is not read. Leave it out by a query that names the "
        "other columns, or turn it into text there.",
        column=name,
    )


def _decimal(series: pl.Series, limits: int) -> pl.Series:
    """Exact numbers from their texts; what no decimal holds is counted and refused."""
    text = series.cast(pl.String)
    odd = int((~text.str.contains(r"^-?\d+(\.\d+)?$")).sum())
    if odd:
        raise DataError(
            f"Column {series.name!r} has {odd} of {len(series)} cells that are infinite or not a number. "
            "Clean those rows first.",
            column=series.name,
        )
    digits = text.str.strip_prefix("-").str.split_exact(".", 1).struct.unnest()
    before, behind = (
        int(digits.to_series(at).str.len_chars().max() or 0)  # type: ignore[arg-type]
        for at in (0, 1)
    )
    stated = (limits - 4) & 0x7FF if limits >= 4 else 0
    scale = max(behind, stated if stated < 0x400 else 0)  # from there on it counts zeros before the point
    if before + scale > _DIGITS:
        raise DataError(
            f"Column {series.name!r} has numbers of more than {_DIGITS} digits. Round them by a query.",
            column=series.name,
        )
    return text.cast(pl.Decimal(_DIGITS, scale))
