"""How a release was coarsened, to be used again: its classes as boxes in values, and no row of anybody."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from shoal.errors import DataError

__all__ = ["Coarse", "Coarsening"]

VERSION = "2"
WARNING = (
    "This file tells what the release tells, the cells of its classes, and what the hierarchy files say of "
    "each published node. Whoever may see the release and those hierarchies may see it."
)


@dataclass(frozen=True, slots=True)
class Coarse:
    """A quasi-identifier of a recoding.

    `sort` says what its cells are: ranges, nodes or sets; `kind` how its values are read and `form` how
    they are printed, both as in the release. A set or a node of all `size` values loses `weight`. `nodes`
    has the values below each published node, by a hierarchy that somebody wrote. Where the tree was built
    from the values of the table, `tree` says how, and `nodes` is empty: its values are those of persons. A
    set has a `tree` where that codes the ends of its values.
    """

    name: str
    sort: str
    kind: str
    form: str
    weight: float
    size: int
    nodes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    tree: str = ""


@dataclass(frozen=True, slots=True)
class Coarsening:
    """A way to coarsen rows as a release was coarsened.

    `boxes` are the classes of the release: a published cell per column, as text, None where it is missing.
    `others` are the columns that were published as they are; `rules` and `unit` those of its plan.
    """

    k: int
    columns: tuple[Coarse, ...]
    boxes: tuple[tuple[str | None, ...], ...]
    others: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    unit: str | None = None

    @property
    def quasi(self) -> tuple[str, ...]:
        """The columns that it recodes."""
        return tuple(column.name for column in self.columns)

    def to_json(self) -> str:
        """The recoding as text, the same for the same release."""
        plain = {
            "version": VERSION,
            "warning": WARNING,
            "k": self.k,
            "columns": [
                {
                    "name": one.name,
                    "sort": one.sort,
                    "kind": one.kind,
                    "form": one.form,
                    "weight": one.weight,
                    "size": one.size,
                    "nodes": {name: list(values) for name, values in one.nodes.items()},
                    "tree": one.tree,
                }
                for one in self.columns
            ],
            "boxes": [list(box) for box in self.boxes],
            "others": list(self.others),
            "rules": list(self.rules),
            "unit": self.unit,
        }
        return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def of_json(cls, text: str) -> Coarsening:
        """Read what `to_json` wrote."""
        try:
            plain = json.loads(text)
            if plain["version"] != VERSION:
                raise DataError("The recoding was written by another version of Shoal. Write it anew.")
            columns = tuple(
                Coarse(
                    name=str(one["name"]),
                    sort=_one_of(one["sort"], ("range", "node", "set")),
                    kind=str(one["kind"]),
                    form=_one_of(one["form"], ("integer", "float", "date", "datetime", "text")),
                    weight=float(one["weight"]),
                    size=int(one["size"]),
                    nodes={str(name): tuple(map(str, values)) for name, values in one["nodes"].items()},
                    tree=str(one["tree"]),
                )
                for one in plain["columns"]
            )
            boxes = tuple(
                tuple(None if cell is None else str(cell) for cell in box) for box in plain["boxes"]
            )
            unit = plain["unit"]
            found = cls(
                int(plain["k"]),
                columns,
                boxes,
                tuple(map(str, plain["others"])),
                tuple(map(str, plain["rules"])),
                None if unit is None else str(unit),
            )
        except DataError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError):
            raise _unreadable() from None
        if found.k < 2 or not columns or not boxes or any(len(box) != len(columns) for box in boxes):
            raise _unreadable()
        return found


def _one_of(word: object, words: tuple[str, ...]) -> str:
    if word not in words:
        raise ValueError
    return str(word)


def _unreadable() -> DataError:
    return DataError("The recoding cannot be read: it is damaged, or another file. Write it anew.")
