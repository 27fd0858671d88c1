"""Segment reductions of the dtypes that have no kernel: object, StringDType and clongdouble, through NumPy's loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _storage
from ._storage import Rows


def reduce_segments(rows: Rows, result: np.ndarray, name: str, omit: bool, initial: Any, fill_value: Any) -> None:
    """Reduce rows, in order of their segments or not, into `result`."""
    dtype = rows.data.dtype.newbyteorder("=") if rows.row.name == "clongdouble" else rows.data.dtype
    minimum, arg = name.endswith("min"), name.startswith("segment_arg")
    op = np.minimum if minimum else np.maximum
    start = None if initial is None else _storage.as_element(initial, dtype, rows.row, "initial")
    empty = None if arg or fill_value is None else _storage.as_element(fill_value, result.dtype, rows.row, "fill_value")
    if start is None and rows.row.name == "clongdouble":
        limits = np.finfo(np.longdouble)
        limit = limits.max if minimum else limits.min
        start = np.empty((), dtype)
        start.real = start.imag = limit
    vacant = start if empty is None else empty
    data = rows.data.reshape(rows.count, rows.width)
    where = None if rows.where is None else rows.where.reshape(rows.count, rows.width)
    target = result.reshape(len(result), rows.width)
    for segment, members in enumerate(_find_members(rows, len(result))):
        for column in range(rows.width):
            chosen = members if where is None else members[where[members, column]]
            values = data[chosen, column]
            if arg:
                target[segment, column] = _find_first(values, chosen, minimum, omit, fill_value)
            elif len(values):
                if start is not None:
                    values = np.concatenate([start.reshape(1), values])
                is_number = _find_numbers(values)
                if is_number.all():
                    target[segment, column] = op.reduce(values)
                elif omit and is_number.any():
                    target[segment, column] = op.reduce(values[is_number])
                else:  # NumPy's answer would depend on where a NaN stands
                    target[segment, column] = values[~is_number][0]
            elif vacant is not None:
                target[segment, column] = vacant[()]
            else:
                raise ValueError(
                    f"segment {segment} is empty, and dtype {dtype} has no lowest value; give initial or fill_value."
                )


def _find_members(rows: Rows, segments: int) -> list[np.ndarray]:
    """Return the row numbers of each segment."""
    if rows.offsets is not None:
        return [np.arange(*rows.offsets[s : s + 2]) for s in range(segments)]
    ids = _storage.narrow_ids(np.asarray(rows.ids))
    order = np.argsort(ids, kind="stable")
    bounds = np.searchsorted(ids[order], np.arange(segments + 1))
    return [order[bounds[s] : bounds[s + 1]] for s in range(segments)]


def _find_numbers(values: np.ndarray) -> np.ndarray:
    """Return which values equal themselves, as a NaN does not."""
    return np.array([bool(value == value) for value in values], bool)


def _find_first(values: np.ndarray, chosen: np.ndarray, minimum: bool, omit: bool, fill_value: Any) -> int:
    """Return the row of the first extreme of one segment and column."""
    if not len(values):
        return -1 if fill_value is None else fill_value
    if omit:
        numbers = _find_numbers(values)
        values, chosen = values[numbers], chosen[numbers]
        if not len(values):
            return -1
    is_number = _find_numbers(values)
    if not is_number.all():
        return int(chosen[int(is_number.argmin())])
    best = 0
    for k in range(1, len(values)):
        if values[k] < values[best] if minimum else values[k] > values[best]:
            best = k
    return int(chosen[best])
