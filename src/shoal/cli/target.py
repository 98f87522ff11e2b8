"""Where a release goes: to files, or to a table of a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import shoal

__all__ = ["check_output", "write_to"]


def check_output(given: Mapping[str, Any], inputs: Sequence[Path], engine: str) -> None:
    """Whether the release can be written where the command line says; asked before a long run."""
    output, map_to = given["output"], given["map_to"]
    if not shoal.is_database(output):
        for word, name in (("replace", "--replace"), ("certificate", "--certificate")):
            if given[word]:
                raise shoal.PlanError(f"{name} is for tables of a database. Leave it out for a file.")
        shoal.check_target(output, inputs=inputs, engine=engine, for_excel=given["for_excel"])
        if map_to is not None:
            shoal.check_map(map_to, inputs=[*inputs, output])
        return
    if given["for_excel"] is not None:
        raise shoal.PlanError("A table of a database is not written for Excel.", field="for_excel")
    if map_to is not None:
        raise shoal.PlanError("A map goes with a file. Leave it out for a table of a database.")
    read = []
    if shoal.is_database(given["file"]):
        read = [given["file"] if given["table"] is None else f"{given['file']}#{quote(given['table'])}"]
    shoal.check_database(
        output,
        replace=given["replace"],
        certificate=given["certificate"],
        inputs=[*map(str, inputs), *read],
    )


def write_to(
    release: shoal.Release, given: Mapping[str, Any], inputs: Sequence[Path], *, sign: str
) -> shoal.Files | shoal.Stored:
    """Publish the release where the command line says."""
    output = given["output"]
    if shoal.is_database(output):
        return release.write_database(output, replace=given["replace"], certificate=given["certificate"])
    return release.write(
        output, delimiter=sign, inputs=inputs, map_to=given["map_to"], for_excel=given["for_excel"]
    )
