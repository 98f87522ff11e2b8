"""The kernels of rules, compiled by another Python while groups are made: python -m this module."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compile import ahead
from shoal.kernels.rules.chains import make_chains
from shoal.kernels.rules.enforce import EXCHANGE, enforce_rules
from shoal.kernels.rules.trade import make_room, trade_records
from shoal.kernels.rules.violation import make_tallies
from shoal.model.packed_rules import no_rules

__all__ = ["begin", "wait"]

_HERE = "shoal.group.rules.ahead"


def begin() -> bool:
    """Have them compiled, where they never were; tells whether that began."""
    return ahead.begin(_HERE, trade_records)


def wait() -> None:
    """Wait until they are."""
    ahead.wait(_HERE)


def _compile() -> None:
    own, packed = ahead.four_numbers()
    rules, value = no_rules(), np.zeros((4, 0), dtype=np.int32)
    ones = np.ones(4, dtype=np.int64)
    chains = make_chains(own, packed, np.arange(4), ones, np.array([0, 1, 0, 1]), 2)
    both = np.arange(2)
    enforce_rules(
        own, packed, rules, value, chains, both, 2, EXCHANGE, 0, make_tallies(rules), make_room(1, 1)
    )
    trade_records(own, packed, rules, value, chains, both, 2, False, make_tallies(rules), make_room(1, 1))


if __name__ == "__main__":
    ahead.give_way()  # rules are enforced after improvement
    _compile()
