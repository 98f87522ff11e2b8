"""Write what the docs repeat of the code: the table of methods and the transcripts.

    python docs/make.py

Rewrites docs/methods/index.md from every method's FACTS, and runs anew every command that stands after
a `$` in a `console` block. `tests/test_docs.py` fails while the table is not what this script would
write, or while a transcript differs in its words from a run (its numbers may be those of another
machine).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from shoal.group import METHODS, choose, facts
from shoal.model.facts import OBJECTIVES

DOCS = Path(__file__).parent
ROOT = DOCS.parent
TRANSCRIPT = re.compile(r"(?<=^```console\n)\$ (.*)\n((?:.*\n)*?)(?=^```$)", re.MULTILINE)

PAPERS = {
    "000": "G. Aggarwal, R. Panigrahy, T. Feder, D. Thomas, K. Kenthapadi, S. Khuller, A. Zhu. Achieving "
    "anonymity via clustering. ACM Transactions on Algorithms 6(3), 2010.",
    "001": "G. Aggarwal, T. Feder, K. Kenthapadi, R. Motwani, R. Panigrahy, D. Thomas, A. Zhu. "
    "Approximation algorithms for k-anonymity. Journal of Privacy Technology, 2005.",
    "002": "Y. Du, T. Xia, Y. Tao, D. Zhang, F. Zhu. On multidimensional k-anonymity with local recoding "
    "generalization. ICDE 2007.",
    "003": "J.-L. Lin, M.-C. Wei. An efficient clustering method for k-anonymization. PAIS 2008.",
    "004": "W. Du, D. Eppstein, M. T. Goodrich, G. S. Lueker. On the approximability of geometric and "
    "geographic generalization and the min-max bin covering problem. WADS 2009.",
}

METHODS_HEAD = """\
# Methods

Written by `python docs/make.py` from what each method says of itself; `shoal methods` prints the same.
`auto`, the default, is `{auto}`; name another with `--method`.

| method | makes small | guarantee | time | source |
| --- | --- | --- | --- | --- |
"""


def methods_page() -> str:
    """One line per method."""
    lines = []
    for name in METHODS:
        its = facts(name)
        cells = (f"[{name}]({name}.md)", its.objective, its.guarantee, its.time, its.paper)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n")
    meanings = "".join(f"- **{name}**: {text}\n" for name, text in OBJECTIVES.items())
    others = sorted({page.stem for page in (DOCS / "methods").glob("*.md")} - {*METHODS, "index"})
    see = "".join(f"- [{name}]({name}.md)\n" for name in others)
    return (
        METHODS_HEAD.format(auto=choose())
        + "".join(lines)
        + ("\nWhat goes with a method:\n\n" + see if see else "")
        + "\nWhat is made small:\n\n"
        + meanings
        + "\nThe papers that sources name by number:\n\n"
        + "".join(f"- **{number}**: {paper}\n" for number, paper in PAPERS.items())
    )


PAGES = {"methods/index.md": methods_page}


def run(commands: str, folder: Path) -> str:
    """What shell commands print in a folder that holds the examples.

    What they say aside, on stderr, is shown where they fail and is no part of a transcript: others speak
    there too, of memory or of caches, and not in every run.
    """
    if not (folder / "examples").exists():
        shutil.copytree(ROOT / "examples", folder / "examples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    screen = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "PYTHONUTF8": "1"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder,
        env=os.environ | screen | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{commands}\n{done.stdout}{done.stderr}")
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.rstrip().splitlines())


def with_transcripts(text: str) -> str:
    """A page with the output of its console blocks as it is now."""
    with tempfile.TemporaryDirectory() as folder:
        return TRANSCRIPT.sub(lambda found: f"$ {found[1]}\n{run(found[1], Path(folder))}", text)


def main() -> None:
    for name, write in PAGES.items():
        (DOCS / name).write_text(write(), encoding="utf-8")
    for page in (ROOT / "README.md", *DOCS.rglob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = with_transcripts(before)
        if after != before:
            page.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
