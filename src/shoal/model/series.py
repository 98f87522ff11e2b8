"""Releases over time: which release of a series this is, and what it follows."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LEDGER", "MODES", "REGISTER", "SAME", "SCHOOL", "SINCE", "InRegister", "InSeries"]

LEDGER, REGISTER = "ledger", "register"
MODES = (LEDGER, REGISTER)
"""How releases follow one another. Ledger: rows only arrive, and each release holds new ones alone.
Register: persons come, leave, return and change."""
SCHOOL, SINCE = "school", "since"
"""Columns that a register adds: who is listed together, and in which release that was."""

SAME = ("series", "k", "quasi", "sensitive", "keep", "rules", "unit", "count", "style", "cells")
"""The fields of a plan that all releases of a series share."""


@dataclass(frozen=True, slots=True)
class InRegister:
    """What a release of a register says of itself: counts, and the SHA-256 of its lists.

    `widened` classes are wider than their rows need, for what was shown of these before; of `finer`
    persons a finer cell is shown than before, `moved` ones have left the cells shown of them (whoever
    moved inside these is not counted), `returned` ones were not in the release before. `schools` hold
    `entries`, of which `entries_of_leavers` belong to persons without a line; `new` schools were listed
    now. `unlisted` lines have no school yet, `outdated` ones a value that their list lacks.
    """

    lists: str
    widened: int
    finer: int
    moved: int
    returned: int
    schools: int
    new: int
    entries: int
    entries_of_leavers: int
    unlisted: int
    outdated: int


@dataclass(frozen=True, slots=True)
class InSeries:
    """Which release of a series this is; the first follows none.

    `before` is the digest of all that the certificate of the former release says: a chain that nobody can
    change in the middle. `register` has what a register says besides.
    """

    mode: str
    number: int
    before: str | None = None
    register: InRegister | None = None

    def in_words(self) -> str:
        """One sentence, for people."""
        follows = "" if self.before is None else f" It follows release {self.number - 1}."
        said = f"Release {self.number} of a {self.mode}.{follows}"
        its = self.register
        if its is None:
            return said
        return (
            f"{said} {its.schools:,} lists ({its.new:,} new) hold {its.entries:,} entries; "
            f"{its.outdated:,} lines have a newer value than their list, {its.unlisted:,} none yet."
        )
