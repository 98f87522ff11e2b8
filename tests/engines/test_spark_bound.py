"""What workers of Spark find of a bound while they group: against all releases, and as a stream does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from every_kind import Small
from mixed_tables import mixed_table, mixed_words
from shoal.bound import border
from shoal.bound.border import prove_in_parts, search_for
from shoal.encode import encode
from shoal.encode.keys import pack_keys
from shoal.engines.spark import bound
from shoal.engines.spark.bound import Looking, look_at_tuples, looking_for, prove_by_parts
from shoal.engines.spark.route import Alone
from shoal.engines.spark.values import Account
from shoal.errors import BrokenPromise
from shoal.group.parts.cut import cut_into_parts, parts_of
from shoal.model.coded import Coded
from shoal.model.column import LINE
from shoal.model.grouping import Proof
from shoal.model.parts import Cuts
from shoal.model.task import Effort, Task
from spark_tables import counted, on, persons

QUICK = Effort(level="quick")


def in_spark(coded: Coded, cuts: Cuts) -> Any:
    """A table as far as a bound looks at it."""
    coder = SimpleNamespace(columns=coded.columns, sizes=coded.metric.size.tolist())
    about = SimpleNamespace(plan=SimpleNamespace(part=9))
    return SimpleNamespace(columns=coded.columns, coder=coder, cuts=cuts, total=coded.total, about=about)


def account_of(paid: Any, block: int = 0) -> Account:
    return Account(block, 0, 0, 0, 0, (), (), (), (), tuple(paid))


def solved(*paid: Any) -> Any:
    """Parts that were grouped, as far as a bound looks at them."""
    return SimpleNamespace(looked=True, accounts=[account_of(one) for one in paid])


def alone_of(coded: Coded, which: np.ndarray) -> Alone:
    keys = pack_keys(coded.codes[which], coded.metric.size.tolist())
    return Alone(keys, coded.count[which], coded.count[which])


def proved(
    coded: Coded, cuts: Cuts, task: Task, alone: np.ndarray, block: np.ndarray, loss: float
) -> Proof:
    """As the workers do: some tuples stand alone, the others come by blocks of parts."""
    its = in_spark(coded, cuts)
    looking = looking_for(its, replace(task, withhold=0), alone_of(coded, alone))
    assert looking is not None
    looking = replace(looking, task=task)
    of_tuple = np.where(alone, -1, block[parts_of(coded.codes, cuts)])
    found = [
        look_at_tuples(looking, replace(coded, codes=coded.codes[mine], count=coded.count[mine]))
        for mine in (of_tuple == one for one in np.unique(of_tuple[of_tuple >= 0]))
    ]
    return prove_by_parts(its, task, solved(*found[::-1]), loss)


def cases(seeds: range) -> Iterator[tuple[Small, Coded, Cuts, Task, np.ndarray, np.ndarray]]:
    """Small tables cut into parts, these joined to blocks, some heavy tuples standing alone."""
    for seed in seeds:
        small = Small(seed)
        coded = small.coded().plain
        luck = np.random.default_rng([seed, 7])
        if (coded.metric.missing[coded.metric.form == LINE] >= 0).any():
            continue  # such tables are looked at once more
        cuts = cut_into_parts(coded.codes, coded.count, coded.metric, int(luck.integers(1, 4)))
        alone = (coded.count >= small.k) & (luck.random(coded.distinct) < 0.7)
        block = np.cumsum(luck.random(cuts.parts) < 0.5)
        task = Task(k=small.k, withhold=small.withhold, effort=QUICK, seed=seed)
        yield small, coded, cuts, task, alone, block


def test_no_bound_from_workers_exceeds_the_optimum() -> None:
    told = []
    for small, coded, cuts, task, alone, block in cases(range(160)):
        found = proved(coded, cuts, task, alone, block, 1.0)
        best = small.least()
        assert found.name == "border"
        assert found.bound <= best + 1e-9
        told.append((found.bound / best if best else 1.0, alone.any(), np.unique(block).size < cuts.parts))
    assert len(told) > 80
    assert np.mean([share for share, *_ in told]) > 0.3
    assert sum(alone for _, alone, _ in told) > 15
    assert sum(joined for *_, joined in told) > 30


@pytest.mark.parametrize("quickly", [10**6, 1, 3])
def test_workers_find_what_a_stream_does(quickly: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(border, "QUICKLY", quickly)
    monkeypatch.setattr(bound, "QUICKLY", quickly)
    monkeypatch.setattr(border, "CHANCE", 0.5)
    names, above = set(), 0
    for small, coded, cuts, task, alone, block in cases(range(60)):
        loss = small.weight / 7
        search = search_for(task, coded.total, len(coded.columns), 9, loss)
        part = parts_of(coded.codes, cuts)
        loads = [
            partial(tuple, (coded.codes[part == at], coded.count[part == at])) for at in range(cuts.parts)
        ]
        expected = prove_in_parts(loads, coded.metric, cuts, task, search, coded.total)
        found = proved(coded, cuts, task, alone, block, loss)
        assert (found.name, found.bound, found.parameters) == (
            expected.name,
            expected.bound,
            expected.parameters,
        )
        names.add(found.name)
        above += found.bound > 0
    assert names == {10**6: {"border"}, 1: {"border-drawn"}, 3: {"border", "border-drawn"}}[quickly]
    assert above > 15


def test_a_tuple_that_stands_alone_is_near_the_others() -> None:
    """Without it, what is left of its part would seem far from anybody."""
    plan = shoal.Plan(k=2, quasi=("age",))
    coded = encode(pl.DataFrame({"age": [0, 0, 0, 1, 99, 100]}), plan)
    cuts = cut_into_parts(coded.codes, coded.count, coded.metric, 6)
    assert cuts.parts == 1
    alone = coded.count >= 2
    found = proved(coded, cuts, Task(k=2, effort=QUICK), alone, np.zeros(1, dtype=int), 0.1)
    assert found.bound == pytest.approx(0.03, rel=1e-4)  # each has somebody at a distance of 0.01
    its = in_spark(coded, cuts)
    looking = looking_for(its, Task(k=2), Alone.none(1))
    assert looking is not None
    rest = replace(coded, codes=coded.codes[~alone], count=coded.count[~alone])
    forgotten = prove_by_parts(its, Task(k=2), solved(look_at_tuples(looking, rest)), 0.1)
    assert forgotten.bound > 0.9


def test_a_part_that_is_told_twice_proves_nothing() -> None:
    coded = Small(2).coded().plain
    cuts = cut_into_parts(coded.codes, coded.count, coded.metric, coded.total)
    with pytest.raises(BrokenPromise):
        prove_by_parts(in_spark(coded, cuts), Task(k=2), solved([(0, "")], [(0, "")]), 0.1)


def test_workers_look_where_it_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def looks(values: list[Any], task: Task) -> Looking | None:
        coded = encode(pl.DataFrame({"age": values}), shoal.Plan(k=2, quasi=("age",)))
        cuts = cut_into_parts(coded.codes, coded.count, coded.metric, coded.total)
        return looking_for(in_spark(coded, cuts), task, Alone.none(1))

    whole, gaps = [1, 2, 3, 4], [1, 2, 3, None]
    assert looks(whole, Task(k=2)) is not None
    assert looks(whole, Task(k=2, withhold=1)) is None
    assert looks(gaps, Task(k=2)) is None
    monkeypatch.setattr(border, "QUICKLY", 1)
    found = looks(gaps, Task(k=2, effort=QUICK))
    assert found is not None
    assert found.search.every == 4
    monkeypatch.setattr(bound, "QUICKLY", 0)
    assert looks(gaps, Task(k=2, effort=QUICK)) is None  # so many would come home


def test_another_unit_is_looked_at_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    coded = Small(2).coded().plain
    cuts = cut_into_parts(coded.codes, coded.count, coded.metric, coded.total)
    its, other = in_spark(coded, cuts), Proof("border", 7.0)
    monkeypatch.setattr(bound, "_prove_once_more", lambda *_: other)
    assert prove_by_parts(its, Task(k=2), solved(), 0.1).bound == 0.0
    blind = SimpleNamespace(looked=False, accounts=[])
    assert prove_by_parts(its, Task(k=2), blind, 0.1) is other  # type: ignore[arg-type]
    its.columns = tuple(replace(column) for column in coded.columns)
    assert prove_by_parts(its, Task(k=2), solved(), 0.1) is other


def test_what_a_part_pays_is_not_shown() -> None:
    assert "zqcanary" not in repr(account_of([(0, "zqcanary")]))


def table_of(name: str) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A table without gaps, and words of its plan."""
    frame = persons(mixed_table(900, seed=2, missing=0.0))
    copies = pl.concat([frame[:1]] * 900)
    if name == "tuples alone":
        notes = copies.with_columns(pl.int_range(900).cast(pl.String).alias("ill"))
        return pl.concat([frame, notes]), {"part": 100}
    if name == "rows joined":
        return pl.concat([frame, copies.with_columns(frame["ill"])]), {"part": 100, "keep": ()}
    if name == "parts joined":
        return frame, {"part": 20, "k": 60}
    if name == "rules and persons":
        return frame, {"part": 150, "unit": "who", "rules": ("ill: 2-diverse",)}
    if name == "counts":
        numbers = counted(900)["n"] + 1  # rows of no record would leave the unit to others
        return frame.with_columns(numbers), {"part": 150, "count": "persons(n)", "keep": ()}
    if name == "weights and gaps":
        return mixed_table(900, seed=3, missing=0.02), {"part": 200, "weights": {"income": 3.0, "job": 0.5}}
    return frame, {"part": 200}


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "effort", "once_more"),
    [
        ("plain", "quick", False),
        ("plain", "normal", False),
        ("tuples alone", "quick", False),
        ("tuples alone", "normal", False),
        ("rows joined", "quick", False),
        ("parts joined", "quick", False),
        ("rules and persons", "quick", False),
        ("counts", "quick", False),
        ("weights and gaps", "quick", None),
        ("weights and gaps", "normal", True),
        ("withheld", "quick", True),
    ],
)
def test_the_bound_is_that_of_a_stream_and_proved_again(
    spark: Any,
    name: str,
    effort: str,
    once_more: bool | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (border, bound):
        monkeypatch.setattr(module, "QUICKLY", 250)
    monkeypatch.setattr(border, "CHANCE", 0.1)  # so few would prove nothing
    calls = []
    again = bound._prove_once_more
    monkeypatch.setattr(bound, "_prove_once_more", lambda *given: calls.append(1) or again(*given))
    frame, more = table_of(name)
    if name == "withheld":
        more = {**more, "withhold": 0.05}
    words = mixed_words(method="mondrian", effort=effort, **{"sensitive": ("ill",), **more})
    expected = shoal.anonymize(frame, engine="stream", **words)
    found = shoal.anonymize(on(spark, frame), **words)
    assert once_more is None or bool(calls) is once_more
    assert found.certificate.bound_name == ("border-drawn" if effort == "quick" else "border")
    assert found.certificate.bound is not None
    assert found.certificate.bound > 0
    for word in ("bound", "bound_name", "ratio", "value"):
        assert getattr(found.certificate, word) == getattr(expected.certificate, word), word
    assert found.receipt.figures is not None
    assert expected.receipt.figures is not None
    assert found.receipt.figures.bound == pytest.approx(expected.receipt.figures.bound, rel=1e-12)
    told = dict(found.receipt.figures.bound_parameters)
    assert told == pytest.approx(dict(expected.receipt.figures.bound_parameters), rel=1e-12)
    if name not in {"plain", "tuples alone", "withheld", "counts"}:
        return
    files = found.write(tmp_path / "out")
    said = shoal.verify(
        files.table,
        files.certificate,
        original=frame,
        receipt=files.receipt,
        hierarchies=words["hierarchies"],
    )
    assert [one for one in said if one.holds is not True] == []
