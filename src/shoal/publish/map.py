"""A release on a map: published rectangles, or regions coloured by group, with class sizes.

It is drawn from the published cells and the graph's own coordinates alone: no point of a person is in it.
"""

from __future__ import annotations

import html
import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import NotAnonymous, PlanError
from shoal.model.cell import SUPPRESSED, parse_box, parse_set
from shoal.model.verdict import Verdict
from shoal.publish.target import Drawing, check_file, draw_alone

if TYPE_CHECKING:
    import polars as pl

    from shoal.model.graph import Graph
    from shoal.model.plan import Plan

__all__ = ["Sheet", "check_map", "draw_map", "map_of", "sheet_of"]

FORMATS = (".html", ".png")
# told apart by the colour-blind; neighbouring groups get different ones where eight suffice
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D31", "#5E4FA2")
LABELS = 60

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Sheet:
    """What is drawn: classes with their records, and each one's rectangle or its dots.

    `boxes` are (south, north, west, east), one per class, or empty; `dots` are (latitude, longitude, class)
    and `lines` pairs of dots of one class. `colours` are numbers into the palette, one per class.
    `elsewhere` counts records whose cell has no place on a map.
    """

    title: str
    sizes: tuple[int, ...]
    boxes: tuple[Box, ...] = ()
    dots: tuple[tuple[float, float, int], ...] = ()
    lines: tuple[tuple[int, int], ...] = ()
    colours: tuple[int, ...] = ()
    elsewhere: int = 0


def check_map(path: str | os.PathLike[str], *, inputs: Iterable[str | os.PathLike[str]] = ()) -> Path:
    """Whether a map can be drawn to `path`, before any work is done for it."""
    return check_file(path, "map", FORMATS, inputs=inputs)


def draw_map(table: pl.DataFrame, plan: Plan, verdict: Verdict, path: str | os.PathLike[str]) -> Path:
    """Draw a release that has passed its check to an HTML page or a PNG picture."""
    return draw_alone(map_of(table, plan, verdict, path))


def map_of(table: pl.DataFrame, plan: Plan, verdict: Verdict, path: str | os.PathLike[str]) -> Drawing:
    """The map of a release that has passed its check, yet to be drawn."""
    if not verdict.has_passed:
        raise NotAnonymous(f"Nothing was drawn. {' '.join(verdict.reasons)}")
    target = check_map(path)
    sheet = sheet_of(table, plan)

    def draw(to: Path) -> None:
        if target.suffix.lower() == ".html":
            to.write_text(page_of(sheet), encoding="utf-8", newline="")
        else:
            _picture(sheet, to)

    return Drawing(target, "map", draw)


def sheet_of(table: pl.DataFrame, plan: Plan) -> Sheet:
    """The sheet of the plan's first place, or of its region where that is published as sets."""
    for name in plan.quasi:
        kind = plan.kind(name)
        if kind is not None and kind.name == "place" and plan.style == "generalize":
            columns = _place_columns(name, kind.parts, plan.cells)
            return _boxes(name, _grouped(table, columns, plan.whom.count), plan.cells)
        if (
            kind is not None
            and kind.name == "region"
            and len(plan.quasi) == 1
            and plan.style == "generalize"
        ):
            return _regions(name, _grouped(table, [name], plan.whom.count), plan.graphs[name])
    raise PlanError(
        "A map needs a place among the quasi-identifiers, or a region as the only one, published by "
        "generalization. This plan has neither."
    )


def _grouped(table: pl.DataFrame, names: list[str], count: str | None) -> pl.DataFrame:
    """Cells and their records; by plain names, since Polars takes `*` and `^..$` for patterns."""
    import polars as pl

    cells = [table[name].alias(f"cell {at}") for at, name in enumerate(names)]
    records = pl.Series("records", [1], pl.Int64).new_from_index(0, table.height)
    if count is not None:
        records = table[count].alias("records")
    keys = [cell.name for cell in cells]
    summed = pl.DataFrame([*cells, records]).group_by(keys).agg(pl.col("records").sum())
    return summed.sort(keys, nulls_last=True)


def _place_columns(name: str, parts: tuple[str, ...], cells: str) -> list[str]:
    if cells in {"text", "id"}:
        return [name]
    ends = ("_low", "_high") if cells == "bounds" else ("", "_size")
    return [part + end for part in parts for end in ends]


def _boxes(name: str, grouped: pl.DataFrame, cells: str) -> Sheet:
    boxes: list[Box] = []
    sizes: list[int] = []
    elsewhere = 0
    for *cell, records in grouped.iter_rows():
        box = _box(cell, cells)
        if box is None:
            elsewhere += records
        else:
            boxes.append(box)
            sizes.append(int(records))
    return Sheet(f"Rectangles of {name}", tuple(sizes), boxes=tuple(boxes), elsewhere=int(elsewhere))


def _box(cell: list[object], cells: str) -> Box | None:
    if cell[0] is None or cell[0] == SUPPRESSED:
        return None
    if cells in {"text", "id"}:
        (south, north), (west, east) = parse_box(str(cell[0]))
        return float(south), float(north), float(west), float(east)
    a, b, c, d = (float(str(end)) for end in cell)
    return (a, b, c, d) if cells == "bounds" else (a - b / 2, a + b / 2, c - d / 2, c + d / 2)


def _regions(name: str, grouped: pl.DataFrame, graph: Graph) -> Sheet:
    if graph.latitude is None or graph.longitude is None:
        raise PlanError(
            f"A map of the regions of {name!r} needs their coordinates. Give the graph a file of nodes "
            "with the columns lat and lon.",
            field="graphs",
            column=name,
        )
    place = {region: at for at, region in enumerate(graph.names)}
    class_of = [-1] * len(graph.names)
    sizes: list[int] = []
    for cell, records in grouped.iter_rows():
        for member in parse_set(cell):
            if member is not None:
                class_of[place[member]] = len(sizes)
        sizes.append(int(records))
    dots: list[tuple[float, float, int]] = []
    dot_of: dict[int, int] = {}
    for at, its in enumerate(class_of):
        latitude, longitude = float(graph.latitude[at]), float(graph.longitude[at])
        if its >= 0 and math.isfinite(latitude) and math.isfinite(longitude):
            dot_of[at] = len(dots)
            dots.append((latitude, longitude, its))
    lines: list[tuple[int, int]] = []
    beside: list[set[int]] = [set() for _ in sizes]
    start, neighbour = graph.start.tolist(), graph.neighbour.tolist()
    for at, its in enumerate(class_of):
        for other in neighbour[start[at] : start[at + 1]]:
            if at < other and its == class_of[other] and at in dot_of and other in dot_of:
                lines.append((dot_of[at], dot_of[other]))
            elif its >= 0 and class_of[other] not in {-1, its}:
                beside[its].add(class_of[other])
    shown = {its for _, _, its in dots}
    elsewhere = sum(size for its, size in enumerate(sizes) if its not in shown)
    return Sheet(
        f"Regions of {name}",
        tuple(sizes),
        dots=tuple(dots),
        lines=tuple(lines),
        colours=tuple(_coloured(beside)),
        elsewhere=elsewhere,
    )


def _coloured(beside: list[set[int]]) -> list[int]:
    """A colour per class, other than its neighbours' where the palette allows, the least used first."""
    colours = [-1] * len(beside)
    used = [0] * len(COLOURS)
    for its, others in enumerate(beside):
        taken = {colours[other] for other in others}
        free = [colour for colour in range(len(COLOURS)) if colour not in taken] or list(
            range(len(COLOURS))
        )
        colours[its] = min(free, key=lambda colour: (used[colour], colour))
        used[colours[its]] += 1
    return colours


def page_of(sheet: Sheet) -> str:
    """One HTML page that needs no network."""
    data = {
        "sizes": sheet.sizes,
        "boxes": [[round(side, 6) for side in box] for box in sheet.boxes],
        "dots": [[round(a, 5), round(b, 5), its] for a, b, its in sheet.dots],
        "lines": sheet.lines,
        "colours": sheet.colours,
        "palette": COLOURS,
        "labels": LABELS,
    }
    template = files("shoal.publish").joinpath("map.html").read_text(encoding="utf-8")
    filled = {
        "@TITLE@": html.escape(sheet.title),
        "@SUMMARY@": html.escape(_summary(sheet)),
        "@DATA@": json.dumps(data, separators=(",", ":")),
    }
    for mark, text in filled.items():
        template = template.replace(mark, text)
    return template


def _summary(sheet: Sheet) -> str:
    records = sum(sheet.sizes)
    text = f"{records:,} records in {len(sheet.sizes):,} class{'es' * (len(sheet.sizes) != 1)}"
    if sheet.sizes:
        text += f", the smallest of {min(sheet.sizes):,}, the largest of {max(sheet.sizes):,}"
    return text + (f"; {sheet.elsewhere:,} records have no place on the map." if sheet.elsewhere else ".")


def _picture(sheet: Sheet, path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle
    from matplotlib.ticker import MaxNLocator

    latitudes = [side for box in sheet.boxes for side in box[:2]] + [dot[0] for dot in sheet.dots]
    longitudes = [side for box in sheet.boxes for side in box[2:]] + [dot[1] for dot in sheet.dots]
    # a degree of longitude is shorter than one of latitude
    squeeze = max(math.cos(math.radians((min(latitudes) + max(latitudes)) / 2)), 0.1) if latitudes else 1.0
    wide = (max(longitudes) - min(longitudes)) * squeeze if longitudes else 1.0
    tall = max(latitudes) - min(latitudes) if latitudes else 1.0
    shape = min(max(wide / tall if tall > 0 else 2.0, 0.5), 2.0)
    figure = Figure(
        figsize=(max(7.0, 7.5 * shape + 1.5), 8.5 if shape < 1.6 else 6.0), layout="constrained"
    )
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    if sheet.boxes:
        patches = [Rectangle((w, s), e - w, n - s) for s, n, w, e in sheet.boxes]
        width = 0.6 if len(patches) < 5000 else 0.15
        drawn = PatchCollection(patches, cmap="viridis", edgecolor="white", linewidth=width)
        drawn.set_array(list(sheet.sizes))
        axes.add_collection(drawn)
        figure.colorbar(
            drawn, ax=axes, label="records in the class", shrink=0.7, ticks=MaxNLocator(integer=True)
        )
    if sheet.dots:
        tint = [COLOURS[colour] for colour in sheet.colours]
        ends = [[sheet.dots[a][1::-1], sheet.dots[b][1::-1]] for a, b in sheet.lines]
        shades = [tint[sheet.dots[a][2]] for a, _ in sheet.lines]
        many = len(sheet.dots)
        axes.add_collection(
            LineCollection(ends, colors=shades, linewidth=3 if many < 500 else 0.8, zorder=1)
        )
        axes.scatter(
            [dot[1] for dot in sheet.dots],
            [dot[0] for dot in sheet.dots],
            c=[tint[dot[2]] for dot in sheet.dots],
            s=60 if many < 500 else 4,
            zorder=2,
            linewidth=0,
        )
        if len(sheet.sizes) <= LABELS:
            for latitude, longitude, its in _centres(sheet):
                axes.annotate(
                    f"{sheet.sizes[its]:,}",
                    (longitude, latitude),
                    ha="center",
                    va="center",
                    fontsize=8,
                    bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": tint[its], "alpha": 0.85},
                    zorder=3,
                )
    axes.autoscale_view()
    axes.set_aspect(1 / squeeze)
    axes.set(xlabel="longitude", ylabel="latitude")
    title = f"{sheet.title}\n{_summary(sheet)}"
    figure.suptitle(title, fontsize=10, x=0.02, ha="left", parse_math=False)  # a name may hold a $
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, format="png", dpi=150)


def _centres(sheet: Sheet) -> list[tuple[float, float, int]]:
    """For each class the dot nearest to the middle of its dots."""
    held: dict[int, list[tuple[float, float]]] = {}
    for latitude, longitude, its in sheet.dots:
        held.setdefault(its, []).append((latitude, longitude))
    centres = []
    for its, dots in held.items():
        middle = [sum(side) / len(dots) for side in zip(*dots, strict=True)]
        nearest = min(dots, key=lambda dot, m=middle: (dot[0] - m[0]) ** 2 + (dot[1] - m[1]) ** 2)  # type: ignore[misc]
        centres.append((*nearest, its))
    return centres
