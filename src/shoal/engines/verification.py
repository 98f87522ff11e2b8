"""A certificate held against its release and, where it is given, the original."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import polars as pl

from shoal.bound import again, prove
from shoal.check import verify_original, verify_release
from shoal.encode import encode
from shoal.encode.region import region_tree
from shoal.errors import PlanError, ShoalError
from shoal.group import facts
from shoal.model.certificate import Certificate
from shoal.model.coded import Coded
from shoal.model.graph import Graph
from shoal.model.hierarchy import Builder, Hierarchy
from shoal.model.plan import Plan
from shoal.model.receipt import Receipt, fingerprint
from shoal.model.task import Task, quota
from shoal.model.verdict import Finding
from shoal.read import parse_builder

__all__ = ["verify"]


def verify(
    table: pl.DataFrame,
    certificate: Certificate,
    *,
    digest: str | None,
    original: pl.DataFrame | None,
    receipt: Receipt | None,
    hierarchies: Mapping[str, Hierarchy | Builder],
    graphs: Mapping[str, Graph],
    missing: tuple[str, ...],
) -> list[Finding]:
    """Every claim that can be recomputed from what is given, and those that cannot."""
    findings = [_objective(certificate)]
    trees: dict[str, Hierarchy | Builder] = {}
    for name, said in _fingerprints(certificate).items():
        tree = _tree(said, hierarchies.get(name))
        if isinstance(tree, Finding):
            findings.append(Finding(f"hierarchy of {name}", tree.holds, tree.detail))
        elif tree is not None:
            trees[name] = tree
    whole = {name: tree for name, tree in trees.items() if isinstance(tree, Hierarchy)}
    for name, said in _fingerprints(certificate, "graphs").items():
        if name in graphs and graphs[name].fingerprint != said:
            findings.append(
                Finding(f"graph of {name}", False, "The graph given is not the one that was used.")
            )
        elif name in graphs:
            whole.setdefault(name, region_tree(graphs[name]))
    if original is None:
        whole |= _built(table, certificate, trees)
        return findings + verify_release(table, certificate, digest=digest, hierarchies=whole)
    findings.append(_original(certificate, original, receipt))
    coded: Coded | None = None
    try:
        plan = plan_as_run(certificate, trees, graphs, missing)
        coded = encode(original, plan)
    except PlanError as error:
        findings.append(Finding("rows", None, f"Not recomputable: {error}"))
    except ShoalError as error:
        findings.append(Finding("rows", False, f"The original does not fit the plan. {error}"))
    if coded is not None:
        whole |= coded.held.trees if coded.held is not None else {}
        coded = coded.plain
    findings += verify_release(table, certificate, digest=digest, hierarchies=whole, coded=coded)
    if coded is not None:
        findings += verify_original(table, certificate, original, coded)
        findings += _bound(certificate, coded, plan)
    return findings


def _built(
    table: pl.DataFrame, certificate: Certificate, trees: Mapping[str, Hierarchy | Builder]
) -> dict[str, Hierarchy]:
    """The trees that rules measure by, built from a release that holds all the original's values."""
    sensitive: Any = certificate.plan.get("sensitive", ())
    built = {}
    for name, tree in trees.items():
        whole = certificate.withheld == 0 and name in sensitive and name in table.columns
        if isinstance(tree, Builder) and whole:
            values = table[name].cast(pl.String).drop_nulls().unique()
            built[name] = tree.build(values.filter(values != "").to_list(), column=name)
    return built


def _objective(certificate: Certificate) -> Finding:
    options = certificate.plan.get("options")
    try:
        objective: object = facts(certificate.method).objective
        if isinstance(options, Mapping):  # a method may let its user choose
            objective = options.get("objective", objective)
    except ShoalError:
        return Finding("objective", None, "Not recomputable: the method is not known here.")
    same = objective == certificate.objective
    detail = f"The method makes {objective!r} small; the certificate says {certificate.objective!r}."
    return Finding("objective", same, detail)


def _fingerprints(certificate: Certificate, what: str = "hierarchies") -> dict[str, str]:
    said = certificate.plan.get(what, {})
    return {str(name): str(mark) for name, mark in said.items()} if isinstance(said, Mapping) else {}


def _tree(said: str, given: Hierarchy | Builder | None) -> Hierarchy | Builder | Finding | None:
    """The tree that was used, None where it was not given, or what is wrong with it."""
    if "(" in said:  # a builder stands in the certificate as it was written
        if isinstance(given, Builder) and given.text != said:
            return Finding("", False, f"The hierarchy given is {given.text}; {said} was used.")
        return given if given is not None else parse_builder(said)
    if given is None:
        return None
    if isinstance(given, Builder) or given.fingerprint != said:
        return Finding("", False, "The hierarchy given is not the one that was used.")
    return given


def _original(certificate: Certificate, original: pl.DataFrame, receipt: Receipt | None) -> Finding:
    if receipt is None:
        return Finding(
            "original", None, "Without the receipt (--receipt) the original cannot be recognised."
        )
    if certificate.original is None:
        return Finding("original", None, "The certificate holds no fingerprint of an original.")
    if receipt.original != certificate.original:
        return Finding("original", False, "The receipt belongs to another release.")
    same = fingerprint(original, receipt.salt) == certificate.original
    detail = "The table is" if same else "The table is not"
    return Finding("original", same, f"{detail} the one that was certified (salted fingerprint).")


def plan_as_run(
    certificate: Certificate,
    hierarchies: Mapping[str, Hierarchy | Builder],
    graphs: Mapping[str, Graph],
    missing: tuple[str, ...],
) -> Plan:
    """The plan behind a certificate; hierarchies, graphs and missing marks must be given."""
    said: Mapping[str, Any] = certificate.plan
    lacking = [name for name in _fingerprints(certificate) if name not in hierarchies]
    if lacking:
        raise PlanError(f"The hierarchy of {', '.join(lacking)} is needed, the very one that was used.")
    said_of = _fingerprints(certificate, "graphs")
    lacking = [
        name for name, mark in said_of.items() if name not in graphs or graphs[name].fingerprint != mark
    ]
    if lacking:
        raise PlanError(f"The graph of {', '.join(lacking)} is needed, the very one that was used.")
    marks = hashlib.sha256("\0".join(sorted(missing)).encode()).hexdigest() if missing else None
    if marks != said.get("missing"):
        raise PlanError("The missing marks given are not those that were used.")
    names = {item.name for item in fields(Plan)} - {"hierarchies", "graphs", "missing"}
    words = {name: value for name, value in said.items() if name in names}
    used = {name: graphs[name] for name in said_of}
    return Plan(**words, hierarchies=hierarchies, graphs=used, missing=missing)


def _bound(certificate: Certificate, coded: Coded, plan: Plan) -> Iterator[Finding]:
    """The bound by its name; a stronger one of another name proves the claim as well."""
    if certificate.bound is None:
        yield Finding("bound", None, "The certificate claims no bound.")
        return
    task = Task(k=plan.k, withhold=quota(plan.withhold, coded.total), seed=plan.seed)
    parameters = certificate.bound_parameters
    proof = again(certificate.objective, coded, task, certificate.bound_name or "", parameters)
    if proof is None:
        proof = prove(certificate.objective, coded, task)
    if proof is not None and proof.name == certificate.bound_name:
        same = math.isclose(proof.bound, certificate.bound, rel_tol=1e-6, abs_tol=1e-9)
        detail = f"The certificate says {certificate.bound:.9g}; recomputed {proof.bound:.9g}."
        yield Finding("bound", same, f"By {proof.name}. {detail}")
    elif proof is not None and proof.bound >= certificate.bound * (1 - 1e-9):
        detail = f"The bound by {proof.name}, {proof.bound:.9g}, is at least what the certificate claims."
        yield Finding("bound", True, detail)
    else:
        detail = f"Not recomputable: no bound of the name {certificate.bound_name!r} is known here."
        yield Finding("bound", None, detail)
