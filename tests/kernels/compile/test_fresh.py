"""What was compiled is never older than what it was compiled from."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numba
import pytest
from numba.core import caching

from shoal.kernels.compile import fresh

OUTER = """from shoal.kernels.compile.decorators import entry
from shoal.kernels.deep.inside import one

@entry
def two(x):
    return one(x) + one(x)
"""
INSIDE = """from shoal.kernels.compile.decorators import inner

@inner
def one(x):
    return x + {more}
"""
ASK = "from shoal.kernels.wide.outer import two; print(two(1), two.stats.cache_hits)"


@pytest.fixture
def kernels(tmp_path) -> Path:
    """A package of two kernels in folders of their own, one of which calls the other."""
    folder = tmp_path / "shoal" / "kernels"
    for name in ("compile", "wide", "deep"):
        (folder / name).mkdir(parents=True)
    for place in (folder.parent, folder / "compile", folder / "wide", folder / "deep"):
        (place / "__init__.py").touch()
    shutil.copy(fresh.KERNELS / "__init__.py", folder)
    for name in ("fresh.py", "lean.py", "whole.py", "decorators.py"):
        shutil.copy(fresh.KERNELS / "compile" / name, folder / "compile")
    (folder / "wide" / "outer.py").write_text(OUTER)
    (folder / "deep" / "inside.py").write_text(INSIDE.format(more=1))
    return folder


def ask(kernels: Path, before: str = "", **more: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(kernels.parent.parent), **more}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", before + ASK], env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_a_kernel_is_compiled_anew_when_one_that_it_calls_has_changed(kernels):
    assert ask(kernels) == "4 Counter()"
    assert ask(kernels).startswith("4 Counter({")
    (kernels / "deep" / "inside.py").write_text(INSIDE.format(more=2))
    assert ask(kernels) == "6 Counter()"


def test_so_is_one_that_stands_elsewhere_and_calls_ours(kernels):
    (kernels.parent.parent / "mine.py").write_text(OUTER)
    words = "from mine import two; print(two(1), two.stats.cache_hits); raise SystemExit; "
    assert ask(kernels, words) == "4 Counter()"
    assert ask(kernels, words).startswith("4 Counter({")
    (kernels / "deep" / "inside.py").write_text(INSIDE.format(more=2))
    assert ask(kernels, words) == "6 Counter()"


@pytest.mark.parametrize(
    "name", ["CacheImpl._locator_classes", "IndexDataCacheFile", "IndexDataCacheFile._save_index"]
)
def test_with_a_numba_that_differs_nothing_is_kept_and_nothing_is_stale(kernels, name):
    differs = f"from numba.core import caching; del caching.{name}; import warnings; "
    quiet = "warnings.simplefilter('ignore'); "
    assert ask(kernels, differs + quiet) == "4 Counter()"
    (kernels / "deep" / "inside.py").write_text(INSIDE.format(more=2))
    assert ask(kernels, differs + quiet) == "6 Counter()"
    assert not list(kernels.rglob("*.nbi"))
    with pytest.raises(subprocess.CalledProcessError) as failed:
        ask(kernels, differs + "warnings.simplefilter('error'); ")
    assert f"Numba {numba.__version__} keeps compiled code in a way that Shoal does not know" in (
        failed.value.stderr
    )


def test_kernels_run_where_no_folder_can_be_written(kernels, tmp_path):
    (tmp_path / "file").touch()
    for folder in ("wide", "deep"):
        (kernels / folder / "__pycache__").touch()  # a folder in which nothing can be written, even by root
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
            place = tmp_path.joinpath(*name.split("_")).with_suffix(".py")
            place.parent.mkdir(exist_ok=True)
            place.write_text(text)
        return fresh.mark_of(tmp_path / "a.py", tmp_path)

    first = mark(
        a="from shoal.kernels.b import x",
        b="from shoal.kernels import c, d",
        c="from shoal.kernels.deep.one import (\n    x,  # and\n    y,\n)",
        d="    from shoal.kernels.deep import two, x\nimport shoal.kernels.deep.three as three",
        e="",
        deep_one="from shoal.kernels.far.one import x",
        deep_two="",
        deep_three="",
        deep_four="",
        far_one="",
        far_two="",
    )
    assert mark() == first
    assert mark(e="changed", deep_four="changed", far_two="changed") == first
    marks = {first, mark(a="from shoal.kernels.b import y"), mark(b="from shoal.kernels import c, d, a")}
    marks |= {mark(deep_one="from shoal.kernels.far.one import y"), mark(deep_two="changed")}
    marks |= {mark(deep_three="changed"), mark(far_one="changed")}
    assert len(marks) == 7
    forget()


KERNELS = sorted(fresh.KERNELS.rglob("*.py"))


@pytest.mark.parametrize("file", KERNELS, ids=lambda file: str(file.relative_to(fresh.KERNELS)))
def test_the_mark_of_a_kernel_covers_all_that_it_imports(file):
    """As Python itself reads the file, and finds what is named."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    ours = {sys.modules[name] if name in sys.modules else find(name) for name in names if is_ours(name)}
    assert {Path(module.__file__) for module in ours if module} <= set(fresh.sources_of(file))


def is_ours(name: str) -> bool:
    return name.startswith("shoal.kernels.")


def find(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ModuleNotFoundError:  # a function, or a number
        return None


def test_others_are_kept_as_before(tmp_path):
    def function(x):
        return x

    other = tmp_path / "other.py"
    other.write_bytes(b"import numba  # \xff\n")
    for file in (other, tmp_path / "none.py", "<string>"):
        assert fresh._Marked.from_function(function, str(file)) is None


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
