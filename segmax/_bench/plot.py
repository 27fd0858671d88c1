"""Two pictures of the results: how far ahead in which cell, and time against the length of segments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .rounds import Cell

_OURS = "#c0392b"
_LIMIT = "#222222"


def _row_of(cell: Cell) -> str:
    """Return the label of a cell's row in the heat map."""
    threads = f"{cell.threads} thread" + "s" * (cell.threads > 1)
    return f"{cell.problem.dtype} x {cell.problem.width}\n{threads}"


def draw_ratios(axes: Any, cells: Sequence[Cell]) -> None:
    """Draw a heat map of (best peer / ours): red where we are behind, blue where ahead."""
    rows = list(dict.fromkeys(map(_row_of, cells)))
    columns = list(dict.fromkeys(cell.problem.lengths for cell in cells))
    heights = np.full((len(rows), len(columns)), np.nan)
    for cell in cells:
        heights[rows.index(_row_of(cell)), columns.index(cell.problem.lengths)] = cell.ratio() or np.nan
    axes.imshow(np.log2(heights), cmap="RdBu", vmin=-4, vmax=4, aspect="auto")
    for (row, column), ratio in np.ndenumerate(heights):
        if ratio == ratio:
            colour = "white" if abs(np.log2(ratio)) > 2.5 else "black"
            axes.text(column, row, f"{ratio:.2g}", ha="center", va="center", color=colour)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xlabel("rows per segment")
    axes.set_title("time of the best peer over ours", loc="left")


def draw_times(axes: Any, cells: Sequence[Cell]) -> None:
    """Draw nanoseconds per element against the length of segments, for the first row of the heat map."""
    cells = [cell for cell in cells if _row_of(cell) == _row_of(cells[0])]
    names = list(dict.fromkeys(name for cell in cells for name in cell.times))
    colours = iter([f"C{k}" for k in range(10)] * 2)
    dashes = iter(["-"] * 10 + [":"] * 10)
    for name in names:
        points = [
            (place, cell.median(name) * 1e9 / (cell.problem.rows * cell.problem.width))
            for place, cell in enumerate(cells)
            if name in cell.times
        ]
        style: dict[str, Any]
        if name == "segmax":
            style = {"lw": 3, "color": _OURS, "marker": "o"}
        elif name == "segmax-indptr":
            style = {"lw": 2, "color": _OURS, "ls": ":"}
        elif name == "read":
            style = {"lw": 1.5, "color": _LIMIT, "ls": "--"}
        else:
            style = {"lw": 1, "marker": ".", "color": next(colours), "ls": next(dashes)}
        label = "read: NumPy's max over the same bytes" if name == "read" else name
        axes.plot(*zip(*points, strict=True), label=label, **style)
    axes.set_yscale("log")
    axes.set_xticks(range(len(cells)), [cell.problem.lengths for cell in cells])
    axes.set_xlabel("rows per segment")
    axes.set_ylabel("nanoseconds per element")
    axes.set_title(_row_of(cells[0]).replace("\n", ", "), loc="left")
    axes.grid(axis="y", color="#dddddd", lw=0.6)
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.spines[["top", "right"]].set_visible(False)


def plot_cells(cells: Sequence[Cell], path: Path) -> None:
    """Draw both pictures and save them."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    rows = len(set(map(_row_of, cells)))
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(14, max(5, 0.7 * rows + 2)), layout="constrained")
    try:
        draw_ratios(left, cells)
        draw_times(right, cells)
        figure.savefig(path, dpi=120)
    finally:
        pyplot.close(figure)
