"""A stranger's judgement of a finished table. Imports nothing that helped make it."""

from __future__ import annotations

from shoal.check.attack import link
from shoal.check.exposure import expose
from shoal.check.judge import judge
from shoal.check.original import verify_original
from shoal.check.stranger import judge_any
from shoal.check.verify import verify_release

__all__ = ["expose", "judge", "judge_any", "link", "verify_original", "verify_release"]
