"""Where a release stands in a series."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.errors import DataError, PlanError
from shoal.model.certificate import Certificate
from shoal.model.plan import Plan
from shoal.model.series import REGISTER, SAME, InSeries

__all__ = ["take_place"]


def take_place(plan: Plan, after: Any) -> tuple[Plan, InSeries | None]:
    """The plan of the next release, and its place in the series that the plan or `after` names."""
    if after is None:
        return plan, None if plan.series is None else InSeries(plan.series, 1)
    if plan.series == REGISTER or _is_state(after):
        return replace(plan, series=REGISTER), None  # its state says the rest
    former = _certificate_of(after)
    place = former.series
    if place is None:
        raise PlanError(
            "The release that this one is to follow stands by itself: its plan named no series. Make the "
            "first one anew, as the first of a series, or anonymize this table by itself.",
            field="after",
        )
    if plan.series is None:
        plan = replace(plan, series=place.mode)
    differ = [name for name in SAME if getattr(plan, name) != getattr(former.plan, name)]
    if differ:
        raise PlanError(
            f"The plan differs from that of release {place.number} in: {', '.join(differ)}. What a series "
            "promises holds for one plan. Use the former one, or begin a new series with other persons.",
            field=differ[0],
        )
    return plan, InSeries(place.mode, place.number + 1, former.digest)


def _is_state(after: Any) -> bool:
    return isinstance(after, str | os.PathLike) and Path(after).suffix == ".state"


def _certificate_of(after: Any) -> Certificate:
    if isinstance(after, Certificate):
        return after
    if not isinstance(after, str | os.PathLike):
        raise PlanError("A release follows a certificate: give its file or its value.", field="after")
    try:
        text = Path(after).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise DataError(
            f"The file {str(after)!r} cannot be read. Give the certificate of the former release.",
            field="after",
        ) from None
    return Certificate.of_json(text)
