"""What a plan may ask of the sensitive values inside each class, read from text.

All rules survive merging: two classes that obey a rule obey it as one. So a table can be made to obey
exactly where it obeys as one class.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shoal.errors import PlanError

__all__ = ["CLOSE", "DISTINCT", "ENTROPY", "RECURSIVE", "SHARE", "Rule"]

DISTINCT, ENTROPY, RECURSIVE, CLOSE, SHARE = "distinct", "entropy", "recursive", "close", "share"

_NUMBER = r"(\d+(?:\.\d+)?|\.\d+)"
_FORMS = {
    DISTINCT: re.compile(r"(?:distinct )?(\d{1,9})-diverse"),
    ENTROPY: re.compile(rf"entropy {_NUMBER}-diverse"),
    RECURSIVE: re.compile(rf"(?:recursive )?\( ?{_NUMBER} ?, ?(\d{{1,9}}) ?\)-diverse"),
    CLOSE: re.compile(rf"(?:(equal|ordered) )?{_NUMBER}-close( by hierarchy)?"),
    SHARE: re.compile(rf"at most {_NUMBER} ?%"),
}
_EXAMPLES = (
    '"diagnosis: 3-diverse", "diagnosis: entropy 3-diverse", "diagnosis: (2, 3)-diverse", '
    '"cost: 0.2-close", "cost: ordered 0.2-close", "diagnosis: 0.2-close by hierarchy" or '
    '"diagnosis: at most 50%"'
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule on one sensitive column.

    `limit` is l, c, t or alpha by `kind`; `tail` is the l of a recursive (c, l) rule, else 0; `distance`
    says how a closeness rule measures: equal, ordered or hierarchy, else it is empty.
    """

    column: str
    kind: str
    limit: float
    tail: int = 0
    distance: str = ""

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Read a rule as written in a plan.

        >>> Rule.parse("cost: ordered 0.2-close")
        Rule(column='cost', kind='close', limit=0.2, tail=0, distance='ordered')
        """
        column, colon, body = text.rpartition(":")
        column, body = column.strip(), " ".join(body.split())
        if not colon or not column:
            raise PlanError(
                f"The rule {text!r} names no column. Write a rule such as {_EXAMPLES}.", field="rules"
            )
        for kind, form in _FORMS.items():
            if match := form.fullmatch(body):
                return cls._of_match(column, kind, match, text)
        raise PlanError(
            f"The rule {text!r} cannot be read. Write a rule such as {_EXAMPLES}.", field="rules"
        )

    @classmethod
    def _of_match(cls, column: str, kind: str, match: re.Match[str], text: str) -> Rule:
        def need(holds: bool, what: str) -> None:
            if not holds:
                raise PlanError(f"The rule {text!r} asks for nothing: {what}.", field="rules")

        if kind == CLOSE:
            how, limit, tree = match[1], float(match[2]), match[3]
            if how and tree:
                raise PlanError(f"The rule {text!r} names two distances. Give one.", field="rules")
            need(limit < 1, "a distance is below 1")
            return cls(column, kind, limit, distance="hierarchy" if tree else how or "equal")
        limit = float(match[1])
        if kind == SHARE:
            need(0 < limit < 100, "a share is above 0 and below 100 percent")
            return cls(column, kind, limit / 100)
        if kind == RECURSIVE:
            need(limit > 0 and int(match[2]) >= 2, "c is above 0 and l at least 2")
            return cls(column, kind, limit, tail=int(match[2]))
        need(limit > 1, "l is above 1")
        return cls(column, kind, limit)

    @property
    def text(self) -> str:
        """The rule in its plainest writing."""
        return f"{self.column}: {self.body}"

    @property
    def body(self) -> str:
        """The rule without its column."""
        if self.kind == CLOSE:
            if self.distance == "hierarchy":
                return f"{self.limit:g}-close by hierarchy"
            return f"{'ordered ' if self.distance == 'ordered' else ''}{self.limit:g}-close"
        return {
            DISTINCT: f"{self.limit:g}-diverse",
            ENTROPY: f"entropy {self.limit:g}-diverse",
            RECURSIVE: f"({self.limit:g}, {self.tail})-diverse",
            SHARE: f"at most {100 * self.limit:g}%",
        }[self.kind]
