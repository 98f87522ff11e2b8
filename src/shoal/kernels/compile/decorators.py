"""How kernels are compiled: an `entry` is called from Python, `inner`, `leaf` and `inlined` are not.

A first run waits for compiling, and what is only called by other kernels needs no way in from Python and
no machine code of its own: it is compiled as part of each entry that reaches it (`whole.py`). A `leaf` is
small and becomes part of its callers; what is `inlined` does so before types are known, so it takes
whatever its callers have. Entries are kept for later runs (`fresh.py`).
"""

from __future__ import annotations

from typing import Any

from numba import njit

from shoal.kernels.compile.fresh import can_keep
from shoal.kernels.compile.whole import AsPart, AsWhole, can_join

__all__ = ["entry", "inlined", "inner", "leaf"]

_KEPT = can_keep()
_ENTRY: dict[str, Any] = {"cache": _KEPT, "nogil": True, "no_cfunc_wrapper": True}
_INSIDE: dict[str, Any] = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
if can_join():
    _ENTRY["pipeline_class"] = AsWhole
    _INSIDE["pipeline_class"] = AsPart
else:
    _INSIDE["cache"] = _KEPT
entry = njit(**_ENTRY)
inner = njit(**_INSIDE)
leaf = njit(**_INSIDE, forceinline=True)
inlined = njit(cache=_KEPT, inline="always")
