"""Write what the docs repeat of the code: methods, fields of certificates, schemas and transcripts.

    python docs/make.py

Rewrites docs/methods/index.md from every method's FACTS, the table of keys in docs/how-to/plans.md from
FIELDS, docs/schema from the values that are written, the tables of docs/how-to/certificate.md from what
their fields mean, and runs anew every command that stands after a `$` in a `console` block.
`tests/test_docs.py` fails while a page is not what this script would write, or while a transcript differs
in its words from a run (its numbers may be those of another machine).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from make_schema import SCHEMAS, fields_table

from shoal import FIELDS
from shoal.group import METHODS, choose, facts
from shoal.model.certificate import Certificate
from shoal.model.facts import OBJECTIVES
from shoal.model.receipt import Receipt

DOCS = Path(__file__).parent
ROOT = DOCS.parent
TRANSCRIPT = re.compile(r"(?<=^```console\n)\$ (.*)\n((?:.*\n)*?)(?=^```$)", re.MULTILINE)
FIELDS_TABLE = re.compile(r"^\| field \| meaning \|\n(?:\|.*\n)*", re.MULTILINE)
KEYS = re.compile(r"^\| key \|.*\n(?:\|.*\n)*", re.MULTILINE)

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


def certificate_page() -> str:
    """The page on certificates, its tables of fields made anew."""
    tables = iter([fields_table(Certificate), fields_table(Receipt)])
    page = (DOCS / "how-to" / "certificate.md").read_text(encoding="utf-8")
    return FIELDS_TABLE.sub(lambda found: next(tables), page)


def plans_page() -> str:
    """The page on plans with its table of keys as the fields say it now."""
    rows = ["| key | meaning | such as | if left out |", "| --- | --- | --- | --- |"]
    for name, field in FIELDS.items():
        choice = f" One of {', '.join(f'`{word}`' for word in field.choices)}." * bool(field.choices)
        link = f" ([more]({os.path.relpath(field.page, 'how-to')}))" if field.page else ""
        left_out = field.default or "must be given"
        rows.append(f"| `{name}` | {field.meaning}{choice}{link} | `{field.example}` | {left_out} |")
    page = (DOCS / "how-to" / "plans.md").read_text(encoding="utf-8")
    return KEYS.sub(lambda _: "\n".join(rows) + "\n", page)


PAGES = {
    "methods/index.md": methods_page,
    "how-to/plans.md": plans_page,
    "how-to/certificate.md": certificate_page,
    **SCHEMAS,
}


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
