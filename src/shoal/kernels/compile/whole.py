"""An entry is compiled as a whole: with everything it calls, once.

Numba optimises every function together with all that it calls, makes machine code of it, and does the same
again for each of its callers. What is only called by other kernels needs neither: it is compiled `AsPart`,
and handed to its callers as it was written. An entry is compiled `AsWhole`: optimised once, with all parts
that it reaches. A quarter less to compile, for the same code.

No garbage is collected meanwhile, since there is hardly any.

What is used of Numba's insides stands in NEEDED; with a Numba that has something else there, kernels are
compiled in its own way.
"""

from __future__ import annotations

import gc
from functools import cache
from typing import Any

from numba.core import codegen, compiler, environment

__all__ = ["AsPart", "AsWhole", "can_join"]

_INSIDES: Any = codegen
_Library: Any = getattr(_INSIDES, "JITCodeLibrary", object)
_Compiler: Any = compiler.Compiler
NEEDED = (
    (
        _Library,
        (
            "_ensure_finalized",
            "_finalize_dynamic_globals",
            "_get_module_for_linking",
            "_raise_if_finalized",
            "codegen",
            "enable_object_caching",
            "finalize",
            "get_pointer_to_function",
        ),
    ),
    (environment, ("lookup_environment",)),
)
ENVIRONMENT = "_ZN08NumbaEnv"


@cache
def can_join() -> bool:
    """Whether this Numba is built as we know it, so that an entry can be compiled as a whole."""
    return all(hasattr(holder, name) for holder, names in NEEDED for name in names)


class _Unloaded:
    """What Numba asks to load the constants of a function: those of a part are loaded with its whole."""

    def set_env(self, name: str, constants: Any) -> None:
        """Nothing to do yet."""


class _PartLibrary(_Library):  # type: ignore[misc]
    """The code of one function, neither optimised nor made into machine code."""

    @property
    def codegen(self) -> Any:
        return _Unloaded()

    def finalize(self) -> None:
        """A part is not optimised by itself: it waits for the whole that calls it."""
        self._raise_if_finalized()
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """A part has no machine code of its own to point to."""
        self._ensure_finalized()
        return 0  # there is none


class _WholeLibrary(_Library):  # type: ignore[misc]
    """The code of an entry and of all parts that it reaches."""

    def finalize(self) -> None:
        """Compile the whole: link all parts that the entry reaches, optimise once, set their constants."""
        reached: dict[Any, None] = dict.fromkeys(self._linking_libraries)
        border = list(reached)
        while border:
            library = border.pop()
            if isinstance(library, _PartLibrary):
                fresh = [one for one in library._linking_libraries if one not in reached]
                reached |= dict.fromkeys(fresh)
                border += fresh
        self._linking_libraries: list[Any] = list(reached)
        super().finalize()
        for variable in self._final_module.global_variables:
            if variable.name.startswith(ENVIRONMENT):
                constants = environment.lookup_environment(variable.name)
                if constants is not None:
                    self._codegen.set_env(variable.name, constants)


class AsPart(_Compiler):  # type: ignore[misc]
    """Compiles what is only called by other kernels."""

    library: Any = _PartLibrary

    def __init__(
        self,
        typingctx: Any,
        targetctx: Any,
        library: Any,
        args: Any,
        return_type: Any,
        flags: Any,
        locals: Any,
    ) -> None:
        """Numba's compiler with a library of our own, that of a part or of a whole."""
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)
        if self.state.library is None:
            self.state.library = self.library(targetctx.codegen(), type(self).__name__)
            self.state.library.enable_object_caching()

    def compile_extra(self, func: Any) -> Any:
        """The function, compiled as a whole or as a part; garbage waits until it is done."""
        collects = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if collects:
                gc.enable()


class AsWhole(AsPart):
    """Compiles what is called from Python."""

    library = _WholeLibrary
