"""The judgement of any table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shoal import engines
from shoal.errors import DataError, PlanError
from shoal.model.plan import words_of
from shoal.model.verdict import Verdict
from shoal.read.frames import to_polars
from shoal.run.plans import plan_of

__all__ = ["check_table"]


def check_table(
    frame: Any,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    k: int | None = None,
    count: str | None = None,
    rules: Sequence[str] = (),
    unit: str | None = None,
    original: Any = None,
    **words: Any,
) -> Verdict:
    """Judge any table, ours or not, by its quasi-identifiers and sensitive columns, with any rules.

    `unit` is a column of this table that says who a row belongs to, so that k counts persons. With the
    `original` it was made from, and the plan's words that say how (kinds, hierarchies, weights, loss,
    cells, ...), the loss is measured too; rows that the table lacks count as withheld.
    """
    at = engines.load("local")
    _, table = to_polars(frame)
    quasi, sensitive = words_of("quasi", quasi), words_of("sensitive", sensitive)
    rules = words_of("rules", rules)
    trees = words.pop("hierarchies", {}) if original is None else words.get("hierarchies", {})
    verdict: Verdict = at.judge_any(
        table,
        quasi=quasi,
        sensitive=sensitive,
        k=k,
        count=count,
        rules=rules,
        unit=unit,
        hierarchies=trees,
    )
    if original is None:
        if words:
            raise PlanError(f"The check without an original takes no {', '.join(sorted(words))}.")
        return verdict
    _, before = to_polars(original)
    sensitive = tuple(one.name for one in verdict.sensitive)  # those of rules among them
    asked = {"k": k or 2, "quasi": quasi, "sensitive": sensitive, "count": count, "rules": rules}
    plan = plan_of(None, {**words, **asked})
    coded = at.encode(before, plan)
    withheld = coded.total - verdict.records
    if withheld < 0:
        raise DataError(
            f"The table has {verdict.records} records, the original {coded.total}. Give the right original."
        )
    keep = [name for name in table.columns if name not in {*plan.keep, unit}]
    measured: Verdict = at.check(
        table.select(keep),
        plan,
        coded.columns,
        withheld=withheld,
        judge_k=k is not None,
        trees=coded.held.trees if coded.held is not None else {},
    )
    # the unit is a column of the table alone, so it was judged there
    persons = verdict.reasons[-1:] if unit is not None and not verdict.rules[-1].holds else ()
    return replace(measured, rules=verdict.rules, reasons=measured.reasons + persons)
