"""What a release is still good for, measured against the original: counts, queries, means, a model."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import DataError, MissingExtra, PlanError
from shoal.model.certificate import Certificate
from shoal.model.graph import Graph
from shoal.model.guess import guess_kind
from shoal.model.hierarchy import Builder, Hierarchy
from shoal.model.names import check_named
from shoal.model.plan import Plan, words_of
from shoal.model.utility import Learned, Moment, Usefulness, Utility
from shoal.model.words import Names
from shoal.read.frames import to_polars
from shoal.read.hierarchy import is_builder, parse_builder
from shoal.read.release import typed_columns
from shoal.run.anonymize import anonymize
from shoal.run.outsider import is_release
from shoal.run.received import received
from shoal.run.shares import Shares, ValueAxis, as_numbers, axis_of, numbers_of, of_original, of_release

__all__ = ["utility", "weights_for"]

HELD_BACK = 0.25
DRAWS = 20
"""Tables with a value drawn inside each cell, by which correlations get their intervals."""
BLOCK = 1000
"""Different cells that are compared with all others at a time."""
LEAST_TRUE = 0.002
"""Queries of a smaller share of the records are drawn anew: nobody asks a release for three persons."""
STEPS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The weights that `weights_for` gives: so coarse that they tell nothing of the table's rows."""

Floats = NDArray[np.float64]


def utility(
    release: Any,
    original: Any,
    *,
    certificate: str | os.PathLike[str] | None = None,
    hierarchies: Mapping[str, Hierarchy | Builder] | None = None,
    missing: Names = (),
    target: str | None = None,
    queries: int = 1000,
    seed: int = 0,
    beside: bool = True,
) -> Utility:
    """Measure what a release is good for, beside one of `mondrian` by the same plan.

    Args:
        release: The published table, by its path, or a `Release`, whose plan says what is not said here.
        original: The frame it was made from.
        certificate: The release's certificate, where it lies elsewhere.
        hierarchies: Trees of columns that are published as nodes; builders are known from the certificate.
        missing: The plan's missing marks.
        target: A published column to be learned: a model is trained on three of four rows made anonymous
            by the same plan, and tested on the raw rest. Needs scikit-learn.
        queries: How many random count queries are asked, each of up to three columns.
        seed: Where chance begins.
        beside: Whether mondrian's release is made and measured, too.

    Returns:
        Figures, and no cell.

    """
    if is_release(release):
        hierarchies = {**release.plan.hierarchies, **(hierarchies or {})}
        missing = missing or release.plan.missing
    read = received(release, certificate=certificate)
    told, published = read.certificate, _with_ends(read.frame, read.certificate)
    plan = _plan_of(told, hierarchies or {}, words_of("missing", missing))
    _, before = to_polars(original)
    check_named([*plan.columns, *([target] if target is not None else [])], before.columns)
    single = [name for name in plan.quasi if name in before.columns]  # a place is made of two columns
    axes = [axis_of(before[name], told.plan.kinds.get(name, "label"), plan) for name in single]
    usable = [axis for axis in axes if axis is not None]
    if not usable:
        raise DataError("No quasi-identifier of this release is a number, date, tree or label.")
    truth = [of_original(before[axis.name], axis, plan) for axis in usable]
    asked = _queries(truth, queries, np.random.default_rng(seed))
    tables = [_measured(told.method, published, usable, truth, asked)]
    if beside:
        other = anonymize(before, replace(plan, method="mondrian", options={}, effort="normal"))
        tables.append(
            _measured("mondrian", _typed_of(other.table, other.certificate), usable, truth, asked)
        )
    learned: tuple[Learned, ...] = ()
    if target is not None:
        if target not in (*plan.sensitive, *plan.keep):
            raise PlanError(
                f"The target {target!r} is not published as it is. Name a sensitive or kept column.",
                field="target",
                column=target,
            )
        learned = _learned(before, plan, usable, target, seed)
    moments = tuple(_moments(before, published, usable, plan, seed))
    return Utility(before.height, len(asked), tuple(tables), moments, target, learned)


def weights_for(
    frame: Any, target: str, *, quasi: Names, kinds: Mapping[str, str] | None = None
) -> dict[str, float]:
    """Weights for a plan by what each quasi-identifier says about `target`, so that a release serves it.

    A column that says much about the target gets up to 4, one that says nothing 0.25: what it says is its
    mutual information, compared with the mean of all and rounded to a power of two.

    Example:
        >>> import polars as pl, shoal
        >>> cells = {"age": [20, 21, 60, 61] * 5, "sex": ["f", "m"] * 10, "ill": [0, 0, 1, 1] * 5}
        >>> shoal.weights_for(pl.DataFrame(cells), "ill", quasi=["age", "sex"])
        {'age': 2.0, 'sex': 0.25}

    """
    _, table = to_polars(frame)
    names = words_of("quasi", quasi)
    check_named([*names, target], table.columns)
    plan = Plan(k=2, quasi=names)
    labels = _codes(table[target].cast(pl.String))
    said: dict[str, float] = {}
    for name in names:
        kind = (kinds or {}).get(name, guess_kind(table[name]))
        axis = axis_of(table[name], "label" if kind.startswith("tree") else kind, plan)
        told = None if axis is None else of_original(table[name], axis, plan).line
        said[name] = 0.0 if told is None else _information(told, labels)
    mean = sum(said.values()) / len(said)
    return {name: 1.0 if mean <= 0 else _step(told / mean) for name, told in said.items()}


def _step(ratio: float) -> float:
    """The nearest of the weights, by ratio."""
    return min(STEPS, key=lambda step: abs(math.log(step) - math.log(max(ratio, 1e-6))))


def _plan_of(
    told: Certificate, hierarchies: Mapping[str, Hierarchy | Builder], missing: tuple[str, ...]
) -> Plan:
    """The plan again: what a certificate tells by fingerprints alone must be given."""
    trees: dict[str, Hierarchy | Builder] = {
        name: parse_builder(text) for name, text in told.plan.hierarchies.items() if is_builder(text)
    }
    trees |= {name: tree for name, tree in hierarchies.items() if name in told.plan.hierarchies}
    lacking = sorted(set(told.plan.hierarchies) - set(trees))
    if lacking:
        raise PlanError(
            f"The release has hierarchies that are not given: {', '.join(lacking)}. Give them.",
            field="hierarchies",
            column=lacking[0],
        )
    if told.plan.graphs or told.plan.style != "generalize":
        raise PlanError("Utility is measured of releases that show ranges, nodes and sets of labels.")
    graphs: dict[str, Graph] = {}
    plan = told.plan.planned(hierarchies=trees, graphs=graphs, missing=missing)
    return replace(plan.nameless, cells="text")


def _with_ends(frame: pl.DataFrame, told: Certificate) -> pl.DataFrame:
    """Middles as ranges of no width: a reader has nothing else to count with."""
    middles = [name for name in told.plan.quasi if f"{name}_middle" in frame.columns]
    return frame.with_columns(
        pl.col(f"{name}_middle").alias(f"{name}_{end}") for name in middles for end in ("low", "high")
    )


def _typed_of(table: Any, told: Certificate) -> pl.DataFrame:
    _, frame = to_polars(table)
    return typed_columns(frame, told, {})


def _queries(
    truth: Sequence[Shares], number: int, random: np.random.Generator
) -> list[tuple[tuple[tuple[int, NDArray[np.bool_]], ...], int]]:
    """Random questions: how many records have these values of up to three columns; with the true counts."""
    rows = len(truth[0].line)
    asked: list[tuple[tuple[tuple[int, NDArray[np.bool_]], ...], int]] = []
    for _ in range(20 * number):
        if len(asked) == number:
            break
        columns = random.choice(len(truth), size=min(int(random.integers(1, 4)), len(truth)), replace=False)
        parts = []
        for column in columns.tolist():
            size = truth[column].parts.shape[1]
            start, length = int(random.integers(size)), int(random.integers(1, max(size // 2, 1) + 1))
            wanted = np.zeros(size, dtype=bool)
            wanted[(start + np.arange(length)) % size] = True
            parts.append((column, wanted))
        true = int(np.logical_and.reduce([wanted[truth[column].line] for column, wanted in parts]).sum())
        if true >= max(1, LEAST_TRUE * rows):
            asked.append((tuple(parts), true))
    return asked


def _measured(
    name: str,
    frame: pl.DataFrame,
    axes: Sequence[ValueAxis],
    truth: Sequence[Shares],
    asked: Sequence[tuple[tuple[tuple[int, NDArray[np.bool_]], ...], int]],
) -> Usefulness:
    seen = [of_release(frame, axis) for axis in axes]
    scale = len(truth[0].line) / max(frame.height, 1)  # withheld rows are like the others
    marginals = {
        axis.name: _apart(_counts(one), scale * _counts(other))
        for axis, one, other in zip(axes, truth, seen, strict=True)
    }
    both = [
        _apart(_joint(truth[a], truth[b]), scale * _joint(seen[a], seen[b]))
        for a, b in itertools.combinations(range(len(axes)), 2)
    ]
    errors = []
    for parts, true in asked:
        chance = np.ones(frame.height)
        for column, wanted in parts:
            chance *= (seen[column].parts[:, wanted].sum(axis=1))[seen[column].line]
        errors.append(abs(scale * float(chance.sum()) - true) / true)
    apart = {axis.name: _told_apart(one, other) for axis, one, other in zip(axes, truth, seen, strict=True)}
    return Usefulness(
        name,
        apart,
        marginals,
        float(np.mean(both)) if both else None,
        float(np.median(errors)) if errors else 0.0,
        float(np.quantile(errors, 0.9)) if errors else 0.0,
    )


def _told_apart(truth: Shares, seen: Shares) -> float:
    """Of the pairs that differ in the original, the share whose cells cannot mean one value; 1 for none."""
    before, after = _different(truth), _different(seen)
    return min(1.0, after / before) if before > 0 else 1.0


def _different(shares: Shares) -> float:
    """The chance that two records, drawn one after the other, have cells without a common value."""
    covers, kind = np.unique(shares.parts > 0, axis=0, return_inverse=True)
    weight = np.bincount(kind.ravel()[shares.line], minlength=len(covers)).astype(float)
    one = covers.astype(np.float32)
    alike = sum(
        float(weight[at : at + BLOCK] @ ((one[at : at + BLOCK] @ one.T) > 0) @ weight)
        for at in range(0, len(one), BLOCK)
    )
    return 1 - alike / float(weight.sum()) ** 2


def _counts(shares: Shares) -> Floats:
    return np.bincount(shares.line, minlength=len(shares.parts)) @ shares.parts


def _joint(one: Shares, other: Shares) -> Floats:
    from scipy.sparse import coo_array

    shape = (len(one.parts), len(other.parts))
    together = coo_array((np.ones(len(one.line)), (one.line, other.line)), shape=shape).tocsr()
    return np.asarray(one.parts.T @ (together @ other.parts))


def _apart(one: Floats, other: Floats) -> float:
    """Total variation: the share of records that stand elsewhere."""
    return float(np.abs(one - other).sum() / (2 * one.sum()))


def _moments(
    before: pl.DataFrame, frame: pl.DataFrame, axes: Sequence[ValueAxis], plan: Plan, seed: int
) -> list[Moment]:
    """Means between those of the ends; correlations as far as draws inside cells vary."""
    numbers = [axis for axis in axes if axis.kind == "number"]
    true = {a.name: numbers_of(before[a.name], a.kind, plan).to_numpy() for a in numbers}
    ends = {
        a.name: [as_numbers(frame[f"{a.name}_{end}"]).to_numpy() for end in ("low", "high")]
        for a in numbers
    }
    middle = {name: (low + high) / 2 for name, (low, high) in ends.items()}
    found = [
        Moment(
            f"mean of {name}", *(float(np.nanmean(one)) for one in (true[name], middle[name], *ends[name]))
        )
        for name in true
    ]
    random = np.random.default_rng(seed)
    draws = [
        {name: low + (high - low) * random.random(low.size) for name, (low, high) in ends.items()}
        for _ in range(DRAWS)
    ]
    for one, other in itertools.combinations(true, 2):
        drawn = [_correlation(table[one], table[other]) for table in draws]
        was, now = (_correlation(table[one], table[other]) for table in (true, middle))
        found.append(Moment(f"correlation of {one} and {other}", was, now, min(drawn), max(drawn)))
    return found


def _correlation(one: Floats, other: Floats) -> float:
    both = ~(np.isnan(one) | np.isnan(other))
    if both.sum() < 2 or np.ptp(one[both]) == 0 or np.ptp(other[both]) == 0:
        return 0.0
    return float(np.corrcoef(one[both], other[both])[0, 1])


def _codes(series: pl.Series) -> NDArray[np.int64]:
    return series.fill_null("").rank("dense").to_numpy().astype(np.int64) - 1


def _information(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """The mutual information of two columns of codes, less what chance alone would show (Miller 1955)."""
    joint = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(joint, (one, other), 1)
    joint = joint[joint.sum(axis=1) > 0][:, joint.sum(axis=0) > 0]
    share = joint / joint.sum()
    outer = share.sum(axis=1, keepdims=True) * share.sum(axis=0, keepdims=True)
    told = float((share[share > 0] * np.log(share[share > 0] / outer[share > 0])).sum())
    by_chance = float((joint.shape[0] - 1) * (joint.shape[1] - 1) / (2 * joint.sum()))
    return max(0.0, told - by_chance)


def _learned(
    before: pl.DataFrame, plan: Plan, axes: Sequence[ValueAxis], target: str, seed: int
) -> tuple[Learned, ...]:
    """Models of the target, trained on raw rows, on these made anonymous, and on nothing."""
    try:
        import sklearn.linear_model as linear
        from sklearn.metrics import roc_auc_score
    except ModuleNotFoundError:
        raise MissingExtra("scikit-learn", extra="learn") from None
    told = before.filter(before[target].is_not_null())
    order = np.random.default_rng(seed).permutation(told.height)
    cut = int(HELD_BACK * told.height)
    rest, train = told[order[:cut].tolist()], told[order[cut:].tolist()]
    truth = rest[target].cast(pl.String).to_numpy()
    held = np.hstack([of_original(rest[axis.name], axis, plan).rows() for axis in axes])
    found = []
    for name in ("raw", plan.method, "mondrian"):
        if name == "raw":
            features = np.hstack([of_original(train[a.name], a, plan).rows() for a in axes])
            labels = train[target].cast(pl.String).to_numpy()
        else:
            options = plan.options if name == plan.method else {}
            made = anonymize(train, replace(plan, method=name, options=options))
            frame = _typed_of(made.table, made.certificate)
            features = np.hstack([of_release(frame, axis).rows() for axis in axes])
            labels = frame[target].cast(pl.String).to_numpy()
        model = linear.LogisticRegression(max_iter=500).fit(features, labels)
        auc = None
        if len(model.classes_) == 2:
            auc = float(roc_auc_score(truth == model.classes_[1], model.predict_proba(held)[:, 1]))
        found.append(Learned(name, float((model.predict(held) == truth).mean()), auc))
    values, counts = np.unique(train[target].cast(pl.String).to_numpy(), return_counts=True)
    found.append(Learned("the majority", float((truth == values[counts.argmax()]).mean()), 0.5))
    return tuple(found)
