"""From what was typed to a table and a plan's words."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import shoal

__all__ = [
    "asked_of",
    "engine_of",
    "files_named",
    "graphs_beside",
    "graphs_of",
    "marks_beside",
    "matches_of",
    "names_of",
    "numbers_by",
    "numbers_of",
    "opened",
    "persons_named",
    "plan_words",
    "scan_of",
    "scratch_of",
    "sign_of",
    "table_of",
    "trees_beside",
    "trees_of",
    "words_by",
]

ROLES = ("quasi", "sensitive", "keep", "identifier")
BY_COLUMN = ("kinds", "hierarchies", "weights")
PLAIN = (
    "k",
    "count",
    "unit",
    "pseudonym",
    "loss",
    "method",
    "style",
    "cells",
    "distance",
    "withhold",
    "effort",
    "improve",
    "stop_at",
    "series",
    "seed",
    "threads",
    "engine",
    "memory",
    "scratch",
    "part",
)
FILE = ("delimiter", "encoding", "decimal", "sheet")
BUILDER = re.compile(r"\s*([a-z_0-9]+\s*\(.*\)|flat)\s*", re.DOTALL)
SIGNS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}


def sign_of(text: str | None) -> str | None:
    """A delimiter, by itself or by name.

    >>> sign_of("comma"), sign_of(";"), sign_of(None)
    (',', ';', None)
    """
    return None if text is None else SIGNS.get(text, text)


def names_of(texts: Sequence[str], columns: Sequence[str] = ()) -> tuple[str, ...]:
    r"""Comma-separated names; a text that is itself a column's name stays whole, as does an escaped comma.

    >>> names_of(["age,zip", "last, first", r"a\,b"], columns=["age", "zip", "last, first"])
    ('age', 'zip', 'last, first', 'a,b')
    """
    names: list[str] = []
    for text in texts:
        if text in columns:
            parts = [part.strip() for part in text.split(",")]
            if len(parts) > 1 and all(part in columns for part in parts):
                raise shoal.PlanError(
                    f"{text!r} is the name of one column and also the names of several. Write the commas "
                    "inside a name as \\, or repeat the option for each column."
                )
            names.append(text)
            continue
        parts = [part.replace("\\,", ",").strip() for part in re.split(r"(?<!\\),", text)]
        names += [part for part in parts if part]
    return tuple(names)


def numbers_of(text: str, *, option: str) -> tuple[int, ...]:
    """Comma-separated whole numbers.

    >>> numbers_of("2,5,10", option="-k")
    (2, 5, 10)
    """
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise shoal.PlanError(f"{option} takes whole numbers, comma-separated, such as 2,5,10.") from None


def pairs_of(texts: Sequence[str] | None, columns: Sequence[str], *, option: str) -> dict[str, str]:
    """COLUMN=WHAT, where a column's name may itself hold an equals sign."""
    pairs: dict[str, str] = {}
    for text in texts or ():
        cuts = [place for place, sign in enumerate(text) if sign == "="]
        if not cuts:
            raise shoal.PlanError(f"{option} {text!r} has no equals sign. Write {option} NAME=VALUE.")
        cut = max((place for place in cuts if text[:place] in columns), default=cuts[0])
        name = text[:cut].strip()
        if name in pairs:
            raise shoal.PlanError(f"{option} is given twice for {name!r}. Give it once.")
        pairs[name] = text[cut + 1 :].strip()
    return pairs


def table_of(given: Mapping[str, Any]) -> shoal.TableRead:
    """The table that was named, read as was said."""
    if (given.get("threads") or 0) > 0:  # Polars looks once, on its first use
        os.environ.setdefault("POLARS_MAX_THREADS", str(given["threads"]))
    source = given["file"]
    if shoal.is_database(source):
        return shoal.read_database(source, given.get("query"), table=given.get("table"))
    for word in ("table", "query"):
        if given.get(word) is not None:
            raise shoal.PlanError(
                f"A {word} is read of a database, but {str(source)!r} is a file.", field=word
            )
    planned = words_by(given.get("plan"))
    said = {name: given.get(name) or planned.get(name) for name in FILE}
    return shoal.read_table(source, **{**said, "delimiter": sign_of(said["delimiter"])})


def original_of(given: Mapping[str, Any]) -> Any:
    """The original of a release, or its name where it is too large to be read here."""
    path = given["original"]
    if not shoal.is_database(path) and shoal.is_large(path, memory=given.get("memory")):
        return path
    return table_of({**given, "file": path}).frame


def engine_of(given: Mapping[str, Any]) -> str:
    """Where the table is worked on: where was said, and as a stream if it is too large for memory."""
    said: Mapping[str, Any] = shoal.plan_words(given["plan"]) if given.get("plan") else {}
    engine = given.get("engine") or said.get("engine", "auto")
    if shoal.is_database(given["file"]) or shoal.is_database(given["output"]):
        if engine in {"stream", "spark"}:
            raise shoal.PlanError(
                f"The engine {engine} reads and writes files, no databases.", field="engine"
            )
        return "memory"
    if given.get("master") is not None and engine != "spark":
        raise shoal.PlanError("A master is for the engine spark. Leave it out, or say that engine.")
    if engine != "auto":
        return str(engine)
    is_large = shoal.is_large(given["file"], memory=given.get("memory") or said.get("memory"))
    return "stream" if is_large else "memory"


@contextmanager
def opened(given: Mapping[str, Any], engine: str) -> Iterator[tuple[Any, tuple[str, ...], str | None]]:
    """The table where it is worked on, what was guessed of its file, and its delimiter."""
    if engine == "spark":
        said: Mapping[str, Any] = shoal.plan_words(given["plan"]) if given.get("plan") else {}
        frame = shoal.read_spark(
            given["file"],
            master=given.get("master"),
            memory=given.get("memory") or said.get("memory"),
            scratch=given.get("scratch") or said.get("scratch"),
            delimiter=sign_of(given.get("delimiter")),
        )
        try:
            yield frame, (), None
        finally:
            shoal.close_spark(frame)
    elif engine == "stream":
        scan = scan_of(given)
        large = () if given.get("engine") else ("too large for memory, so it is a stream",)
        yield scan, (*scan.said, *large), scan.delimiter
    else:
        yield _in_memory(given)


def _in_memory(given: Mapping[str, Any]) -> tuple[Any, tuple[str, ...], str | None]:
    """The same of a table in memory, which nothing here holds on to."""
    read = table_of(given)
    return read.frame, read.said, read.delimiter


def scan_of(given: Mapping[str, Any]) -> shoal.Scan:
    """The table that was named, to be read batch by batch; scratch files are beside the output."""
    return shoal.scan_table(
        given["file"],
        delimiter=sign_of(given.get("delimiter")),
        encoding=given.get("encoding"),
        decimal=given.get("decimal"),
        scratch=scratch_of(given),
    )


def scratch_of(given: Mapping[str, Any]) -> str:
    """The folder for scratch files."""
    said: Mapping[str, Any] = shoal.plan_words(given["plan"]) if given.get("plan") else {}
    return str(given.get("scratch") or said.get("scratch") or Path(given["output"]).resolve().parent)


def files_named(given: Mapping[str, Any]) -> list[Path]:
    """Every file the command line names as an input, so that none is overwritten."""
    named = [
        given[word]
        for word in ("file", "plan", "original", "after", "forget", "key")
        if given.get(word) is not None
    ]
    for text in given.get("hierarchies") or ():
        folder = Path(text)
        named += sorted(folder.iterdir()) if folder.is_dir() else [Path(text.partition("=")[2])]
    for text in given.get("graphs") or ():
        named += text.partition("=")[2].split(",")
    return [Path(path) for path in named if not shoal.is_database(path)]


def persons_named(path: Path | None) -> tuple[str, ...]:
    """The lines of a file that names persons."""
    if path is None:
        return ()
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise shoal.DataError(
            f"The file {str(path)!r} cannot be read. Give a text with one person per line."
        ) from None
    return tuple(line.strip() for line in lines if line.strip())


def plan_words(given: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """The keywords of a plan: the plan file's, with what was typed laid over it, column by column."""
    words: dict[str, Any] = dict(shoal.plan_words(given["plan"])) if given.get("plan") else {}
    _lay_roles(words, given, columns)
    if given.get("rules"):
        words["rules"] = tuple(given["rules"])
    kinds = pairs_of(given.get("kinds"), columns, option="--kinds")
    trees = _trees(given, columns, words, kinds)
    weights = numbers_by(given.get("weights"), columns, option="--weights")
    graphs = graphs_of(given.get("graphs"), columns)
    for name, laid in (
        ("kinds", kinds),
        ("hierarchies", trees),
        ("graphs", graphs),
        ("weights", weights),
    ):
        wanted = _with_trees(words) if name == "hierarchies" else words.get("quasi", ())
        kept = {c: value for c, value in words.get(name, {}).items() if c in wanted}
        words[name] = kept | laid
    for column in trees:  # what was typed last settles what a column is
        if column not in kinds and not str(words["kinds"].get(column, "tree")).startswith("tree"):
            del words["kinds"][column]
    for column, kind in kinds.items():
        if column not in trees and kind not in {"tree", "region"}:
            words["hierarchies"].pop(column, None)
    if given.get("missing"):
        words["missing"] = tuple(given["missing"])
    options = pairs_of(given.get("options"), (), option="--options")
    words["options"] = {**words.get("options", {}), **options}
    words |= {name: given[name] for name in PLAIN if given.get(name) is not None}
    return words


def _lay_roles(words: dict[str, Any], given: Mapping[str, Any], columns: Sequence[str]) -> None:
    typed = {role: names_of(given[role], columns) for role in ROLES if given.get(role)}
    renamed = {name for names in typed.values() for name in names} | {_counted(given)}
    for role in ROLES:
        if role in typed:
            words[role] = typed[role]
        elif role in words:  # a column that was typed with another role leaves its old one
            words[role] = tuple(name for name in words[role] if name not in renamed)
    if given.get("count") is None and _counted(words) in renamed - {None}:
        del words["count"]


def _counted(words: Mapping[str, Any]) -> str | None:
    """The column of a count, which may be said to be of persons."""
    return shoal.Whom.read(count=words.get("count")).count


def matches_of(texts: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """Columns of the release with those of the register: `age=alter,zip=plz`; `zip` alone is `zip=zip`."""
    parts = [part if "=" in part else f"{part}={part}" for part in names_of(texts, columns)]
    return pairs_of(parts, columns, option="--match")


def trees_of(given: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """The hierarchies given for some columns."""
    return _trees(given, columns, {"quasi": columns}, {})


def words_by(path: Path | None) -> dict[str, Any]:
    """What a plan file says, or a certificate, which tells some of it by fingerprints alone."""
    if path is None:
        return {}
    if path.suffix.lower() != ".json":
        return dict(shoal.plan_words(path))
    told = _certificate(path).plan
    builders = {name: text for name, text in told.hierarchies.items() if BUILDER.fullmatch(text)}
    return {
        **{name: getattr(told, name) for name in ("k", "quasi", "sensitive", "count", "unit", "rules")},
        "kinds": dict(told.kinds),
        "hierarchies": {name: shoal.parse_builder(text) for name, text in builders.items()},
    }


def asked_of(given: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """What is asked of a table by a plan or certificate, with what was typed laid over it.

    A plan speaks of the original: a quasi-identifier may be there as two bounds or a place's two columns,
    and of the columns that nobody publishes, the unit and the count, only those are asked that are there.
    """
    words = words_by(given.get("plan"))
    whom = shoal.Whom.read(unit=words.get("unit"), count=words.get("count"))
    if whom.unit is not None and whom.unit not in columns:
        words["unit"] = None
    if whom.count is not None and whom.count not in columns:
        words["count"] = None
    kinds = words.get("kinds", {})
    planned = {
        "quasi": tuple(
            seen for name in words.get("quasi", ()) for seen in _seen(name, kinds.get(name, ""), columns)
        ),
        "sensitive": tuple(words.get("sensitive", ())),
    }
    typed = {role: names_of(given[role], columns) for role in planned if given.get(role)}
    named = {name for names in typed.values() for name in names}
    asked: dict[str, Any] = {
        role: typed.get(role, tuple(name for name in names if name not in named))
        for role, names in planned.items()
    }
    asked["rules"] = tuple(given.get("rules") or words.get("rules", ()))
    for name in ("k", "count", "unit"):
        asked[name] = given[name] if given.get(name) is not None else words.get(name)
    ruled = [shoal.Rule.parse(text).column for text in asked["rules"]]
    asked["hierarchies"] = {
        name: tree
        for name, tree in {**words.get("hierarchies", {}), **trees_of(given, ruled)}.items()
        if name in ruled
    }
    return asked


def _seen(name: str, kind: str, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns of a table that show a quasi-identifier; its name where there are none."""
    parts = [part.strip() for part in kind.partition("(")[2].rstrip(")").split(",")]
    for shown in (
        (name,),
        (f"{name}_low", f"{name}_high"),
        tuple(parts),
        tuple(f"{part}_{end}" for part in parts for end in ("low", "high")),
    ):
        if all(column in columns for column in shown):
            return shown
    return (name,)


def trees_beside(certificate: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """The hierarchies that a certificate's plan names, as far as they are given, here or by a plan."""
    wanted = list(_certificate(certificate).plan.hierarchies)
    planned = words_by(given.get("plan")).get("hierarchies", {})
    typed = _trees({"hierarchies": given.get("hierarchies")}, wanted, {"quasi": wanted}, {})
    return {name: tree for name, tree in planned.items() if name in wanted} | typed


def graphs_beside(given: Mapping[str, Any]) -> dict[str, Any]:
    """The graphs given here or by a plan."""
    return {**words_by(given.get("plan")).get("graphs", {}), **graphs_of(given.get("graphs"), ())}


def marks_beside(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The missing marks given here, else by a plan."""
    return tuple(given.get("missing") or words_by(given.get("plan")).get("missing", ()))


def _certificate(path: Path) -> shoal.Certificate:
    if not path.exists():
        raise shoal.DataError(f"There is no certificate {str(path)!r}. Check the name and the folder.")
    try:
        return shoal.Certificate.of_json(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        raise shoal.DataError(f"The certificate {str(path)!r} cannot be read.") from None


def _with_trees(words: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns that may have a hierarchy: quasi-identifiers, and those a rule measures by one."""
    ruled = [shoal.Rule.parse(text) for text in words.get("rules", ())]
    return (*words.get("quasi", ()), *(rule.column for rule in ruled if rule.distance == "hierarchy"))


def _trees(
    given: Mapping[str, Any], columns: Sequence[str], words: Mapping[str, Any], kinds: Mapping[str, str]
) -> dict[str, Any]:
    trees: dict[str, Any] = {}
    declared = {**words.get("kinds", {}), **kinds}
    wanted = [name for name in _with_trees(words) if declared.get(name, "tree") in {"tree", "region"}]
    files: list[str] = []
    for text in given.get("hierarchies") or ():
        if Path(text).is_dir():
            trees |= shoal.read_hierarchies(text, only=wanted)
        elif "=" in text:
            files.append(text)
        else:
            raise shoal.PlanError(
                f"--hierarchies {text!r} is neither a folder nor COLUMN=FILE nor COLUMN=BUILDER. Check it."
            )
    for column, text in pairs_of(files, columns, option="--hierarchies").items():
        is_builder = BUILDER.fullmatch(text) is not None
        trees[column] = (
            shoal.parse_builder(text) if is_builder else shoal.read_hierarchy(text, column=column)
        )
    return trees


def graphs_of(texts: Sequence[str] | None, columns: Sequence[str]) -> dict[str, Any]:
    """Graphs by column, from COLUMN=EDGES or COLUMN=EDGES,NODES."""
    graphs: dict[str, Any] = {}
    for column, text in pairs_of(texts, columns, option="--graphs").items():
        edges, _, nodes = text.partition(",")
        graphs[column] = shoal.read_graph(edges.strip(), nodes.strip() or None)
    return graphs


def numbers_by(texts: Sequence[str] | None, columns: Sequence[str], *, option: str) -> dict[str, float]:
    """COLUMN=NUMBER, by column."""
    numbers: dict[str, float] = {}
    for column, text in pairs_of(texts, columns, option=option).items():
        try:
            numbers[column] = float(text)
        except ValueError:
            raise shoal.PlanError(
                f"{option} gives column {column!r} {text!r}, which is no number of at least 0."
            ) from None
    return numbers
