"""What a certificate claims of its run, its inputs and its bound, recomputed where that can be done."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from shoal.bound import NAMES, again, is_drawn_as_meant, noise_of, prove
from shoal.check.claims import Claims, ranges_in
from shoal.check.ends import beyond_ends, coding_of
from shoal.check.measured import check_receipt
from shoal.encode.published import ranges_of
from shoal.encode.region import region_tree
from shoal.errors import DataError, PlanError
from shoal.group import METHODS, facts, fill_options
from shoal.model.certificate import Certificate
from shoal.model.coded import Coded
from shoal.model.facts import Facts
from shoal.model.figures import BEST, Ranges, round_down, round_up
from shoal.model.graph import Graph
from shoal.model.grouping import Proof
from shoal.model.hierarchy import Builder, Hierarchy
from shoal.model.marks import ANY_ORDER, added, mark_of_rows, marked_columns, sum_of_rows
from shoal.model.plan import Plan
from shoal.model.receipt import Receipt, fingerprint
from shoal.model.task import Effort, Task, quota
from shoal.model.verdict import GIVE, Finding
from shoal.model.whom import Whom
from shoal.read.hierarchy import parse_builder
from shoal.read.scan import Scan

__all__ = [
    "GIVE_ORIGINAL",
    "GIVE_RECEIPT",
    "Given",
    "Whole",
    "bound_findings",
    "bound_named",
    "built_trees",
    "end_findings",
    "original_finding",
    "ranges_seen",
    "run_findings",
]

GIVE_RECEIPT = GIVE["receipt"]
GIVE_ORIGINAL = GIVE["original"]


def run_findings(certificate: Certificate, receipt: Receipt | None) -> Iterator[Finding]:
    """What is claimed of the run: the method, its factor, what it was allowed, and who says so."""
    of_register = None if certificate.series is None else certificate.series.register
    if certificate.method not in METHODS:
        yield Finding("method", False, "There is no method of that name.")
    else:
        its = facts(certificate.method)
        # a method may let its user choose
        chosen = certificate.plan.options.get("objective", its.objective)
        objective = chosen if "objective" in its.options else its.objective
        if of_register is not None:
            objective = "loss"  # whatever the method makes small among those who come
        same = objective == certificate.objective
        detail = f"The method makes {objective!r} small; the certificate says {certificate.objective!r}."
        yield Finding("objective", same, detail)
        yield _factor(certificate, its, receipt)
    share = certificate.plan.withhold
    allowed = quota(share, certificate.records) if 0 <= share < 1 else 0
    detail = f"{certificate.withheld} records are withheld; the plan allows {allowed}."
    yield Finding("withheld", 0 <= certificate.withheld <= allowed, detail)
    yield _written(certificate, receipt)
    if receipt is not None and receipt.figures is not None:
        yield check_receipt(certificate, receipt.figures)
    elif certificate.more.keys() - {"lookups", "centre"}:
        yield Finding("figures", None, f"Sums of squares need the groups. {GIVE_RECEIPT}")


def _factor(certificate: Certificate, its: Facts, receipt: Receipt | None) -> Finding:
    """A factor is the method's own, or what the run proved for its table, never less than its least."""
    said, claims, least = certificate.factor, Claims.of(certificate), its.least_factor
    if said is None:
        return Finding("factor", True, "The certificate claims no factor.", claimed=False)
    if claims.rules or claims.unit is not None:
        return Finding(
            "factor", False, "No factor is proved for releases that obey rules or count persons."
        )
    proved = its.factor(claims.k, len(claims.quasi))
    if least is None:
        same = proved is not None and said == round_up(proved)
        detail = "no factor" if proved is None else f"a factor of {proved:g}"
        return Finding("factor", same, f"The certificate says {said:g}; the method proves {detail}.")
    if said < least * (1 - 1e-9):
        return Finding(
            "factor", False, f"The certificate says {said:g}; no run proves less than {least:g}."
        )
    if receipt is not None and receipt.certificate == certificate.digest:
        return Finding("factor", True, "It is what the run proved for its own table, by the receipt.")
    return Finding("factor", None, f"The run proved it for its own table. {GIVE_RECEIPT}")


def _written(certificate: Certificate, receipt: Receipt | None) -> Finding:
    """Whether the certificate is the one that the run wrote: seed, effort and version by no other way."""
    by = f"It says that Shoal {certificate.shoal} ran with seed {certificate.seed}"
    if receipt is None or receipt.certificate is None:
        return Finding("certificate", None, f"{by}, which no release tells. {GIVE_RECEIPT}")
    same = receipt.certificate == certificate.digest
    detail = "is" if same else "is not"
    return Finding(
        "certificate", same, f"{by}. The certificate {detail} the one that the receipt belongs to."
    )


def _is_built(tree: Hierarchy, builder: Builder, name: str) -> bool:
    """Whether a tree is what a builder makes of its leaves."""
    try:
        return builder.build(tree.leaves, column=name).fingerprint == tree.fingerprint
    except (DataError, PlanError):
        return False


class Given:
    """Hierarchies, graphs and missing marks, as far as they are those that were used.

    Their fingerprints are salted: with the receipt they are compared, without it they are taken as given.
    """

    def __init__(
        self,
        certificate: Certificate,
        receipt: Receipt | None,
        hierarchies: Mapping[str, Hierarchy | Builder],
        graphs: Mapping[str, Graph],
        missing: tuple[str, ...],
    ) -> None:
        self.said = certificate.plan
        self.receipt = receipt
        self.missing = missing
        self.findings: list[Finding] = []
        self.trees: dict[str, Hierarchy | Builder] = {}
        self.graphs: dict[str, Graph] = {}
        for name, said in self.said.hierarchies.items():
            tree = hierarchies.get(name)
            if "(" in said:  # a builder stands in the certificate as it was written
                if isinstance(tree, Builder) and tree.text != said:
                    detail = f"The hierarchy given is {tree.text}; {said} was used."
                    self.findings.append(Finding(f"hierarchy of {name}", False, detail))
                    continue
                built = parse_builder(said)
                if isinstance(tree, Hierarchy) and not _is_built(tree, built, name):
                    detail = f"The hierarchy given is another one and was not looked at: {said} was used."
                    self.findings.append(Finding(f"hierarchy of {name}", None, detail))
                    tree = None
                self.trees[name] = tree if tree is not None else built
            elif tree is not None:
                mark = "" if isinstance(tree, Builder) else tree.fingerprint
                if self._is_used(f"hierarchy of {name}", "hierarchy", mark, said):
                    self.trees[name] = tree
            else:
                detail = f"Its fingerprint is salted. {GIVE['hierarchies']} {GIVE_RECEIPT}"
                self.findings.append(Finding(f"hierarchy of {name}", None, detail))
        self.whole = {name: tree for name, tree in self.trees.items() if isinstance(tree, Hierarchy)}
        for name, said in self.said.graphs.items():
            if name not in graphs:
                detail = f"Its fingerprint is salted. {GIVE['graphs']} {GIVE_RECEIPT}"
                self.findings.append(Finding(f"graph of {name}", None, detail))
            elif self._is_used(f"graph of {name}", "graph", graphs[name].fingerprint, said):
                self.graphs[name] = graphs[name]
                self.whole.setdefault(name, region_tree(graphs[name]))
        self.marks_fit = self._marks()

    def _is_used(self, claim: str, what: str, text: str, said: str) -> bool:
        """Whether something is what was used, as far as that can be told."""
        if self.receipt is None:
            detail = f"The {what} given was used here; whether it is the very one needs the receipt."
            self.findings.append(Finding(claim, None, f"{detail} {GIVE_RECEIPT}"))
            return True
        same = self.receipt.mark(text) == said
        is_it = "is" if same else "is not"
        self.findings.append(Finding(claim, same, f"The {what} given {is_it} the one that was used."))
        return same

    def _marks(self) -> bool:
        said = self.said.missing
        if said is None and not self.missing:
            return True
        text = "\0".join(sorted(self.missing))
        if said is None:
            self.findings.append(Finding("missing marks", False, "The plan names no missing marks."))
            return False
        if not self.missing:
            detail = f"The plan names missing marks, by a salted fingerprint. {GIVE['missing']}"
            self.findings.append(Finding("missing marks", None, detail))
            return False
        return self._is_used("missing marks", "list of missing marks", text, said)

    def plan(self) -> Plan:
        """The plan behind the certificate; hierarchies, graphs and missing marks must be given."""
        for what, said, have in (
            ("hierarchies", self.said.hierarchies, self.trees),
            ("graphs", self.said.graphs, self.graphs),
        ):
            lacking = [name for name in said if name not in have]
            if lacking:
                raise PlanError(f"The {what} of {', '.join(lacking)} are needed, the very ones used.")
        if not self.marks_fit:
            raise PlanError("The missing marks given are not those that were used.")
        return self.said.planned(hierarchies=self.trees, graphs=self.graphs, missing=self.missing)


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """A table in memory, asked as one is that is read batch by batch."""

    like: pl.DataFrame

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(self.like.columns)

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.like.height

    def frames(self, names: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """All of it, at once."""
        yield self.like if names is None else self.like.select(names)


def built_trees(
    scan: Scan | Whole, certificate: Certificate, trees: Mapping[str, Hierarchy | Builder]
) -> dict[str, Hierarchy]:
    """The trees that rules measure by, built from a release that holds all the original's values."""
    built = {}
    for name, tree in trees.items():
        whole = certificate.withheld == 0 and name in certificate.plan.sensitive and name in scan.columns
        if isinstance(tree, Builder) and whole:
            values: set[str] = set()
            for part in scan.frames([name]):
                values.update(part[name].cast(pl.String).drop_nulls().unique().to_list())
            built[name] = tree.build(list(values - {""}), column=name)
    return built


def end_findings(
    scan: Scan | Whole, certificate: Certificate, trees: Mapping[str, Hierarchy | Builder]
) -> Iterator[Finding]:
    """Whether the ends that the plan codes are nowhere told in more detail."""
    names = [name for name in certificate.plan.hierarchies if coding_of(trees, name) is not None]
    present = [name for name in names if name in scan.columns]
    for name, rows in beyond_ends(scan.frames(present) if present else (), trees).items():
        text = certificate.plan.hierarchies[name]
        detail = f"No cell tells more of a value beyond the limit of {text} than that it is beyond."
        if rows:
            detail = f"The cells of {rows} rows tell more of a value beyond the limit of {text}."
        yield Finding(f"ends of {name}", rows == 0, detail)


def original_finding(certificate: Certificate, original: Scan | Whole, receipt: Receipt | None) -> Finding:
    """Whether the original given is the very one, by its salted fingerprint."""
    if certificate.original is None and certificate.release is not None:
        return Finding("original", False, "The certificate holds no fingerprint of an original.")
    if receipt is None:
        return Finding(
            "original", None, f"The original cannot be recognised without its salt. {GIVE_RECEIPT}"
        )
    if certificate.original not in {None, receipt.original}:
        return Finding("original", False, "The receipt belongs to another release.")
    if receipt.original.startswith(ANY_ORDER):
        told = certificate.plan
        whom = Whom.read(unit=told.unit, count=told.count)
        names = marked_columns(
            original.like, [*told.quasi, *told.sensitive, *told.keep, *told.identifier, *whom.columns]
        )
        sums = (sum_of_rows(part, receipt.salt).astype("<u8").tobytes() for part in original.frames(names))
        mark = mark_of_rows(added(sums), names, original.rows, receipt.salt)
    else:
        mark = fingerprint(original.frames(), receipt.salt)
    same = mark == receipt.original
    detail = "The table is" if same else "The table is not"
    return Finding("original", same, f"{detail} the one that was certified (salted fingerprint).")


def ranges_seen(
    table: pl.DataFrame, certificate: Certificate, coded: Coded, receipt: Receipt | None
) -> Ranges | None:
    """What number, date and place columns are divided by; None where nothing that is given tells it."""
    claims = Claims.of(certificate)
    if claims.tells_ranges:
        return ranges_in(table, claims)
    if receipt is not None and receipt.figures is not None:
        return ranges_of(coded.columns, receipt.figures.places)
    lines = [column for column in coded.columns if column.numbers]
    some_missing = any(column.has_missing for column in lines)
    hidden = certificate.withheld > 0 or some_missing or bool((coded.count == 0).any())
    return None if hidden and lines else {}


NEEDS_RECEIPT = frozenset({"threshold", "cover", "shares", "border", "border-drawn"})
"""Bounds whose proof was searched for, and is kept in the receipt."""
OF_SO_MANY = frozenset({"threshold", "cover"})
"""Bounds for as many groups as a plan allows."""


def bound_named(certificate: Certificate) -> Finding | None:
    """What can be said of a bound without computing it; None where it must be computed."""
    if certificate.method not in METHODS:
        return Finding("bound", False, "There is no method of that name.")
    if certificate.bound is None and certificate.bound_name is None:
        return Finding("bound", True, "The certificate claims no bound.", claimed=False)
    if certificate.bound is None or certificate.bound_name not in NAMES.get(certificate.objective, ()):
        return Finding("bound", False, "No bound of that name is known for the objective.")
    return None


def bound_findings(
    certificate: Certificate, coded: Coded, plan: Plan, receipt: Receipt | None
) -> Iterator[Finding]:
    """The bound, proved once more for what the plan asked; any bound as strong proves the claim as well."""
    named = bound_named(certificate)
    if named is not None or certificate.bound is None:
        if named is not None:
            yield named
        return
    options = fill_options(plan.method, plan.options)
    task = Task(
        k=plan.k,
        withhold=quota(plan.withhold, coded.total),
        options=options,
        effort=Effort.parse(plan.effort),
        seed=plan.seed,
    )
    exact = receipt.figures if receipt is not None else None
    parameters: dict[str, float | str] = dict(exact.bound_parameters) if exact is not None else {}
    packed = {} if exact is None else {"shares": exact.bound_shares, "cuts": exact.bound_cuts}
    for name, text in packed.items():
        parameters.pop(name, None)  # a number by this name is none of ours
        if text:
            parameters[name] = text
    proof = _again(certificate, coded, task, parameters, None if exact is None else exact.loss)
    if exact is not None and exact.bound is not None and proof is not None:
        noise = noise_of(certificate.objective, coded.total, coded.weight, plan.distance)
        same = math.isclose(proof.bound, exact.bound, rel_tol=1e-6, abs_tol=max(1e-9, 2 * noise))
        detail = f"The receipt's bound {'is' if same else 'is not'} what {proof.name} proves."
        yield Finding("exact bound", same, detail)
    if proof is None or not _reaches(proof, certificate.bound):
        found = prove(certificate.objective, coded, task)
        proof = max(
            (one for one in (proof, found) if one is not None), key=lambda one: one.bound, default=None
        )
    if proof is not None and _reaches(proof, certificate.bound):
        detail = f"The certificate says {certificate.bound:g}; {proof.name} proves as much."
        yield Finding("bound", True, detail)
    elif exact is None and certificate.bound_name in NEEDS_RECEIPT:
        yield Finding("bound", None, f"It needs the parameters of its proof. {GIVE_RECEIPT}")
    else:
        proved = "nothing" if proof is None else f"{round_down(proof.bound):g}"
        detail = f"The certificate says {certificate.bound:g}; proved is {proved}."
        yield Finding("bound", False, detail)


def _again(
    certificate: Certificate,
    coded: Coded,
    task: Task,
    parameters: Mapping[str, float | str],
    loss: float | None,
) -> Proof | None:
    """The bound by its name. What the plan says is the plan's, whatever the parameters say."""
    words = dict(parameters)
    if certificate.bound_name == "border-drawn":
        mean = (loss or 0.0) / max(coded.total, 1)
        if not is_drawn_as_meant(words, task, coded.total, len(coded.columns), mean):
            return None
    if certificate.objective == "cellular":
        words = {name: said for name, said in words.items() if name == "shares"}
        words["withhold"] = float(task.withhold)
    most = task.options.get("max_groups")
    if certificate.bound_name in OF_SO_MANY and isinstance(most, int) and certificate.classes > most:
        return None  # what holds for so many groups says nothing of a release with more
    if "max_groups" in words:
        fits = coded.total // task.k
        words["max_groups"] = float(min(most, fits) if isinstance(most, int) else fits)
    return again(certificate.objective, coded, task, certificate.bound_name or "", words)


def _reaches(proof: Proof, bound: float) -> bool:
    """Whether a proof gives what is claimed, but for the noise of sums."""
    return round_down(proof.bound * (1 + 10 * BEST)) >= bound
