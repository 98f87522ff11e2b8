"""Whether a column of pseudonyms tells nothing but whose row is whose, to those with the key.

Pseudonyms that are all different and of the form that a key gives link no two rows of a table, so classes
are counted as if they were not there (docs/proofs/pseudonyms.md). Any other column under that name would
cut the classes unseen.
"""

from __future__ import annotations

import polars as pl

from shoal.errors import DataError
from shoal.model.plan import Plan
from shoal.model.pseudonym import PSEUDONYM, Key, identifiers_of
from shoal.model.whom import Behind

__all__ = ["faults_of", "wrong_pseudonyms"]


def faults_of(column: pl.Series) -> tuple[str, ...]:
    """What speaks against a column of pseudonyms, by itself."""
    name = column.name
    if column.dtype != pl.String:
        return (f"Column {name!r} should hold pseudonyms, but its cells are no texts.",)
    odd = int((~column.str.contains(PSEUDONYM).fill_null(False)).sum())
    if odd:
        return (f"Column {name!r} should hold pseudonyms, but {odd} of {len(column)} cells are none.",)
    linked = len(column) - column.n_unique()
    if linked:
        return (
            f"Column {name!r} has pseudonyms that repeat in {linked} rows: they link the rows of a person, "
            "and k does not hold of what those tell together.",
        )
    return ()


def wrong_pseudonyms(
    table: pl.DataFrame, plan: Plan, named: Behind | None, key: Key | None
) -> tuple[str, ...]:
    """What speaks against the pseudonyms of a finished table; each is made anew of who stands behind it."""
    name = plan.pseudonym
    if name is None or name not in table.columns:
        return ()
    faults = faults_of(table[name])
    if faults:
        return faults
    if named is None or key is None:
        return (f"Nobody said whose the pseudonyms of column {name!r} are: they cannot be judged.",)
    try:
        made = key.pseudonyms(identifiers_of(named.who))
    except DataError as error:
        return (str(error),)
    lines = pl.Series(named.line)
    whole = lines.n_unique() == len(lines) == table.height
    strange = int(table[name].gather(lines).ne_missing(made).sum())
    if strange or not whole:
        return (
            f"Column {name!r} has {strange} of {table.height} pseudonyms that are not those of whom their "
            "rows belong to, or rows of which nobody said it.",
        )
    return ()
