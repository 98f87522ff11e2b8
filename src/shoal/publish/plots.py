"""Figures by Matplotlib: loss and time over k, one line per method; a release by columns and classes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.model.certificate import Certificate
from shoal.model.comparison import Trial
from shoal.publish.target import Drawing, check_file, draw_alone

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["check_plot", "draw_comparison", "draw_figure", "release_figure"]

FORMATS = {".png": "png", ".svg": "svg"}
# readable in print and for the colour-blind: colour, marker and dashes all differ
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#333333")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")
PLAIN: Any = {"svg.fonttype": "none", "svg.hashsalt": "shoal", "font.size": 10}
"""Text stays text in an SVG, and the same figure gives the same bytes."""
MOST_NAMES = 12


def check_plot(path: str | os.PathLike[str], *, inputs: Iterable[str | os.PathLike[str]] = ()) -> Path:
    """Whether a plot can be drawn to `path`, before any work is done for it."""
    return check_file(path, "plot", FORMATS, inputs=inputs)


def draw_comparison(trials: Sequence[Trial], path: str | os.PathLike[str]) -> Path:
    """Draw a comparison to a PNG or SVG file."""
    target = check_plot(path)
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator

    with rc_context(PLAIN):
        figure = Figure(figsize=(11, 4.6), layout="constrained")
        FigureCanvasAgg(figure)
        loss, time = figure.subplots(1, 2)
        methods = list(dict.fromkeys(trial.method for trial in trials))
        ks = sorted({trial.k for trial in trials})
        _lines(loss, trials, methods, "loss_percent")
        _least(loss, trials)
        loss.set(title="Loss", xlabel="k", ylabel="loss in percent of all there is to lose")
        loss.set_ylim(bottom=0)
        _lines(time, trials, methods, "seconds")
        time.set(title="Time", xlabel="k", ylabel="seconds for grouping", yscale="log")
        # a few milliseconds apart are still readable numbers, not powers of ten
        time.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        time.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g}"))
        for axes in (loss, time):
            axes.set_xscale("log")
            axes.set_xticks(ks, [str(k) for k in ks])
            axes.minorticks_off()
            axes.grid(visible=True, color="#dddddd", linewidth=0.7)
            axes.spines[["top", "right"]].set_visible(False)
        handles, labels = loss.get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside right upper", frameon=False)
        return draw_figure(figure, target)


def release_figure(certificate: Certificate, sizes: Sequence[tuple[str, int]]) -> Figure:
    """The loss of every column, and how many classes there are of each size; each bar with its number."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context(PLAIN):
        figure = Figure(figsize=(11, 4.6), layout="constrained")
        FigureCanvasAgg(figure)
        lost, classes = figure.subplots(1, 2)
        columns = [column for column in certificate.columns if column.loss is not None][::-1]
        bars = lost.barh(
            range(len(columns)), [100 * (one.loss or 0.0) for one in columns], color=COLOURS[0]
        )
        lost.set_yticks(range(len(columns)), [_plain(one.name) for one in columns])
        lost.bar_label(bars, [f"{100 * (one.loss or 0.0):.3g} %" for one in columns], padding=3)
        lost.set(title="Loss by column", xlabel="percent of what the column could tell")
        lost.margins(x=0.15)
        names = [name for name, _ in sizes]
        bars = classes.bar(range(len(sizes)), [many for _, many in sizes], color=COLOURS[0])
        every = -(-len(sizes) // MOST_NAMES) or 1
        classes.set_xticks(range(0, len(sizes), every), names[::every])
        if every == 1:
            classes.bar_label(bars, [f"{many:,}" for _, many in sizes], padding=2)
        classes.set(
            title=f"Classes by size, k = {certificate.k}", xlabel="rows in the class", ylabel="classes"
        )
        for axes in (lost, classes):
            axes.spines[["top", "right"]].set_visible(False)
        return figure


def draw_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Draw a figure to a PNG or SVG file, which appears whole or not at all."""
    from matplotlib import rc_context

    target = check_plot(path)
    suffix = target.suffix.lower()
    metadata = {"Date": None} if suffix == ".svg" else None

    def save(file: Path) -> None:
        with rc_context(PLAIN):
            figure.savefig(file, format=FORMATS[suffix], dpi=150, metadata=metadata)

    return draw_alone(Drawing(target, "plot", save))


def _plain(name: str) -> str:
    """A column's name as it is: Matplotlib takes what stands between dollar signs for mathematics."""
    return name.replace("$", r"\$")


def _lines(axes: Axes, trials: Sequence[Trial], methods: Sequence[str], figure: str) -> None:
    for number, method in enumerate(methods):
        points = [
            (trial.k, getattr(trial, figure))
            for trial in trials
            if trial.method == method and getattr(trial, figure) is not None
        ]
        if points:
            axes.plot(
                *zip(*sorted(points), strict=True),
                color=COLOURS[number % len(COLOURS)],
                marker=MARKERS[number % len(MARKERS)],
                linestyle=DASHES[number // len(COLOURS) % len(DASHES)],
                label=method,
            )


def _least(axes: Axes, trials: Sequence[Trial]) -> None:
    """What no release can beat, where it is known: the strongest bound per k."""
    least: dict[int, float] = {}
    for trial in trials:
        if trial.objective == "loss" and trial.loss_percent and trial.ratio:
            least[trial.k] = max(least.get(trial.k, 0.0), trial.loss_percent / trial.ratio)
    if least:
        ks = sorted(least)
        axes.plot(ks, [least[k] for k in ks], color="#888888", linestyle=":", label="no release can beat")
