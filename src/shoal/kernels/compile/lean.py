"""Numba's way from a kernel's source to LLVM, without what is done twice or for nothing.

Most of the time that compiling takes goes into this way, and most of that into questions that were answered
before. While a kernel of ours is compiled:

- Of each `a[i] + b[i]` Numba asks all it knows about indexing and adding with these types. Here the answer
  is kept.
- It keeps what it compiled of its own (`np.empty`, `min`) by all settings of the kernel that calls it, so
  an entry, an inner kernel and a leaf get one each. Here by those settings that make a difference.
- After each of its steps it finds out which names are alive at the start of each block; that is looked at
  in generators only, of which we have none.
- It looks for functions inside of functions, and for sums and products of whole arrays to join. Our kernels
  have none of the former; of the latter only those whose types say so.
- It reads all its environment variables anew for every function. Here for every entry.

All else that Numba compiles is compiled as before. What is used of its insides stands in NEEDED; with a
Numba that has something else there, nothing is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from numba.core import compiler, compiler_machinery, config, postproc, targetconfig, transforms, types
from numba.core import typed_passes as typed
from numba.core import untyped_passes as untyped
from numba.core.types import functions

__all__ = ["can_be_lean", "fewer_steps", "lean", "settings_of"]

_Flags: Any = getattr(compiler, "Flags", object)
_Stack: Any = getattr(targetconfig, "ConfigStack", object)
_Function: Any = getattr(functions, "BaseFunction", object)
_Processor: Any = getattr(postproc, "PostProcessor", object)
_Rewrites: Any = getattr(typed, "NopythonRewrites", object)
_register: Any = getattr(compiler_machinery, "register_pass", lambda **_: lambda kind: kind)
_config: Any = config
NEEDED = (
    (_Flags, ("copy", "discard", "options", "summary")),
    (_Stack, ("top_or_none",)),
    (_Function, ("get_call_type",)),
    (_Processor, ("run",)),
    (postproc, ("VariableLifetime",)),
    (transforms, ("canonicalize_cfg",)),
    (config, ("reload_config",)),
    (compiler_machinery, ("PassManager", "register_pass")),
    (getattr(compiler_machinery, "PassManager", None), ("finalize",)),
    (untyped, ("InlineClosureLikes",)),
    (typed, ("NopythonRewrites",)),
)
OWN = ("release_gil", "no_cpython_wrapper", "no_cfunc_wrapper", "forceinline")
"""Settings of a kernel that make no difference to what it calls."""
_ask: Any = getattr(_Function, "get_call_type", None)
_process: Any = getattr(_Processor, "run", None)
_answers: dict[Any, tuple[Any, Any]] = {}
"""The signature of each call that was asked for, and the function, so that its number stays its own."""


@cache
def can_be_lean() -> bool:
    """Whether this Numba is built as we know it, so that something can be left out."""
    return all(hasattr(holder, name) for holder, names in NEEDED for name in names) and all(
        name in _Flags.options for name in OWN
    )


def settings_of(flags: Any) -> Any:
    """The settings with which a kernel of ours is compiled."""
    return _Settings(flags) if can_be_lean() else flags


def fewer_steps(pipelines: list[Any]) -> list[Any]:
    """Numba's steps, lean: without those that our kernels do not need."""
    if can_be_lean():
        for pipeline in pipelines:
            pipeline.passes = [
                (_RewritesOfArrays, why) if step is _Rewrites else (step, why)
                for step, why in pipeline.passes
                if step is not untyped.InlineClosureLikes
            ]
            pipeline.finalize()
    return pipelines


@contextmanager
def lean() -> Iterator[None]:
    """Compile without what is not needed; needs Numba's lock, which whoever compiles has."""
    if not can_be_lean() or _Function.get_call_type is _ask_once:
        yield
        return
    reload = _config.reload_config
    _Function.get_call_type, _Processor.run, _config.reload_config = _ask_once, _process_less, _keep_config
    try:
        yield
    finally:
        _Function.get_call_type, _Processor.run, _config.reload_config = _ask, _process, reload


@_register(mutates_CFG=True, analysis_only=False)
class _RewritesOfArrays(_Rewrites):  # type: ignore[misc]
    """Joins sums and products of whole arrays, where there are any."""

    _name = "shoal_rewrites_of_arrays"

    def run_pass(self, state: Any) -> bool:
        """Look first whether anything makes an array."""
        made = (
            isinstance(signature.return_type, types.Array)
            for does, signature in state.calltypes.items()
            if signature is not None and getattr(does, "op", "") not in {"getitem", "static_getitem"}
        )
        return bool(super().run_pass(state)) if any(made) else False


class _Settings(_Flags):  # type: ignore[misc]
    """Numba's settings, told apart by those that make a difference to what a kernel calls."""

    __slots__ = ("_inherited",)

    def copy(self) -> _Settings:
        """What Numba looks up by while it compiles a kernel."""
        copied = type(self)(self)
        inherited = _Flags(self)
        for name in OWN:
            inherited.discard(name)
        copied._inherited = inherited.summary()
        return copied

    def __hash__(self) -> int:
        return hash(self._inherited)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Settings) and self._inherited == other._inherited


def _ask_once(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of a call, as Numba finds it, or found it before."""
    settings = _Stack.top_or_none()
    if not isinstance(settings, _Settings):
        return _ask(function, context, args, kws)
    question = id(function), id(context), tuple(args), tuple(kws.items()) if kws else (), settings
    known = _answers.get(question)
    if known is None:
        known = _answers[question] = function, _ask(function, context, args, kws)
    return known[1]


def _process_less(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """What Numba does between two steps, but for the names that are alive at the start of each block."""
    source = processor.func_ir
    if emit_dels or source.is_generator:
        _process(processor, emit_dels, extend_lifetimes)
        return
    source.blocks = transforms.canonicalize_cfg(source.blocks)
    source.variable_lifetime = postproc.VariableLifetime(source.blocks)
    source.generator_info = None


def _keep_config() -> None:
    """Nothing: it was read before the entry."""
