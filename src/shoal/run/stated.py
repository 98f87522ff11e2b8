"""What the private state of a register proves besides: whose line is whose, and what is kept of all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.check.behind import find_lines
from shoal.check.series import Line, judge_register
from shoal.check.states import belongs, judge_files, judge_step
from shoal.encode import encode
from shoal.errors import DataError, PlanError, ShoalError
from shoal.model.certificate import Certificate
from shoal.model.files import Files, register_beside
from shoal.model.missing import one_missing
from shoal.model.plan import Plan
from shoal.model.register import RegisterState
from shoal.model.verdict import GIVE, Finding
from shoal.read.state import read_lists
from shoal.run.listed import lists_of
from shoal.run.register import of_rows
from shoal.run.whose import by_person, check_plan, persons_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Stated", "person_findings", "state_findings"]


@dataclass(frozen=True, slots=True, eq=False)
class Stated:
    """The state of a release and that of the one before, with its lists; empty before the first.

    `former` is None where it was not given.
    """

    state: RegisterState
    lists: pl.DataFrame
    former: RegisterState | None
    former_lists: pl.DataFrame | None


def state_findings(
    table: pl.DataFrame,
    release: Any,
    certificate: Certificate,
    before: Sequence[tuple[Any, Certificate]],
    path: Any,
) -> tuple[list[Finding], Stated | None]:
    """Whether a state is that of a release, and follows that of the one before; both, where they fit.

    `before` are files of former releases with their certificates.
    """
    state = _state_of(path)
    if wrong := belongs(state, certificate):
        return [Finding("state", False, wrong)], None
    if not isinstance(release, str | os.PathLike):
        detail = "Not a file: the lists beside it were not compared. Give the file."
        return [Finding("state", None, detail)], None
    lists = read_lists(lists_of(release))
    if faults := [*judge_files(state, table, lists)]:
        return [Finding("state", False, " ".join(faults))], None
    findings = [Finding("state", True, "It is of this release, by SHA-256, with a person for every line.")]
    if state.number == 1:
        nobody = replace(RegisterState.empty(len(state.sides)), key=state.key, series=state.series)
        return findings, Stated(state, lists, nobody, None)
    assert certificate.series is not None, "a state belongs to a register"
    said = certificate.series.before
    place = next((Path(one) for one, its in before if its.digest == said), None)
    if place is None:
        detail = f"Whether it follows the state before is not known. {GIVE['before']}"
        return [*findings, Finding("former state", None, detail)], Stated(state, lists, None, None)
    finding, former = _former_state(place, state, lists)
    return [*findings, finding], Stated(state, lists, former, read_lists(lists_of(place)))


def _former_state(
    place: Path, state: RegisterState, lists: pl.DataFrame
) -> tuple[Finding, RegisterState | None]:
    """The state beside a former release, without those who were forgotten since."""
    claim = "former state"
    files = register_beside(Files.beside(place))
    assert files.state is not None, "a register has a state"
    if not files.state.is_file():
        detail = f"There is no {files.state.name!r} beside the release before. Put it there."
        return Finding(claim, None, detail), None
    former = _state_of(files.state)
    text = files.certificate.read_text("utf-8")
    if wrong := belongs(former, Certificate.of_json(text, release=former.release)):
        return Finding(claim, False, f"It does not belong to its own release. {wrong}"), None
    if faults := [*judge_step(former, state, lists)]:
        return Finding(claim, False, " ".join(faults)), None
    gone = former.person[state.find(former.person) < 0]
    former, many = former.without(gone)
    forgotten = f" {many:,} persons were forgotten since." if many else ""
    return Finding(claim, True, f"The state follows that of release {former.number}.{forgotten}"), former


def person_findings(
    table: pl.DataFrame, original: pl.DataFrame, plan: Plan, stated: Stated
) -> Iterator[Finding]:
    """All that the judge of a register asks for, with the persons of the original behind its lines."""
    state, former = stated.state, stated.former
    if former is None:
        detail = f"What was shown of persons before is not known. {GIVE['before']}"
        yield Finding("rows", None, detail)
        return
    try:
        check_plan(plan, state)
        rows, ids = by_person(original, plan)
        coded = encode(rows, of_rows(plan))
        entries = one_missing(rows, plan).select(*plan.sensitive, *plan.keep)
    except ShoalError as error:
        yield Finding("rows", False, f"The original does not fit the state. {error}")
        return
    persons = persons_of(ids, state.key)
    at_former, at_now = former.find(persons), state.find(persons)
    here = np.zeros(len(state.person), bool)
    here[at_now[at_now >= 0]] = True
    if (at_now < 0).any() or ((state.stay > 0) != here).any():
        detail = "The persons of the original are not those whom the state knows to be there."
        yield Finding("rows", False, detail)
        return
    source = find_lines(table, plan, coded, at_former, at_now, former, state)
    if lacking := int((source < 0).sum()):
        detail = f"Behind {lacking:,} lines nobody can stand whose values, school and state fit."
        yield Finding("rows", False, detail)
        return
    yield Finding("rows", True, "Everybody has a line of his own that fits his values, school and state.")
    line = Line(source, at_former, at_now, entries)
    faults = [*judge_register(table, stated.lists, stated.former_lists, plan, coded, line, former, state)]
    detail = (
        f"All cells ever shown of each of {len(ids):,} persons are shared by k who were there as long "
        "and did not move."
    )
    yield Finding("persons", not faults, " ".join(faults) or detail)


def _state_of(path: Any) -> RegisterState:
    if not isinstance(path, str | os.PathLike):
        raise PlanError("A state is given as its file.", field="state")
    try:
        content = Path(path).read_bytes()
    except OSError:
        raise DataError(
            f"The file {str(path)!r} cannot be read. Give the state that Shoal wrote.", field="state"
        ) from None
    return RegisterState.of_bytes(content, field="state")
