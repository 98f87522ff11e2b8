"""The traps of a register: with each guard switched off, enumeration of all worlds exposes somebody."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

import shoal
from naive_worlds import Exposed, Tale, exposed, held_by_cut
from series_stories import (
    MANY_CHANGES,
    expose_many,
    frame_of,
    make,
    plan_of,
    sides_shown,
    story,
    tell,
    told,
)
from shoal.group.standing import lists as lists_of
from shoal.model.task import quiet
from shoal.run import listing, register
from shoal.run.register import Before, release_register
from shoal.run.whose import persons_of

# values: who is listed with whom


def unguarded(monkeypatch, name):
    """The lists without one of their guards."""
    take = lists_of._Schools.take

    def without(self, row, barred, rules):
        if name == "overlap":
            return take(self, row, [set() for _ in barred], rules)
        if name == "others":
            number = take(self, row, barred, rules)
            if number is not None:
                self.kept_out[number] = [set() for _ in barred]
            return number
        return take(self, row, barred, ())

    monkeypatch.setattr(lists_of._Schools, "take", without)


def test_lists_that_share_values_tell_more(monkeypatch):
    unguarded(monkeypatch, "overlap")
    values, refused = tell(range(8), plan_of(2), **MANY_CHANGES)
    assert values.uneven > 0
    assert refused > 0


def test_those_listed_anew_together_may_not_bar_one_another(monkeypatch):
    unguarded(monkeypatch, "others")
    values, refused = tell(range(25), plan_of(2), people=24, change=0.4)
    assert values.uneven > 0
    assert refused > 0


def test_a_rule_may_break_by_adding_one(monkeypatch):
    plan = plan_of(2, rules=["ill: at most 50%"])
    assert tell(range(12), plan, **MANY_CHANGES)[0].share <= 0.5
    unguarded(monkeypatch, "rules")
    values, refused = tell(range(12), plan, **MANY_CHANGES)
    assert values.share > 0.5
    assert refused > 0


def test_releases_by_themselves_expose():
    plan, values, cut = plan_of(3), Exposed(), 0
    for seed in range(10):
        tables = story(seed, people=12)
        releases = [one for table in tables for one in make([table], plan)]
        if len(releases) < len(tables):
            continue
        points = [{p: point for p, (point, _) in table.items()} for table in tables]
        cut += held_by_cut([sides_shown(release) for release in releases], points, 3)
        tale = told(numbered_on(releases), tables)
        tale.lacks.clear()  # here nobody is listed anew for what he has
        values += exposed(tale, 2)
    assert values.certain > 0
    assert cut > 0


def numbered_on(releases):
    """Releases whose schools have numbers of their own, with all lists so far."""
    out, lists, most = [], None, 0
    for one in releases:
        table = one.table.with_columns(pl.col("school") + most)
        new = one.lists.with_columns(pl.col("school") + most)
        lists = new if lists is None else pl.concat([lists, new])
        most = int(lists["school"].max())
        out.append(replace(one, table=table, lists=lists))
    return out


def listing_with(monkeypatch, change):
    """Lists that are changed after they were made: `change(lists, enlisted, rows of newcomers, ...)`."""
    real = listing.enlist_rows

    def careless(entries, plan, state, former, at_former, ground, together):
        lists, enlisted = real(entries, plan, state, former, at_former, ground, together)
        return change(lists, enlisted, entries, state, former, at_former)

    monkeypatch.setattr(register, "enlist_rows", careless)


def test_newcomers_who_join_old_lists_singly_are_exposed(monkeypatch):
    def join(lists, enlisted, entries, state, former, at_former):
        if former is None:
            return lists, enlisted
        new = np.flatnonzero(at_former < 0)
        school = enlisted.school.copy()
        school[new] = 1 + np.arange(new.size) % int(former["school"].max())
        added = entries[pl.Series(new)].with_columns(
            pl.Series("school", school[new]), since=pl.lit(1, pl.Int64)
        )
        lists = pl.concat([former, added.select(former.columns)]).sort(former.columns)
        return lists, replace(enlisted, school=school, new=0, left=enlisted.left[:0])

    listing_with(monkeypatch, join)
    values, refused = tell(range(6), plan_of(3), people=12, change=0.0)
    assert values.certain > 0
    assert refused > 0


def test_a_list_without_the_entries_of_those_who_left_exposes_them(monkeypatch):
    def leave(lists, enlisted, entries, state, former, at_former):
        here = {}
        for school, value in zip(enlisted.school.tolist(), entries["ill"].to_list(), strict=True):
            here.setdefault(school, []).append(value)
        kept = []
        for row in lists.rows():
            if row[1] in here.get(row[0], ()):
                here[row[0]].remove(row[1])
                kept.append(row)
        return pl.DataFrame(kept, schema=lists.schema, orient="row"), enlisted

    listing_with(monkeypatch, leave)
    values, refused = tell(range(6), plan_of(3), people=12, change=0.0)
    assert values.certain > 0
    assert refused > 0


def test_the_same_counts_with_other_members_tell_who_has_what():
    people = dict(zip("pqrx", "baaa", strict=True))
    tale = Tale([[*"pqr"], [*"pqx"], [*"pxr"]], people)
    found = exposed(tale, 2)
    assert found.certain == 4


def test_lists_shown_again_with_the_same_set_of_values_but_free_counts_expose(monkeypatch):
    """Those whose lists hold the same values are listed anew, each list with just these, in any number."""

    def again(lists, enlisted, entries, state, former, at_former):
        if former is None:
            return lists, enlisted
        school, values, shows = enlisted.school.copy(), entries["ill"].to_list(), {}
        for one, value in former.select("school", "ill").rows():
            shows.setdefault(one, set()).add(value)
        pools = {}
        for row in np.flatnonzero(np.isin(school, list(shows)) & (at_former >= 0)).tolist():
            pools.setdefault(frozenset(shows[school[row]]), []).append(row)
        luck, number, born = np.random.default_rng(state.number), int(lists["school"].max()), []
        for its, rows in pools.items():
            for _ in range(20):
                parts = np.array_split(luck.permutation(rows), max(1, len(rows) // 3))
                if len(rows) >= 3 and all({values[row] for row in part} == its for part in parts):
                    for part in parts:
                        number += 1
                        school[part] = number
                    born.extend(rows)
                    break
        new = entries[pl.Series(born, dtype=pl.UInt32)].with_columns(
            pl.Series("school", school[born]), since=pl.lit(state.number + 1, pl.Int64)
        )
        lists = pl.concat([lists, new.select(lists.columns)])
        return lists, replace(enlisted, school=school)

    stories = {"people": 18, "change": 0.0}
    assert tell(range(10), plan_of(3), **stories)[0].certain == 0
    listing_with(monkeypatch, again)
    values, refused = tell(range(10), plan_of(3), **stories)
    assert values.certain > 0
    assert refused > 0


def test_a_seat_that_is_given_on_is_refused(monkeypatch):
    def hand_over(lists, enlisted, entries, state, former, at_former):
        """Newcomers take the entries of those who left, where values are the same."""
        if former is None:
            return lists, enlisted
        school = enlisted.school.copy()
        here = set(school[at_former >= 0].tolist())
        new = np.flatnonzero(at_former < 0)
        values = entries["ill"].to_list()
        taken = dict(former.filter(pl.col("school").is_in(list(here))).select("ill", "school").rows())
        for row in new:
            if values[row] in taken:
                school[row] = taken[values[row]]
        born = lists.filter(pl.col("since") == state.number + 1)["school"].unique().to_list()
        gone = set(born) - set(school.tolist())
        lists = lists.filter(~pl.col("school").is_in(list(gone)))
        return lists, replace(enlisted, school=school)

    listing_with(monkeypatch, hand_over)
    refused = 0
    for seed in range(6):
        tables = story(seed, people=12, change=0.0)
        refused += sum(bool(one.verdict.reasons) for one in make(tables, plan_of(3)))
    assert refused > 0


def continued(table, plan, before):
    release = release_register(frame_of(table, plan), plan, before, progress=quiet)
    return release, Before(release._register.state, release.lists, release.certificate)


def test_one_who_returns_and_is_taken_for_new_is_exposed():
    values = Exposed()
    for seed in range(40):
        tables, before, releases = story(seed, people=8, change=0.0), None, []
        everyone = {person for table in tables for person in table}
        for table in tables:
            try:
                release, before = continued(table, plan_of(3), before)
            except shoal.DataError:
                break
            releases.append(release)
            gone = pl.Series(sorted(everyone - set(table)), dtype=pl.String)
            state, _ = before.state.without(persons_of(gone, before.state.key))
            before = replace(before, state=state)
        values += exposed(told(releases, tables), 2)
    assert values.few > 0


def test_two_releases_after_one_state_expose():
    values = Exposed()
    for seed in range(12):
        tables = story(seed, people=12, change=0.0)
        try:
            first, before = continued(tables[0], plan_of(3), None)
            second, _ = continued(tables[1], plan_of(3), before)
            again, _ = continued(tables[2], plan_of(3), before)
        except shoal.DataError:
            continue
        top = int(second.lists["school"].max())
        old = pl.col("school") <= int(first.lists["school"].max())
        moved = pl.when(old).then(pl.col("school")).otherwise(pl.col("school") + top)
        both = pl.concat([second.lists, again.lists.filter(~old).with_columns(moved)])
        third = replace(again, table=again.table.with_columns(moved), lists=both)
        values += exposed(told([first, second, third], tables), 2)
    assert values.certain > 0


def test_a_second_series_of_the_same_persons_exposes():
    values = Exposed()
    for seed in range(12):
        tables = story(seed, people=12, change=0.0)[:2]
        one, other = make(tables, plan_of(3)), make(tables, plan_of(3, quasi=["x"], kinds={"x": "number"}))
        if len(one) == len(other) == 2:
            releases = numbered_on([one[-1], other[-1]])
            values += exposed(told(releases, [tables[-1]] * 2), 2)
    assert values.certain > 0


def test_one_person_named_twice_is_exposed(monkeypatch):
    """He stands in two lists, and has what both show."""
    values = Exposed()
    for seed in range(12):
        tables = story(seed, people=16, change=0.0)[:1]
        try:
            release, _ = continued(tables[0], plan_of(3), None)
        except shoal.DataError:
            continue
        tale = told([release], tables)
        if len(tale.lists) < 2:
            continue
        twin, person = tale.lists[1][0], tale.lists[0][0]
        if tale.truth[twin] == tale.truth[person]:
            tale.lists[1][0] = person
            values += exposed(tale, 2)
    assert values.few > 0


# cells: what is shown of a person, cut


def test_cells_made_afresh_cut_one_another(monkeypatch):
    real = register.ground_of

    def nothing_shown(coded, cut, sides, key):
        return real(coded, np.full_like(cut, -1), sides, key)

    monkeypatch.setattr(register, "ground_of", nothing_shown)
    found = expose_many(range(12), rules=[])
    assert found.cut > 0
    assert found.refused > 0


def test_newcomers_do_not_hide_those_who_were_there_longer(monkeypatch):
    real = register._times

    def as_if_always(state, at_former, ground, points, number):
        since, stay = real(state, at_former, ground, points, number)
        return since, np.ones_like(stay)

    monkeypatch.setattr(register, "_times", as_if_always)
    found = expose_many(range(42), rules=[])
    assert found.cut > 0
    assert found.refused > 0


def test_those_who_moved_inside_their_cells_do_not_hide_others(monkeypatch):
    real = register._times

    def as_if_unmoved(state, at_former, ground, points, number):
        return real(state, at_former, ground, state.lines("point", at_former, 0), number)

    monkeypatch.setattr(register, "_times", as_if_unmoved)
    found = expose_many(range(21), 0.9, rules=[])
    assert found.cut > 0
    assert found.refused > 0


def test_what_was_shown_of_one_who_returns_still_counts(monkeypatch):
    cut = 0
    for seed in range(40):
        tables, before, releases = story(seed, people=14, change=0.0), None, []
        for table in tables:
            release, before = continued(table, plan_of(3, rules=[]), before)
            releases.append(release)
            state = before.state
            gone = state.stay == 0
            state = replace(state, cut=np.where(gone[:, None], -1, state.cut))
            before = replace(before, state=state)
        points = [{p: point for p, (point, _) in table.items()} for table in tables]
        cut += held_by_cut([sides_shown(release) for release in releases], points, 3)
    assert cut > 0
