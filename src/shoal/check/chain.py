"""Whether releases follow one another as their certificates say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shoal.model.certificate import Certificate
from shoal.model.series import SAME
from shoal.model.verdict import GIVE, Finding

__all__ = ["verify_chain"]


def verify_chain(certificate: Certificate, before: Sequence[tuple[Certificate, str]]) -> Iterator[Finding]:
    """Hold a certificate against those of the releases before it, each with the SHA-256 of its table.

    They may be given in any order; those that are missing are asked for.
    """
    place = certificate.series
    if place is None:
        if before:
            yield Finding("series", False, "The certificate is of a release by itself: it follows none.")
        return
    known = {former.digest: (former, release) for former, release in before}
    latest, used = certificate, set()
    while (said := latest.series) is not None and said.before in known and said.before not in used:
        used.add(said.before)
        former, release = known[said.before]
        yield _follows(latest, former, release)
        latest = former
    if strangers := len(before) - len(used):
        yield Finding(
            "former releases", False, f"{strangers} of the releases given are none that this one follows."
        )
    first = latest.series
    if first is not None and (first.number != 1 or first.before is not None):
        yield Finding(
            "series", None, f"{place.in_words()} Not all that it follows is here. {GIVE['before']}"
        )
    else:
        is_first = place.number == 1 and place.before is None
        yield Finding("series", is_first or bool(used), place.in_words())


def _follows(latest: Certificate, former: Certificate, release: str) -> Finding:
    """One link of the chain: the number, the way, and a plan that asks for the same."""
    one, other = latest.series, former.series
    assert one is not None, "only releases of a series follow others"
    claim = f"release {one.number - 1}"
    if former.release != release:
        return Finding(claim, False, "The table given is not the one that its certificate is about.")
    if other is None or (other.mode, other.number) != (one.mode, one.number - 1):
        return Finding(claim, False, "The certificates number their releases, or the series, otherwise.")
    differ = [name for name in SAME if getattr(latest.plan, name) != getattr(former.plan, name)]
    if differ:
        return Finding(claim, False, f"The plans of two releases differ in: {', '.join(differ)}.")
    return Finding(claim, True, "It is the one that the next one follows, by SHA-256, with the same plan.")
