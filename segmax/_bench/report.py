"""The table, line by line as cells come in, and the JSON file."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import _dispatch
from .rounds import Cell


def describe_machine(versions: Mapping[str, str]) -> dict[str, Any]:
    """Return what a reader of the numbers wants to know of their origin."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return {
        "cpu": model,
        "cpus": os.cpu_count(),
        "level": _dispatch.LEVEL,
        "python": platform.python_version(),
        "versions": dict(versions),
    }


def show_header(names: Sequence[str]) -> str:
    """Return the two first lines of the table."""
    columns = ["dtype", "rows", "width", "rows/segment", "threads", *(f"{name} [ms]" for name in names)]
    columns += ["best peer", "best peer / segmax", "best peer given offsets / segmax-indptr"]
    return f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}"


def show_time(seconds: float, spread: float) -> str:
    """Return a time in milliseconds with three digits, and its spread.

    Examples
    --------
    >>> show_time(0.01234, 0.031)
    '12.3 ±3%'
    """
    return f"{seconds * 1e3:.3g} ±{spread:.0%}"


def show_cell(cell: Cell, names: Sequence[str]) -> str:
    """Return a line of the table; who cannot do the problem has a dash."""
    problem = cell.problem
    order = "" if problem.order == "sorted" else f" {problem.order}"
    texts = [problem.dtype, f"{problem.rows}", f"{problem.width}", problem.lengths + order, f"{cell.threads}"]
    texts += [show_time(cell.median(name), cell.spread(name)) if name in cell.times else "-" for name in names]
    texts.append(cell.best_peer() or "-")
    texts += ["-" if ratio is None else f"{ratio:.2f}" for ratio in (cell.ratio(), cell.ratio(offsets=True))]
    return f"| {' | '.join(texts)} |"


def show_refusals(cells: Sequence[Cell]) -> list[str]:
    """Return a sentence for every peer and reason: dashes in the table are explained."""
    found: dict[tuple[str, str], int] = {}
    for cell in cells:
        for name, reason in cell.refusals.items():
            found[name, reason] = found.get((name, reason), 0) + 1
    return [f"{name} left out of {times} of {len(cells)} cells: {reason}" for (name, reason), times in found.items()]


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write results as JSON."""
    path.write_text(json.dumps(content, indent=1) + "\n")
