"""How kernels are compiled: an `entry` is called from Python, `inner`, `leaf` and `inlined` are not.

A first run waits for compiling, and what is only called by other kernels needs no way in from Python: a
fifth less to compile each. A `leaf` is small and becomes part of its callers; what is `inlined` does so
before types are known, so it takes whatever its callers have. All are kept for later runs (`fresh.py`).
"""

from __future__ import annotations

from typing import Any

from numba import njit

from shoal.kernels.compile.fresh import can_keep

__all__ = ["entry", "inlined", "inner", "leaf"]

_NO_WAY_IN: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_KEPT = can_keep()
entry = njit(cache=_KEPT, nogil=True)
inner = njit(cache=_KEPT, nogil=True, **_NO_WAY_IN)
leaf = njit(cache=_KEPT, nogil=True, forceinline=True, **_NO_WAY_IN)
inlined = njit(cache=_KEPT, inline="always")
