"""The six verbs in order."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from html import escape
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Any

import narwhals as nw

from shoal import engines
from shoal.errors import DataError, PlanError, ShoalError
from shoal.model.cells import Cells
from shoal.model.certificate import Certificate, ratio_of
from shoal.model.coded import Coded
from shoal.model.comparison import Comparison, Trial
from shoal.model.exposure import Exposure, Linkage
from shoal.model.facts import Facts
from shoal.model.files import Files, lookup_path
from shoal.model.graph import Graph
from shoal.model.grouping import Grouping, Groups, Proof
from shoal.model.hierarchy import Builder, Hierarchy
from shoal.model.plan import Kind, Plan
from shoal.model.receipt import Receipt
from shoal.model.task import Progress, quiet
from shoal.model.verdict import Finding, Verdict

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "Release",
    "anonymize",
    "attack",
    "cellular",
    "check_map",
    "check_plot",
    "check_table",
    "check_target",
    "compare",
    "draw",
    "methods",
    "risk",
    "verify",
]


@dataclass(frozen=True, slots=True)
class Repeats:
    """An identifier whose values repeat: k counts rows, so one person may fill a group alone."""

    column: str
    values: int
    rows: int
    most: int


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A finished table with its verdict and certificate; `write` publishes it.

    `table` is of the same kind as the frame that came in. `left_out` names the columns without a role,
    `guessed` the kinds that nobody declared, `repeats` the identifiers whose values repeat.
    """

    table: Any
    groups: Groups
    verdict: Verdict
    certificate: Certificate
    plan: Plan
    left_out: tuple[str, ...]
    guessed: Mapping[str, str]
    repeats: tuple[Repeats, ...]
    _published: pl.DataFrame  # as judged: what is written, whatever becomes of `table`
    _receipt: Receipt
    lookups: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        delimiter: str = ",",
        inputs: Iterable[str | os.PathLike[str]] = (),
    ) -> Files:
        """Publish to CSV, Parquet or Arrow by the file's ending, with certificate and private receipt.

        Nothing is written unless the verdict has passed. `inputs` are files that must not be overwritten.
        """
        files: Files = engines.load(self.plan.engine).publish(
            self._published,
            self.verdict,
            self.certificate,
            self._receipt,
            path,
            delimiter=delimiter,
            inputs=inputs,
            lookups=self.lookups,
        )
        return files

    def draw_map(self, path: str | os.PathLike[str]) -> Path:
        """Draw the release to an HTML page or a PNG picture: published rectangles, or regions by group.

        Nothing is drawn unless the verdict has passed, and no point of a person is in it.
        """
        at = engines.load(self.plan.engine)
        table = at.from_ids(self._published, self.lookups)
        drawn: Path = at.draw_map(table, self.plan, self.verdict, path)
        return drawn

    def in_words(self) -> tuple[str, ...]:
        """The release in a few sentences, without any cell."""
        about = self.certificate
        state = "" if self.verdict.has_passed else f"NOT ANONYMOUS. {' '.join(self.verdict.reasons)} "
        return (
            f"{state}{about.published:,} of {about.records:,} rows published in {about.classes:,} classes, "
            f"the smallest of {about.smallest_class:,}.",
            about.in_words(),
        )

    def __repr__(self) -> str:
        return f"Release(k={self.plan.k}, method={self.certificate.method!r}): {' '.join(self.in_words())}"

    def _repr_html_(self) -> str:
        lines = "<br>".join(escape(line) for line in self.in_words())
        rows = "".join(
            f"<tr><td>{escape(column.name)}</td><td>{100 * column.loss:.2f} %</td></tr>"
            for column in self.certificate.columns
            if column.loss is not None
        )
        losses = f"<table><tr><th>column</th><th>loss</th></tr>{rows}</table>" if rows else ""
        # only a table that passed may show its own cells
        head = self._published.head(5)._repr_html_() if self.verdict.has_passed else ""
        title = f"Release, k = {self.plan.k}, {escape(self.certificate.method)}"
        return f"<div><b>{title}</b><br>{lines}{losses}{head}</div>"

    def __reduce__(self) -> Any:
        raise TypeError("A release is not pickled: it knows which row went where. Use write(path).")


def anonymize(
    frame: Any,
    plan: Plan | None = None,
    *,
    matrix: Any = None,
    progress: Progress = quiet,
    **words: Any,
) -> Release:
    """Make `frame` meet the plan, and say how well.

    Give a `Plan`, or its fields as keywords (they override the plan's); an unknown keyword is an option
    of the method. `matrix` is the distance of every two rows, in the order of the frame, for methods that
    take the distance `matrix`.
    """
    plan = plan_of(plan, words)
    if matrix is not None and plan.distance == "span":
        plan = replace(plan, distance="matrix")
    native, original = to_polars(frame)
    at = engines.load(plan.engine)
    with at.threads(plan.threads):
        progress("encoding", 0.0)
        coded = at.encode(original, plan, matrix=matrix)
        method, task = at.task_of(coded, plan, progress)
        progress("grouping", 0.0)
        grouping = at.group(method, coded, task)
        progress("recoding", 0.0)
        table, groups = at.recode(original, coded, grouping, plan)
        progress("checking", 0.0)
        verdict = _judge(at, plan, original, coded, grouping, table, groups)
        progress("proving a bound", 0.0)
        objective = grouping.objective or at.facts(method).objective
        proof = at.bound(objective, coded, task, grouping.proof)
    certificate = _certify(at, plan, method, coded, grouping, verdict, proof)
    lookups: dict[str, pl.DataFrame] = {}
    if plan.cells == "id":
        table, lookups = at.to_ids(table, coded.columns)
        marks = {name: at.digest_of(lookup) for name, lookup in lookups.items()}
        certificate = replace(certificate, more={**certificate.more, "lookups": marks})
    receipt = Receipt.of(original)
    progress("done", 1.0)
    return Release(
        table=from_polars(table, native),
        groups=groups,
        verdict=verdict,
        certificate=certificate,
        plan=plan,
        left_out=tuple(name for name in original.columns if name not in plan.columns),
        guessed={c.name: c.kind for c in coded.columns if plan.kind(c.name) is None},
        repeats=tuple(_repeats(original, plan)),
        _published=table,
        _receipt=receipt,
        lookups=lookups,
    )


def cellular(
    frame: Any,
    plan: Plan | None = None,
    *,
    opening: Any,
    matrix: Any = None,
    progress: Progress = quiet,
    **words: Any,
) -> Cells:
    """Clusters of any size around centres, the least sum of size * radius and opening costs; factor 3.

    `opening` is what a cluster costs besides, wherever its centre is: a number of at least 0, or one for
    each row of the frame. Columns, kinds, hierarchies, weights and the distance are those of a plan; there
    is no k. Nothing is made anonymous by this: it says who stands around whom.
    """
    for word in ("k", "withhold", "rules", "unit"):
        if word in words:
            raise PlanError(
                f"Clusters with opening costs have no {word}. Leave it out, or use shoal.anonymize with "
                "the method 'cellular'."
            )
    plan = plan_of(plan, {"k": 2, "withhold": 0.0, "rules": (), "unit": None, **words})
    if plan.options:
        raise PlanError(f"Clusters with opening costs have no option {', '.join(plan.options)}.")
    if matrix is not None and plan.distance == "span":
        plan = replace(plan, distance="matrix")
    _, original = to_polars(frame)
    if original.height < 2:
        raise DataError(f"Clusters need at least 2 rows; the table has {original.height}. Add rows.")
    costs = _costs(opening, original.height)
    at = engines.load(plan.engine)
    with at.threads(plan.threads):
        progress("encoding", 0.0)
        coded = at.encode(original, plan, matrix=matrix)
        found: Cells = at.cells(coded, costs, plan, progress)
    progress("done", 1.0)
    return found


def _costs(opening: Any, rows: int) -> Any:
    """Opening costs as an array, one per row."""
    import numpy as np

    try:
        costs = np.asarray(opening, dtype=np.float64)
    except (TypeError, ValueError):
        raise PlanError("Opening costs are not numbers. Give one number, or one for each row.") from None
    if costs.ndim == 0:
        costs = np.full(rows, float(costs))
    if costs.shape != (rows,):
        shape = " x ".join(str(side) for side in costs.shape)
        raise PlanError(
            f"There are {shape} opening costs for {rows} rows. Give one number, or one for each row."
        )
    bad = int((~np.isfinite(costs) | (costs < 0)).sum())
    if bad:
        raise PlanError(
            f"{bad} of {rows} opening costs are below 0 or not finite. A cost is a number of at least 0."
        )
    return costs


def _judge(
    at: ModuleType,
    plan: Plan,
    original: pl.DataFrame,
    coded: Coded,
    grouping: Grouping,
    table: pl.DataFrame,
    groups: Groups,
) -> Verdict:
    """The stranger's verdict; who a row belongs to is told beside the table, which never says it."""
    trees = coded.held.trees if coded.held is not None else {}
    units = None
    if plan.unit is not None and groups.source is not None:
        units = original[plan.unit].gather(groups.source)
    verdict: Verdict = at.check(
        table, plan, coded.columns, withheld=grouping.withheld, units=units, trees=trees
    )
    return verdict


def _certify(
    at: ModuleType,
    plan: Plan,
    method: str,
    coded: Coded,
    grouping: Grouping,
    verdict: Verdict,
    proof: Proof | None,
) -> Certificate:
    facts = at.facts(method)
    objective = grouping.objective or facts.objective
    value = at.value(objective, coded, grouping)
    loss = value if objective == "loss" else at.value("loss", coded, grouping)
    if verdict.loss is not None:
        # published bounds and middles may not tell a missing cell from a suppressed one
        agree = abs(verdict.loss - loss) <= 1e-6 * max(1.0, abs(loss))
        assert agree or plan.cells != "text", "the check's loss is the loss of the groups"
        loss = verdict.loss
        value = loss if objective == "loss" else value
    percent: float | None = verdict.loss_percent
    if plan.style == "centres":  # values of one row, which say nothing of the spans of its group
        loss, percent = None, None
    elif percent is None:
        percent = 100 * loss / (coded.total * coded.weight)
    bound = proof.bound if proof else None
    return Certificate(
        shoal=version("shoal"),
        method=method,
        style=plan.style,
        k=plan.k,
        seed=plan.seed,
        steps=grouping.steps,
        records=coded.total,
        published=coded.total - grouping.withheld,
        withheld=grouping.withheld,
        classes=verdict.classes,
        smallest_class=verdict.smallest_class,
        mean_class=verdict.mean_class,
        objective=objective,
        value=value,
        bound=bound,
        bound_name=proof.name if proof else None,
        bound_parameters=dict(proof.parameters) if proof else {},
        ratio=ratio_of(value, bound),
        # a factor is proved against the best release without rules
        factor=None if coded.held is not None else grouping.factor or facts.factor(plan.k, len(plan.quasi)),
        loss=loss,
        loss_percent=percent,
        columns=verdict.columns,
        rules=verdict.rules,
        more=at.measures(objective, coded, grouping, plan),
        plan=plan.as_run(
            method=method, kinds={c.name: str(Kind(c.kind, ", ".join(c.parts))) for c in coded.columns}
        ),
    )


def _repeats(original: pl.DataFrame, plan: Plan) -> Iterator[Repeats]:
    for name in plan.identifier:
        if name == plan.unit:  # then k counts persons
            continue
        sizes = original[name].drop_nulls().value_counts(name="\0rows")["\0rows"]
        often = sizes.filter(sizes > 1)
        if len(often):
            yield Repeats(name, len(often), int(often.sum()), int(often.max()))  # type: ignore[arg-type]


def compare(
    frame: Any,
    plan: Plan | None = None,
    *,
    methods: Sequence[str] | None = None,
    ks: Sequence[int] | None = None,
    progress: Progress = quiet,
    **words: Any,
) -> Comparison:
    """Run several methods at several k on one table; `methods` None or "all" means every one.

    Nothing is written. A method that cannot take the plan gets a note in place of figures.
    """
    if plan is None and "k" not in words and ks:
        words["k"] = min(ks)
    plan = plan_of(plan, words)
    at = engines.load(plan.engine)
    named = (methods,) if isinstance(methods, str) else tuple(methods or ("all",))
    named = at.METHODS if "all" in named else tuple(dict.fromkeys(named))
    tried = [replace(plan, k=k) for k in sorted(set(ks or (plan.k,)))]
    for method in named:
        at.facts(method)  # an unknown name is an error before any work
    _, original = to_polars(frame)
    trials = []
    with at.threads(plan.threads):
        proofs: dict[tuple[str, int], Proof | None] = {}
        coded = at.encode(original, tried[-1])
        for number, method in enumerate(named):
            _warm_up(at, original, replace(tried[0], method=method))
            for step, its in enumerate(tried):
                progress(f"{method}, k = {its.k}", (number + step / len(tried)) / len(named))
                trials.append(_try(at, original, coded, replace(its, method=method), proofs))
    progress("done", 1.0)
    return Comparison(tuple(trials))


def _warm_up(at: ModuleType, original: pl.DataFrame, plan: Plan) -> None:
    """Run a method on a few rows, so that no trial pays for compiling its kernels."""
    with suppress(ShoalError):
        coded = at.encode(original.head(max(200, plan.k)), plan)
        method, task = at.task_of(coded, plan, quiet)
        at.group(method, coded, task)


def _try(
    at: ModuleType,
    original: pl.DataFrame,
    coded: Coded,
    plan: Plan,
    proofs: dict[tuple[str, int], Proof | None],
) -> Trial:
    objective = at.facts(plan.method).objective
    try:
        method, task = at.task_of(coded, plan, quiet)
        start = perf_counter()
        grouping = at.group(method, coded, task)
        seconds = perf_counter() - start
    except ShoalError as error:
        return Trial(plan.method, plan.k, objective, note=str(error))
    objective = grouping.objective or objective
    table, groups = at.recode(original, coded, grouping, plan)
    verdict = _judge(at, plan, original, coded, grouping, table, groups)
    # the bound without the method's own part is the same for all methods of an objective
    if (objective, plan.k) not in proofs:
        proofs[objective, plan.k] = at.bound(objective, coded, task, None)
    found = [proof for proof in (proofs[objective, plan.k], grouping.proof) if proof is not None]
    proof = max(found, key=lambda one: one.bound, default=None)
    about = _certify(at, plan, method, coded, grouping, verdict, proof)
    return Trial(
        method=method,
        k=plan.k,
        objective=objective,
        loss_percent=about.loss_percent,
        value=about.value,
        bound=about.bound,
        ratio=about.ratio,
        classes=about.classes,
        smallest_class=about.smallest_class,
        withheld=about.withheld,
        seconds=seconds,
        note="" if verdict.has_passed else " ".join(verdict.reasons),
    )


def check_map(path: str | os.PathLike[str], *, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Whether a map can be drawn to `path`; asked before a long run."""
    engines.load("local").check_map(path, inputs=inputs)


def check_plot(path: str | os.PathLike[str], *, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Whether a plot can be drawn to `path`; asked before a long run."""
    engines.load("local").check_plot(path, inputs=inputs)


def draw(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Draw a comparison to a PNG or SVG file: loss and time over k, one line per method."""
    engines.load("local").draw(comparison.trials, path)


def methods() -> dict[str, Facts]:
    """Every method by name, with what it says of itself."""
    at = engines.load("local")
    return {name: at.facts(name) for name in at.METHODS}


def check_table(
    frame: Any,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    k: int | None = None,
    count: str | None = None,
    rules: Sequence[str] = (),
    unit: str | None = None,
    original: Any = None,
    **words: Any,
) -> Verdict:
    """Judge any table, ours or not, by its quasi-identifiers and sensitive columns, with any rules.

    `unit` is a column of this table that says who a row belongs to, so that k counts persons. With the
    `original` it was made from, and the plan's words that say how (kinds, hierarchies, weights, loss,
    cells, ...), the loss is measured too; rows that the table lacks count as withheld.
    """
    at = engines.load("local")
    _, table = to_polars(frame)
    quasi = (quasi,) if isinstance(quasi, str) else tuple(quasi)
    sensitive = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    rules = (rules,) if isinstance(rules, str) else tuple(rules)
    trees = words.pop("hierarchies", {}) if original is None else words.get("hierarchies", {})
    verdict: Verdict = at.judge_any(
        table,
        quasi=quasi,
        sensitive=sensitive,
        k=k,
        count=count,
        rules=rules,
        unit=unit,
        hierarchies=trees,
    )
    if original is None:
        if words:
            raise PlanError(f"The check without an original takes no {', '.join(sorted(words))}.")
        return verdict
    _, before = to_polars(original)
    sensitive = tuple(one.name for one in verdict.sensitive)  # those of rules among them
    asked = {"k": k or 2, "quasi": quasi, "sensitive": sensitive, "count": count, "rules": rules}
    plan = plan_of(None, {**words, **asked})
    coded = at.encode(before, plan)
    withheld = coded.total - verdict.records
    if withheld < 0:
        raise DataError(
            f"The table has {verdict.records} records, the original {coded.total}. Give the right original."
        )
    keep = [name for name in table.columns if name not in {*plan.keep, unit}]
    measured: Verdict = at.check(
        table.select(keep),
        plan,
        coded.columns,
        withheld=withheld,
        judge_k=k is not None,
        trees=coded.held.trees if coded.held is not None else {},
    )
    # the unit is a column of the table alone, so it was judged there
    persons = verdict.reasons[-1:] if unit is not None and not verdict.rules[-1].holds else ()
    return replace(measured, rules=verdict.rules, reasons=measured.reasons + persons)


def risk(
    frame: Any,
    *,
    quasi: Sequence[str],
    sampling: float | None = None,
    threshold: float = 0.2,
    count: str | None = None,
) -> Exposure:
    """The risks of publishing a table as it is, by its quasi-identifiers.

    `sampling` is the share of the population that the table holds; a record is at high risk where it is
    found with a chance above `threshold`.
    """
    quasi = (quasi,) if isinstance(quasi, str) else tuple(quasi)
    found: Exposure = engines.load("local").expose(
        to_polars(frame)[1], quasi=quasi, sampling=sampling, threshold=threshold, count=count
    )
    return found


def attack(
    release: Any,
    register: Any,
    *,
    match: Mapping[str, str],
    sensitive: Sequence[str] = (),
    hierarchies: Mapping[str, Hierarchy | Builder] | None = None,
    count: str | None = None,
    k: int = 5,
    nearest: bool = False,
) -> Linkage:
    """A linkage trial: what an outsider who holds a register finds in a release.

    `match` says which column of the release is which of the register. Columns published as nodes of a
    hierarchy need it. `nearest` gives persons whom no record covers the nearest ones as candidates.
    """
    _, published = to_polars(release)
    _, known = to_polars(register)
    trees = {}
    for name, tree in (hierarchies or {}).items():
        if isinstance(tree, Builder):
            if match.get(name) not in known.columns:
                continue
            values = {str(cell).strip() for cell in known[match[name]].unique().drop_nulls().to_list()}
            tree = tree.build(values - {""}, column=name)  # noqa: PLW2901
        trees[name] = tree
    found: Linkage = engines.load("local").link(
        published,
        known,
        match=match,
        sensitive=(sensitive,) if isinstance(sensitive, str) else tuple(sensitive),
        hierarchies=trees,
        count=count,
        fewer_than=k,
        nearest=nearest,
    )
    return found


def verify(
    release: Any,
    certificate: Any,
    *,
    original: Any = None,
    receipt: Any = None,
    hierarchies: Mapping[str, Hierarchy | Builder] | None = None,
    graphs: Mapping[str, Any] | None = None,
    lookups: Mapping[str, Any] | None = None,
    missing: Sequence[str] = (),
    delimiter: str | None = None,
) -> tuple[Finding, ...]:
    """Recompute what a certificate claims: everything holds where no finding's `holds` is False.

    `release` and `original` are files or frames; `certificate` and `receipt` files or values. Hierarchies
    are needed for the loss of trees, graphs for that of regions, missing marks for the original. Lookups of
    published ids are looked for beside the release.
    """
    at = engines.load("local")
    table, digest = _table_of(release, delimiter)
    if isinstance(certificate, str | os.PathLike):
        certificate = Certificate.of_json(_text_of(certificate), release=digest)
    if isinstance(receipt, str | os.PathLike):
        receipt = Receipt.of_json(_text_of(receipt), release=digest)
    table = _written_out(at, table, release, certificate, lookups or {})
    before, _ = _table_of(original, delimiter) if original is not None else (None, None)
    findings: list[Finding] = at.verify(
        table,
        certificate,
        digest=digest,
        original=before,
        receipt=receipt,
        hierarchies=hierarchies or {},
        graphs=graphs_of(graphs or {}),
        missing=(missing,) if isinstance(missing, str) else tuple(missing),
    )
    return tuple(findings)


def _written_out(
    at: ModuleType, table: pl.DataFrame, release: Any, certificate: Certificate, given: Mapping[str, Any]
) -> pl.DataFrame:
    """The table with the sets behind its ids, from the lookup tables that were certified."""
    marks = certificate.more.get("lookups")
    if not isinstance(marks, Mapping):
        return table
    found: dict[str, pl.DataFrame] = {}
    for name, mark in marks.items():
        source = given.get(name)
        if source is None and isinstance(release, str | os.PathLike):
            source = lookup_path(release, name)
        if source is None:
            raise DataError(
                f"The lookup table of column {name!r} is needed to verify its ids. Give lookups."
            )
        lookup, _ = _table_of(source, None)
        if at.digest_of(lookup) != mark:
            raise DataError(f"The lookup table of column {name!r} is not the one that was certified.")
        found[name] = lookup
    written: pl.DataFrame = at.from_ids(table, found)
    return written


def _table_of(table: Any, delimiter: str | None) -> tuple[pl.DataFrame, str | None]:
    """A frame from a file, with its SHA-256, or from any frame."""
    if not isinstance(table, str | os.PathLike):
        return to_polars(table)[1], None
    from shoal.read import read_table  # with Polars, which `shoal --help` must not wait for

    frame = read_table(os.fspath(table), delimiter=delimiter).frame
    with open(table, "rb") as file:
        return frame, hashlib.file_digest(file, "sha256").hexdigest()


def _text_of(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise DataError(f"The file {str(path)!r} cannot be read. Give the file that Shoal wrote.") from None


def check_target(
    path: str | os.PathLike[str], *, inputs: Iterable[str | os.PathLike[str]] = (), delimiter: str = ","
) -> Files:
    """Whether a release can be written to `path`; asked before a long run."""
    files: Files = engines.load("local").check_target(path, inputs=inputs, delimiter=delimiter)
    return files


def plan_of(plan: Plan | None, words: dict[str, Any]) -> Plan:
    """A plan with `words` laid over it; words that are not its fields become options of the method."""
    from dataclasses import fields

    names = {item.name for item in fields(Plan)}
    given = {name: value for name, value in words.items() if name in names}
    extra = {name: value for name, value in words.items() if name not in names}
    if plan is not None:
        if not isinstance(plan, Plan):
            raise PlanError("The second argument is a shoal.Plan. Give other words by name.")
        given = {name: getattr(plan, name) for name in names} | given
    if extra:
        given["options"] = {**given.get("options", {}), **extra}
    if given.get("graphs"):
        given["graphs"] = graphs_of(given["graphs"])
    for name in ("k", "quasi"):
        if name not in given:
            raise PlanError(f"The plan does not say {name}. Give k and quasi.")
    return Plan(**given)


def graphs_of(given: Any) -> dict[str, Graph]:
    """Graphs from what was given for each column: files, frames, pairs of names or graphs."""
    if not isinstance(given, Mapping):
        raise PlanError("graphs must be a mapping by column name.")
    from shoal.read.graph import read_graph

    return {name: graph if isinstance(graph, Graph) else read_graph(graph) for name, graph in given.items()}


def to_polars(frame: Any) -> tuple[Any, pl.DataFrame]:
    """Any eager or lazy frame as Polars, with what is needed to go back."""
    try:
        narrow = nw.from_native(frame)
    except TypeError:
        raise DataError(
            "The table is not a frame Shoal knows. Give a pandas, Polars or Arrow frame."
        ) from None
    if isinstance(narrow, nw.LazyFrame):
        narrow = narrow.collect()
    names = narrow.columns
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise DataError(f"The table has doubled columns: {', '.join(doubled)}. Rename them.")
    return narrow, narrow.to_polars()


def from_polars(table: pl.DataFrame, like: Any) -> Any:
    """A Polars frame as the kind of frame that came in."""
    narrow = nw.from_native(table, eager_only=True)
    if like.implementation.is_pandas():
        return narrow.to_pandas()
    if like.implementation.is_pyarrow():
        return narrow.to_arrow()
    return table
