"""Writes docs/cli.md from the help of the commands: python docs/make_cli.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from shoal.cli.app import app_of

PAGE = Path(__file__).with_name("cli.md")
INTRODUCTION = """# The command line

Generated from the help of the commands by `python docs/make_cli.py`; do not edit.

Exit codes: 0 done; 2 bad plan or data, nothing written; 3 the check failed and nothing was written, or a
certificate does not hold; 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP, with nothing left behind; 141 the reader of
a pipe went away before the end; 1 a bug of ours.

Lists of columns are comma-separated and repeatable. A column whose name holds a comma gets an option of
its own, `-q age -q "last, first"`, or has its comma escaped: `-q 'age,last\\, first'`. Options override the
plan file column by column: a column named with a role here leaves the role it has in the plan.

No command prints a cell of an original: messages name columns and counts, and `tabulate` shows what a
release publishes. Errors go to stderr; with `--json` stdout holds JSON and nothing else. Letters that a
terminal's encoding lacks are replaced; JSON escapes them.
"""


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    commands: dict[str, Any] = typer.main.get_command(app_of()).commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        parts.append(f"## shoal {name}\n\n{_text(command.help)}\n")
        parts.append(f"    {command.epilog.removeprefix('Example: ')}\n")
        rows = [_row(one) for one in command.params if one.name not in {"help", "context"}]
        parts.append("\n".join(["| | | |", "|---|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def _text(text: str) -> str:
    return " ".join(text.split())


def _row(one: Any) -> str:
    if one.param_type_name == "argument":
        return f"| `{one.name.upper()}` | | {one.help} |"
    words = ", ".join(f"`{word}`" for word in (*one.opts, *one.secondary_opts))
    metavar = "" if one.is_flag or not one.metavar else f"`{one.metavar}`".replace("|", "\\|")
    return f"| {words} | {metavar} | {one.help} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
