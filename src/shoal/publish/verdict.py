"""Nothing is published that was not judged and found to pass."""

from __future__ import annotations

from shoal.errors import NotAnonymous
from shoal.model.certificate import Certificate
from shoal.model.verdict import Verdict

__all__ = ["check_verdict"]


def check_verdict(verdict: Verdict, certificate: Certificate) -> None:
    """Raise where a table has not passed, for the very k that its certificate says."""
    if not verdict.has_passed:
        raise NotAnonymous(f"The check failed and nothing was written. {' '.join(verdict.reasons)}")
    if verdict.k is None or verdict.k != certificate.k:
        raise NotAnonymous("The table was not judged for the certificate's k, so nothing was written.")
