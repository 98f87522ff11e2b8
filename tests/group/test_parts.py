from __future__ import annotations

from datetime import time, timedelta

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import shoal
from mixed_tables import mixed_table, mixed_words
from shoal.encode import encode
from shoal.encode.keys import keys_needed, pack_keys, unpack_keys
from shoal.group.parts.cut import cut_into_parts, merge_small, parts_of
from shoal.group.parts.persons import numbers_of_persons
from shoal.group.parts.sample import add, count_tuples, hashes_of, thin
from shoal.kernels.parts.hashes import hash_texts
from shoal.kernels.parts.tree import grow_tree
from shoal.model.coded import Coded
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan


@pytest.fixture(scope="module")
def coded() -> Coded:
    return encode(mixed_table(3000), Plan(**mixed_words()))


def test_rows_find_the_part_into_which_they_were_cut(coded: Coded) -> None:
    cuts = cut_into_parts(coded.codes, coded.count, coded.metric, 50)
    *_, label = grow_tree(coded.codes, coded.count, coded.metric, 50)
    assert np.array_equal(parts_of(coded.codes, cuts), label)
    sizes = np.bincount(label, weights=coded.count)
    assert cuts.parts == sizes.size > 10
    assert sizes.min() >= 50


def test_rows_that_were_never_seen_find_a_part_too(coded: Coded) -> None:
    some = np.arange(0, coded.distinct, 7)
    cuts = cut_into_parts(coded.codes[some], coded.count[some], coded.metric, 20)
    part = parts_of(coded.codes, cuts)
    assert part.min() == 0
    assert part.max() == cuts.parts - 1
    # rows with the same codes stand together whatever else is asked
    assert np.array_equal(part, parts_of(coded.codes[::-1].copy(), cuts)[::-1])


def test_a_table_that_cannot_be_cut_is_one_part(coded: Coded) -> None:
    cuts = cut_into_parts(coded.codes, coded.count, coded.metric, coded.total)
    assert cuts.parts == 1
    assert parts_of(coded.codes, cuts).max() == 0


def test_tables_are_cut_where_it_is_dear_to_cross() -> None:
    """Between the children of a tree, in halves where each is small, rather than inside numbers."""
    random = np.random.default_rng(1)
    towns = [f"{state}{town}" for state in "abcdef" for town in range(4)]
    frame = pl.DataFrame({"age": random.integers(0, 90, 2000), "town": random.choice(towns, 2000)})
    tree = {"town": Hierarchy.of_paths([[town, town[0], "*"] for town in towns])}
    coded = encode(frame, Plan(k=2, quasi=("age", "town"), hierarchies=tree))
    cuts = cut_into_parts(coded.codes, coded.count, coded.metric, 800)
    assert cuts.parts == 2
    assert cuts.axis[0] == 1
    part = parts_of(coded.codes, cuts)
    state = coded.codes[:, 1] // 4
    assert all(np.unique(part[state == at]).size == 1 for at in range(6))


@pytest.mark.parametrize(
    ("records", "block"),
    [
        ([5, 1, 0, 9, 2], [0, 1, 1, 1, 1]),
        ([0, 0, 4, 4, 0], [0, 0, 0, 1, 1]),
        ([1, 1, 1], [0, 0, 0]),
        ([4, 4], [0, 1]),
        ([0, 0], [0, 0]),
    ],
)
def test_small_parts_join_the_next_and_the_last_join_the_one_before(
    records: list[int], block: list[int]
) -> None:
    assert merge_small(np.array(records), 4).tolist() == block


@pytest.mark.parametrize(
    ("text", "seed", "known"),
    [
        ("", 0, 0xEF46DB3751D8E999),
        ("a", 0, 0xD24EC4F1A98C6E5B),
        ("abc", 0, 0x44BC2CF5AD770999),
        ("Nobody inspects the spammish repetition", 0, 0xFBCEA83C8A378BF1),
    ],
)
def test_texts_have_the_published_hashes(text: str, seed: int, known: int) -> None:
    letters = np.frombuffer(f"-{text}?".encode(), dtype=np.uint8)
    out = np.empty(1, dtype=np.uint64)
    hash_texts(letters, np.array([1, 1 + len(text)]), np.uint64(seed), out)
    assert int(out[0]) == known


def test_persons_are_told_apart_by_what_names_them() -> None:
    names = pa.array(["ann", " ann ", "bob", None, "?", "", "n" * 70])
    numbers = numbers_of_persons(names, ("?",))
    assert numbers[0] == numbers[1] != numbers[2]
    assert numbers[3:6].tolist() == [0, 0, 0]
    assert np.unique(numbers).size == 4
    assert np.array_equal(numbers, numbers_of_persons(names.dictionary_encode(), ("?",)))
    assert np.array_equal(numbers[2:5], numbers_of_persons(names[2:5], ("?",)))
    whole = numbers_of_persons(pa.array([7, 0, None, -9], type=pa.int32()), ("-9",))
    assert whole[2:].tolist() == [0, 0]
    assert whole[1] != 0
    assert np.array_equal(whole, numbers_of_persons(pa.chunked_array([[7, 0, None, -9]]), ("-9",)))
    some = [[b"\xff", b"a", b"a", None], [timedelta(1), timedelta(2), timedelta(2), None]]
    clocks = [time(1, 2, 3, 1), time(1, 2, 3, 2), time(1, 2, 3, 2), None]
    for other in ([1.5, -0.0, 0.0, None], [True, False, False, None], clocks, *some):
        found = numbers_of_persons(pa.array(other), ())
        assert found[1] == found[2] != found[0]
        assert found[3] == 0
    with pytest.raises(shoal.DataError, match="of the type List, which cannot be compared"):
        numbers_of_persons(pa.array([["ann"]]), ())


@pytest.mark.parametrize("sizes", [[3, 4, 5], [2**31 - 1, 2**31 - 1, 7], [2**31 - 1] * 5])
def test_keys_give_their_codes_back_and_stand_in_their_order(sizes: list[int]) -> None:
    random = np.random.default_rng(0)
    codes = np.stack([random.integers(0, size, 200) for size in sizes], axis=1).astype(np.int32)
    keys = pack_keys(codes, sizes)
    assert len(keys) == keys_needed(sizes)
    assert np.array_equal(unpack_keys(keys, sizes), codes)
    assert np.array_equal(np.lexsort(keys[::-1]), np.lexsort(codes.T[::-1]))


def test_hashes_are_those_of_spark() -> None:
    # SELECT xxhash64(1L), xxhash64(1L, 2L)
    one = hashes_of(np.array([[1]], dtype=np.int64)).astype(np.int64)
    two = hashes_of(np.array([[1], [2]], dtype=np.int64)).astype(np.int64)
    assert one[0] == -7001672635703045582
    assert two[0] != one[0]


@pytest.mark.parametrize("most", [40, 300, 10_000])
def test_a_sample_depends_on_values_alone(most: int) -> None:
    random = np.random.default_rng(1)
    keys = random.integers(0, 1000, (2, 5000))
    whole = add([count_tuples(keys)], most)
    assert whole.count.size <= most
    assert whole.are_all == (most == 10_000)
    shuffled = keys[:, random.permutation(keys.shape[1])]
    found = add([count_tuples(shuffled[:, :0])], most)
    for begin in range(0, 5000, 700):  # some parts know already how many zeros are needed
        part = count_tuples(shuffled[:, begin : begin + 700], zeros=found.zeros)
        found = add([found, part], most)
    assert found.zeros == whole.zeros
    assert np.array_equal(found.keys, whole.keys)
    assert np.array_equal(found.count, whole.count)
    all_of_them = add([count_tuples(keys)], keys.shape[1])
    assert all_of_them.count.sum() == keys.shape[1]
    assert np.array_equal(thin(all_of_them, whole.zeros).count, whole.count)


def test_rows_without_records_cut_nothing(coded: Coded) -> None:
    """They have no place among the codes that are counted, and were written past the end of a list."""
    count = coded.count.copy()
    count[::3] = 0
    held = count > 0
    cuts = cut_into_parts(coded.codes, count, coded.metric, 20)
    same = cut_into_parts(coded.codes[held], count[held], coded.metric, 20)
    assert cuts.parts > 10
    for name in ("axis", "first", "many", "edge", "child"):
        assert np.array_equal(getattr(cuts, name), getattr(same, name))
