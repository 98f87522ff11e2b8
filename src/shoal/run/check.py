"""The judgement of any table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

from shoal.check.any_table import judge_any
from shoal.errors import DataError, PlanError
from shoal.model.fields import explained
from shoal.model.plan import words_of
from shoal.model.verdict import Verdict
from shoal.model.whom import Whom
from shoal.model.words import Details, Names
from shoal.read.frames import to_polars
from shoal.read.guess import repeats_in
from shoal.run.plans import check_words, plan_of

__all__ = ["check_table"]


@explained(Details.__annotations__)
def check_table(
    frame: Any,
    *,
    quasi: Names,
    sensitive: Names = (),
    k: int | None = None,
    count: str | None = None,
    rules: Names = (),
    unit: str | None = None,
    original: Any = None,
    **words: Unpack[Details],
) -> Verdict:
    """Judge any table, ours or not, by its quasi-identifiers and sensitive columns, with any rules.

    With the original it was made from, the loss is measured too, by the fields of a plan that say how it
    was made; rows that the table lacks count as withheld.

    Args:
        frame: A pandas, Polars or Arrow frame.
        quasi: The columns that others may know of a person.
        sensitive: The columns whose values are measured class by class.
        k: How many records, or persons, each class should hold; None measures and asks for none.
        count: A column that says how many records a row stands for; `persons(n)` where these are persons.
        rules: What every class must show in a sensitive column, as in a plan.
        unit: A column of this table that says who a row belongs to, so that k and the risks count persons,
            or `rows`.
        original: The table that this one was made from.

    Returns:
        What was found; `Verdict.has_passed` says whether the table holds k and the rules.

    Raises:
        PlanError: What is asked for cannot be right.
        DataError: The table, or the original, does not fit what is asked.

    Example:
        >>> import polars as pl, shoal
        >>> table = pl.DataFrame({"age": ["20-29", "20-29", "30-39"], "flu": ["no", "yes", "no"]})
        >>> verdict = shoal.check_table(table, quasi=["age"], sensitive=["flu"], k=2)
        >>> verdict.smallest_class, verdict.has_passed
        (1, False)

    """
    whom = Whom.read(unit=unit, count=count)
    _, table = to_polars(frame)
    quasi, sensitive = words_of("quasi", quasi), words_of("sensitive", sensitive)
    rules = words_of("rules", rules)
    trees = words.pop("hierarchies", {}) if original is None else words.get("hierarchies", {})
    verdict = judge_any(
        table,
        quasi=quasi,
        sensitive=sensitive,
        k=k,
        count=count,
        rules=rules,
        unit=unit,
        hierarchies=trees,
    )
    verdict = replace(verdict, repeats=repeats_in(table, (*quasi, *sensitive), unit=unit, count=count))
    if original is None:
        if words:
            check_words(words)
            raise PlanError(f"The check without an original takes no {', '.join(sorted(words))}.")
        return verdict
    from shoal.check.judge import judge
    from shoal.encode import encode

    _, before = to_polars(original)
    sensitive = tuple(one.name for one in verdict.sensitive)  # those of rules among them
    asked = {"k": k or 2, "quasi": quasi, "sensitive": sensitive, "count": count, "rules": rules}
    plan = plan_of(None, {**words, **asked})
    coded = encode(before, plan)
    withheld = coded.total - verdict.records
    if withheld < 0:
        raise DataError(
            f"The table has {verdict.records} records, the original {coded.total}. Give the right original."
        )
    keep = [name for name in table.columns if name not in {*plan.keep, whom.unit}]
    measured = judge(
        table.select(keep),
        plan,
        coded.columns,
        withheld=withheld,
        judge_k=k is not None,
        trees=coded.held.trees if coded.held is not None else {},
    )
    # the unit is a column of the table alone, so it was judged there
    by_unit = whom.unit is not None and k is not None and not verdict.rules[-1].holds
    persons = verdict.reasons[-1:] if by_unit else ()
    return replace(
        measured,
        rules=verdict.rules,
        reasons=measured.reasons + persons,
        persons=verdict.persons,
        risk=verdict.risk,
        repeats=verdict.repeats,
    )
