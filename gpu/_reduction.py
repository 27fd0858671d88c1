"""The reduction of rows to segments: the choice of a path, its launches, its workspace.

Ids in order need no atomics. Few rows take one launch. More are cut in chunks, and what the chunks leave open is merged
in a few further launches; so a segment of any length is shared by many threads, and the result is the same for every
order in which they run. Ids in any order raise keys in memory by atomicMax, whose result has no order either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._dtypes import BY_NAME
from . import _kernels
from ._arrays import Rows, as_words

#: Rows up to which a thread may walk a whole segment alone.
SMALL_ROWS = 4096
#: Rows of one thread, one warp, and carries of one thread.
CHUNK_ROWS, WARP_ROWS, MERGE_ROWS = 32, 256, 32
#: Bytes of a row below which a warp shares it (and the most columns that one does).
NARROW_BYTES, NARROW_COLUMNS = 32, 8
#: Threads of a block: a multiple of 32, which the warps rely on.
BLOCK = 256

_BOOL = BY_NAME["bool"]


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked of the rows: `start` is the key where a value starts, `empty` what a segment without a row gets."""

    minimum: bool
    omit: bool
    in_order: bool
    positions: bool = False
    start: int = 0
    empty: int = -1


def reduce_rows(rows: Rows, out: Any, task: Task) -> None:
    """Write each segment's value (as a word) or position into `out`, one element for each segment and column.

    Where a condition or ids in any order hide which segments are empty, `empty` is left to `fill_absent`.
    """
    if rows.count == 0 or out.size == 0:
        out.fill(out.dtype.type(task.empty))
    elif not task.in_order:
        (_scatter_positions if task.positions else _scatter)(rows, out, task)
    elif rows.count <= SMALL_ROWS:
        _reduce_small(rows, out, task)
    else:
        _reduce_chunks(rows, out, task)


def _reduce_small(rows: Rows, out: Any, task: Task) -> None:
    bounds, source = ("indptr", rows.offsets) if rows.ids is None else ("ids", rows.ids)
    kernel = _kernels.small(rows.row, task.minimum, task.omit, task.positions, rows.where is not None, bounds)
    start, empty = np.uint64(task.start), np.uint64(task.empty % 2**64)
    kernel(rows.words, source, *rows.mask, rows.count, rows.width, start, empty, out, size=out.size, block_size=BLOCK)


def _reduce_chunks(rows: Rows, out: Any, task: Task) -> None:
    cupy = _kernels.load_cupy()
    row, masked, start = rows.row, rows.where is not None, np.uint64(task.start)
    segments = out.size // rows.width
    ids = _expand(rows, segments) if rows.ids is None else rows.ids
    out.fill(out.dtype.type(task.empty))
    size = _kernels.best_bytes(row, task.positions)

    def leave(count: int) -> tuple[Any, Any]:
        """Return memory for what `count` threads or warps leave open."""
        return cupy.empty(-(-count * rows.width * size // 8), np.uint64), cupy.empty(count, np.int64)

    if not task.positions and rows.width * row.bits // 8 < NARROW_BYTES and rows.width <= NARROW_COLUMNS:
        count = -(-rows.count // WARP_ROWS)
        carries = leave(count)
        kernel = _kernels.warp(row, task.minimum, task.omit, masked, rows.width)
        given: tuple[Any, ...] = (rows.count, segments, WARP_ROWS, start, out, *carries)
        threads = 32 * count
    else:
        columns = 1 if task.positions else _choose_columns(rows)
        count = -(-rows.count // CHUNK_ROWS)
        carries = leave(count)
        kernel = _kernels.chunk(row, task.minimum, task.omit, task.positions, masked, columns)
        given = (rows.count, rows.width, segments, CHUNK_ROWS, start, out, *carries)
        threads = count * (rows.width // columns)
    kernel(rows.words, ids, *rows.mask, *given, size=threads, block_size=BLOCK)

    kernel = _kernels.merge(row, task.minimum, task.omit, task.positions)
    while count > 1:
        before, count = count, -(-count // MERGE_ROWS)
        carried, carries = carries, leave(count)
        given = (before, rows.width, segments, MERGE_ROWS, start, out, *carries)
        kernel(rows.words, *carried, *given, size=count * rows.width, block_size=BLOCK)


def _choose_columns(rows: Rows) -> int:
    """Return how many neighbouring elements a thread can read at once: at most 16 bytes, aligned in every row."""
    size: int = rows.words.itemsize
    columns = 16 // size
    while rows.width % columns or rows.words.data.ptr % (columns * size):
        columns //= 2
    return columns


def _expand(rows: Rows, segments: int) -> Any:
    """Return the ids that offsets stand for."""
    ids = _kernels.load_cupy().empty(rows.count, np.int32 if segments < 2**31 - 1 else np.int64)
    _kernels.expand()(rows.offsets, segments, ids)
    return ids


def _scatter(rows: Rows, out: Any, task: Task) -> None:
    row, masked = rows.row, rows.where is not None
    keys = _kernels.load_cupy().empty(out.size, _kernels.keys_of(row))
    keys.fill(keys.dtype.type(task.start))
    kernel = _kernels.scatter(row, task.minimum, task.omit, masked)
    given = (rows.width, out.size // rows.width, keys)
    kernel(rows.words, rows.ids, *rows.mask, *given, size=rows.count * rows.width, block_size=BLOCK)
    _kernels.decode(row, task.minimum, task.omit)(keys, out.reshape(-1))


def _scatter_positions(rows: Rows, out: Any, task: Task) -> None:
    cupy = _kernels.load_cupy()
    row, masked = rows.row, rows.where is not None
    flat = out.reshape(-1)
    flat.fill(np.iinfo(np.int64).max)
    keys = cupy.zeros(out.size, np.uint64)
    steps: list[tuple[str, tuple[Any, ...]]] = [("key", (keys,))]
    if row.part:
        seconds = cupy.zeros(out.size, keys.dtype)
        steps += [("second", (keys, seconds)), ("row of second", (keys, seconds, flat))]
    else:
        steps += [("row", (keys, flat))]
    for step, found in steps:
        kernel = _kernels.scatter_positions(row, task.minimum, task.omit, masked, step)
        given = (rows.width, out.size // rows.width, *found)
        kernel(rows.words, rows.ids, *rows.mask, *given, size=rows.count * rows.width, block_size=BLOCK)
    _kernels.found()(flat)


def find_present(rows: Rows, segments: int, in_order: bool) -> Any:
    """Return whether any element counts, for each segment and column (one column for all if there is no `where`)."""
    cupy = _kernels.load_cupy()
    width = 1 if rows.where is None else rows.width
    where = cupy.ones(rows.count, bool) if rows.where is None else rows.where
    marks = Rows(as_words(where.view(np.uint8), _BOOL), _BOOL, rows.ids, rows.offsets, None, rows.count, width)
    present = cupy.empty((segments, width), np.uint8)
    reduce_rows(marks, present, Task(False, False, in_order, empty=0))
    return present.view(bool)


def fill_absent(rows: Rows, out: Any, task: Task) -> None:
    """Give `empty` to the elements of `out` for which no element counts."""
    if rows.count and out.size and (rows.where is not None or not task.in_order):
        table = out.reshape(-1, rows.width)
        present = find_present(rows, len(table), task.in_order)
        _kernels.fill()(present, out.dtype.type(task.empty), table)
