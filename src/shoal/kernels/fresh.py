"""Compiled kernels that are never older than their sources.

Numba keeps what it compiled beside a function's file and looks at that file alone; but a kernel is made of
those it calls, too, which may stand elsewhere and have changed with an update. So the names under which
our kernels are kept carry a mark of every source they are made of. Where no folder can be written, they
are kept for this run only.

Numba also counts the forms of a kernel, one for each kind of arguments, in the order in which they are
kept: of two first runs at once each may give the same number to another form, and every later run would
fail. So the forms of our kernels are named by what they are.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from numba.core import caching
from numba.core.caching import CacheImpl, IndexDataCacheFile

__all__ = ["keep_fresh", "mark_of"]

HERE = Path(__file__).parent
IMPORTED = re.compile(r"shoal\.kernels(?:\.(\w+)| import ([\w, ]+))")
_usual: tuple[Any, ...] = tuple(CacheImpl._locator_classes)


def keep_fresh() -> None:
    """From now on Numba keeps the kernels of this folder by their marks; all else as before."""
    places: Any = CacheImpl
    places._locator_classes = [_Marked, *_usual]
    files: Any = caching
    files.IndexDataCacheFile = _Forms


@cache
def mark_of(file: Path) -> str:
    """A text that changes with `file` and with whatever kernels it is made of."""
    reached: set[Path] = set()
    border = [file]
    while border:
        source = border.pop()
        if source not in reached and source.is_file():
            reached.add(source)
            border += [source.with_name(f"{name}.py") for name in _read(source)[1]]
    digests = "".join(_read(source)[0] for source in sorted(reached))
    return hashlib.sha256(digests.encode()).hexdigest()[:16]


@cache
def _read(source: Path) -> tuple[str, tuple[str, ...]]:
    """The digest of a file, and the kernels it imports."""
    raw = source.read_bytes()
    found = IMPORTED.findall(raw.decode())
    names = {name for one, several in found for name in (one, *several.split(","))}
    return hashlib.sha256(raw).hexdigest(), tuple(sorted(name.strip() for name in names if name.strip()))


class _Marked:
    """What Numba asks for the place and the name under which a function is kept."""

    def __init__(self, folder: str, file: str, line: int) -> None:
        self._py_file = file
        self._folder = folder
        self._mark = mark_of(Path(file))
        self._name = f"{line}-{self._mark}"

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Marked | None:
        if Path(file).parent != HERE:
            return None
        found = (kind.from_function(function, file) for kind in _usual)
        folder = next((one.get_cache_path() for one in found if one is not None), None)
        return cls(folder or _folder_of_this_run().name, file, function.__code__.co_firstlineno)

    def ensure_cache_path(self) -> None:
        Path(self._folder).mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> str:
        return self._mark

    def get_disambiguator(self) -> str:
        return self._name


class _Forms(IndexDataCacheFile):
    """A kernel's forms and where they lie; where two runs write at once, one may be left out."""

    def save(self, key: Any, data: Any) -> None:
        if not isinstance(self._source_stamp, str):  # not ours: no mark
            super().save(key, data)
            return
        name = self._data_name(int(hashlib.sha256(self._dump(key)).hexdigest()[:12], 16))
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})


@cache
def _folder_of_this_run() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="shoal-kernels-")
