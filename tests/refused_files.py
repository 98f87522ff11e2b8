"""With which words a file is refused."""

from __future__ import annotations

import pytest

from shoal.errors import DataError
from shoal.read.table import read_table
from silent import said_by

__all__ = ["CANARY", "refusal"]

CANARY = "Zyxwvut73"


def refusal(path, **words) -> str:
    """The message with which a file is refused: without cells, and without a cause that has them."""
    with pytest.raises(DataError) as caught:
        read_table(path, **words)
    return said_by(caught.value, CANARY)
