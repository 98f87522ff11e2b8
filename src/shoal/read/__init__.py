"""From files to values: tables, hierarchies and plans. The only room that opens what a user names."""

from __future__ import annotations

from shoal.read.table import TableRead, read_table

__all__ = ["TableRead", "read_table"]
