"""Shoal makes tables of people safe to publish, and proves how close to the best possible it came."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.database.address import is_database, place_of
    from shoal.errors import (
        DataError,
        MissingExtra,
        NotAnonymous,
        PlanError,
        ShoalError,
        TooFewPersons,
        TooFewRows,
        UncertainCount,
    )
    from shoal.model.certificate import Certificate
    from shoal.model.clusters import Clusters
    from shoal.model.codes import bands, countries, icd9, icd10
    from shoal.model.comparison import Comparison, Fall
    from shoal.model.days import ages, calendar
    from shoal.model.ends import bottom, rounded, top
    from shoal.model.exposure import Exposure, LaidOver, Linkage
    from shoal.model.facts import Facts
    from shoal.model.fields import FIELDS, Field
    from shoal.model.files import Files, Stored
    from shoal.model.graph import Graph
    from shoal.model.guess import Guess, Guesses
    from shoal.model.hierarchy import Hierarchy, bins, flat, prefixes
    from shoal.model.outline import outline_of, parse_outline
    from shoal.model.plan import Plan
    from shoal.model.preview import Preview, Profile
    from shoal.model.report import QUESTIONS, Context, Report
    from shoal.model.rule import Rule
    from shoal.model.tabulation import Tabulated, Tabulation
    from shoal.model.task import Doing
    from shoal.model.utility import Utility
    from shoal.model.verdict import Finding, Verdict
    from shoal.model.whom import Whom
    from shoal.read.context import read_context
    from shoal.read.database import read_database
    from shoal.read.first_plan import guess_plan
    from shoal.read.graph import read_graph
    from shoal.read.guess import guess
    from shoal.read.hierarchy import parse_builder, parse_hierarchy, read_hierarchies, read_hierarchy
    from shoal.read.large import is_large
    from shoal.read.plan import plan_words
    from shoal.read.release import ReleaseRead, read_release
    from shoal.read.scan import Scan, scan_table
    from shoal.read.spark import close_spark, read_spark
    from shoal.read.table import TableRead, read_table
    from shoal.run.anonymize import anonymize
    from shoal.run.cellular import cellular
    from shoal.run.check import check_table
    from shoal.run.compare import compare, draw, methods
    from shoal.run.drawings import svg
    from shoal.run.first_plan import write_plan
    from shoal.run.following import Series
    from shoal.run.outsider import attack, attack_series, risk
    from shoal.run.plans import read_plan
    from shoal.run.preview import preview_hierarchy, profile
    from shoal.run.recoding import Applied, Recoding
    from shoal.run.release import Release
    from shoal.run.report import report
    from shoal.run.skeleton import Skeleton, write_skeleton
    from shoal.run.tabulate import tabulate
    from shoal.run.targets import (
        check_database,
        check_map,
        check_output,
        check_plot,
        check_recoding,
        check_report,
        check_target,
    )
    from shoal.run.utility import utility, weights_for
    from shoal.run.verify import verify

_HOMES = {
    "bands": "model.codes",
    "countries": "model.codes",
    "icd9": "model.codes",
    "icd10": "model.codes",
    "Skeleton": "run.skeleton",
    "write_skeleton": "run.skeleton",
    "utility": "run.utility",
    "weights_for": "run.utility",
    "Utility": "model.utility",
    "tabulate": "run.tabulate",
    "Tabulated": "model.tabulation",
    "Tabulation": "model.tabulation",
    "ReleaseRead": "read.release",
    "read_release": "read.release",
    "Applied": "run.recoding",
    "FIELDS": "model.fields",
    "QUESTIONS": "model.report",
    "Certificate": "model.certificate",
    "Clusters": "model.clusters",
    "Comparison": "model.comparison",
    "Context": "model.report",
    "DataError": "errors",
    "Exposure": "model.exposure",
    "Facts": "model.facts",
    "Fall": "model.comparison",
    "Field": "model.fields",
    "Files": "model.files",
    "Finding": "model.verdict",
    "Graph": "model.graph",
    "Guess": "model.guess",
    "Guesses": "model.guess",
    "Hierarchy": "model.hierarchy",
    "LaidOver": "model.exposure",
    "Linkage": "model.exposure",
    "MissingExtra": "errors",
    "NotAnonymous": "errors",
    "Plan": "model.plan",
    "PlanError": "errors",
    "Preview": "model.preview",
    "Profile": "model.preview",
    "Recoding": "run.recoding",
    "Release": "run.release",
    "Report": "model.report",
    "Rule": "model.rule",
    "Scan": "read.scan",
    "Series": "run.following",
    "ShoalError": "errors",
    "Doing": "model.task",
    "Stored": "model.files",
    "TableRead": "read.table",
    "TooFewPersons": "errors",
    "TooFewRows": "errors",
    "UncertainCount": "errors",
    "Verdict": "model.verdict",
    "Whom": "model.whom",
    "anonymize": "run.anonymize",
    "attack": "run.outsider",
    "attack_series": "run.outsider",
    "bins": "model.hierarchy",
    "bottom": "model.ends",
    "cellular": "run.cellular",
    "ages": "model.days",
    "calendar": "model.days",
    "check_database": "run.targets",
    "check_map": "run.targets",
    "check_output": "run.targets",
    "check_plot": "run.targets",
    "check_recoding": "run.targets",
    "check_report": "run.targets",
    "check_table": "run.check",
    "check_target": "run.targets",
    "compare": "run.compare",
    "draw": "run.compare",
    "flat": "model.hierarchy",
    "guess": "read.guess",
    "guess_plan": "read.first_plan",
    "is_database": "database.address",
    "is_large": "read.large",
    "methods": "run.compare",
    "outline_of": "model.outline",
    "parse_builder": "read.hierarchy",
    "parse_hierarchy": "read.hierarchy",
    "parse_outline": "model.outline",
    "place_of": "database.address",
    "plan_words": "read.plan",
    "prefixes": "model.hierarchy",
    "preview_hierarchy": "run.preview",
    "profile": "run.preview",
    "read_context": "read.context",
    "read_database": "read.database",
    "read_graph": "read.graph",
    "read_hierarchies": "read.hierarchy",
    "read_hierarchy": "read.hierarchy",
    "read_plan": "run.plans",
    "read_table": "read.table",
    "report": "run.report",
    "risk": "run.outsider",
    "scan_table": "read.scan",
    "close_spark": "read.spark",
    "read_spark": "read.spark",
    "svg": "run.drawings",
    "rounded": "model.ends",
    "top": "model.ends",
    "verify": "run.verify",
    "write_plan": "run.first_plan",
}

__all__ = [
    "FIELDS",
    "QUESTIONS",
    "Applied",
    "Certificate",
    "Clusters",
    "Comparison",
    "Context",
    "DataError",
    "Doing",
    "Exposure",
    "Facts",
    "Fall",
    "Field",
    "Files",
    "Finding",
    "Graph",
    "Guess",
    "Guesses",
    "Hierarchy",
    "LaidOver",
    "Linkage",
    "MissingExtra",
    "NotAnonymous",
    "Plan",
    "PlanError",
    "Preview",
    "Profile",
    "Recoding",
    "Release",
    "ReleaseRead",
    "Report",
    "Rule",
    "Scan",
    "Series",
    "ShoalError",
    "Skeleton",
    "Stored",
    "TableRead",
    "Tabulated",
    "Tabulation",
    "TooFewPersons",
    "TooFewRows",
    "UncertainCount",
    "Utility",
    "Verdict",
    "Whom",
    "ages",
    "anonymize",
    "attack",
    "attack_series",
    "bands",
    "bins",
    "bottom",
    "calendar",
    "cellular",
    "check_database",
    "check_map",
    "check_output",
    "check_plot",
    "check_recoding",
    "check_report",
    "check_table",
    "check_target",
    "close_spark",
    "compare",
    "countries",
    "draw",
    "flat",
    "guess",
    "guess_plan",
    "icd9",
    "icd10",
    "is_database",
    "is_large",
    "methods",
    "outline_of",
    "parse_builder",
    "parse_hierarchy",
    "parse_outline",
    "place_of",
    "plan_words",
    "prefixes",
    "preview_hierarchy",
    "profile",
    "read_context",
    "read_database",
    "read_graph",
    "read_hierarchies",
    "read_hierarchy",
    "read_plan",
    "read_release",
    "read_spark",
    "read_table",
    "report",
    "risk",
    "rounded",
    "scan_table",
    "svg",
    "tabulate",
    "top",
    "utility",
    "verify",
    "weights_for",
    "write_plan",
    "write_skeleton",
]


def __getattr__(name: str) -> Any:
    # names load on first use, so that `import shoal` and `shoal --help` stay light
    if name not in _HOMES:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    return getattr(import_module(f"shoal.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
