"""A stranger's judgement of a finished table. Imports nothing that helped make it."""

from __future__ import annotations

from shoal.check.judge import judge

__all__ = ["judge"]
