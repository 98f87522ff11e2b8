"""Chances that a record of the finished table is matched with its person."""

from __future__ import annotations

from shoal.check.persons import Standing
from shoal.model.verdict import Persons, Risk

__all__ = ["persons_of", "risk_of"]


def risk_of(standing: Standing) -> Risk:
    """Prosecutor, journalist and marketer risk from how records or persons stand in the classes.

    One of a class of size s is matched with chance 1 / s; who stands in several, with that of the smallest.
    The table serves as its own population, so the journalist's highest risk is the prosecutor's; a larger
    population can only lower it.
    """
    if standing.sizes.size == 0:
        return Risk(0.0, 0.0, 0.0, 0.0, 0)
    highest = 1.0 / int(standing.sizes.min())
    mean = float((standing.many / standing.smallest).sum()) / standing.total
    return Risk(
        prosecutor_highest=highest,
        prosecutor_mean=mean,
        journalist_highest=highest,
        marketer=mean,
        uniques=standing.alone,
    )


def persons_of(standing: Standing) -> Persons:
    """How many persons there are, and in the classes."""
    sizes = standing.sizes
    fewest = int(sizes.min()) if sizes.size else 0
    return Persons(standing.total, fewest, int(sizes.max(initial=0)))
