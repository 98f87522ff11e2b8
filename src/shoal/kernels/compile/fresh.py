"""Compiled kernels that are never older than their sources.

Numba keeps what it compiled beside a function's file and looks at that file alone; but a kernel is made of
those it calls, too, which may stand elsewhere and have changed with an update. So the names under which
our kernels are kept carry a mark of every source they are made of. Where no folder can be written, they
are kept for this run only.

Numba also counts the forms of a kernel, one for each kind of arguments, in the order in which they are
kept: of two first runs at once each may give the same number to another form, and every later run would
fail. So the forms of our kernels are named by what they are.

Numba has no public way to say so; what is used of its insides stands in NEEDED. With a Numba that has
something else there, nothing is kept: what it kept by its own rules might be older than its sources.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numba
from numba.core import caching

__all__ = ["can_keep", "keep_fresh", "mark_of", "sources_of"]

KERNELS = Path(__file__).parent.parent
IMPORTED = re.compile(
    r"^[ \t]*(?:from shoal\.kernels([\w.]*) import (\([^)]*\)|.*)|import shoal\.kernels([\w.]*))",
    re.MULTILINE,
)
NEEDED = (
    ("CacheImpl", ("_locator_classes",)),
    ("IndexDataCacheFile", ("save", "_data_name", "_dump", "_save_data", "_save_index", "_load_index")),
)
_INSIDES: Any = caching
_usual: tuple[Any, ...] = tuple(getattr(getattr(_INSIDES, "CacheImpl", None), "_locator_classes", ()))
_Files: Any = getattr(_INSIDES, "IndexDataCacheFile", object)


@cache
def can_keep() -> bool:
    """Whether this Numba is built as we know it, so that kernels can be kept fresh."""
    return all(
        hasattr(getattr(_INSIDES, kind, None), name) for kind, names in NEEDED for name in names
    ) and bool(_usual)


def keep_fresh() -> None:
    """From now on Numba keeps our kernels, in whatever folder, by their marks; all else as before.

    Where it cannot, that is said once, since every run then waits for compiling.
    """
    if not can_keep():
        warnings.warn(
            f"Numba {numba.__version__} keeps compiled code in a way that Shoal does not know: "
            "every run compiles anew, which takes half a minute. Results are the same. "
            "Install a Numba that Shoal's requirements allow.",
            RuntimeWarning,
            stacklevel=2,
        )
        return
    _INSIDES.CacheImpl._locator_classes = [_Marked, *_usual]
    _INSIDES.IndexDataCacheFile = _Forms


@cache
def mark_of(file: Path, kernels: Path = KERNELS) -> str:
    """The mark that keeps kernels fresh: it changes with `file` and with all kernels it is made of."""
    digests = "".join(_read(source, kernels)[0] for source in sources_of(file, kernels))
    return hashlib.sha256(digests.encode()).hexdigest()[:16]


def sources_of(file: Path, kernels: Path = KERNELS) -> list[Path]:
    """The file and all files of kernels that it imports: what a fresh kernel is made of."""
    reached: set[Path] = set()
    border = [file]
    while border:
        source = border.pop()
        if source not in reached:
            reached.add(source)
            border += _read(source, kernels)[1]
    return sorted(reached)


@cache
def _read(source: Path, kernels: Path) -> tuple[str, tuple[Path, ...]]:
    """The digest of a source file of kernels, and the files of kernels that it imports.

    A name that is imported may be a file, a folder, or something inside the file it is imported from.
    """
    raw = source.read_bytes()
    names: set[str] = set()
    for place, inside, whole in IMPORTED.findall(raw.decode(errors="replace")):
        names |= {whole or place, *(f"{place}.{name}" for name in re.findall(r"\w+", inside))}
    places = [kernels.joinpath(*name.split(".")) for name in names]
    files = {file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")}
    return hashlib.sha256(raw).hexdigest(), tuple(file for file in files if file.is_file())


def _is_made_of_ours(file: Path) -> bool:
    return file.is_file() and bool(_read(file, KERNELS)[1])


class _Marked:
    """What Numba asks for the place and the name under which a function is kept."""

    def __init__(self, folder: str, file: str, line: int) -> None:
        """The mark of a kernel's sources, and the folder where it is kept."""
        self._py_file = file
        self._folder = folder
        self._mark = mark_of(Path(file))
        self._name = f"{line}-{self._mark}"

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Marked | None:
        """How a kernel of ours is kept fresh, or one made of ours, as tests have; None for all others."""
        if KERNELS not in Path(file).parents and not _is_made_of_ours(Path(file)):
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


class _Forms(_Files):  # type: ignore[misc]
    """A kernel's forms and where they lie; where two runs write at once, one may be left out."""

    def save(self, key: Any, data: Any) -> None:
        """Keep a compiled form of a kernel under the name of what it is."""
        if not isinstance(self._source_stamp, str):  # not ours: no mark
            super().save(key, data)
            return
        name = self._data_name(int(hashlib.sha256(self._dump(key)).hexdigest()[:12], 16))
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})


@cache
def _folder_of_this_run() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="shoal-kernels-")
