"""Pages that are generated are current."""

from __future__ import annotations

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parent.parent.parent / "docs"


def test_the_page_of_the_command_line_is_current():
    spec = importlib.util.spec_from_file_location("make_cli", DOCS / "make_cli.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert written == module.page(), "run: python docs/make_cli.py"
