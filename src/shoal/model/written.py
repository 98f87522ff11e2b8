"""Values that are written as JSON and read again, also by a Shoal that is older or newer than the writer.

A file says the version of its format, "2.0": major and minor. A newer minor version only adds fields; an
older reader keeps them aside, untouched. A newer major version may mean anything, so it is not read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from shoal.errors import DataError

__all__ = ["Aside", "is_newer", "names_of", "read_file", "to_plain"]

Spot = tuple[str | int, ...]
"""Where something stands in a file: `("columns", 2, "loss")`."""
Aside = Mapping[Spot, object]
"""What a file says in fields that we do not know, by where it stands."""
ASIDE = "unread"
"""The field of a value that keeps it; never written under that name."""
LARGE = 2**63
"""Above every count."""


class _Unfit(Exception):
    """What stands at a spot is missing or is not what Shoal writes there."""


def to_plain(value: Any) -> dict[str, Any]:
    """A value as JSON has it, together with what was kept aside when it was read."""
    plain = _as_of(value, asdict(value), value.version)
    for (*spot, name), said in plain.pop(ASIDE).items():
        inner: Any = plain
        for step in spot:
            inner = inner[step]
        inner[name] = said
    return plain


def _as_of(value: Any, plain: dict[str, Any], version: str) -> dict[str, Any]:
    """Without the fields that the version of the file did not have: what it says stays as it was.

    The metadata of such a field tells the version `since` which files have it.
    """
    for item in fields(value):
        inner = getattr(value, item.name)
        if is_newer(item.metadata.get("since", version), version):
            del plain[item.name]
        elif is_dataclass(inner):
            plain[item.name] = _as_of(inner, plain[item.name], version)
        elif isinstance(inner, tuple):
            for one, said in zip(inner, plain[item.name], strict=True):
                if is_dataclass(one):
                    _as_of(one, said, version)
    return plain


def read_file(kind: type, text: str, *, what: str, version: str, release: str | None = None) -> Any:
    """Read a value whose format we know up to `version`; `what` is the file's name in messages.

    A file may hold two, one that `replaces` the other: then it is the one for the fingerprint `release`.
    """
    try:
        raw = json.loads(text, parse_constant=_refuse, object_pairs_hook=_once)
        older = raw.pop("replaces", None) if isinstance(raw, dict) else None
        newest = _of_plain(kind, raw, what, version)
        if older is None or release in {None, newest.release}:
            return newest
        replaced = _of_plain(kind, older, what, version)
    except (ValueError, RecursionError):
        raise DataError(f"The {what} cannot be read: it is no file that Shoal wrote.") from None
    except _Unfit as unfit:
        raise DataError(
            f"The {what} cannot be read: {unfit} is missing or is not what Shoal writes there."
        ) from None
    return replaced if replaced.release == release else newest


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of a file; of a name that stands there twice, others may read the first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("doubled")
    return found


def is_newer(said: str, known: str) -> bool:
    """Whether the version that a file says is newer than the one we know.

    >>> is_newer("2.1", "2.0"), is_newer("2.0", "2.0"), is_newer("2.9", "2.10")
    (True, False, False)
    """
    return _parts(said) > _parts(known)


def names_of(unread: Aside) -> list[str]:
    """The names of fields that were kept aside, each once.

    >>> names_of({("safe",): True, ("plan", "sign"): 1, ("rules", 0, "sign"): 1, ("rules", 1, "sign"): 1})
    ['plan.sign', 'rules.sign', 'safe']
    """
    return sorted({_name_of(spot) for spot in unread})


def _name_of(spot: Spot) -> str:
    return ".".join(str(step) for step in spot if not isinstance(step, int))


def _parts(version: object) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,4})\.(\d{1,4})", version) if isinstance(version, str) else None
    if match is None or not match[0].isascii():
        raise _Unfit("its 'version'")
    return int(match[1]), int(match[2])


def _refuse(constant: str) -> float:
    raise ValueError(constant)  # JSON knows neither infinity nor not-a-number


def _of_plain(kind: type, raw: object, what: str, version: str) -> Any:
    if not isinstance(raw, dict):
        raise _Unfit("what it should say")
    said, known = _parts(raw.get("version")), _parts(version)
    if said[0] != known[0]:
        newer = said[0] > known[0]
        raise DataError(
            f"The {what} has the format {raw['version']}; this Shoal reads formats {known[0]}.0 and later, "
            f"before {known[0] + 1}.0. Use {'a newer Shoal' if newer else 'the Shoal that wrote it'}."
        )
    unread: dict[Spot, object] = {}
    return replace(_value(kind, raw, (), unread), **{ASIDE: unread})


def _value(kind: Any, raw: object, spot: Spot, unread: dict[Spot, object]) -> Any:
    """A value from its fields, each of its type; fields that it does not have go to `unread`."""
    if not isinstance(raw, dict):
        raise _unfit(spot)
    hints = get_type_hints(kind)
    known = {item.name for item in fields(kind)} - {ASIDE}
    words = {}
    for name, said in raw.items():
        if name in known:
            words[name] = _read(hints[name], said, (*spot, name), unread)
        else:
            unread[(*spot, name)] = said
    try:
        return kind(**words)
    except TypeError:
        lacking = [name for name in sorted(known) if name not in words]
        raise _unfit((*spot, lacking[0])) from None


def _read(hint: Any, raw: object, spot: Spot, unread: dict[Spot, object]) -> Any:
    """What JSON has for a hint: the plain types, values, and tuples and mappings of them."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is UnionType:
        if raw is None and NoneType in inside:
            return None
        (hint,) = (one for one in inside if one is not NoneType)
        return _read(hint, raw, spot, unread)
    if is_dataclass(hint):
        return _value(hint, raw, spot, unread)
    if origin is tuple and isinstance(raw, list):
        hints = [inside[0]] * len(raw) if inside[-1] is Ellipsis else list(inside)
        if len(hints) != len(raw):
            raise _unfit(spot)
        return tuple(
            _read(one, said, (*spot, place), unread)
            for place, (one, said) in enumerate(zip(hints, raw, strict=True))
        )
    if origin is Mapping and isinstance(raw, dict):
        return {name: _read(inside[1], said, spot, unread) for name, said in raw.items()}
    if isinstance(raw, int) and not -LARGE < raw < LARGE:
        raise _unfit(spot)
    if isinstance(raw, float) and not math.isfinite(raw):
        raise _unfit(spot)
    if hint is float and isinstance(raw, int) and not isinstance(raw, bool):
        raw = float(raw)
    if origin is not None or not isinstance(raw, hint) or (isinstance(raw, bool) and hint is int):
        raise _unfit(spot)
    return raw


def _unfit(spot: Spot) -> _Unfit:
    return _Unfit(f"its {_name_of(spot)!r}")
