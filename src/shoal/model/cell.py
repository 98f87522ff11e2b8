"""Published cells: one printer and one parser.

    25              a single number          2020-03-01     a single date
    [25, 45]        a range of numbers       [2020-03-01, 2020-04-15]
    Asia            a value or a node        {A, B}         a set of values
    *               suppressed               (empty)        missing
    [51.2, 51.5] x [-0.3, 0.1]               a rectangle of places, latitude first
    {A: 3, B}       values with how often they occur in a group; once where nothing is said

A value that could be mistaken for something else is escaped with a backslash: a lone `*`, a leading `{`
or backslash everywhere, and `,`, `{`, `}` and backslash inside a set. An empty member of a set is the
missing value. Ranges stand in number and date columns only, so a node may be called `[0, 5)` as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = [
    "BY",
    "SUPPRESSED",
    "parse_box",
    "parse_counts",
    "parse_range",
    "parse_set",
    "parse_value",
    "print_box",
    "print_counts",
    "print_range",
    "print_set",
    "print_value",
]

SUPPRESSED = "*"
_LEADING = ("{", "\\")
_INSIDE = frozenset(",{}\\")
BY = " x "
"""Between the two sides of a rectangle."""


def print_value(value: str) -> str:
    r"""A single value, so that it cannot be mistaken for anything else.

    >>> print(print_value("Asia"), print_value("*"), print_value("[0, 5)"))
    Asia \* [0, 5)
    """
    return "\\" + value if value == SUPPRESSED or value.startswith(_LEADING) else value


def parse_value(cell: str) -> str:
    """The value that `print_value` printed."""
    return cell[1:] if cell.startswith("\\") else cell


def print_range(low: str, high: str) -> str:
    """A range, or the single value where both ends are the same.

    >>> print_range("25", "45"), print_range("25", "25")
    ('[25, 45]', '25')
    """
    return low if low == high else f"[{low}, {high}]"


def parse_range(cell: str) -> tuple[str, str]:
    """Both ends of what `print_range` printed."""
    if cell.startswith("[") and cell.endswith("]"):
        low, comma, high = cell[1:-1].partition(", ")
        if comma:
            return low, high
    return cell, cell


def print_box(sides: Sequence[tuple[str, str]]) -> str:
    """A rectangle: the range of each side.

    >>> print_box([("51.2", "51.5"), ("-0.1", "-0.1")])
    '[51.2, 51.5] x -0.1'
    """
    return BY.join(print_range(low, high) for low, high in sides)


def parse_box(cell: str) -> list[tuple[str, str]]:
    """Both ends of each side of what `print_box` printed."""
    return [parse_range(side) for side in cell.split(BY)]


def print_set(members: Iterable[str | None]) -> str | None:
    r"""A set of values in the given order; one member stands alone; None is missing.

    >>> print(print_set(["A", "B, or C", None]))
    {A, B\, or C, }
    """
    listed = list(members)
    if len(listed) == 1:
        return None if listed[0] is None else print_value(listed[0])
    return "{" + ", ".join("" if m is None else _escape(m) for m in listed) + "}"


def parse_set(cell: str | None) -> tuple[str | None, ...]:
    r"""The members that `print_set` printed.

    >>> parse_set("{A, B\\, or C, }")
    ('A', 'B, or C', None)
    """
    if cell is None:
        return (None,)
    if not (cell.startswith("{") and cell.endswith("}")):
        return (parse_value(cell),)
    members: list[str | None] = []
    word: list[str] = []
    inside = iter(cell[1:-1])
    for letter in inside:
        if letter == "\\":
            word.append(next(inside, ""))
        elif letter == ",":
            members.append("".join(word) or None)
            word = []
            next(inside, "")  # the blank after the comma
        else:
            word.append(letter)
    members.append("".join(word) or None)
    return tuple(members)


def print_counts(counted: Iterable[tuple[str | None, int]]) -> str:
    r"""Values with how often they occur, in the given order; a count of 1 is left out but for missing.

    >>> print(print_counts([("flu", 3), ("a: b", 1), (None, 1)]))
    {flu: 3, a\: b, : 1}
    """
    listed = []
    for value, times in counted:
        text = "" if value is None else _escape(value).replace(":", "\\:")
        listed.append(text if times == 1 and text else f"{text}: {times}")
    return "{" + ", ".join(listed) + "}"


def parse_counts(cell: str | None) -> list[tuple[str | None, int]] | None:
    r"""What `print_counts` printed; None where it is nothing of the kind.

    >>> parse_counts("{flu: 3, a\\: b, : 1}")
    [('flu', 3), ('a: b', 1), (None, 1)]
    """
    if cell is None or len(cell) < 3 or not (cell.startswith("{") and cell.endswith("}")):
        return None
    counted: list[tuple[str | None, int]] = []
    word: list[str] = []
    number: list[str] | None = None
    inside = iter(cell[1:-1] + ",")
    for letter in inside:
        if letter == "\\":
            (word if number is None else number).append(next(inside, ""))
        elif letter == ":" and number is None:
            number = []
        elif letter == ",":
            digits = "1" if number is None else "".join(number).strip()
            if not (digits.isascii() and digits.isdigit()) or (number is None and not word):
                return None
            counted.append(("".join(word) or None, int(digits)))
            word, number = [], None
            next(inside, "")  # the blank after the comma
        else:
            (word if number is None else number).append(letter)
    return counted


def _escape(value: str) -> str:
    return "".join("\\" + letter if letter in _INSIDE else letter for letter in value)
