"""`shoal methods`."""

from __future__ import annotations

import shoal
from shoal.cli import options as o

__all__ = ["EXAMPLE", "methods"]

EXAMPLE = "shoal methods --json"


def methods(as_json: o.Json = False) -> None:
    """List the methods with objective, guarantee, cost and paper."""
    from shoal.cli.screen.facts import print_json
    from shoal.cli.screen.methods import method_facts, show_methods

    found = shoal.methods()
    if as_json:
        print_json({name: method_facts(its) for name, its in found.items()})
    else:
        show_methods(found)
