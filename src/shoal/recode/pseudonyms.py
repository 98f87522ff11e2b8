"""Identifiers become pseudonyms, where each person has one row."""

from __future__ import annotations

import polars as pl

from shoal.errors import BrokenPromise, DataError
from shoal.model.plan import Plan
from shoal.model.pseudonym import Key, identifiers_of

__all__ = ["LOTS", "pseudonyms_of"]

LOTS = "\0lots"
"""A column that is never published: by it copies of a row are dealt to groups."""


def pseudonyms_of(frame: pl.DataFrame, plan: Plan, key: Key | None) -> tuple[pl.Series, ...]:
    """The pseudonyms that a plan asks for, in the order of the rows, and lots; nothing where it asks none.

    Rows without an identifier, and rows of one person, are refused (docs/proofs/pseudonyms.md).
    """
    name = plan.pseudonym
    if name is None or name not in frame.columns:  # a column that is not there is said with the others
        return ()
    if key is None:
        raise BrokenPromise("Nobody makes pseudonyms without a key.")
    texts = identifiers_of(frame[name], plan.missing)
    missing = texts.null_count()
    if missing:
        raise DataError(
            f"Column {name!r} is to hold pseudonyms, but {missing} of {len(texts)} rows have no "
            "identifier: they would stand out. Leave those rows out, or the pseudonym.",
            field="pseudonym",
            column=name,
        )
    sizes = texts.value_counts(name="\0rows")["\0rows"].to_numpy()
    often = sizes[sizes > 1]
    if often.size:
        raise DataError(
            f"Column {name!r} is to hold pseudonyms, but {often.size} identifiers stand in {often.sum()} "
            f"rows, one in up to {often.max()}. Pseudonyms would link the rows of a person, and k does not "
            "hold of what linked rows tell together. Make one row of each person, or leave out the "
            "pseudonym.",
            field="pseudonym",
            column=name,
        )
    made = key.pseudonyms(texts)
    if made.n_unique() != len(made):
        raise BrokenPromise("Different identifiers have different pseudonyms.")
    return made, key.lots(texts).rename(LOTS)
