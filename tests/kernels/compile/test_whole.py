"""An entry is compiled with all that it reaches; what it reaches is never compiled by itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.registry import cpu_target

from shoal.kernels.compile import fresh, whole

DEEP = """import numpy as np
from shoal.kernels.compile.decorators import entry, inlined, inner, leaf

@inlined
def one_more(x):
    return x + 1

@leaf
def third(x):
    return x // 3

@inner
def deepest(x):
    return one_more(third(x))

@inner
def deep(x):
    room = np.zeros(3, dtype=np.int64)
    room[:] = deepest(x)
    return room.sum()

@entry
def sums(x):
    return deep(x) + deepest(x)

@entry
def twice(x):
    return 2 * sums(x) + deep(x)

@inner
def refuse(x):
    if x < 0:
        raise ValueError("below zero")
    return x

@entry
def guarded(x):
    return refuse(x)
"""
ASK = """
from shoal.kernels.deep import guarded, sums, twice
print(sums(7), twice(7), guarded(7), sum(len(one.stats.cache_hits) for one in (sums, twice)))
try:
    guarded(-1)
except ValueError as error:
    print(error)
"""


@pytest.fixture
def kernels(tmp_path) -> Path:
    """A package of kernels that call each other."""
    folder = tmp_path / "shoal" / "kernels"
    (folder / "compile").mkdir(parents=True)
    for place in (folder.parent, folder / "compile"):
        (place / "__init__.py").touch()
    shutil.copy(fresh.KERNELS / "__init__.py", folder)
    for name in ("fresh.py", "lean.py", "whole.py", "decorators.py"):
        shutil.copy(fresh.KERNELS / "compile" / name, folder / "compile")
    (folder / "deep.py").write_text(DEEP)
    return folder


def ask(kernels: Path, before: str = "") -> str:
    environment = {**os.environ, "PYTHONPATH": str(kernels.parent.parent)}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", before + ASK], env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_entries_are_kept_with_all_they_reach_and_nothing_else_is(kernels):
    assert ask(kernels) == "12 33 7 0\nbelow zero"
    kept = {path.name.split("-")[0] for path in kernels.rglob("*.nbi")}
    assert kept == {"deep.sums", "deep.twice", "deep.guarded"}
    assert ask(kernels) == "12 33 7 2\nbelow zero"


DIFFERS = """
from numba.core import codegen
home, word = codegen.CPUCodeLibrary, "_finalize_dynamic_globals"
its_own = vars(home)[word]
delattr(home, word)
from shoal.kernels.compile import decorators, whole
assert not whole.can_join()
setattr(home, word, its_own)
"""


def test_a_numba_that_differs_compiles_in_its_own_way(kernels):
    assert ask(kernels, DIFFERS).startswith("12 33 7 0")
    assert any(path.name.startswith("deep.deepest-") for path in kernels.rglob("*.nbi"))


def test_parts_are_linked_after_those_that_call_them():
    """LLVM leaves out what nothing calls yet, and a kernel that misses a part would call nowhere."""
    made = {name: _library(whole._PartLibrary, name) for name in "abcd"}
    calls = {"a": "db", "b": "cd", "c": "d", "d": ""}
    for name, called in calls.items():
        made[name]._linking_libraries = [made[one] for one in called]
    entry = _library(whole._WholeLibrary, "entry")
    entry._linking_libraries = [made[one] for one in "dac"]
    order = [library.name for library in whole.callers_first(entry)]
    assert sorted(order) == list("abcd")
    assert all(order.index(name) < order.index(one) for name, called in calls.items() for one in called)


def _library(kind, name):
    return kind(cpu_target.target_context.codegen(), name)
