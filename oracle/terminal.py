"""What a run looks like on a terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from .arrays import Array
from .case import Case
from .outcome import Outcome
from .page import shorten
from .run import Tally

#: Characters of a replay line that a terminal is troubled with. What is shrunk has a few hundred.
_LONGEST = 4000


def print_document(document: Mapping[str, Any]) -> None:
    """Print the document of a run: matrix, references, what is explained, what is not, the verdict."""
    _print_matrix(document)
    print()
    for item in document["references"]:
        print(
            f"{item['name']:18} {item['comparisons']:>9,} comparisons, {item['per_second']:>9,.0f} per second"
            f"  ({item['version']})"
        )
    if document["explained"]:
        print("\nexplained differences")
        for item in document["explained"]:
            print(f"{item['count']:>9,}  {item['implementation']}: {item['does']}  [{item['operation']}]")
    for item in document["stale"]:
        print(f"\nstale entry: {item['implementation']}: {item['does']}  [{item['operation']}]")
        print(f"  This run did not show it. Is it no longer true? It was: {item['source']}")
    for item in document["differences"]:
        print(f"\n{item['operation']} ({item['dtype']}, {item['family']}) against {item['reference']}:")
        print(f"  got {item['got']}, not {item['expected']}")
        if item["where"]:
            print(f"  {item['where']}")
        print(f"  {_show_replay(item['replay'])}")
    if document["unexplained"] > len(document["differences"]):
        print(f"\n... and {document['unexplained'] - len(document['differences']):,} more")
    print(
        f"\n{document['subject']['name']}: {document['cases']:,} cases, {document['comparisons']:,} comparisons in "
        f"{document['seconds']:,.1f} s, {document['unexplained']:,} unexplained"
        + (f", {len(document['stale'])} stale" if document["stale"] else "")
    )


def _show_replay(line: str) -> str:
    """Return a replay line, unless nobody would find their way past it."""
    return line if len(line) <= _LONGEST else f"(its replay line has {len(line):,} characters; --json FILE keeps it)"


def _print_matrix(document: Mapping[str, Any]) -> None:
    """Print the matrix in as many blocks of columns as the terminal's width asks for."""
    cells = {(cell["dtype"], cell["family"]): cell for cell in document["cells"]}
    first = max(map(len, document["dtypes"]), default=0)
    room = shutil.get_terminal_size((120, 24)).columns - first
    blocks: list[list[str]] = []
    for family in document["families"]:
        if not blocks or sum(max(len(name), 5) + 1 for name in [*blocks[-1], family]) > room:
            blocks.append([])
        blocks[-1].append(family)
    for k, block in enumerate(blocks):
        if k:
            print()
        print(" " * first, *(name.rjust(5) for name in block))
        for dtype in document["dtypes"]:
            texts = [_show_cell(cells.get((dtype, name))).rjust(max(len(name), 5)) for name in block]
            print(dtype.ljust(first), *texts)
    if document["unexplained"]:
        print("\n(!N: N unexplained differences; other numbers: comparisons)")


def _show_cell(cell: Mapping[str, Any] | None) -> str:
    if cell is None:
        return "."
    return f"!{shorten(cell['unexplained'])}" if cell["unexplained"] else shorten(cell["comparisons"])


def print_case(case: Case) -> None:
    """Print a case for a reader."""
    print(f"{case.operation}, {case.family}")
    for name, value in case.arguments:
        if isinstance(value, Array):
            layout = f", {value.layout}" if value.layout else ""
            print(f"  {name} ({value.dtype}, shape {value.shape}{layout}):")
            print(textwrap.indent(_show(value.plain), "    "))
        else:
            print(f"  {name}: {value!r}")


def print_outcome(name: str, outcome: Outcome) -> None:
    """Print what one implementation answered."""
    if outcome.value is None:
        print(f"\n{name} raises {outcome.message or outcome.error}")
    else:
        print(f"\n{name} ({outcome.value.dtype}, shape {outcome.value.shape}):")
        print(textwrap.indent(_show(outcome.value), "    "))
    for text in outcome.broken:
        print(f"  broken promise: {text}")


def print_comparison(tally: Tally) -> None:
    """Print what comparing one case with one reference came to."""
    for _, difference in tally.differences:
        print(f"  UNEXPLAINED: got {difference.got}, not {difference.expected}")
        if difference.where:
            print(f"  {difference.where}")
    for entry in tally.explained:
        print(f"  explained: {entry.title}\n    {entry.reason} ({entry.source})")
    if tally.passed and not tally.explained:
        print("  the same")


def _show(array: np.ndarray) -> str:
    """Return elements, with bits where that says more."""
    text = np.array2string(array, threshold=200, edgeitems=8, separator=", ")
    native = array if array.dtype.kind in "OT" or array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    if native.dtype.kind in "fcV" and 0 < native.size <= 64:
        text += f"\nbytes {native.tobytes().hex(' ', native.dtype.itemsize)}"
    return text


def print_names(title: str, names: Collection[str] | Sequence[str]) -> None:
    """Print a list of names under a title."""
    print(f"{title}:")
    for name in names:
        print(f"  {name}")
