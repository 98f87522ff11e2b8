"""Compiled loops: arrays in, arrays out, no messages, no randomness of their own."""

from __future__ import annotations

from shoal.kernels.compile.fresh import keep_fresh

keep_fresh()
