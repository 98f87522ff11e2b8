"""The story of a verification where the release does not fit into memory: what one pass can tell."""

from __future__ import annotations

import os
from typing import Any

from shoal.check.verify_large import verify_large
from shoal.errors import DataError
from shoal.model.certificate import Certificate
from shoal.model.verdict import Finding
from shoal.read.scan import Scan, scan_frame, scan_table
from shoal.run.findings import (
    Given,
    bound_named,
    built_trees,
    end_findings,
    original_finding,
    run_findings,
)

__all__ = ["verify_stream"]

IN_MEMORY = "It needs the rows of both tables in memory, which may not have so much."


def verify_stream(
    release: str | os.PathLike[str],
    certificate: Certificate,
    *,
    digest: str | None,
    original: Any,
    given: Given,
    delimiter: str | None,
) -> list[Finding]:
    """Every claim that can be recomputed batch by batch, and those that cannot, in order."""
    _check_kind(certificate)
    scan = scan_table(release, delimiter=delimiter)
    receipt = given.receipt
    findings = [*run_findings(certificate, receipt), *given.findings]
    findings += end_findings(scan, certificate, given.trees)
    if original is not None:
        findings.append(original_finding(certificate, _opened(original, delimiter), receipt))
    findings += verify_large(
        scan.frames,
        scan.columns,
        certificate,
        digest=digest,
        hierarchies={**given.whole, **built_trees(scan, certificate, given.trees)},
        exact=receipt.figures if receipt is not None else None,
    )
    findings.append(bound_named(certificate) or Finding("bound", None, IN_MEMORY))
    detail = "Whether a row was lost, invented or changed is not known."
    return [*findings, Finding("rows", None, f"{detail} {IN_MEMORY}")]


def _check_kind(certificate: Certificate) -> None:
    """Refuse releases that are not made part by part."""
    plan = certificate.plan
    of_places = any(kind.startswith(("place", "region")) for kind in plan.kinds.values())
    other = plan.style != "generalize" or plan.cells != "text" or plan.pseudonym is not None or of_places
    if other or certificate.series is not None:
        raise DataError(
            "The release is too large for so much memory, and only releases of generalized cells as text "
            "are verified as a stream. Allow more memory.",
            field="memory",
        )


def _opened(table: Any, delimiter: str | None) -> Scan:
    if isinstance(table, str | os.PathLike):
        return scan_table(table, delimiter=delimiter)
    return scan_frame(table)
