"""An entry is compiled as a whole: with everything it calls, once.

Numba optimises every function together with all that it calls, makes machine code of it, and does the same
again for each of its callers. What is only called by other kernels needs neither: it is compiled `AsPart`,
and handed to its callers as it was written. An entry is compiled `AsWhole`: optimised once, with all parts
that it reaches. A quarter less to compile, for the same code. On the way there Numba leaves out what it
does twice or for nothing (`lean.py`).

No garbage is collected meanwhile, since there is hardly any.

What is used of Numba's insides stands in NEEDED; with a Numba that has something else there, kernels are
compiled in its own way.
"""

from __future__ import annotations

import gc
from functools import cache
from typing import Any

from numba.core import codegen, compiler, config, environment

from shoal.kernels.compile.lean import fewer_steps, lean, settings_of

__all__ = ["AsPart", "AsWhole", "can_join"]

_INSIDES: Any = codegen
_Library: Any = getattr(_INSIDES, "JITCodeLibrary", object)
_Compiler: Any = compiler.Compiler
_config: Any = config
NEEDED = (
    (
        _Library,
        (
            "_ensure_finalized",
            "_finalize_dynamic_globals",
            "_get_module_for_linking",
            "_optimize_functions",
            "_raise_if_finalized",
            "_verify_declare_only_symbols",
            "codegen",
            "enable_object_caching",
            "finalize",
            "get_pointer_to_function",
        ),
    ),
    (environment, ("lookup_environment",)),
    (config, ("OPT",)),
)
BRIEF = 1
"""How far LLVM optimises a function before it is joined with others, of 3."""
ENVIRONMENT, OURS = "_ZN08NumbaEnv", "_ZN5shoal"


@cache
def can_join() -> bool:
    """Whether this Numba is built as we know it, so that an entry can be compiled as a whole."""
    return all(hasattr(holder, name) for holder, names in NEEDED for name in names)


class _Briefly(_Library):  # type: ignore[misc]
    """Each function is optimised a bit by itself, which is enough: the whole is, once more and in full."""

    def _optimize_functions(self, ll_module: Any) -> None:
        before, _config.OPT = _config.OPT, min(BRIEF, _config.OPT)
        try:
            super()._optimize_functions(ll_module)
        finally:
            _config.OPT = before


class _Unloaded:
    """What Numba asks to load the constants of a function: those of a part are loaded with its whole."""

    def set_env(self, name: str, constants: Any) -> None:
        """Nothing to do yet."""


class _PartLibrary(_Briefly):
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


def callers_first(whole: Any) -> list[Any]:
    """All that a whole reaches, each after those that call it: LLVM links what is called already."""
    called_first: list[Any] = []
    seen: set[Any] = {whole}

    def reach(library: Any) -> None:
        for one in reversed(library._linking_libraries):
            if one not in seen:
                seen.add(one)
                if isinstance(one, _PartLibrary):
                    reach(one)
                called_first.append(one)

    reach(whole)
    return called_first[::-1]


class _WholeLibrary(_Briefly):
    """The code of an entry and of all parts that it reaches."""

    def finalize(self) -> None:
        """Compile the whole: link all parts that the entry reaches, optimise once, set their constants."""
        self._linking_libraries: list[Any] = callers_first(self)
        super().finalize()
        for variable in self._final_module.global_variables:
            if variable.name.startswith(ENVIRONMENT):
                constants = environment.lookup_environment(variable.name)
                if constants is not None:
                    self._codegen.set_env(variable.name, constants)

    def _verify_declare_only_symbols(self) -> None:
        """Numba looks whether all of its own functions are there; here, whether all of ours are."""
        super()._verify_declare_only_symbols()
        for function in self._final_module.functions:
            if function.is_declaration and function.name.startswith(OURS):
                raise AssertionError(f"{function.name} is called and was not linked")


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
        super().__init__(typingctx, targetctx, library, args, return_type, settings_of(flags), locals)
        if self.state.library is None:
            self.state.library = self.library(targetctx.codegen(), type(self).__name__)
            self.state.library.enable_object_caching()

    def define_pipelines(self) -> Any:
        """Numba's steps, fewer of them."""
        return fewer_steps(super().define_pipelines())

    def compile_extra(self, func: Any) -> Any:
        """The function, compiled as a whole or as a part; garbage waits until it is done."""
        collects = gc.isenabled()
        gc.disable()
        try:
            with lean():
                return super().compile_extra(func)
        finally:
            if collects:
                gc.enable()


class AsWhole(AsPart):
    """Compiles what is called from Python."""

    library = _WholeLibrary
