"""The last verb: a judged table, its certificate and its receipt go to disk, or nothing does."""

from __future__ import annotations

from shoal.publish.map import check_map, draw_map
from shoal.publish.plots import check_plot, draw_comparison
from shoal.publish.table import check_target, write_release

__all__ = [
    "check_map",
    "check_plot",
    "check_target",
    "draw_comparison",
    "draw_map",
    "write_release",
]
