"""The command line: parse, call one public function, print."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command `shoal`; the only way out is an exit code."""
    from shoal.cli.app import app
    from shoal.cli.guard import guarded

    sys.exit(guarded(app, arguments))
