"""The files of a register: written together, and read again before the next release."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.check.states import belongs, judge_listed
from shoal.errors import DataError, PlanError
from shoal.model.files import Files, register_beside
from shoal.publish.table import Companion, check_target, write_release
from shoal.publish.target import check_name
from shoal.read.state import read_state, states_in
from shoal.run.register import Before, Register
from shoal.run.whose import persons_of

__all__ = ["before_of", "write_register"]


def before_of(after: Any, *, redo: bool) -> Before | None:
    """What the next release follows, from the file of a state; None for the first."""
    if after is None:
        if redo:
            raise PlanError("The first release follows no state. Leave out redo.", field="redo")
        return None
    if not isinstance(after, str | os.PathLike):
        raise PlanError("A release of a register follows a state: give its file.", field="after")
    state, lists, certificate = read_state(after, redo=redo)
    faults = belongs(state, certificate) or " ".join(judge_listed(state, certificate.published, lists))
    if faults:
        raise DataError(
            f"The state is not what Shoal wrote with its release. {faults} Put that one back.",
            field="after",
        )
    return Before(state, lists, certificate, Path(after), redo)


def write_register(
    release: Any,
    path: str | os.PathLike[str],
    *,
    delimiter: str = ",",
    inputs: Iterable[str | os.PathLike[str]] = (),
) -> Files:
    """Publish a release of a register with its lists and keep its state; that before is then followed."""
    register: Register = release._register
    sources = list(inputs)
    files = register_beside(check_target(path, inputs=sources, delimiter=delimiter))
    assert files.lists is not None, "a register has lists"
    assert files.state is not None, "a register has a state"
    _check_place(files, files.state, register, sources)
    lists = register.lists.write_csv().encode()

    def companions(table: str, certificate: str) -> list[Companion]:
        assert files.lists is not None, "a register has lists"
        assert files.state is not None, "a register has a state"
        _check_place(files, files.state, register, sources)  # others may have written meanwhile
        state = replace(register.state, release=table, certificate=certificate)
        files_beside = [
            Companion(files.lists, lists),
            Companion(files.state, state.to_bytes(), is_private=True),
        ]
        if register.after is not None:
            before, *_ = read_state(register.after, redo=register.redo)
            followed = replace(before, followed=True).to_bytes()
            files_beside.append(Companion(register.after, followed, is_private=True))
        return files_beside

    table, _ = release._published.sealed
    written = write_release(
        table,
        release.verdict,
        release.certificate,
        release.receipt,
        path,
        delimiter=delimiter,
        inputs=sources,
        companions=companions,
        folders=() if register.after is None else (register.after.parent,),
    )
    return replace(written, lists=files.lists, state=files.state)


def _check_place(
    files: Files, state: Path, register: Register, inputs: list[str | os.PathLike[str]]
) -> None:
    """Refuse to write over another release of a series, and a second series of the same persons."""
    for target in (files.lists, state):
        assert target is not None, "a register has both"
        check_name(target, "output", inputs=inputs)
    if state.exists() and not register.redo:
        again = "say redo" if register.after is not None else f"remove {state.name!r}"
        raise PlanError(
            f"{files.table.name!r} is a release of a register already, and its state lies beside it. Every "
            f"release of a series has a name of its own; {again} if that one was never finished, or "
            "reached nobody.",
            field="redo",
        )
    for path, other in states_in(state.parent):
        if other.series == register.state.series:
            if other.number > register.state.number and register.redo:
                raise PlanError(
                    f"Release {other.number} of this series is there: {path.name!r}. Only the latest one "
                    "is made again; if that one reached nobody either, remove its files first.",
                    field="redo",
                )
            if other.number >= register.state.number and not register.redo and path != register.after:
                raise PlanError(
                    f"Release {other.number} of this series is there: {path.name!r}. Continue after "
                    "the latest one, "
                    "or say redo if it reached nobody.",
                    field="redo",
                )
            continue
        known = int((other.find(persons_of(register.ids, other.key)) >= 0).sum())
        if known:
            raise PlanError(
                f"{known:,} of these persons are in the series of {path.name!r}. A second series of "
                "the same "
                "persons undoes what both promise. Continue that one.",
                field="after",
            )
