"""Risk and the linkage trial, against examples worked by hand and simulation."""

from __future__ import annotations

import dataclasses
import math
import random
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.check.exposure import journalist_risk, population_uniques
from shoal.check.kanonymity import classes_of, records_of
from shoal.check.persons import standing_of
from shoal.check.rules import unit_ruling
from shoal.errors import DataError, PlanError
from shoal.model.hierarchy import Hierarchy
from shoal.model.whom import Behind


def test_risks_by_hand():
    # classes: 1, 2 and 3 records
    frame = pl.DataFrame({"age": [1, 2, 2, 3, 3, 3], "sex": list("mmmfff")})
    found = shoal.risk(frame, quasi=["age", "sex"], threshold=0.4)
    assert (found.records, found.classes, found.uniques, found.at_risk) == (6, 3, 1, 3)
    assert found.prosecutor_highest == found.journalist_highest == 1
    assert found.prosecutor_mean == pytest.approx(3 / 6)
    assert found.marketer == pytest.approx(3 / 6)
    assert found.population_uniques == 1
    assert [(one.columns, one.uniques) for one in found.columns] == [(("age",), 1), (("sex",), 0)]
    assert [(one.columns, one.uniques) for one in found.pairs] == [(("age", "sex"), 1)]
    # dropping age leaves nobody alone
    assert [(one.columns, one.uniques) for one in found.without] == [(("age",), 0), (("sex",), 1)]
    assert found.is_high
    assert found.in_words().startswith("HIGH RISK. 1 of 6 records (16.7 %)")


def test_a_safe_table_is_called_safe():
    found = shoal.risk(pl.DataFrame({"age": [1] * 5 + [2] * 6}), quasi="age")
    assert not found.is_high
    assert found.in_words().startswith("LOW RISK if every record is a person of its own. Every record")
    assert "in a class of at least 5 records: no record is found" in found.in_words()


def test_the_threshold_is_not_above_itself():
    assert shoal.risk(pl.DataFrame({"age": [1] * 5}), quasi="age", threshold=0.2).at_risk == 0
    assert shoal.risk(pl.DataFrame({"age": [1] * 4}), quasi="age", threshold=0.2).at_risk == 4


def test_journalist_risk_is_the_series_it_stands_for():
    # the sum over h >= f of 1/h * C(h-1, f-1) p^f (1-p)^(h-f)
    for p in (0.05, 0.3, 0.9):
        for f in (1, 2, 7):
            series = sum(
                math.comb(h - 1, f - 1) * p**f * (1 - p) ** (h - f) / h for h in range(f, int(60 * f / p))
            )
            assert journalist_risk(np.array([f]), p)[0] == pytest.approx(series, rel=1e-6)
    assert journalist_risk(np.array([3]), 1e-12)[0] == pytest.approx(1e-12 / 2)
    for p in (0.01, 0.5, 0.999, 1 - 1e-9):
        for f in (1, 2, 3, 10, 1000, 10**6):
            # the same as a series of terms above 0: n! / ((f + 1) ... (f + n)) (1 - p)^n
            n = np.arange(5000)
            terms = np.cumprod(np.append(1.0, (n + 1) / (f + 1 + n) * (1 - p)))
            assert journalist_risk(np.array([f]), p)[0] == pytest.approx(p / f * terms.sum(), rel=1e-9)
    assert journalist_risk(np.array([1]), 0.1)[0] == pytest.approx(0.1 / 0.9 * math.log(10))
    np.testing.assert_allclose(journalist_risk(np.array([1, 4]), 1.0), [1, 0.25])


def test_population_uniques_by_hand_and_by_simulation():
    # 2 classes of 1 and 1 of 3, p = 1/2: 2 * 2 / (1 + 1 + 3/4)
    assert population_uniques(np.array([1, 1, 3]), 0.5) == pytest.approx(4 / 2.75)
    assert population_uniques(np.array([1, 1, 3]), 1.0) == 2
    assert population_uniques(np.array([2, 3]), 0.5) == 0
    random_ = np.random.default_rng(0)
    population = np.minimum(random_.geometric(0.3, 20_000), 12)
    sample = random_.binomial(population, 0.5)
    true = int(((sample == 1) & (population == 1)).sum())
    found = population_uniques(sample[sample > 0], 0.5)
    assert found == pytest.approx(true, rel=0.35)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"quasi": []}, PlanError),
        ({"quasi": ["age", "age"]}, PlanError),
        ({"quasi": ["zip"]}, DataError),
        ({"quasi": ["age"], "sampling": 0}, PlanError),
        ({"quasi": ["age"], "sampling": 1.5}, PlanError),
        ({"quasi": ["age"], "threshold": 0}, PlanError),
    ],
)
def test_wrong_words_are_refused(words, error):
    with pytest.raises(error):
        shoal.risk(pl.DataFrame({"age": [1, 2]}), **words)


REGISTER = pl.DataFrame(
    {
        "name": ["p", "q", "r", "s"],
        "alter": [20, 33, 50, None],
        "ort": ["Bonn", "Köln", "Paris", "Bonn"],
        "tag": ["2020-01-02", "2020-03-01", "2021-01-01", "2020-01-01"],
    }
)
TREE = Hierarchy.of_paths([("Bonn", "DE", "*"), ("Köln", "DE", "*"), ("Paris", "FR", "*")])


def test_every_form_of_cell_is_understood():
    release = pl.DataFrame(
        {
            "age": ["[20, 30]", "[20, 30]", "33", "*"],
            "city": ["DE", "DE", "Köln", "*"],
            "day": ["[2020-01-01, 2020-02-01]"] * 2 + ["2020-03-01", "*"],
            "ill": ["flu", "flu", "cold", "gout"],
        }
    )
    found = shoal.attack(
        release,
        REGISTER,
        match={"age": "alter", "city": "ort", "day": "tag"},
        sensitive="ill",
        hierarchies={"city": TREE},
        k=3,
    )
    # p: both flu and the star; q: cold and the star; r: the star alone; s (age unknown): like p
    assert (found.persons, found.found) == (4, 4)
    assert (found.one_record, found.one_class, found.fewest, found.median) == (1, 1, 1, 2.5)
    assert found.few == 2
    assert found.homogeneous[0].persons == 1  # r
    without_star = shoal.attack(
        release.head(3), REGISTER, match={"age": "alter", "city": "ort"}, sensitive="ill",
        hierarchies={"city": TREE},
    )  # fmt: skip
    # p and s (Bonn lies below DE, and is not Köln) in the class with flu twice, q in that with cold
    assert (without_star.found, without_star.one_class, without_star.one_record) == (3, 3, 1)
    assert without_star.homogeneous[0].persons == 3


def test_sets_bounds_places_and_means():
    sets = pl.DataFrame({"city": ["{Bonn, Köln}"] * 3})
    assert shoal.attack(sets, REGISTER, match={"city": "ort"}).found == 3
    bounds = pl.DataFrame({"age_low": [18, 18], "age_high": [34, 34]})
    found = shoal.attack(bounds, REGISTER.head(3), match={"age": "alter"})
    assert (found.found, found.fewest) == (2, 2)
    places = pl.DataFrame({"home": ["[1, 2] x [5, 6]", "[1, 2] x [7, 8]"]})
    register = pl.DataFrame({"lat": [1.5], "lon": [7.5]})
    assert shoal.attack(places, register, match={"home": "lat+lon"}).one_record == 1
    means = pl.DataFrame({"age": [22.5, 22.5, 49.0, 49.0]})
    three = REGISTER.head(3)
    assert shoal.attack(means, three, match={"age": "alter"}).found == 0
    near = shoal.attack(means, three, match={"age": "alter"}, nearest=True)
    assert (near.found, near.fewest) == (3, 2)


def test_a_release_hides_everybody_of_its_table():
    luck = random.Random(0)
    frame = pl.DataFrame(
        {
            "age": [luck.randint(20, 80) for _ in range(200)],
            "city": [luck.choice(["Bonn", "Köln", "Paris"]) for _ in range(200)],
            "ill": [luck.choice(["flu", "flu", "flu", "cold", "gout"]) for _ in range(200)],
        }
    )
    words = {
        "quasi": ["age", "city"],
        "hierarchies": {"city": TREE},
        "sensitive": "ill",
        "method": "mondrian",
    }
    attack = {"match": {"age": "age", "city": "city"}, "sensitive": "ill", "hierarchies": {"city": TREE}}
    raw = shoal.attack(frame, frame, **attack, k=3)
    assert raw.one_record > 20
    plain = shoal.attack(shoal.anonymize(frame, k=3, **words).table, frame, **attack, k=3)
    assert (plain.few, plain.one_record, plain.found) == (0, 0, 200)
    assert plain.homogeneous[0].persons > 0
    ruled = shoal.anonymize(frame, k=3, rules="ill: 3-diverse", **words).table
    assert shoal.attack(ruled, frame, **attack, k=3).homogeneous[0].persons == 0


def test_candidates_equal_a_plain_count():
    luck = random.Random(3)
    cells = [sorted(luck.sample(range(30), 2)) for _ in range(40)]
    release = pl.DataFrame({"age": [f"[{a}, {b}]" for a, b in cells]})
    known = [luck.randint(0, 30) for _ in range(25)]
    counts = [sum(a <= value <= b for a, b in cells) for value in known]
    found = shoal.attack(release, pl.DataFrame({"age": known}), match={"age": "age"})
    assert found.found == sum(count > 0 for count in counts)
    assert found.mean == pytest.approx(np.mean([count for count in counts if count]))
    assert all(a <= b for a, b in pairwise([found.fewest, found.median]))


def test_wrong_columns_are_named():
    with pytest.raises(DataError, match="The release has no column 'zip'"):
        shoal.attack(REGISTER, REGISTER, match={"zip": "ort"})
    with pytest.raises(DataError, match="The register has no column 'zip'"):
        shoal.attack(REGISTER, REGISTER, match={"ort": "zip"})
    with pytest.raises(PlanError, match="Nothing is matched"):
        shoal.attack(REGISTER, REGISTER, match={})
    for match in ({0: "ort"}, {"ort": None}, ["ort"]):
        with pytest.raises(PlanError, match="match must be a mapping of names"):
            shoal.attack(REGISTER, REGISTER, match=match)


def test_columns_that_may_be_cells_are_not_listed():
    first_row_for_names = pl.DataFrame({"Zyxwvut73": ["x"], "ages": ["1"]})
    with pytest.raises(DataError, match="It has 2 columns: check the names") as caught:
        shoal.risk(first_row_for_names, quasi=["ort"])
    assert "Zyxwvut73" not in str(caught.value)
    for release, register in ((first_row_for_names, REGISTER), (REGISTER, first_row_for_names)):
        with pytest.raises(DataError, match=r"check the names") as caught:
            shoal.attack(release, register, match={"ort": "ort"})
        assert "Zyxwvut73" not in str(caught.value)
    with pytest.raises(DataError, match=r"Did you mean 'ages'\?"):
        shoal.risk(first_row_for_names, quasi=["age"])


DAYS = ["1980-01-05", "1980-02-06", "1990-03-07", "1990-04-08"]
WRITTEN = ["05.01.1980", " 06.02.1980", "07.03.1990", ""]


@pytest.mark.parametrize("cells", ["text", "bounds"])
def test_dates_that_are_written_otherwise_do_not_make_everybody_safe(cells):
    frame = pl.DataFrame({"born": DAYS})
    release = shoal.anonymize(frame, k=2, quasi=["born"], cells=cells, method="k-member").table
    register = pl.DataFrame({"day": WRITTEN})
    assert shoal.attack(release, pl.DataFrame({"day": DAYS}), match={"born": "day"}).found == 4
    with pytest.raises(
        DataError, match=r"'born' of the release shows ranges of dates, but none of the 3"
    ) as no:
        shoal.attack(release, register, match={"born": "day"})
    assert "05.01.1980" not in str(no.value)
    assert "the kind of 'born' is then date(" in str(no.value)
    assert (no.value.field, no.value.column) == ("kinds", "born")
    told = shoal.attack(release, register, match={"born": "day"}, kinds={"born": "date(%d.%m.%Y)"})
    assert (told.found, told.fewest, told.mean) == (4, 2, 2.5)  # a blank may be anybody
    for kinds in ({"day": "date(%d.%m.%Y)"}, {"born": "number"}):
        with pytest.raises(PlanError, match="dates of a matched column"):
            shoal.attack(release, register, match={"born": "day"}, kinds=kinds)


def test_moments_of_a_register_are_read_by_their_form():
    moments = [f"{day}T10:30:00" for day in DAYS]
    release = shoal.anonymize(pl.DataFrame({"seen": moments}), k=2, quasi=["seen"], method="k-member").table
    register = pl.DataFrame({"seen": [f"{day[8:]}/{day[5:7]}/{day[:4]} 10:30" for day in DAYS]})
    with pytest.raises(DataError, match="ranges of dates"):
        shoal.attack(release, register, match={"seen": "seen"})
    kinds = {"seen": "date(%d/%m/%Y %H:%M)"}
    assert shoal.attack(release, register, match={"seen": "seen"}, kinds=kinds).found == 4


def test_texts_that_are_no_numbers_are_not_held_against_ranges():
    release = pl.DataFrame({"size": ["[1, 2]", "3", "*"]})
    with pytest.raises(DataError, match="ranges of numbers, but none of the 2 different values"):
        shoal.attack(release, pl.DataFrame({"size": ["1,5", "2,5"]}), match={"size": "size"})
    assert shoal.attack(release, pl.DataFrame({"size": ["1.5", "?"]}), match={"size": "size"}).found == 2
    assert shoal.attack(release, pl.DataFrame({"size": ["", None]}), match={"size": "size"}).found == 2
    codes = pl.DataFrame({"size": ["01", "{02, 03}", "*"]})
    assert shoal.attack(codes, pl.DataFrame({"size": ["a", "b"]}), match={"size": "size"}).found == 2


def test_one_wrong_column_is_answered_with_those_there_are():
    release = pl.DataFrame({"age_low": [1, 2], "age_high": [2, 2], "ill": ["a", "b"]})
    register = pl.DataFrame({"age": [1], "ort": ["x"]})
    with pytest.raises(
        DataError,
        match=r"release has no column 'il'\. Did you mean 'ill'\? Its columns are: age_low, age_high, ill",
    ):
        shoal.attack(release, register, match={"age": "age"}, sensitive=["il"])
    with pytest.raises(DataError, match=r"release has no column 'size'\. Its columns are: age_low"):
        shoal.attack(release, register, match={"age": "age"}, count="size")
    with pytest.raises(DataError, match=r"register has no column 'zip'\. Its columns are: age, ort"):
        shoal.attack(release, register, match={"age": "age", "ill": "zip"})
    with pytest.raises(DataError, match=r"table has no column 'zip'\. Its columns are: age, ort"):
        shoal.risk(register, quasi=["age", "zip"])
    assert shoal.attack(release, register, match={"age": "age"}).found == 1


def test_candidates_of_every_form_equal_a_plain_count():
    luck = random.Random(5)
    paths = [("Bonn", "DE", "*"), ("Köln", "DE", "*"), ("Paris", "FR", "*"), ("Nice", "FR", "*")]
    below = {"Bonn": {"Bonn"}, "Köln": {"Köln"}, "Paris": {"Paris"}, "DE": {"Bonn", "Köln"}}
    below |= {"FR": {"Paris", "Nice"}, "*": set()}
    jobs = ["baker", "cook", "smith", "clerk"]
    ages, towns, works, ills = [], [], [], []
    for _ in range(50):
        low, high = sorted(luck.sample(range(30), 2))
        ages.append(luck.choice([(low, high)] * 3 + [(low, low)] * 5 + [(0, 99)]))
        towns.append(luck.choice([*below, "Bonn", "Köln", "Paris"]))
        works.append(luck.choice([luck.sample(jobs, luck.randint(1, 3))] * 4 + [jobs]))
        ills.append(luck.choice(["flu", "cold"]))
    release = pl.DataFrame(
        {
            "age": ["*" if b == 99 else str(a) if a == b else f"[{a}, {b}]" for a, b in ages],
            "town": towns,
            "job": ["*" if len(w) == 4 else w[0] if len(w) == 1 else f"{{{', '.join(w)}}}" for w in works],
            "ill": ills,
        }
    )
    people = [
        (
            luck.choice([*range(30), None]),
            luck.choice(["Bonn", "Köln", "Paris", "Nice", "Rome"]),
            luck.choice([*jobs, ""]),
        )
        for _ in range(60)
    ]
    register = pl.DataFrame(people, schema=["age", "town", "job"], orient="row")
    found = shoal.attack(
        release,
        register,
        match={"age": "age", "town": "town", "job": "job"},
        hierarchies={"town": Hierarchy.of_paths(paths)},
        sensitive="ill",
    )
    candidates = [
        [
            line
            for line in range(50)
            if (age is None or ages[line][0] <= age <= ages[line][1])
            and (towns[line] == "*" or town in below[towns[line]])
            and (job in {"", *works[line]})
        ]
        for age, town, job in people
    ]
    counts = [len(lines) for lines in candidates]
    looks = [{(ages[i], towns[i], tuple(sorted(works[i]))) for i in lines} for lines in candidates]
    assert 0 < found.one_record == counts.count(1)
    assert found.found == sum(count > 0 for count in counts)
    assert found.mean == pytest.approx(np.mean([count for count in counts if count]))
    assert found.few == sum(0 < count < 5 for count in counts)
    assert found.one_class <= sum(len(look) == 1 for look in looks)
    assert found.homogeneous[0].persons == sum(
        len({ills[i] for i in lines}) == 1 for lines in candidates if lines
    )


@pytest.mark.slow
def test_many_values_need_no_table_of_all_pairs():
    # 40,000 numbers against 20,000 ranges: all pairs at once would be 800 million
    import tracemalloc

    known = np.arange(40_000)
    release = pl.DataFrame({"n": [f"[{2 * i}, {2 * i + 1}]" for i in range(20_000)]})
    register = pl.DataFrame({"n": known})
    tracemalloc.start()
    found = shoal.attack(release, register, match={"n": "n"})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.one_record, found.few) == (40_000, 40_000)
    assert peak < 200e6


def test_records_of_a_row_are_counted():
    found = shoal.risk(pl.DataFrame({"age": [1, 2, 3], "n": [1, 4, 5]}), quasi="age", count="n")
    assert (found.records, found.uniques, found.at_risk) == (10, 1, 5)


def test_persons_who_are_alike_all_count_and_strangers_do_not():
    release = pl.DataFrame({"age": [20, 30, 30], "ill": ["flu", "flu", "cold"]})
    register = pl.DataFrame({"age": [20, 20, 30, 99]})
    found = shoal.attack(release, register, match={"age": "age"}, sensitive="ill", k=2)
    assert (found.persons, found.found, found.one_record, found.few) == (4, 3, 2, 2)
    assert found.homogeneous[0].persons == 2
    # the stranger's nearest records have two illnesses
    near = shoal.attack(release, register, match={"age": "age"}, sensitive="ill", nearest=True)
    assert (near.found, near.homogeneous[0].persons) == (4, 2)


def test_a_bound_that_is_missing_may_hide_any_value():
    bounds = pl.DataFrame({"age_low": [18, None, 18], "age_high": [34, 40, None]})
    found = shoal.attack(bounds, pl.DataFrame({"age": [20, 90]}), match={"age": "age"})
    assert (found.found, found.fewest, found.mean) == (2, 2, 2.5)


def test_rows_without_a_person_are_one_person():
    table = pl.DataFrame({"face": [1, 1, 1, 1], "who": ["a", "", None, "a"]})
    classes = classes_of(table, ["face"], records_of(table, None))
    ruling = unit_ruling("who", standing_of(classes, Behind(np.arange(4), table["who"])), 3)
    assert (ruling.measured, ruling.holds) == (2, False)


def test_without_pairs_the_rest_is_the_same():
    table = pl.DataFrame(
        {
            "who": ["a", "a", "b", "", "c", "", "d", "e"],
            "one": ["x", "y", "x", "x", "y", "y", "z", "x"],
            "two": [1, 1, 2, 2, 1, 1, 3, 2],
        }
    )
    for unit in (None, "who"):
        full = shoal.risk(table, quasi=["one", "two"], unit=unit or "rows")
        light = shoal.risk(table, quasi=["one", "two"], unit=unit or "rows", pairs=False)
        assert light.pairs == light.without == ()
        assert light.not_paired == 2
        assert dataclasses.replace(light, pairs=full.pairs, without=full.without, not_paired=0) == full


def test_persons_of_one_row_each_are_counted_as_persons():
    table = pl.DataFrame({"who": [f"p{row}" for row in range(9)], "one": list("xxxxyyyzz")})
    found = shoal.risk(table, quasi=["one"], unit="who")
    assert (found.persons, found.classes, found.smallest_class, found.at_risk) == (9, 3, 2, 9)


def test_a_weight_for_every_record_says_what_one_share_says():
    frame = pl.DataFrame({"a": ["x", "y", "y", "z", "z", "z"], "w": [4.0] * 6})
    weighed = shoal.risk(frame, quasi=["a"], sampling_weight="w", unit="rows")
    shared = shoal.risk(frame, quasi=["a"], sampling=0.25, unit="rows")
    assert weighed.journalist_highest == pytest.approx(shared.journalist_highest)
    assert weighed.marketer == pytest.approx(shared.marketer)
    assert weighed.sampling == pytest.approx(0.25)
    assert weighed.population_uniques == pytest.approx(
        0.25
    )  # one record, alone there with a chance of 1 / 4
    assert "own weight" in weighed.on_sampling()


def test_heavy_records_are_safer_than_light_ones():
    frame = pl.DataFrame({"a": ["x", "y"], "w": [1.0, 1000.0], "z": ["zqbad", "2"]})
    light = shoal.risk(frame, quasi=["a"], sampling_weight="w", unit="rows")
    assert light.journalist_highest == pytest.approx(1.0)
    assert light.population_uniques == pytest.approx(1.001)
    with pytest.raises(shoal.DataError, match="1 of 2 cells that are no sampling weight") as caught:
        shoal.risk(frame, quasi=["a"], sampling_weight="z", unit="rows")
    assert "zq" not in str(caught.value)
    for more in ({"sampling": 0.5}, {"count": "w"}, {"unit": "a"}):
        with pytest.raises(shoal.PlanError, match="goes with neither"):
            shoal.risk(frame.select("w", "a", b="a"), quasi=["b"], sampling_weight="w", **more)
