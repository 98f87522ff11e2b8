"""`shoal anonymize`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import typer

import shoal
from shoal.cli import options as o

__all__ = ["EXAMPLE", "anonymize"]

LARGE = 10_000_000
"""Bytes of a file from which on reading takes as long as loading."""
EXAMPLE = "shoal anonymize patients.csv -k 5 -q birth_date,zip,sex -s diagnosis -o out.csv"


def anonymize(
    context: typer.Context,
    file: o.File,
    output: o.Output,
    k: o.K = None,
    plan: o.PlanFile = None,
    quasi: o.Quasi = None,
    sensitive: o.Sensitive = None,
    keep: o.Keep = None,
    identifier: o.Identifier = None,
    pseudonym: o.Pseudonym = None,
    count: o.Count = None,
    unit: o.Unit = None,
    rules: o.Rules = None,
    kinds: o.Kinds = None,
    hierarchies: o.Hierarchies = None,
    graphs: o.Graphs = None,
    weights: o.Weights = None,
    weights_for: o.WeightsFor = None,
    missing: o.Missing = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    sheet: o.Sheet = None,
    table: o.TableIn = None,
    query: o.Query = None,
    loss: o.Loss = None,
    method: o.Method = None,
    options: o.Options = None,
    distance: o.Distance = None,
    withhold: o.Withhold = None,
    effort: o.Effort = None,
    improve: o.Improve = None,
    stop_at: o.StopAt = None,
    seed: o.Seed = None,
    threads: o.Threads = None,
    engine: o.Engine = None,
    master: o.Master = None,
    memory: o.Memory = None,
    scratch: o.Scratch = None,
    part: o.Part = None,
    style: o.Style = None,
    cells: o.Cells = None,
    series: o.Series = None,
    after: o.After = None,
    redo: o.Redo = False,
    forget: o.Forget = None,
    map_to: o.Map = None,
    replace: o.Replace = False,
    certificate: o.CertificateTo = None,
    key: o.KeyFile = None,
    recoding: o.RecodingTo = None,
    for_excel: o.ForExcel = None,
    as_json: o.Json = False,
) -> None:
    """Make a table k-anonymous and write it with a certificate.

    Nothing is written unless an independent check passes. Columns without a role are left out and named. A column whose name holds a comma gets an option of its own: -q age -q "last, first".
    """  # noqa: E501  (help keeps the line breaks of a docstring)
    from shoal.cli.progress import shown
    from shoal.cli.screen.facts import print_json
    from shoal.cli.screen.release import release_facts, show_release
    from shoal.cli.stopping import told
    from shoal.cli.target import check_output, write_to
    from shoal.cli.words import (
        engine_of,
        files_named,
        opened,
        persons_named,
        plan_words,
        scratch_of,
    )

    given = context.params
    inputs = files_named(given)
    place = engine_of(given)
    check_output(given, inputs, place)
    if recoding is not None:
        shoal.check_recoding(recoding, inputs=inputs)
    _load_aside(file)
    with told(output):
        with shown() as progress, opened(given, place) as (frame, said, sign):
            words = plan_words(given, frame.columns)
            if place != "memory":
                words["engine"] = place
            if place == "stream":
                words["scratch"] = scratch_of(given)
            if weights_for is not None:
                if place != "memory":
                    raise shoal.PlanError(
                        f"The engine {place} cannot weigh columns by a target. Give the weights.",
                        field="weights",
                    )
                words["weights"] = _weights_for(frame, weights_for, words) | words["weights"]
            gone = persons_named(forget)
            held = [frame]
            del frame  # so that `anonymize` alone has it, and lets go of what is needed no more
            release = shoal.anonymize(
                held.pop(), words, after=after, redo=redo, forget=gone, key=key, progress=progress
            )
            again = release.recoding if recoding is not None else None
            files = write_to(release, given, inputs, sign=sign or ",")
            if again is not None and recoding is not None:
                again.write(recoding, inputs=inputs)
        if as_json:
            print_json(release_facts(release, files, said))
        else:
            show_release(release, files, said, key=key)


def _load_aside(file: str) -> None:
    """Load what anonymizes a table while a large one is being read."""
    with suppress(OSError, ValueError):  # no file: whoever reads it says so
        if Path(file).stat().st_size >= LARGE:
            Thread(target=lambda: shoal.anonymize, daemon=True).start()


def _weights_for(frame: Any, target: str, words: Mapping[str, Any]) -> dict[str, float]:
    """Weights of the quasi-identifiers that are columns by what they say about the target."""
    quasi = [name for name in words.get("quasi", ()) if name in frame.columns]
    trees = dict.fromkeys(words["hierarchies"], "tree")
    return shoal.weights_for(frame, target, quasi=quasi, kinds={**words["kinds"], **trees})
