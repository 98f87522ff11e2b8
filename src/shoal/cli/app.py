"""The commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import shoal
from shoal.cli import options as o

__all__ = ["app"]

app = typer.Typer(
    name="shoal",
    help="Make tables of people safe to publish, and prove how close to the best possible that came.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a pretty traceback shows locals, and locals hold cells
    rich_markup_mode="rich",
)


@app.callback()
def _start(_: o.Version = False) -> None:
    """Make tables of people safe to publish, and prove how close to the best possible that came."""


@app.command(
    epilog="Example: shoal anonymize patients.csv -k 5 -q birth_date,zip,sex -s diagnosis -o out.csv"
)
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
    count: o.Count = None,
    unit: o.Unit = None,
    rule: o.Rule = None,
    kind: o.Kind = None,
    hierarchies: o.Hierarchies = None,
    hierarchy: o.Hierarchy = None,
    graph: o.Graph = None,
    weight: o.Weight = None,
    missing: o.Missing = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    sheet: o.Sheet = None,
    loss: o.Loss = None,
    method: o.Method = None,
    option: o.Option = None,
    distance: o.Distance = None,
    withhold: o.Withhold = None,
    effort: o.Effort = None,
    improve: o.Improve = None,
    stop_at: o.StopAt = None,
    seed: o.Seed = None,
    threads: o.Threads = None,
    style: o.Style = None,
    cells: o.Cells = None,
    map_to: o.Map = None,
    as_json: o.Json = False,
) -> None:
    """Make a table k-anonymous and write it with a certificate.

    Nothing is written unless an independent check passes. Columns without a role are left out and named. A column whose name holds a comma gets an option of its own: -q age -q "last, first".
    """  # noqa: E501  (help keeps the line breaks of a docstring)
    from shoal.cli.progress import shown
    from shoal.cli.screen import print_json, release_facts, show_release
    from shoal.cli.stopping import told
    from shoal.cli.words import files_named, plan_words, table_of

    given = context.params
    inputs = files_named(given)
    shoal.check_target(output, inputs=inputs)
    if map_to is not None:
        shoal.check_map(map_to, inputs=[*inputs, output])
    with told(output):
        with shown() as progress:
            table = table_of(given)
            words = plan_words(given, table.frame.columns)
            release = shoal.anonymize(table.frame, progress=progress, **words)
            sign = table.delimiter or ","
            files = release.write(output, delimiter=sign, inputs=inputs, map_to=map_to)
        if as_json:
            print_json(release_facts(release, files, table.said))
        else:
            show_release(release, files, table.said)


@app.command(epilog="Example: shoal plan patients.csv > plan.yaml")
def plan(
    context: typer.Context,
    file: o.File,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    sheet: o.Sheet = None,
) -> None:
    """Print a plan with guessed roles and kinds, to be edited."""
    from shoal.cli.terminal import print_utf8
    from shoal.cli.words import table_of

    table = table_of(context.params)
    print_utf8(shoal.guess_plan(table.frame, path=file))


@app.command(epilog="Example: shoal check out.csv -q birth_date,zip,sex -s diagnosis -k 5")
def check(
    context: typer.Context,
    file: o.File,
    quasi: o.Quasi = None,
    sensitive: o.Sensitive = None,
    k: o.K = None,
    count: o.Count = None,
    unit: o.Unit = None,
    rule: o.Rule = None,
    hierarchies: o.Hierarchies = None,
    hierarchy: o.Hierarchy = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    sheet: o.Sheet = None,
    as_json: o.Json = False,
) -> None:
    """Judge any table, ours or not. Exit 3 below k, or where a rule fails.

    Counts classes and measures diversity, closeness and the risk of re-identification.
    """
    from shoal.cli.screen import print_json, show_verdict
    from shoal.cli.words import names_of, table_of, trees_of

    given = context.params
    table = table_of(given)
    columns = table.frame.columns
    verdict = shoal.check_table(
        table.frame,
        quasi=names_of(quasi or (), columns),
        sensitive=names_of(sensitive or (), columns),
        k=k,
        count=count,
        unit=unit,
        rules=tuple(rule or ()),
        hierarchies=trees_of(given, [shoal.Rule.parse(text).column for text in rule or ()]),
    )
    if as_json:
        print_json({"verdict": verdict, "has_passed": verdict.has_passed, "read": table.said})
    else:
        show_verdict(verdict)
    if not verdict.has_passed:
        raise typer.Exit(3)


@app.command(epilog="Example: shoal risk patients.csv -q birth_date,zip,sex --sampling 0.1")
def risk(
    context: typer.Context,
    file: o.File,
    quasi: o.Quasi = None,
    sampling: o.Sampling = None,
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
    from shoal.cli.screen import print_json, show_exposure
    from shoal.cli.words import names_of, table_of

    table = table_of(context.params)
    found = shoal.risk(
        table.frame,
        quasi=names_of(quasi or (), table.frame.columns),
        sampling=sampling,
        threshold=threshold,
        count=count,
        unit=unit,
    )
    if as_json:
        print_json({"risk": found, "is_high": found.is_high, "read": table.said})
    else:
        show_exposure(found)


@app.command(
    epilog="Example: shoal attack out.csv --known register.csv --match age=age,zip=zip -s diagnosis"
)
def attack(
    context: typer.Context,
    release: Annotated[Path, typer.Argument(help="The table to be attacked.", show_default=False)],
    known: o.Known,
    match: o.Match,
    sensitive: o.Certain = None,
    k: o.Few = 5,
    count: o.Count = None,
    unit: o.Unit = None,
    hierarchies: o.Hierarchies = None,
    hierarchy: o.Hierarchy = None,
    kind: o.KnownKind = None,
    nearest: o.Nearest = False,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    sheet: o.Sheet = None,
    as_json: o.Json = False,
) -> None:
    """Try to find known persons in a release, before others do.

    What an outsider who holds an identified register can pin down. Prints counts, never a value.
    """
    from shoal.cli.screen import print_json, show_linkage
    from shoal.cli.words import matches_of, names_of, pairs_of, table_of, trees_of

    given = context.params
    try:  # what is said of the file is said of the register; a release of ours needs no such words
        table = table_of({"file": release}).frame
    except shoal.ShoalError:
        table = table_of({**given, "file": release}).frame
    register = table_of({**given, "file": known}).frame
    pairs = matches_of(match, table.columns)
    found = shoal.attack(
        table,
        register,
        match=pairs,
        sensitive=names_of(sensitive or (), table.columns),
        hierarchies=trees_of(given, tuple(pairs)),
        count=count,
        unit=unit,
        k=k,
        nearest=nearest,
        kinds=pairs_of(kind, tuple(pairs), option="--kind"),
    )
    if as_json:
        print_json({"attack": found})
    else:
        show_linkage(found)


@app.command(epilog="Example: shoal verify out.csv out.certificate.json --original patients.csv")
def verify(
    context: typer.Context,
    release: Annotated[Path, typer.Argument(help="The published table.", show_default=False)],
    certificate: o.Certificate,
    original: o.Original = None,
    receipt: o.Receipt = None,
    hierarchies: o.Hierarchies = None,
    graph: o.Graph = None,
    missing: o.Missing = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    sheet: o.Sheet = None,
    strict: o.Strict = False,
    as_json: o.Json = False,
) -> None:
    """Recompute what a certificate claims. Exit 3 where it fails.

    From the release alone, or with --original also from the table it was made of. With --strict a claim
    that could not be checked is a failure, too.
    """
    from shoal.cli.screen import print_json, show_findings
    from shoal.cli.words import graphs_of, sign_of, table_of, trees_for

    before = None if original is None else table_of({**context.params, "file": original}).frame
    findings = shoal.verify(
        release,
        certificate,
        original=before,
        receipt=receipt,
        hierarchies=trees_for(certificate, hierarchies or ()),
        graphs=graphs_of(graph, ()),
        missing=tuple(missing or ()),
        delimiter=sign_of(delimiter),
    )
    fails = any(finding.holds is False for finding in findings)
    verified = all(finding.holds is True for finding in findings)
    if as_json:
        print_json({"verified": verified, "fails": fails, "findings": findings})
    else:
        show_findings(findings)
    if fails or (strict and not verified):
        raise typer.Exit(3)


@app.command(
    epilog="Example: shoal report out.csv out.certificate.json --context context.yaml -o report.html"
)
def report(
    context: typer.Context,
    release: Annotated[Path, typer.Argument(help="The published table.", show_default=False)],
    certificate: o.Certificate,
    output: o.ReportTo,
    original: o.Original = None,
    receipt: o.Receipt = None,
    context_file: o.ContextFile = None,
    hierarchies: o.Hierarchies = None,
    graph: o.Graph = None,
    missing: o.Missing = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    as_json: o.Json = False,
) -> None:
    """Write a report for a data protection officer. Exit 3 where a claim fails.

    Verifies the certificate, measures the release anew, and says on one page without script or network what was done, what risk remains and what was lost. With --original also the risk before, and a linkage trial. No cell is in it.
    """  # noqa: E501  (help keeps the line breaks of a docstring)
    from shoal.cli.screen import print_json, show_report
    from shoal.cli.words import files_named, graphs_of, sign_of, table_of, trees_for

    given = context.params
    inputs = [release, certificate, *files_named(given)]
    inputs += [path for path in (receipt, context_file) if path is not None]
    shoal.check_report(output, inputs=inputs)
    told = shoal.Context() if context_file is None else shoal.read_context(context_file)
    made = shoal.report(
        release,
        certificate,
        output,
        original=None if original is None else table_of({**given, "file": original}).frame,
        receipt=receipt,
        context=told,
        hierarchies=trees_for(certificate, hierarchies or ()),
        graphs=graphs_of(graph, ()),
        missing=tuple(missing or ()),
        delimiter=sign_of(delimiter),
        inputs=inputs,
    )
    if as_json:
        print_json({"report": made, "holds": made.holds, "is_above": made.is_above, "file": output})
    else:
        show_report(made, output)
    if not made.holds:
        raise typer.Exit(3)


@app.command(
    epilog="Example: shoal compare patients.csv --plan plan.yaml --methods all -k 2,5,10 -o plot.svg"
)
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
    rule: o.Rule = None,
    kind: o.Kind = None,
    hierarchies: o.Hierarchies = None,
    hierarchy: o.Hierarchy = None,
    graph: o.Graph = None,
    weight: o.Weight = None,
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
    from shoal.cli.screen import print_json, show_comparison
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


@app.command(epilog="Example: shoal methods --json")
def methods(as_json: o.Json = False) -> None:
    """List the methods with objective, guarantee, cost and paper."""
    from shoal.cli.screen import method_facts, print_json, show_methods

    found = shoal.methods()
    if as_json:
        print_json({name: method_facts(its) for name, its in found.items()})
    else:
        show_methods(found)
