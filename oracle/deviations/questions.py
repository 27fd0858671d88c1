"""What implementations do instead: other questions that they answer; and makers of proofs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..arrays import Array, dtype_of, row_of
from ..case import Case
from ..elements import find_nan
from .predicates import find_count, find_ids

NAN = float("nan")
INFINITY = float("inf")


def change(**arguments: Any) -> Callable[[Case], Case]:
    """Ask with arguments that the case does not give."""
    return lambda case: case.change(**{name: value for name, value in arguments.items() if case.get(name) is None})


def keep_first(case: Case) -> Case:
    """Ask for a second operand that is the first one where it is NaN."""
    x1, x2 = np.broadcast_arrays(case["x1"].plain, case["x2"].plain)
    return case.change(x2=np.where(find_nan(x2), x1, x2).astype(x1.dtype))


def unsorted(operation: str) -> str:
    """Return the name of the operation that takes ids in any order."""
    return f"unsorted_{operation.removeprefix('unsorted_')}"


def to_unsorted(case: Case) -> Case:
    """Ask as if the ids were in order."""
    return replace(case, operation=unsorted(case.operation))


def start_from_infinity(case: Case) -> Case:
    """Ask with the infinity that loses against everything as what segments start from."""
    infinity = INFINITY if case.operation.endswith("min") else -INFINITY
    start = complex(infinity, infinity) if row_of(case.dtype).part else infinity
    return change(initial=Array.of(start, dtype=case.dtype))(case)


def start_from_lowest(case: Case) -> Case:
    """Ask with the least number as what segments start from, where the contract starts from NaT."""
    row = row_of(case.dtype)
    word = row.highest if case.operation.endswith("min") else row.lowest
    return change(initial=Array.of(np.array(word, np.uint64).view(dtype_of(case.main.dtype))))(case)


def wrap_ids(case: Case) -> Case:
    """Ask with negative ids counted from the end, as indices are; those out of range stay as they are."""
    ids, count = case["segment_ids"].plain.astype(np.int64), int(find_count(case) or 0)
    wrapped = np.where((ids < 0) & (ids >= -count), ids + count, ids)
    return to_unsorted(case).change(segment_ids=wrapped)


def cut_ids(case: Case) -> Case:
    """Ask with the lower 32 bits of the ids."""
    ids = case["segment_ids"].plain.astype(np.int64).astype(np.int32)
    return to_unsorted(case).change(segment_ids=ids)


def clip_ids(case: Case) -> Case:
    """Ask with ids above the range in the last segment."""
    return case.change(segment_ids=np.minimum(_limit(case), int(find_count(case) or 0) - 1))


def borrow_rows(case: Case) -> Case:
    """Ask with the next row in each empty segment."""
    data, ids = case["data"].plain, _limit(case)
    empty = np.setdiff1d(np.arange(find_count(case) or 0), ids)
    starts = np.searchsorted(ids, empty)
    return case.change(data=np.insert(data, starts, data[starts], axis=0), segment_ids=np.insert(ids, starts, empty))


def _limit(case: Case) -> np.ndarray:
    """Return the ids as int64, those out of range just so."""
    ids: np.ndarray = np.clip(case["segment_ids"].plain.astype(object), -1, find_count(case)).astype(np.int64)
    return ids


def broadcast_rows(case: Case) -> Case:
    """Ask of rows repeated for each id, as `out[ids]` has them, whatever the rank of the ids."""
    data, ids = case["data"].plain, case["segment_ids"].plain
    shape = ids.shape + data.shape[1:]
    if 0 in shape:
        return case.change(data=np.empty(shape, data.dtype))
    extra = max(data.ndim - len(shape), 0)
    return case.change(data=np.broadcast_to(data.squeeze(tuple(range(extra))), shape))


def start_from_nan(case: Case) -> Case:
    """Ask with NaN as what segments start from."""
    return change(initial=Array.of(np.array(NAN), dtype=case.dtype))(case)


def grow(case: Case) -> Case:
    """Ask for as many segments as the ids speak of."""
    return case.change(num_segments=max([find_count(case) or 0, *(k + 1 for k in find_ids(case).tolist())]))


def sort_ids(case: Case) -> Case:
    """Ask with the ids in order and the rows as they are."""
    return case.change(segment_ids=np.sort(case["segment_ids"].plain))


def slice_rows(case: Case) -> Case:
    """Ask of the rows between the places where a binary search finds the ids."""
    data, ids, count = case["data"].plain, case["segment_ids"].plain, int(find_count(case) or 0)
    starts = [*np.searchsorted(ids, np.arange(count)).tolist(), len(ids)]
    rows = [range(start, max(start + 1, stop)) for start, stop in pairwise(starts)]
    return case.change(
        data=data[[row for part in rows for row in part]], segment_ids=np.repeat(np.arange(count), list(map(len, rows)))
    )


def segments(
    data: object, ids: object, count: int = 1, operation: str = "segment_max", dtype: str = "float32", **more: object
) -> Case:
    """Return a proof."""
    return Case.of(
        operation,
        "proof",
        data=Array.of(data, dtype=dtype),
        segment_ids=ids if isinstance(ids, np.ndarray) else Array.of(ids, dtype="int32"),
        num_segments=count,
        **more,
    )


def pair(operation: str, x1: object, x2: object, dtype: str = "float32") -> Case:
    """Return a proof of an elementwise operation."""
    return Case.of(operation, "proof", x1=Array.of(x1, dtype=dtype), x2=Array.of(x2, dtype=dtype))


def zeros(operation: str = "segment_max") -> Case:
    """Return a proof in which both zeros meet in both orders."""
    return segments([-0.0, 0.0, 0.0, -0.0], [0, 0, 1, 1], 2, operation)
