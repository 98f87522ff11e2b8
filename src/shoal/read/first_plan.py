"""A first plan for a table as YAML: what was guessed, with the reasons, for a person to check."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shoal.errors import PlanError, choices
from shoal.model.guess import Guess, Guesses
from shoal.model.plan import FILE
from shoal.read.guess import guess

__all__ = ["guess_plan"]


def guess_plan(frame: Any, *, path: str | Path = "table.csv", **written: str | None) -> str:
    """A commented plan for `frame` as YAML text: what `guess` says, with reasons and counts.

    `path` is the table's file, named in the comments, and what is known of how it is written, such as its
    `encoding`, goes into the plan. The plan says that a person must check it.
    """
    named = {name: text for name, text in written.items() if text is not None}
    for name in named:
        if name not in FILE:
            raise PlanError(f"A plan says nothing of a file by {name!r}. {choices(FILE)}", field=name)
    plan = _printed(guess(frame), file=Path(path).name)
    if not named:
        return plan
    lines = [f"{name}: {_in_quotes(text)}" for name, text in named.items()]
    return "\n".join([plan, "# How the table's file is written.", *lines, ""])


def _printed(guesses: Guesses, *, file: str) -> str:
    quasi = guesses.of_role("quasi")
    lines = [
        f"# A first plan for {_quoted(file)} ({guesses.rows} rows, {len(guesses.columns)} columns).",
        "# Everything here is guessed from names and counts. CHECK EVERY LINE, move columns between the",
        "# lists as you see fit, then run",
        "#   shoal anonymize TABLE --plan THIS_FILE -o RELEASE",
        "",
        "# Every published row will look like at least k - 1 others.",
        "k: 5",
        "",
        "# Identifiers say who somebody is. They are dropped.",
        *_listed("identifier", guesses.of_role("identifier")),
        "",
        "# Whom k counts: the persons of this column. Say `rows` only where every row is another person.",
        "# unit: rows" if guesses.unit is None else f"unit: {_quoted(guesses.unit)}  # {guesses.why_unit}",
        "",
        "# Quasi-identifiers: what somebody may know of a person from elsewhere. These are made alike.",
        "# Check these: one that is missing here is not protected.",
        *_listed("quasi", quasi),
        "",
        "# Sensitive: what nobody should learn about a person. Published as it is.",
        *_listed("sensitive", guesses.of_role("sensitive")),
        "",
        "# No class may share one value of a sensitive column: in each at least so many different ones.",
        *_rules(guesses),
        "",
        "# Published as it is, though neither of the above. Only what nobody can know or recognise.",
        "keep: []",
        "",
        "# No role: left out of the release. Move a column into a list above to publish it.",
        *([f"#  - {_quoted(g.name)}  # {_why(g)}" for g in guesses.of_role("")] or ["#  (none)"]),
        "",
        "# Kinds of the quasi-identifiers: number, date, date(%d.%m.%Y), label, tree (with a hierarchy).",
        *(["kinds:"] if quasi else ["kinds: {}"]),
        *(f"  {_quoted(g.name)}: {_quoted(g.kind)}" for g in quasi),
        "",
        *_hierarchies(guesses),
        "",
        "# Weights say how much a column's loss counts: 2 keeps it finer than the others, 0 lets it go.",
        "# weights:",
        *(f"#   {_quoted(g.name)}: 1" for g in quasi),
    ]
    marked = [g for g in guesses.columns if g.marks]
    if marked:
        lines += ["", "# Cells that look like marks for a missing value stand in these columns:"]
        lines += [f"#  - {_quoted(g.name)}  # {g.marks} cells" for g in marked]
    lines += [
        "",
        "# Texts that mean a missing cell, besides the empty one.",
        f"missing: [{', '.join(map(_in_quotes, guesses.missing))}]",
        '# missing: ["?", "NA"]',
    ]
    return "\n".join(lines) + "\n"


def _listed(role: str, guesses: Sequence[Guess]) -> list[str]:
    if not guesses:
        return [f"{role}: []"]
    return [f"{role}:", *(f"  - {_quoted(g.name)}  # {_why(g)}" for g in guesses)]


def _rules(guesses: Guesses) -> list[str]:
    """A first rule for each sensitive column that is mixed enough to obey it."""
    dear = [one.rule for one in guesses.columns if one.rule and one.rule_costs]
    return [
        "rules:" if guesses.rules else "rules: []",
        *(f"  - {_quoted(rule)}" for rule in guesses.rules),
        *(f"#  - {_quoted(rule)}  # may cost much: most cells hold one value" for rule in dear),
    ]


def _hierarchies(guesses: Guesses) -> list[str]:
    """Builders that fit, and the names of files that may be written for the other labels."""
    labels = [g.name for g in guesses.of_role("quasi") if g.kind == "label"]
    return [
        "# Hierarchies say which labels are close: a file, a builder, or a tree written out here. The kind",
        "# of such a column is tree. Without one, a class publishes the set of its labels.",
        "hierarchies:" if guesses.hierarchies else "# hierarchies:",
        *(f"  {_quoted(name)}: {_quoted(text)}" for name, text in guesses.hierarchies.items()),
        *(f"#   {_quoted(name)}: {_quoted(name + '.csv')}" for name in labels),
        *(
            f"#   {_quoted(one.name)}: {_quoted(one.hierarchy)}  # fits, were it a quasi-identifier"
            for one in guesses.of_role("sensitive")
            if one.hierarchy
        ),
    ]


def _why(guess: Guess) -> str:
    looks = f", {guess.marks} look like a mark for missing" if guess.marks else ""
    counts = f"{guess.distinct} distinct, {guess.missing} empty{looks}"
    return f"{guess.why}; {counts}" if guess.role else f"no role: {guess.why}; {counts}"


def _quoted(text: str) -> str:
    """A text as YAML, on one line and quoted where it must be."""
    import yaml

    if re.fullmatch(r"[A-Za-z][\w.-]*", text, re.ASCII) and yaml.safe_load(text) == text:
        return text
    return _in_quotes(text)


def _in_quotes(text: str) -> str:
    import yaml

    printed: str = yaml.safe_dump(text, default_style='"', allow_unicode=True, width=2**30)
    return printed.strip()
