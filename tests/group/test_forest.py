from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

import naive
import shoal
from naive_stars import (
    EIGHT,
    SECTION_1,
    coded_of,
    groups_of,
    least,
    look_alikes,
    plan_of,
    random_rows,
    stars,
)
from shoal.bound import value_of
from shoal.errors import PlanError
from shoal.group import fill_options
from shoal.group.forest import FACTS, group, grow, largest_size
from shoal.group.improve.cycles import improve
from shoal.kernels.forest.decompose import decompose
from shoal.kernels.neighbours.by_span import build_tree
from shoal.model.coded import Coded
from shoal.model.task import Task
from shoal.run.anonymize import form_groups
from tables import PATHS
from tables import coded_of as coded_table


def random_table(luck: random.Random, rows: int) -> naive.Table:
    """Columns of two values, three values, a tree or numbers, with weights."""
    cells, kinds, paths, weights = {}, {}, {}, {}
    for at in range(luck.randint(1, 4)):
        what = luck.choice(["two", "three", "tree", "number"])
        name = f"{what}{at}"
        if what == "tree":
            cells[name] = [luck.choice(PATHS)[0] for _ in range(rows)]
            kinds[name], paths[name] = "tree", PATHS
        elif what == "number":
            cells[name] = [luck.randrange(7) for _ in range(rows)]
            kinds[name] = "number"
        else:
            values = (
                [None, "x"] if what == "two" and luck.random() < 0.2 else "ab" if what == "two" else "abc"
            )
            cells[name] = [luck.choice(list(values)) for _ in range(rows)]
            kinds[name] = "label"
        weights[name] = luck.choice([1.0, 1.0, 0.5, 3.0])
    return naive.Table(cells, kinds, paths, weights, loss=luck.choice(["levels", "leaves"]))


def against_brute_force(tables: int, seed: int) -> None:
    luck = random.Random(seed)
    for _ in range(tables):
        rows, k = luck.randint(4, 9), luck.randint(2, 4)
        table = random_table(luck, rows)
        withhold = luck.choice([0, 0, 2])
        coded = coded_table(table, k)
        task = Task(k=k, withhold=withhold)
        best = least(rows, k, lambda its, table=table: naive.group_loss(table, its), table.weight, withhold)
        grouping = group(coded, task)
        found = value_of("loss", coded, grouping)
        assert best - 1e-9 <= found <= largest_size(k) * best + 1e-9
        assert k <= grouping.sizes.min()
        better = improve(coded, grouping, task)
        assert best - 1e-9 <= value_of("loss", coded, better) <= found + 1e-9


def test_the_factor_holds_against_brute_force() -> None:
    against_brute_force(200, seed=1)


@pytest.mark.slow
def test_the_factor_holds_against_brute_force_at_length() -> None:
    against_brute_force(2000, seed=2)


def stars_against_brute_force(tables: int, seed: int) -> None:
    luck = random.Random(seed)
    for _ in range(tables):
        n, k = luck.randint(4, 9), luck.randint(2, 4)
        rows = random_rows(luck, n, luck.randint(1, 5), luck.randint(2, 3))
        weights = [luck.choice([1.0, 1.0, 2.0, 0.5]) for _ in rows[0]]
        coded = coded_of(rows, weights, k)
        best = least(n, k, lambda its, rows=rows, weights=weights: stars(rows, weights, its))
        grouping = group(coded, Task(k=k))
        found = sum(len(its) * stars(rows, weights, its) for its in groups_of(coded, grouping))
        assert found == pytest.approx(value_of("loss", coded, grouping))
        assert best - 1e-9 <= found <= largest_size(k) * best + 1e-9


def test_stars_hold_the_factor_against_brute_force() -> None:
    stars_against_brute_force(100, seed=3)


def random_forest(luck: random.Random, rows: int, shape: str) -> np.ndarray:
    """A parent per row, -1 for the root: stars, chains, caterpillars and trees at random."""
    parent = [-1]
    for row in range(1, rows):
        if shape == "star":
            parent.append(0 if luck.random() < 0.6 else luck.randrange(row))
        elif shape == "chain":
            parent.append(row - 1 if luck.random() < 0.9 else luck.randrange(row))
        else:
            parent.append(luck.randrange(row))
    name = list(range(rows))
    luck.shuffle(name)
    found = np.full(rows, -1, dtype=np.int64)
    for row, up in enumerate(parent):
        found[name[row]] = name[up] if up >= 0 else -1
    return found


def pieces_of(
    coded: Coded, count: list[int], k: int, parent: np.ndarray, luck: random.Random
) -> tuple[np.ndarray, int]:
    n = len(count)
    dearest = np.array(luck.sample(range(n), n), dtype=np.int64)
    pieces, groups = decompose(
        coded.codes[:1].repeat(n, axis=0),
        np.arange(n, dtype=np.int32),
        np.array(count, dtype=np.int64),
        coded.metric,
        k,
        largest_size(k),
        parent.copy(),
        dearest,
    )
    return pieces, groups


@pytest.mark.parametrize("shape", ["star", "chain", "any"])
@pytest.mark.parametrize("k", [2, 3, 4, 5, 8])
def test_every_tree_is_cut_into_groups_of_the_right_size(shape: str, k: int) -> None:
    luck = random.Random(k)
    coded = coded_of([("0", "1"), ("1", "1")], [1.0, 1.0], 2)
    for _ in range(150):
        n = luck.randint(k, 6 * k)
        often = luck.choice([0.0, 0.3])
        count = [luck.randint(2, 3 * k) if luck.random() < often else 1 for _ in range(n)]
        pieces, groups = pieces_of(coded, count, k, random_forest(luck, n, shape), luck)
        records: Counter[int] = Counter()
        sizes: Counter[int] = Counter()
        members: Counter[int] = Counter()
        for row, its, many in pieces.tolist():
            assert many > 0
            records[row] += many
            sizes[its] += many
            members[its] += 1
        assert [records[row] for row in range(n)] == count
        assert sorted(sizes) == list(range(groups))
        assert min(sizes.values()) >= k
        assert all(size <= largest_size(k) or members[its] == 1 for its, size in sizes.items())


def test_the_tree_on_which_the_papers_decomposition_leaves_two_rows() -> None:
    # k = 3, edges 0-1 0-2 0-4 0-6 0-8 2-3 4-5 6-7
    parent = np.array([-1, 0, 0, 2, 0, 4, 0, 6, 0])
    coded = coded_of([("0", "1"), ("1", "1")], [1.0, 1.0], 2)
    pieces, _ = pieces_of(coded, [1] * 9, 3, parent, random.Random(0))
    sizes = Counter(pieces[:, 1].tolist())
    assert all(3 <= size <= 5 for size in sizes.values())


def test_subtrees_that_fill_every_bin_are_parted_with_a_copy_of_the_hub() -> None:
    # k = 5: a hub with three subtrees of 4 rows: 8 in one bin, 4 + 1 left over, 13 > 10 in one group
    parent = np.array([-1, 0, 1, 1, 1, 0, 5, 5, 5, 0, 9, 9, 9])
    coded = coded_of([("0", "1"), ("1", "1")], [1.0, 1.0], 2)
    pieces, _ = pieces_of(coded, [1] * 13, 5, parent, random.Random(0))
    assert sorted(Counter(pieces[:, 1].tolist()).values()) == [5, 8]
    # and with 3 left over beside the hub's one copy: 8 + 4 > 10 as well
    parent = np.array([-1, 0, 1, 1, 1, 0, 5, 5, 5, 0, 9, 9])
    pieces, _ = pieces_of(coded, [1] * 12, 5, parent, random.Random(0))
    assert sorted(Counter(pieces[:, 1].tolist()).values()) == [5, 7]


def test_no_edge_is_longer_than_the_distance_to_the_last_neighbour_needed() -> None:
    luck = random.Random(4)
    for _ in range(40):
        table = random_table(luck, luck.randint(6, 25))
        k = luck.randint(2, 6)
        coded = coded_table(table, k)
        tree = build_tree(coded.codes, coded.count, coded.metric)
        parent, length = grow(tree, coded, Task(k=k))
        row_of = {int(line): row for row, line in enumerate(coded.row)}
        for at, up in enumerate(parent.tolist()):
            if up >= 0:
                one, other = row_of[int(tree.place[at])], row_of[int(tree.place[up])]
                assert length[at] == pytest.approx(naive.distance(table, one, other))
                assert length[at] <= naive.reach(table, one, k) + 1e-9


def test_a_star_of_many_rows_takes_linear_time() -> None:
    # all distances are equal: every row hangs on the first
    coded = coded_of([(str(i),) for i in range(20_000)], [1.0], 7)
    sizes = group(coded, Task(k=7)).sizes
    assert 7 <= sizes.min() <= sizes.max() <= largest_size(7)


def test_the_papers_first_table_has_a_release_of_six_stars() -> None:
    coded = coded_of(SECTION_1, [1] * 4, 2)
    assert value_of("loss", coded, group(coded, Task(k=2))) == 6
    assert least(4, 2, lambda its: stars(SECTION_1, [1] * 4, its)) == 6


def test_the_eight_vectors_of_lemma_11() -> None:
    coded = coded_of(EIGHT, [1] * 4, 3)
    best = least(8, 3, lambda its: stars(EIGHT, [1] * 4, its))
    assert best <= value_of("loss", coded, group(coded, Task(k=3))) <= 5 * best


@pytest.mark.parametrize("k", [3, 4, 5])
def test_instances_that_look_alike_as_graphs_cost_what_the_paper_says(k: int) -> None:
    # the second has 2^k columns; two of them are the same in all rows and need no star
    length = 2 ** (k - 2)
    for rows, expected in zip(look_alikes(k), (k * k * length, k * (4 * length - 2)), strict=True):
        coded = coded_of(rows, [1] * len(rows[0]), k)
        assert value_of("loss", coded, group(coded, Task(k=k))) == expected
        apart = {sum(a != b for a, b in zip(x, y, strict=True)) for x in rows for y in rows if x != y}
        assert apart == {2 * length}


def test_search_follows_unless_it_is_switched_off() -> None:
    rows = random_rows(random.Random(8), 200, 5, 3)
    coded = coded_of(rows, [1] * 5, 4)
    bare = form_groups("forest", Task(k=4, options=fill_options("forest", {"search": "no"})), coded)
    found = form_groups("forest", Task(k=4, options=fill_options("forest", {})), coded)
    np.testing.assert_array_equal(bare.group, group(coded, Task(k=4)).group)
    assert value_of("loss", coded, found) < value_of("loss", coded, bare)
    with pytest.raises(PlanError, match="choose yes or no"):
        fill_options("forest", {"search": "perhaps"})


def test_stars_in_the_certificate_are_the_stars_in_the_release() -> None:
    rows = random_rows(random.Random(9), 120, 4, 4)
    frame, plan = plan_of(rows, [1.0] * 4, 3, method="forest", withhold=0.1)
    release = shoal.anonymize(frame, plan)
    cells = sum(int((release.table[name] == "*").sum()) for name in frame.columns)
    about = release.certificate
    assert about.value == pytest.approx(cells + 4 * about.withheld)
    assert about.factor == FACTS.factor(3, 4) == 5
    assert about.bound is not None
    assert about.bound <= about.value + 1e-9
    assert about.published == release.table.height
    values = {name: set(frame[name]) | {"*"} for name in frame.columns}
    assert all(set(release.table[name]) <= values[name] for name in frame.columns)
