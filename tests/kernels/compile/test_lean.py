"""Kernels are compiled without what is not needed, to the same end, and all else as before."""

from __future__ import annotations

import os
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core import compiler, config, postproc
from numba.core.types import functions

from shoal.kernels.compile import lean
from shoal.kernels.compile.whole import AsWhole

CODE = """
{before}
import numpy as np
from shoal.kernels.compile import lean
from shoal.kernels.distance.spans import boxes
assert lean.can_be_lean() == {is_lean}
own = np.array([[0, 3], [1, 1], [5, 2]], dtype=np.int32)
print(boxes(own, np.arange(3), np.array([0, 2, 3])))
"""


def mixed(x, y):
    room = np.empty(x.size)
    for i in range(x.size):
        room[i] = min(x[i] + y, max(x[i], y)) / 2 if x[i] > 1 else x[i] * x[0]
    return room.sum(), min(x.size, 3)


def test_kernels_come_to_the_same():
    for x, y in ((np.arange(5), 2), (np.arange(5), 2.5), (np.linspace(0, 4, 7), 1), (np.arange(5.0), 2.5)):
        assert numba.njit(pipeline_class=AsWhole)(mixed)(x, y) == numba.njit(mixed)(x, y) == mixed(x, y)


def test_what_others_compile_is_compiled_as_before():
    places = (
        (functions.BaseFunction, "get_call_type"),
        (postproc.PostProcessor, "run"),
        (config, "reload_config"),
    )
    before = [getattr(holder, name) for holder, name in places]
    with pytest.raises(numba.TypingError):
        numba.njit(pipeline_class=AsWhole)(lambda x: x + "one")(1)
    with lean.lean(), lean.lean():
        assert all(
            getattr(holder, name) is not was for (holder, name), was in zip(places, before, strict=True)
        )
        known = len(lean._answers)
        numba.njit(mixed)(np.arange(4), 3)
        assert len(lean._answers) == known
    assert [getattr(holder, name) for holder, name in places] == before


def test_settings_that_make_no_difference_are_the_same():
    def settings(**words):
        flags = compiler.Flags()
        for name, value in words.items():
            setattr(flags, name, value)
        return lean.settings_of(flags).copy()

    assert settings(nrt=True, forceinline=True) == settings(nrt=True, release_gil=True)
    assert hash(settings(nrt=True, forceinline=True)) == hash(settings(nrt=True))
    assert settings(nrt=True) != settings(nrt=True, error_model="numpy")
    assert settings(nrt=True) != compiler.Flags()
    assert settings(forceinline=True).forceinline


@pytest.mark.parametrize(
    "place", ["postproc.VariableLifetime", "config.reload_config", "untyped_passes.InlineClosureLikes"]
)
def test_with_a_numba_that_differs_nothing_is_left_out(place, tmp_path):
    """What is missed is there again when Numba itself compiles."""
    home = place.split(".")[0]
    before = (
        f"import numba\nfrom numba.core import {home}\nkept = {place}\ndel {place}\n"
        f"from shoal.kernels.compile import lean\nlean.can_be_lean()\n{place} = kept\n"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", CODE.format(before=code, is_lean=is_lean)],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / str(is_lean))},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for code, is_lean in (("", True), (before, False))
    ]
    assert found[0] == found[1] != ""
