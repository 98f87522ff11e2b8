"""What was compiled is never older than what it was compiled from."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import caching

from shoal.kernels import fresh

OUTER = """from numba import njit
from shoal.kernels.inside import one

@njit(cache=True)
def two(x):
    return one(x) + one(x)
"""
INSIDE = """from numba import njit

@njit(cache=True)
def one(x):
    return x + {more}
"""
ASK = "from shoal.kernels.outer import two; print(two(1), two.stats.cache_hits)"


@pytest.fixture
def kernels(tmp_path) -> Path:
    """A package of two kernels, one of which calls the other."""
    folder = tmp_path / "shoal" / "kernels"
    folder.mkdir(parents=True)
    (tmp_path / "shoal" / "__init__.py").touch()
    for name in ("__init__.py", "fresh.py"):
        shutil.copy(Path(fresh.__file__).with_name(name), folder)
    (folder / "outer.py").write_text(OUTER)
    (folder / "inside.py").write_text(INSIDE.format(more=1))
    return folder


def ask(kernels: Path, **more: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(kernels.parent.parent), **more}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", ASK], env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_a_kernel_is_compiled_anew_when_one_that_it_calls_has_changed(kernels):
    assert ask(kernels) == "4 Counter()"
    assert ask(kernels).startswith("4 Counter({")
    (kernels / "inside.py").write_text(INSIDE.format(more=2))
    assert ask(kernels) == "6 Counter()"


def test_kernels_run_where_no_folder_can_be_written(kernels, tmp_path):
    (tmp_path / "file").touch()
    shutil.rmtree(kernels / "__pycache__", ignore_errors=True)
    (kernels / "__pycache__").touch()  # a folder in which nothing can be written, even by root
    nowhere = str(tmp_path / "file" / "home")
    more = {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "TMPDIR": str(tmp_path)}
    assert ask(kernels, **more) == "4 Counter()"
    assert not list(tmp_path.glob("shoal-kernels-*"))


def forget() -> None:
    fresh._read.cache_clear()
    fresh.mark_of.cache_clear()


def test_a_mark_changes_with_the_sources_and_with_nothing_else(tmp_path):
    def mark(**sources: str) -> str:
        forget()
        for name, text in sources.items():
            (tmp_path / f"{name}.py").write_text(text)
        return fresh.mark_of(tmp_path / "a.py")

    first = mark(a="from shoal.kernels.b import x", b="from shoal.kernels import c, d", c="", d="", e="")
    assert mark() == first
    assert mark(e="changed") == first
    marks = {first, mark(a="from shoal.kernels.b import y"), mark(b="from shoal.kernels import c, d, a")}
    marks |= {mark(c="changed"), mark(d="changed")}
    assert len(marks) == 5
    forget()


def test_others_are_kept_as_before(tmp_path):
    def function(x):
        return x

    assert fresh._Marked.from_function(function, __file__) is None


@pytest.mark.parametrize("moment", ["_load_index", "_save_index", "_save_data"])
def test_two_runs_that_keep_forms_at_once_do_not_mix_them(tmp_path, moment):
    """The second run looked before the first wrote, and writes at any moment of it."""
    places = {"cache_path": str(tmp_path), "filename_base": "kernel", "source_stamp": "mark"}
    slow, quick, later = (caching.IndexDataCacheFile(**places) for _ in range(3))
    quick._load_index = dict
    step = getattr(slow, moment)

    def interrupted(*words):
        quick.save("int64", "for int64")
        return step(*words)

    setattr(slow, moment, interrupted)
    slow.save("int32", "for int32")
    found = later.load("int32"), later.load("int64")
    # one that was left out is compiled again
    assert found in {("for int32", "for int64"), ("for int32", None), (None, "for int64")}


def test_what_others_keep_is_kept_as_before(tmp_path):
    kept = caching.IndexDataCacheFile(str(tmp_path), "other", (1.5, 7))
    kept.save("int32", "data")
    assert kept.load("int32") == "data"
    assert (tmp_path / "other.1.nbc").is_file()
