"""Places: latitude and longitude, two lines measured together."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.encode.number import line_axis, rank, to_numbers
from shoal.errors import DataError
from shoal.model.column import Column
from shoal.model.kind import Kind
from shoal.model.plan import Plan

__all__ = ["encode_place", "place_text"]

MOST = (90.0, 180.0)


def encode_place(
    latitude: pl.Series, longitude: pl.Series, name: str, kind: Kind, plan: Plan
) -> tuple[Column, tuple[NDArray[np.int32], ...]]:
    """Code one place; it gives up the sum of both sides of a box over that of the whole table.

    A place that lacks one coordinate lacks both.
    """
    pair = _coordinates(latitude, longitude, name, kind)
    ranked = [rank(numbers) for numbers in pair]
    has_missing = pair[0].null_count() > 0
    extents = [float(values[-1] - values[0]) if values.size else 0.0 for values, _ in ranked]
    whole = sum(extents)
    # places that are all alike still tell missing from present
    shares = [extent / whole if whole > 0 else 0.5 for extent in extents]
    axes = tuple(
        line_axis(values, extent, has_missing=has_missing, share=share)
        for (values, _), extent, share in zip(ranked, extents, shares, strict=True)
    )
    column = Column(
        name=name,
        kind="place",
        weight=plan.weight(name),
        axes=axes,
        has_missing=has_missing,
        denominator=whole,
        numbers=tuple(values for values, _ in ranked),
        form="float",
        parts=kind.parts,
    )
    return column, tuple(codes for _, codes in ranked)


def place_text(latitude: pl.Series, longitude: pl.Series, name: str, kind: Kind) -> pl.Series:
    """Places as text, for the style that publishes a value or a star."""
    pair = _coordinates(latitude, longitude, name, kind)
    parts = [pl.Series(part.name, part).cast(pl.String) for part in pair]
    return (parts[0] + " x " + parts[1]).rename(name)


def _coordinates(
    latitude: pl.Series, longitude: pl.Series, name: str, kind: Kind
) -> tuple[pl.Series, pl.Series]:
    one, other = (to_numbers(series, Kind("number"))[0] for series in (latitude, longitude))
    lacking = one.is_null() | other.is_null()
    one, other = (numbers.set(lacking, None) for numbers in (one, other))
    one, other = (numbers.set(numbers == 0, 0.0) for numbers in (one, other))  # 0 and -0 are one value
    beyond = [
        int((n.abs() > most).fill_null(False).sum()) for n, most in zip((one, other), MOST, strict=True)
    ]
    if any(beyond):
        fits_swapped = not int((one.abs() > MOST[1]).fill_null(False).sum()) and not int(
            (other.abs() > MOST[0]).fill_null(False).sum()
        )
        first, second = kind.parts
        hint = (
            f"The two look swapped: write place({second}, {first})."
            if fits_swapped
            else "Give degrees, the latitude first, or clean those rows."
        )
        raise DataError(
            f"Place {name!r}: {beyond[0]} of {len(one)} latitudes in column {first!r} lie beyond 90 "
            f"degrees and {beyond[1]} longitudes in column {second!r} beyond 180. {hint}",
            field="kinds",
            column=name,
        )
    return one, other
