"""From files to values: tables, hierarchies and plans. The only room that opens what a user names."""

from __future__ import annotations

from shoal.read.guess import guess_plan
from shoal.read.hierarchy import parse_builder, read_hierarchies, read_hierarchy
from shoal.read.plan import read_plan
from shoal.read.table import TableRead, read_table

__all__ = [
    "TableRead",
    "guess_plan",
    "parse_builder",
    "read_hierarchies",
    "read_hierarchy",
    "read_plan",
    "read_table",
]
