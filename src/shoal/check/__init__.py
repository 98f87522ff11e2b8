"""An independent judgement of a finished table. Imports nothing that helped make it."""

from __future__ import annotations

from shoal.check.any_table import judge_any
from shoal.check.attack import link
from shoal.check.chain import verify_chain
from shoal.check.claims import Claims, ranges_in
from shoal.check.exposure import expose
from shoal.check.in_order import judge_in_order
from shoal.check.judge import judge
from shoal.check.laid_over import Dated, lay_over
from shoal.check.measured import check_receipt
from shoal.check.original import verify_original
from shoal.check.passing import class_ends
from shoal.check.persons import persons_in_classes
from shoal.check.persons_in_order import count_in_classes, persons_by_class
from shoal.check.series import Line, judge_lists, judge_register, rule_lists
from shoal.check.verify import verify_release

__all__ = [
    "Claims",
    "Dated",
    "Line",
    "check_receipt",
    "class_ends",
    "count_in_classes",
    "expose",
    "judge",
    "judge_any",
    "judge_in_order",
    "judge_lists",
    "judge_register",
    "lay_over",
    "link",
    "persons_by_class",
    "persons_in_classes",
    "ranges_in",
    "rule_lists",
    "verify_chain",
    "verify_original",
    "verify_release",
]
