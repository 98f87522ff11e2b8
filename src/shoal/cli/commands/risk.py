"""`shoal risk`."""

from __future__ import annotations

import typer

import shoal
from shoal.cli import options as o

__all__ = ["EXAMPLE", "risk"]

EXAMPLE = "shoal risk patients.csv -q birth_date,zip,sex --sampling 0.1"


def risk(
    context: typer.Context,
    file: o.File,
    plan: o.AskedBy = None,
    quasi: o.Quasi = None,
    sampling: o.Sampling = None,
    sampling_weight: o.SamplingWeight = None,
    threshold: o.Threshold = 0.2,
    count: o.Count = None,
    unit: o.Unit = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    sheet: o.Sheet = None,
    as_json: o.Json = False,
) -> None:
    """Measure what a table as it is would give away.

    Prosecutor, journalist and marketer risk, who stands alone, and which columns single out most.
    """
    from shoal.cli.screen.exposure import show_exposure
    from shoal.cli.screen.facts import print_json
    from shoal.cli.words import asked_of, table_of

    table = table_of(context.params)
    asked = asked_of(context.params, table.frame.columns)
    found = shoal.risk(
        table.frame,
        sampling=sampling,
        sampling_weight=sampling_weight,
        threshold=threshold,
        **{name: asked[name] for name in ("quasi", "count", "unit")},
    )
    if as_json:
        print_json({"risk": found, "is_high": found.is_high, "read": table.said})
    else:
        show_exposure(found)
