"""Whose rows these are, and whether the plan is that of the releases before."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.encode import missing_to_null
from shoal.encode.tree import to_text
from shoal.errors import DataError, PlanError
from shoal.model.hierarchy import Builder
from shoal.model.plan import Plan
from shoal.model.register import RegisterState
from shoal.model.series import SAME
from shoal.model.standing import DIGEST, digest_of

__all__ = [
    "by_person",
    "check_known",
    "check_measured",
    "check_plan",
    "marks_of",
    "named",
    "persons_of",
    "undeclared",
]


def persons_of(ids: pl.Series, key: bytes) -> NDArray[np.uint8]:
    """The keyed digest of each person."""
    texts = ids.cast(pl.String).str.strip_chars().to_list()
    digests = b"".join(digest_of(key, "", text) for text in texts)
    return np.frombuffer(digests, np.uint8).reshape(-1, DIGEST)


def named(persons: Iterable[Any]) -> pl.Series:
    """Persons as a table names them: texts, whole numbers without `.0`."""
    texts = [to_text(pl.Series([one])).str.strip_chars()[0] for one in persons if one is not None]
    return pl.Series([text for text in texts if text], dtype=pl.String)


def by_person(frame: pl.DataFrame, plan: Plan) -> tuple[pl.DataFrame, pl.Series]:
    """The table in an order that tells nothing and only its persons' names decide; and these names."""
    unit = plan.whom.unit
    assert unit is not None, "a register has a unit"
    if unit not in frame.columns:
        return frame, pl.Series(unit, [""] * frame.height)  # the survey says what is wrong
    ids = to_text(missing_to_null(frame[unit], plan)).str.strip_chars()
    if ids.null_count():
        raise DataError(
            f"Column {unit!r} does not say who {ids.null_count():,} rows belong to. A register follows "
            "persons: name everybody, or leave those rows out.",
            field="unit",
            column=unit,
        )
    if len(ids) > ids.n_unique():
        persons = int((ids.value_counts()["count"] > 1).sum())
        raise DataError(
            f"Column {unit!r} names {persons:,} persons twice. A register has one row per person and "
            "release: keep the latest, or sum them up.",
            field="unit",
            column=unit,
        )
    order = np.argsort(np.array([hashlib.sha256(text.encode()).digest() for text in ids.to_list()], "S32"))
    place = pl.Series(order)
    return frame[place], ids[place]


def check_known(at_former: NDArray[np.int64], plan: Plan, state: RegisterState) -> None:
    """Refuse a table without anybody of a release before: likely they are named otherwise now."""
    if state.number and not (at_former >= 0).any():
        raise DataError(
            "Nobody in the table was in a release before. Persons who are named otherwise than before "
            "would be listed again as if they were new: name them as then. If all are others, begin a new "
            "series.",
            field="unit",
            column=plan.whom.unit,
        )


def undeclared(plan: Plan, state: RegisterState) -> dict[str, str]:
    """The kinds of the releases before, for columns of which the plan says nothing."""
    kinds = {name: "date" if kind == "datetime" else kind for name, kind in state.kinds.items()}
    return {name: kind for name, kind in kinds.items() if plan.kind(name) is None}


def check_measured(kinds: Mapping[str, str], state: RegisterState) -> None:
    """Refuse columns that are measured otherwise than before: nothing shown of them could be compared."""
    for name, kind in kinds.items():
        was = state.kinds.get(name, kind)
        if was != kind:
            said = {"date": "dates", "datetime": "moments with a time of day"}
            raise DataError(
                f"Column {name!r} held {said.get(was, was)} in release {state.number} and holds "
                f"{said.get(kind, kind)} now. What was shown of persons could not be compared: give it "
                "as before.",
                field="kinds",
                column=name,
            )


def marks_of(plan: Plan, key: bytes) -> dict[str, str]:
    """Keyed digests of what all releases of a register share."""
    trees = {
        name: tree.text if isinstance(tree, Builder) else tree.fingerprint
        for name, tree in plan.hierarchies.items()
    }
    said = {name: getattr(plan, name) for name in SAME}
    said |= {"hierarchies": sorted(trees.items()), "missing": plan.missing_text}
    return {name: digest_of(key, name, repr(value)).hex() for name, value in said.items()}


def check_plan(plan: Plan, state: RegisterState) -> None:
    """Refuse a plan that asks for something else than the releases before."""
    marks = marks_of(plan, state.key)
    differ = [name for name, mark in marks.items() if state.marks.get(name) != mark]
    if differ:
        raise PlanError(
            f"The plan differs from that of release {state.number} in: {', '.join(differ)}. What a series "
            "promises holds for one plan. Use the former one, or begin a new series with other persons.",
            field=differ[0],
        )
