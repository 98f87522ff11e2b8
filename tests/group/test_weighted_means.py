from __future__ import annotations

import numpy as np
import pytest

from naive import Table, distance
from shoal.bound import value_of
from shoal.group.weighted_means import _weights, group
from shoal.kernels.weighted_means import assign_weighted
from shoal.model.task import Task
from tables import coded_of, exact_table


def test_far_clusters_are_found() -> None:
    ages = [0, 1, 2, 3, 50, 51, 52, 53, 98, 99, 100, 101]
    coded = coded_of(Table({"age": ages}, {"age": "number"}), 4)
    losses = [
        value_of("loss", coded, group(coded, Task(k=4, seed=seed, options={"rounds": 9})))
        for seed in range(10)
    ]
    assert min(losses) == pytest.approx(12 * 3 / 101)


def test_weights_fall_with_what_is_apart() -> None:
    weights = _weights(np.array([1.0, 2.0, 4.0, 0.0]))
    assert weights[0] > weights[1] > weights[2]
    assert weights[3] == weights[0]
    assert np.sqrt(weights).sum() == pytest.approx(4)
    assert _weights(np.zeros(3)).tolist() == [1, 1, 1]


def test_columns_that_hardly_spread_have_weights_all_the_same() -> None:
    weights = _weights(np.array([5e-324, 1.0]))
    assert np.isfinite(weights).all()
    assert np.sqrt(weights).sum() == pytest.approx(2)


@pytest.mark.parametrize("seed", range(6))
def test_every_row_goes_to_its_nearest_centroid(seed: int) -> None:
    table = exact_table(30, seed, missing=bool(seed % 2))
    coded = coded_of(table, 3)
    luck = np.random.default_rng(seed)
    seeds = np.sort(luck.choice(coded.distinct, size=6, replace=False))
    # centroids that are rows: the distance is that of the two rows, weighted
    mode = coded.codes[seeds]
    mean = np.zeros(mode.shape)
    at = coded.metric.offset[0]
    mean[:, 0] = coded.metric.data[at + mode[:, 0]]
    lacking = mode[:, 0] == coded.metric.missing[0]
    mode = mode.copy()
    mode[~lacking, 0] = -2
    weight = luck.choice([0.5, 1.0, 2.0], size=3)
    label = np.full(coded.distinct, -1)
    assert assign_weighted(coded.metric, coded.codes, weight, mean, mode, label) == coded.distinct
    scaled = Table(
        table.cells,
        table.kinds,
        table.paths,
        weights={
            name: table.weights.get(name, 1.0) * float(w)
            for name, w in zip(table.cells, weight, strict=True)
        },
    )
    for row in range(coded.distinct):
        far = [round(distance(scaled, row, int(other)), 9) for other in seeds]
        assert far[label[row]] == min(far)
