"""What a forger has of a release, and what he may change in it."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl

import shoal
from shoal.model.certificate import Certificate
from shoal.model.figures import round_down
from shoal.model.files import lookup_path
from shoal.model.hierarchy import Hierarchy, prefixes
from shoal.recode import digest_of

__all__ = [
    "PLANS",
    "Case",
    "Forgery",
    "all_of",
    "better_bound",
    "cells",
    "claim_rule",
    "column",
    "fewer_groups_allowed",
    "field",
    "frame_for",
    "fresh_receipt",
    "keeper",
    "lookup",
    "lookup_and_mark",
    "measured",
    "more_withheld_allowed",
    "narrow",
    "other_people",
    "plan_rule",
    "planned",
    "smaller_value",
    "swap_between_classes",
    "swap_within_a_class",
    "unsealed",
    "ways",
    "with_ten_more",
    "without",
]

TREE = Hierarchy.of_paths([("a", "x"), ("b", "x"), ("c", "y"), ("d", "y"), ("e", "z")])
Said = dict[str, Any]


def people(rows: int = 60) -> pl.DataFrame:
    luck = random.Random(7)
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(rows)],
            "age": [luck.randrange(20, 80) if i % 11 else None for i in range(rows)],
            "born": [date(2000, 1, 1) + timedelta(days=luck.randrange(400)) for _ in range(rows)],
            "code": [luck.choice("abcde") for _ in range(rows)],
            "zip": [f"{luck.randrange(40):05d}" for _ in range(rows)],
            "word": [luck.choice(["p", "q, r", "{s}", None]) for _ in range(rows)],
            "ill": [luck.choice(["flu", "cold", "pox"]) for _ in range(rows)],
            "cost": [luck.randrange(100) + 0.5 for _ in range(rows)],
        }
    )


MIXED: Said = {
    "k": 4,
    "quasi": ["age", "born", "code", "zip", "word"],
    "sensitive": ["ill"],
    "keep": ["cost"],
    "identifier": ["name"],
    "hierarchies": {"code": TREE, "zip": prefixes(4, 3)},
    "weights": {"age": 2.0},
    "rules": ["ill: 2-diverse"],
    "method": "k-member",
}
CENTRE: Said = {
    "k": 4,
    "quasi": ["age", "born"],
    "kinds": {"age": "number"},
    "sensitive": ["ill"],
    "method": "centre",
    "withhold": 0.05,
    "options": {"max_groups": 6},
}
SUPPRESSED: Said = {"k": 2, "quasi": ["code", "ill"], "style": "suppress", "method": "pairs"}
MEANS: Said = {"k": 4, "quasi": ["age", "born"], "style": "means", "method": "mdav"}
IDS: Said = {"k": 9, "quasi": ["zip"], "kinds": {"zip": "label"}, "cells": "id", "method": "fold"}
PERSONS: Said = {"k": 4, "quasi": ["born", "code"], "unit": "name", "hierarchies": {"code": TREE}}
PLANS = {
    "mixed": MIXED,
    "centre": CENTRE,
    "suppressed": SUPPRESSED,
    "means": MEANS,
    "ids": IDS,
    "persons": PERSONS,
}


def frame_for(plan: str) -> pl.DataFrame:
    frame = people()
    return frame.drop_nulls("age") if plan in {"centre", "means"} else frame


@dataclass
class Case:
    """What a forger has: the files as dictionaries and tables, and the folder they are written to."""

    table: pl.DataFrame
    said: Said
    receipt: Said
    lookups: dict[str, pl.DataFrame]
    plan: str
    sealed: bool = True

    def remake(self, frame: pl.DataFrame, **words: Any) -> None:
        """A release of another table or plan, whole and true to that: a forger can always make one."""
        release = shoal.anonymize(frame, **{**PLANS[self.plan], **words})
        self.table = pl.DataFrame(release.table)
        mark = self.said["original"]
        marks = {name: self.said["plan"][name] for name in ("hierarchies", "graphs", "missing")}
        self.said = json.loads(release.certificate.to_json())
        self.said["plan"] |= marks
        self.said["original"] = mark


def ways(case: Case, folder: Path) -> dict[str, dict[str, bool | None]]:
    """The claims of a case by what is given."""
    case.table.write_csv(folder / "out.csv")
    if case.sealed:
        case.said["release"] = hashlib.sha256((folder / "out.csv").read_bytes()).hexdigest()
    (folder / "out.certificate.json").write_text(json.dumps(case.said))
    (folder / "out.receipt.json").write_text(json.dumps(case.receipt))
    for name, lookup in case.lookups.items():
        lookup.write_csv(lookup_path(folder / "out.csv", name, case.said["more"]["lookups"][name]))
    receipt = {"receipt": folder / "out.receipt.json"}
    original = {"original": frame_for(case.plan)}
    found = {}
    for way, given in {"a": {}, "o": original, "r": receipt, "b": original | receipt}.items():
        findings = shoal.verify(
            folder / "out.csv", folder / "out.certificate.json", hierarchies={"code": TREE}, **given
        )
        found[way] = {finding.claim: finding.holds for finding in findings}
    return found


Change = Callable[[Case], None]


@dataclass(frozen=True)
class Forgery:
    name: str
    change: Change
    caught: str
    claim: str = ""
    plan: str = "mixed"


def field(name: str, change: Callable[[Any], Any]) -> Change:
    def forge(case: Case) -> None:
        case.said[name] = change(case.said[name])

    return forge


def planned(name: str, change: Callable[[Any], Any]) -> Change:
    def forge(case: Case) -> None:
        case.said["plan"][name] = change(case.said["plan"][name])

    return forge


def all_of(*changes: Change) -> Change:
    def forge(case: Case) -> None:
        for change in changes:
            change(case)

    return forge


def without(name: str) -> Change:
    return lambda case: case.said.__setitem__(name, None)


def column(number: int, name: str, change: Callable[[Any], Any]) -> Change:
    def forge(case: Case) -> None:
        case.said["columns"][number][name] = change(case.said["columns"][number][name])

    return forge


def cells(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Change:
    def forge(case: Case) -> None:
        case.table = change(case.table)

    return forge


def better_bound(case: Case) -> None:
    """A bound that is too good, with its ratio."""
    case.said["bound"] = case.said["value"]
    case.said["ratio"] = 1.0


def smaller_value(case: Case) -> None:
    case.said["value"] = case.said["bound"]
    case.said["ratio"] = 1.0


def fewer_groups_allowed(case: Case) -> None:
    """Finding 7: parameters for a problem that nobody asked, and the bound that they prove."""
    figures = case.receipt["figures"]
    figures["bound_parameters"] = {"below": 0.9, "threshold": 1.0, "max_groups": 1.0}
    figures["bound_name"] = case.said["bound_name"] = "threshold"
    figures["bound"] = figures["value"]
    case.said["bound"] = round_down(figures["value"])
    case.said["ratio"] = 1.0


def more_withheld_allowed(case: Case) -> None:
    case.said["plan"]["withhold"] = 0.0
    case.said["bound"] = case.said["value"]
    case.said["ratio"] = 1.0


def claim_rule(case: Case) -> None:
    case.said["rules"].append({"rule": "ill: 9-diverse", "measured": 9.0, "holds": True, "failing": 0})


def plan_rule(case: Case) -> None:
    claim_rule(case)
    case.said["plan"]["rules"].append("ill: 9-diverse")


def measured(figure: float | None) -> Change:
    return lambda case: case.said["rules"][0].__setitem__("measured", figure)


def swap_within_a_class(table: pl.DataFrame) -> pl.DataFrame:
    """Two persons of one class change their illness: nobody could tell, and nothing has changed."""
    return table.reverse()


def swap_between_classes(table: pl.DataFrame) -> pl.DataFrame:
    cost = table["cost"].to_list()
    other = next(i for i in range(len(cost)) if table["born"][i] != table["born"][0] and cost[i] != cost[0])
    cost[0], cost[other] = cost[other], cost[0]
    return table.with_columns(pl.Series("cost", cost))


def narrow(table: pl.DataFrame) -> pl.DataFrame:
    first = pl.col("born") == table["born"][0]
    return table.with_columns(pl.when(first).then(pl.lit("2000-01-01")).otherwise("born").alias("born"))


def keeper(change: Change) -> Change:
    """The keeper of the receipt forges: whatever he changes, he seals again."""

    def forge(case: Case) -> None:
        change(case)
        case.said["release"] = hashlib.sha256(case.table.write_csv().encode()).hexdigest()
        case.receipt["release"] = case.said["release"]
        case.receipt["certificate"] = Certificate.of_json(json.dumps(case.said)).digest

    return forge


def unsealed(change: Change) -> Change:
    """A release changed without its certificate."""

    def forge(case: Case) -> None:
        change(case)
        case.sealed = False

    return forge


def other_people(change: Callable[[pl.DataFrame], pl.DataFrame], **words: Any) -> Change:
    return lambda case: case.remake(change(frame_for(case.plan)), **words)


def with_ten_more(frame: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([frame, frame[:10].with_columns(name="new " + pl.col("name"))])


def lookup(case: Case) -> None:
    case.lookups["zip"] = case.lookups["zip"].with_columns(pl.col("zip").reverse())


def lookup_and_mark(case: Case) -> None:
    lookup(case)
    case.said["more"]["lookups"]["zip"] = digest_of(case.lookups["zip"], "zip")


def fresh_receipt(case: Case) -> None:
    case.receipt["salt"] = "0" * 64
