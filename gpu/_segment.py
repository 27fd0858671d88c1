"""The segment reductions of device arrays: check, normalise, reduce, deliver."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import Any

import numpy as np

from .. import _storage
from .._dtypes import Dtype
from . import _arrays, _kernels
from ._arrays import Rows
from ._reduction import Task, fill_absent, reduce_rows


def _segment(
    name: str,
    data: Any,
    segment_ids: Any,
    num_segments: Any,
    *,
    indptr: Any = None,
    axis: Any = 0,
    initial: Any = None,
    fill_value: Any = None,
    nan: Any = "propagate",
    where: Any = None,
    indices_are_sorted: bool = True,
    out: Any = None,
) -> Any:
    """Do what the segment functions (`name`) have in common."""
    cupy = _kernels.load_cupy()
    minimum, arg = name in ("segment_min", "segment_argmin"), name.startswith("segment_arg")
    omit = _storage.check_nan(nan)
    array = _arrays.as_device(data, "data")
    row = _arrays.find_row(array.dtype, name)
    if (segment_ids is None) == (indptr is None):
        both = "both are given" if indptr is not None else "neither is given"
        raise TypeError(f"{name} takes either segment_ids or indptr; {both}.")
    if where is not None:
        where = _arrays.as_where(where, array.shape)

    ids = offsets = None
    if indptr is None:
        ids = _arrays.as_ids(segment_ids, "segment_ids")
        if ids.ndim == 1 and axis != 0:
            array, where, axis = _storage.bring_forward(array, where, axis)
        elif axis != 0:
            raise ValueError(f"axis is {axis!r}; with segment_ids of shape {ids.shape} it must be 0.")
        if array.shape[: ids.ndim] != ids.shape:
            raise ValueError(
                f"segment_ids has shape {ids.shape}, data has shape {array.shape}; the shape of segment_ids must be "
                "how the shape of data begins."
            )
        lead = ids.ndim
        count = (
            _storage.count_segments(ids, indices_are_sorted)
            if num_segments is None
            else _storage.check_num_segments(num_segments)
        )
        ids = cupy.ascontiguousarray(ids).reshape(-1)
    else:
        offsets = _arrays.as_ids(indptr, "indptr")
        if offsets.ndim != 1 or offsets.size == 0:
            raise ValueError(f"indptr has shape {offsets.shape}; give one dimension of num_segments + 1 offsets.")
        if array.ndim == 0:
            raise ValueError("data has no dimension; indptr needs rows.")
        array, where, axis = _storage.bring_forward(array, where, axis)
        lead, indices_are_sorted = 1, True
        count = offsets.size - 1
        if num_segments is not None and _storage.check_num_segments(num_segments) != count:
            raise ValueError(f"num_segments is {num_segments}, but indptr has {count} segments.")
        offsets = cupy.ascontiguousarray(offsets)

    shape = (count, *array.shape[lead:])
    dtype = np.dtype(np.int64) if arg else array.dtype
    if out is not None:
        _arrays.check_out(out, (*shape[1 : axis + 1], count, *shape[axis + 1 :]), dtype)
    words = _arrays.as_words(_arrays.as_bits(array), row)
    size = math.prod(array.shape[:lead]), math.prod(array.shape[lead:])
    rows = Rows(words, row, ids, offsets, where, *size)

    # A kernel that fails to launch leaves `out` alone; one that reads what it writes would not be safe.
    target = None if out is None or not out.flags.c_contiguous or axis else _arrays.as_bits(out)
    if target is None or _arrays.overlaps(target, array, ids, offsets, where):
        target = _arrays.allocate(shape, dtype)
    task = Task(minimum, omit, bool(indices_are_sorted))
    if arg:
        fill = -1 if fill_value is None else _storage.check_position(fill_value)
        _find_positions(rows, target.view(np.int64), replace(task, positions=True, empty=fill))
    else:
        _find_values(rows, target, dtype, task, initial, fill_value)

    if out is None:
        return cupy.ascontiguousarray(cupy.moveaxis(target, 0, axis)).view(dtype)
    moved = cupy.moveaxis(_arrays.as_bits(out), axis, 0)
    if moved.data.ptr != target.data.ptr or out.size == 0:
        moved[...] = target
    return out


def _find_positions(rows: Rows, out: Any, task: Task) -> None:
    """Write the first row of each segment's extreme, -1 where no element counts, `task.empty` where no row is left."""
    reduce_rows(rows, out, task)
    if task.empty != -1:
        fill_absent(rows, out, task)


def _find_values(rows: Rows, out: Any, dtype: np.dtype, task: Task, initial: Any, fill_value: Any) -> None:
    """Write each segment's extreme into the bits `out` of an array of `dtype`."""
    row = rows.row
    start, empty = _storage.find_starts(row, dtype, initial, fill_value, task.omit)
    if start is None:
        start = _storage.initial_of(row, dtype, task.minimum)
    filled = empty is not None
    begin, absent = split_words(start, row), split_words(start if empty is None else empty, row)
    if row.part:
        positions = _kernels.load_cupy().empty(out.size, np.int64)
        _find_positions(rows, positions, replace(task, positions=True, empty=-2 if filled else -1))
        constants = (np.uint64(word) for word in begin + absent)
        words = out.reshape(-1).view(_storage.words_of(row))
        kernel = _kernels.gather(row, task.minimum, task.omit)
        kernel(rows.words, positions, rows.width, *constants, words, size=out.size)
        return
    code = row.recode()[begin[0]] if row.recoded else begin[0]
    task = replace(task, start=row.key(task.minimum, task.omit).encode(code), empty=absent[0])
    words = out.view(_storage.words_of(row))
    reduce_rows(rows, words, task)
    if filled:
        fill_absent(rows, words, task)


def split_words(element: np.ndarray, row: Dtype) -> list[int]:
    """Return the words of an element of the host."""
    data = np.asarray(element).tobytes()
    size = _storage.words_of(row).itemsize
    return [int.from_bytes(data[at : at + size], sys.byteorder) for at in range(0, len(data), size)]


def segment_max(
    data: Any,
    segment_ids: Any = None,
    num_segments: Any = None,
    *,
    indptr: Any = None,
    axis: int = 0,
    initial: Any = None,
    fill_value: Any = None,
    nan: str = "propagate",
    where: Any = None,
    indices_are_sorted: bool = True,
    out: Any = None,
) -> Any:
    """Return the maximum of each segment of the rows of a device array, with the bits of `segmax.segment_max`.

    Everything runs on the current stream; only ``num_segments=None`` waits for the device. The order of ids and of
    `indptr` is not checked: out of order, memory is safe and the values are unspecified.

    Parameters
    ----------
    data : cupy.ndarray
        Rows of any shape and of any dtype that has a maximum and fits into a CuPy array, also by a view (bfloat16,
        float8, int4, datetime64). Any array on the device with ``__cuda_array_interface__`` or DLPack will do; arrays
        of the host are refused. Never modified.
    segment_ids : cupy.ndarray of int, optional
        The segment of each row, of any integer dtype. Its shape is how the shape of `data` begins. Rows whose id is
        negative, or `num_segments` or more, are dropped.
    num_segments : int, optional
        Number of segments, by default ``max(segment_ids) + 1``.
    indptr : cupy.ndarray of int, optional
        Instead of `segment_ids`: segment ``s`` is the rows ``indptr[s]:indptr[s + 1]``.
    axis : int, optional
        The segmented axis of `data`, and where the result has its segments. Only with `indptr` or ids of one dimension.
    initial : scalar, optional
        Where the maximum of each segment starts, by default the lowest finite value of the dtype.
    fill_value : scalar, optional
        What an empty segment holds instead of `initial`: one in which no row is left after dropping and `where`.
    nan : {'propagate', 'omit'}, optional
        Whether a NaN (NaT) makes its segment NaN or is skipped.
    where : cupy.ndarray of bool, optional
        Elements that count, broadcast to the shape of `data`.
    indices_are_sorted : bool, optional
        Whether the ids do not decrease. False means they may come in any order.
    out : cupy.ndarray, optional
        Where to write the result: of its shape and dtype, with any strides; may overlap `data`.

    Returns
    -------
    cupy.ndarray
        Of shape ``(num_segments,) + data.shape[segment_ids.ndim:]`` and the dtype of `data`.

    Raises
    ------
    TypeError
        Arrays of the host, ids that are no integers, a dtype without a maximum, an `out` of another dtype.
    ValueError
        Shapes that do not fit, a negative number of segments.
    OverflowError
        An `initial` or `fill_value` that the dtype cannot hold.
    MemoryError
        A result that cannot be allocated.

    Examples
    --------
    >>> import cupy as cp
    >>> from segmax.gpu import segment_max
    >>> segment_max(cp.array([1.0, 5.0, 2.0, 7.0]), cp.array([0, 0, 1, 3]), fill_value=-1)
    array([ 5.,  2., -1.,  7.])
    """
    options = {"indptr": indptr, "axis": axis, "initial": initial, "fill_value": fill_value, "nan": nan, "where": where}
    return _segment(
        "segment_max", data, segment_ids, num_segments, **options, indices_are_sorted=indices_are_sorted, out=out
    )


def segment_min(
    data: Any,
    segment_ids: Any = None,
    num_segments: Any = None,
    *,
    indptr: Any = None,
    axis: int = 0,
    initial: Any = None,
    fill_value: Any = None,
    nan: str = "propagate",
    where: Any = None,
    indices_are_sorted: bool = True,
    out: Any = None,
) -> Any:
    """Return the minimum of each segment of the rows of a device array, with the bits of `segmax.segment_min`.

    Parameters and errors are those of `segment_max`; `initial` is by default the highest finite value.

    Examples
    --------
    >>> import cupy as cp
    >>> from segmax.gpu import segment_min
    >>> segment_min(cp.array([1.0, 5.0, 2.0, 7.0]), cp.array([0, 0, 1, 3]), fill_value=-1)
    array([ 1.,  2., -1.,  7.])
    """
    options = {"indptr": indptr, "axis": axis, "initial": initial, "fill_value": fill_value, "nan": nan, "where": where}
    return _segment(
        "segment_min", data, segment_ids, num_segments, **options, indices_are_sorted=indices_are_sorted, out=out
    )


def segment_argmax(
    data: Any,
    segment_ids: Any = None,
    num_segments: Any = None,
    *,
    indptr: Any = None,
    axis: int = 0,
    fill_value: int | None = None,
    nan: str = "propagate",
    where: Any = None,
    indices_are_sorted: bool = True,
    out: Any = None,
) -> Any:
    """Return the position of the first maximum of each segment of the rows of a device array.

    Parameters and errors are those of `segment_max`; a segment without a row gives `fill_value`, by default -1.

    Returns
    -------
    cupy.ndarray of int64
        Row numbers: positions in the flattened ids, or along `axis`; -1 where no element counts. The first NaN wins
        with ``nan="propagate"``, as in `numpy.argmax`.

    Examples
    --------
    >>> import cupy as cp
    >>> from segmax.gpu import segment_argmax
    >>> segment_argmax(cp.array([1.0, 5.0, 2.0, 7.0]), cp.array([0, 0, 1, 3]))
    array([ 1,  2, -1,  3])
    """
    options = {"indptr": indptr, "axis": axis, "fill_value": fill_value, "nan": nan, "where": where, "out": out}
    return _segment("segment_argmax", data, segment_ids, num_segments, **options, indices_are_sorted=indices_are_sorted)


def segment_argmin(
    data: Any,
    segment_ids: Any = None,
    num_segments: Any = None,
    *,
    indptr: Any = None,
    axis: int = 0,
    fill_value: int | None = None,
    nan: str = "propagate",
    where: Any = None,
    indices_are_sorted: bool = True,
    out: Any = None,
) -> Any:
    """Return the position of the first minimum of each segment of the rows of a device array.

    Parameters, result and errors are those of `segment_argmax`.

    Examples
    --------
    >>> import cupy as cp
    >>> from segmax.gpu import segment_argmin
    >>> segment_argmin(cp.array([1.0, 5.0, 2.0, 7.0]), cp.array([0, 0, 1, 3]))
    array([ 0,  2, -1,  3])
    """
    options = {"indptr": indptr, "axis": axis, "fill_value": fill_value, "nan": nan, "where": where, "out": out}
    return _segment("segment_argmin", data, segment_ids, num_segments, **options, indices_are_sorted=indices_are_sorted)


def unsorted_segment_max(
    data: Any,
    segment_ids: Any,
    num_segments: Any = None,
    *,
    axis: int = 0,
    initial: Any = None,
    fill_value: Any = None,
    nan: str = "propagate",
    where: Any = None,
    out: Any = None,
) -> Any:
    """Return the maximum of each segment of rows of a device array whose ids come in any order.

    This is `segment_max` with ``indices_are_sorted=False``.

    Examples
    --------
    >>> import cupy as cp
    >>> from segmax.gpu import unsorted_segment_max
    >>> unsorted_segment_max(cp.array([1, 5, 2]), cp.array([1, 0, 1]))
    array([5, 2])
    """
    options = {"axis": axis, "initial": initial, "fill_value": fill_value, "nan": nan, "where": where, "out": out}
    return segment_max(data, segment_ids, num_segments, **options, indices_are_sorted=False)


def unsorted_segment_min(
    data: Any,
    segment_ids: Any,
    num_segments: Any = None,
    *,
    axis: int = 0,
    initial: Any = None,
    fill_value: Any = None,
    nan: str = "propagate",
    where: Any = None,
    out: Any = None,
) -> Any:
    """Return the minimum of each segment of rows of a device array whose ids come in any order.

    This is `segment_min` with ``indices_are_sorted=False``.

    Examples
    --------
    >>> import cupy as cp
    >>> from segmax.gpu import unsorted_segment_min
    >>> unsorted_segment_min(cp.array([1, 5, 2]), cp.array([1, 0, 1]))
    array([5, 1])
    """
    options = {"axis": axis, "initial": initial, "fill_value": fill_value, "nan": nan, "where": where, "out": out}
    return segment_min(data, segment_ids, num_segments, **options, indices_are_sorted=False)
