"""`shoal compare`."""

from __future__ import annotations

from pathlib import Path

import typer

import shoal
from shoal.cli import options as o

__all__ = ["EXAMPLE", "compare"]

EXAMPLE = "shoal compare patients.csv --plan plan.yaml --methods all -k 2,5,10 -o plot.svg"


def compare(
    context: typer.Context,
    file: o.File,
    k: o.Ks = None,
    methods: o.Methods = None,
    output: o.Plot = Path("comparison.png"),
    plan: o.PlanFile = None,
    quasi: o.Quasi = None,
    sensitive: o.Sensitive = None,
    keep: o.Keep = None,
    identifier: o.Identifier = None,
    count: o.Count = None,
    unit: o.Unit = None,
    rules: o.Rules = None,
    kinds: o.Kinds = None,
    hierarchies: o.Hierarchies = None,
    graphs: o.Graphs = None,
    weights: o.Weights = None,
    missing: o.Missing = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    sheet: o.Sheet = None,
    loss: o.Loss = None,
    distance: o.Distance = None,
    withhold: o.Withhold = None,
    effort: o.Effort = None,
    improve: o.Improve = None,
    stop_at: o.StopAt = None,
    seed: o.Seed = None,
    threads: o.Threads = None,
    style: o.Style = None,
    as_json: o.Json = False,
) -> None:
    """Compare methods: loss, ratio and time, with a plot."""
    from shoal.cli.progress import shown
    from shoal.cli.screen.facts import print_json
    from shoal.cli.screen.methods import show_comparison
    from shoal.cli.words import files_named, names_of, numbers_of, plan_words, table_of

    ks = None if k is None else numbers_of(k, option="-k")
    given = {**context.params, "k": None if ks is None else min(ks)}
    shoal.check_plot(output, inputs=files_named(given))
    with shown() as progress:
        table = table_of(given)
        words = plan_words(given, table.frame.columns)
        found = shoal.compare(
            table.frame, methods=names_of(methods or ("all",)), ks=ks, progress=progress, **words
        )
        shoal.draw(found, output)
    if as_json:
        print_json({"trials": found.trials, "plot": output, "read": table.said})
    else:
        show_comparison(found, output)
