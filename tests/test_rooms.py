"""Who may import whom: DESIGN's table, held true."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from shoal.group import METHODS

SOURCE = Path(__file__).parent.parent / "src" / "shoal"
STAGES = {"read", "encode", "group", "bound", "recode", "check", "publish"}
VALUES = {"model", "errors"}
MAY_IMPORT = {
    "errors": set(),
    "kernels": {"kernels"},
    "model": {"model", "errors"},
    "database": {"database", *VALUES},
    "read": {"read", "database", *VALUES},
    "encode": {"encode", *VALUES},
    "check": {"check", *VALUES},
    "publish": {"publish", "database", *VALUES},
    "group": {"group", "kernels", *VALUES},
    "bound": {"bound", "kernels", *VALUES},
    "recode": {"recode", "kernels", *VALUES},
    "engines": {"engines", *STAGES, *VALUES},
    "run": {"run", "engines", *STAGES, *VALUES},
    "__init__": {"run", "read", "database", *VALUES},
    "cli": {"cli"},
    "web": {"web"},
    "sklearn": {"sklearn"},
}
FILES = sorted(SOURCE.rglob("*.py"))


def room_of(path: Path) -> str:
    inside = path.relative_to(SOURCE)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


def rooms_imported(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            if node.module == "shoal":
                names = [f"shoal.{alias.name}" for alias in node.names]
            else:
                names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("shoal.")}
    return rooms


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_room_imports_only_what_it_may(path):
    room = room_of(path)
    allowed = MAY_IMPORT[room]
    if room in {"cli", "web", "sklearn"}:  # doors know the public API and their own room
        return_to_public = rooms_imported(path) - {room}
        assert not return_to_public & (STAGES | {"engines", "kernels", "model"})
        return
    assert rooms_imported(path) <= allowed


def test_beside_its_folders_group_holds_the_methods_and_nothing_else():
    files = {path.stem.replace("_", "-") for path in (SOURCE / "group").glob("*.py")}
    assert files == {"--init--", *METHODS}


def test_no_two_classes_share_a_name():
    homes: dict[str, list[str]] = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name.strip("_"), []).append(str(path.relative_to(SOURCE)))
    assert len(homes) > 100
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
