"""How kernels are compiled: `entry` for those called from Python, `inner` and `leaf` for the others.

A first run waits for compiling, and what is only called by other kernels needs no way in from Python: a
fifth less to compile each. A `leaf` is small and becomes part of its callers.
"""

from __future__ import annotations

from typing import Any

from numba import njit

__all__ = ["entry", "inner", "leaf"]

_NO_WAY_IN: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
entry = njit(cache=True, nogil=True)
inner = njit(cache=True, nogil=True, **_NO_WAY_IN)
leaf = njit(cache=True, nogil=True, forceinline=True, **_NO_WAY_IN)
