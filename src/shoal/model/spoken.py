"""Findings that say what they mean: in a Python shell, in a notebook and on the screen."""

from __future__ import annotations

from html import escape

__all__ = ["Spoken"]

Figures = tuple[tuple[str, str], ...]


class Spoken:
    """A finding in words, notes and figures, as `repr` and notebooks show it; without any cell."""

    __slots__ = ()

    def in_words(self) -> str:
        """What was found, in a few sentences."""
        raise NotImplementedError

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know besides."""
        return ()

    def figures(self) -> Figures:
        """What was counted, each with its name."""
        raise NotImplementedError

    def __repr__(self) -> str:
        notes = "".join(f"\n- {note}" for note in self.notes)
        return f"{type(self).__name__}: {self.in_words()}{notes}"

    def _repr_html_(self) -> str:
        title = f"<b>{type(self).__name__}</b><br>{escape(self.in_words())}"
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        listed = f"<ul>{notes}</ul>" if notes else ""
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{escape(figure)}</td></tr>" for name, figure in self.figures()
        )
        return f"<div>{title}{listed}<table>{rows}</table></div>"
