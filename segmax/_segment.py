"""The segment reductions: check, normalise, allocate, choose the kernel, call it."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from . import _dispatch, _fallback, _storage, _threads
from ._devices import call_gpu, is_on_gpu
from ._dtypes import BY_NAME, lookup
from ._storage import Rows

_kernels = _dispatch.load("segment")

#: Bytes of data up to which a call stays on one thread. A second one wins from 80 kB on a quiet machine, but what it
#: wins below a megabyte is tens of microseconds, and where the other core is busy, waiting for it costs milliseconds.
_SMALL = 1 << 20

#: Most bytes that threads may spend on outputs of their own when ids are unsorted.
_MOST_PRIVATE = 256 << 20

_BOOL = BY_NAME["bool"]


def _allocate(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an uninitialised array, or raise an error that says why there is none."""
    try:
        return np.empty(shape, dtype)
    except (ValueError, MemoryError) as error:
        raise MemoryError(
            f"num_segments = {shape[0]} asks for a result of shape {shape} and dtype {dtype}: too large to allocate."
        ) from error


def _check_out(out: Any, shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Raise unless `out` can take the result."""
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out is a {type(out).__name__}; give a numpy.ndarray of shape {shape} and dtype {dtype}.")
    if out.dtype != dtype:
        raise TypeError(f"out has dtype {out.dtype}; the result has dtype {dtype}.")
    if out.shape != shape:
        raise ValueError(f"out has shape {out.shape}; the result has shape {shape}.")
    if not out.flags.writeable:
        raise ValueError("out is read-only; give an array that can be written.")


def _disorder_error(ids: Any, at: int, name: str, first: int = 0) -> ValueError:
    """Return the error for ids, the first of which is in position `first`, that decrease after the one `at`."""
    before, after = (int(ids.reshape(-1)[k]) for k in (at, at + 1))
    way = "pass indices_are_sorted=False" if "arg" in name else f"use unsorted_{name} (indices_are_sorted=False)"
    return ValueError(
        f"segment_ids decrease from {before} at position {first + at} to {after} at position {first + at + 1}; "
        f"sort them, or {way}."
    )


def _find_disorder(ids: np.ndarray) -> int:
    """Return the first position whose id is greater than the next one's, else -1."""
    flat = ids if ids.ndim == 1 else ids.reshape(-1)
    for first in range(0, flat.size - 1, 1 << 16):
        part = flat[first : first + (1 << 16) + 1]
        falls = part[1:] < part[:-1]
        if falls.any():
            return first + int(falls.argmax())
    return -1


def _choose_threads(rows: Rows) -> int:
    """Return how many threads a reduction of these rows is worth."""
    if rows.count < 2 or rows.data.itemsize * rows.count * rows.width <= _SMALL:
        return 1
    return min(_threads.get_num_threads(), rows.count)


def _reduce_sorted(rows: Rows, out: np.ndarray, order: bytes, minimum: bool, omit: bool, neutral: Any) -> int:
    """Reduce rows in order of their segments; return a position where the order fails, else -1."""
    kernel = getattr(_kernels, f"reduce_{_storage.kind_of(rows.row)}_{rows.source}")
    state = np.array((-1, 0), np.int64)
    threads = _choose_threads(rows)
    before: int | None = None
    for first, data, ids, _ in rows.blocks(neutral):
        if rows.ids is not None and before is not None and ids.size and before > ids[0]:
            return first - 1
        at = kernel(data, ids, out, order, minimum, omit, threads, state, first, first + len(data) >= rows.count)
        if at >= 0:
            return int(first + at)
        if rows.ids is not None and ids.size:
            before = ids[-1]
    return -1


def _reduce_unsorted(rows: Rows, out: np.ndarray, order: bytes, minimum: bool, omit: bool, neutral: Any) -> None:
    """Reduce rows in any order of their segments."""
    kernel = getattr(_kernels, f"scatter_{_storage.kind_of(rows.row)}_{rows.source}")
    threads = _choose_threads(rows)
    if out.nbytes * (threads - 1) > min(rows.count * rows.width * rows.data.itemsize // 2, _MOST_PRIVATE):
        threads = 1
    for first, data, ids, _ in rows.blocks(neutral):
        kernel(data, ids, out, order, minimum, omit, threads, first == 0, first + len(data) >= rows.count)


def _reduce(
    rows: Rows, result: np.ndarray, in_order: bool, order: bytes, minimum: bool, omit: bool, neutral: Any
) -> int:
    """Reduce rows into a C-contiguous result; return a position where the order fails, else -1."""
    row = rows.row
    words = result.reshape(len(result), rows.width).view(_storage.words_of(row))
    if in_order:
        at = _reduce_sorted(rows, words, order, minimum, omit, neutral)
        if at >= 0:
            return at
    else:
        _reduce_unsorted(rows, words, order, minimum, omit, neutral)
    if row.recoded:
        np.copyto(words, _storage.recoding(row)[1][words])
    elif row is _BOOL:
        np.minimum(words, 1, out=words)
    return -1


def _find_present(rows: Rows, shape: tuple[int, ...], in_order: bool) -> np.ndarray:
    """Return for each output element whether any row's element counts for it."""
    if rows.where is None:
        lead = rows.data.shape[: rows.data.ndim - len(shape) + 1]
        marks = Rows(np.broadcast_to(np.True_, lead), _BOOL, rows.ids, rows.offsets, None)
    else:
        marks = Rows(rows.where, _BOOL, rows.ids, rows.offsets, None)
    present = np.empty((shape[0], *marks.data.shape[rows.data.ndim - len(shape) + 1 :]), bool)
    _reduce(marks, present, in_order, _storage.pack_order(_BOOL, False, False, None, None), False, False, None)
    return present


def _find_positions(rows: Rows, result: np.ndarray, in_order: bool, minimum: bool, omit: bool) -> int:
    """Write the first row of each segment's extreme; return a position where the order fails, else -1."""
    row = rows.row
    kernel = getattr(_kernels, f"arg_{_storage.kind_of(row)}_{rows.source}")
    order = _storage.pack_order(row, minimum, omit, None, None)
    words = _storage.words_of(row)
    columns = rows.width * (row.bits // 8 // words.itemsize)
    positions = result.reshape(len(result), rows.width)
    best = np.zeros((1 if in_order else len(result), columns), words)
    state = np.array((-1, 0), np.int64)
    before: int | None = None
    for first, data, ids, where in rows.blocks():
        if in_order and rows.ids is not None and before is not None and ids.size and before > ids[0]:
            return first - 1
        mask = None if where is None else where.view(np.uint8)
        if row is _BOOL:
            data = np.minimum(data, 1)
        at = kernel(data, ids, positions, order, minimum, omit, mask, best, state, first, in_order)
        if at >= 0:
            return int(first + at)
        if rows.ids is not None and ids.size:
            before = ids[-1]
    return -1


@functools.cache
def _plan(name: str, nan: Any, dtype: np.dtype, ids_dtype: np.dtype) -> tuple[Any, ...] | None:
    """Return kernel, words and constants of a plain reduction, None if such arrays need more than the kernel."""
    row = lookup(dtype)
    if row is None or row.kernel != "keys" or row.recoded or row is _BOOL or not dtype.isnative or dtype.kind in "mM":
        return None
    if ids_dtype not in (np.int32, np.int64) or not ids_dtype.isnative or name not in ("segment_max", "segment_min"):
        return None
    minimum, omit = name == "segment_min", _storage.check_nan(nan)
    kernel = getattr(_kernels, f"reduce_{_storage.kind_of(row)}_i{8 * ids_dtype.itemsize}")
    return kernel, _storage.words_of(row), _storage.pack_order(row, minimum, omit, None, None), minimum, omit


def _reduce_small(name: str, nan: Any, data: np.ndarray, ids: np.ndarray, count: int) -> np.ndarray | None:
    """Reduce small arrays that the kernel can read as they are, without the general way's ten microseconds."""
    plan = _plan(name, nan, data.dtype, ids.dtype)
    rows = len(ids)
    if plan is None or not data.ndim or len(data) != rows or not data.flags.carray or not ids.flags.carray:
        return None
    kernel, words, order, minimum, omit = plan
    result = np.empty((count, *data.shape[1:]), data.dtype)
    width = data.size // rows
    at = kernel(
        data.reshape(rows, width).view(words), ids, result.reshape(count, width).view(words), order, minimum, omit
    )
    if at >= 0:
        raise _disorder_error(ids, at, name)
    return result


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
) -> np.ndarray:
    """Do what segment_max, segment_min, segment_argmax and segment_argmin (`name`) have in common."""
    if (
        type(data) is np.ndarray
        and type(segment_ids) is np.ndarray
        and type(num_segments) is int
        and type(nan) is str
        and 0 < data.nbytes <= _SMALL
        and 0 <= num_segments <= _SMALL
        and segment_ids.ndim == 1
        and indices_are_sorted
        and axis == 0
        and indptr is initial is fill_value is where is out is None
    ):
        result = _reduce_small(name, nan, data, segment_ids, num_segments)
        if result is not None:
            return result

    if is_on_gpu(data) or is_on_gpu(segment_ids) or is_on_gpu(indptr):
        options = {"axis": axis, "initial": initial, "fill_value": fill_value, "nan": nan, "where": where, "out": out}
        if name.startswith("segment_arg"):
            del options["initial"]
        return call_gpu(  # type: ignore[no-any-return]
            name, data, segment_ids, num_segments, indptr=indptr, indices_are_sorted=indices_are_sorted, **options
        )

    minimum, arg = name in ("segment_min", "segment_argmin"), name.startswith("segment_arg")
    omit = _storage.check_nan(nan)
    array, mask = _storage.as_array(data)
    row = _storage.find_row(array, name)
    if (segment_ids is None) == (indptr is None):
        both = "both are given" if indptr is not None else "neither is given"
        raise TypeError(f"{name} takes either segment_ids or indptr; {both}.")
    if where is not None:
        where = _storage.as_where(where, array.shape)
    if mask is not None:
        where = ~mask if where is None else where & ~mask

    ids = offsets = None
    if indptr is None:
        ids = _storage.as_ids(segment_ids)
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
    else:
        if array.ndim == 0:
            raise ValueError("data has no dimension; indptr needs rows.")
        array, where, axis = _storage.bring_forward(array, where, axis)
        offsets = _storage.as_offsets(indptr, len(array))
        lead, indices_are_sorted = 1, True
        count = len(offsets) - 1
        if num_segments is not None and _storage.check_num_segments(num_segments) != count:
            raise ValueError(f"num_segments is {num_segments}, but indptr has {count} segments.")

    shape = (count, *array.shape[lead:])
    dtype = np.dtype(np.int64) if arg else array.dtype if array.dtype.isnative else array.dtype.newbyteorder("=")
    target = out
    if out is not None:
        _check_out(out, (*shape[1 : axis + 1], count, *shape[axis + 1 :]), dtype)
        if axis:
            target = np.moveaxis(out, axis, 0)
    rows = Rows(array, row, ids, offsets, where)
    fill = _storage.check_position(fill_value) if arg and fill_value is not None else -1

    # The kernels write straight into a caller's array only if nothing can stop them half-way: the order is checked
    # first, everything is read in place, and nothing that is read is written.
    result = None
    if target is not None and target.flags.carray and not arg and rows.in_one_block() and not row.recoded:
        inputs = (array, ids, offsets, where)
        if not any(item is not None and np.may_share_memory(item, target) for item in inputs):
            at = _find_disorder(ids) if ids is not None and indices_are_sorted else -1
            if at >= 0:
                raise _disorder_error(ids, at, name)
            result = target
    if result is None:
        result = _allocate(shape, dtype)

    if row.kernel == "numpy" or (ids is not None and ids.dtype.kind == "u" and ids.dtype.itemsize == 8):
        # No kernel will look at the order, or it sees ids from 2**63 on as one.
        at = _find_disorder(ids) if ids is not None and indices_are_sorted else -1
        if at >= 0:
            raise _disorder_error(ids, at, name)
    at = -1
    if row.kernel == "numpy":
        _fallback.reduce_segments(rows, result, name, omit, initial, fill_value)
    elif arg:
        result.fill(-1)
        at = _find_positions(rows, result, indices_are_sorted, minimum, omit)
        if at < 0 and fill != -1:
            result[~_find_present(rows, shape, indices_are_sorted)] = fill
    else:
        at = _reduce_filled(rows, result, indices_are_sorted, minimum, omit, initial, fill_value)
    if at >= 0:
        raise _disorder_error(ids, at, name)

    if isinstance(out, np.ndarray):
        if result is not target:
            np.copyto(target, result)
        return out
    if axis:
        return np.ascontiguousarray(np.moveaxis(result, 0, axis))
    return result


def _reduce_filled(
    rows: Rows, result: np.ndarray, in_order: bool, minimum: bool, omit: bool, initial: Any, fill_value: Any
) -> int:
    """Reduce rows; give empty segments `fill_value`; return a position where the order fails, else -1."""
    row, dtype = rows.row, result.dtype
    start, empty = _storage.find_starts(row, dtype, initial, fill_value, omit)
    packed = (None if item is None else item.tobytes() for item in (start, empty))
    order = _storage.pack_order(row, minimum, omit, *packed)
    neutral = None
    if rows.where is not None:
        neutral = _storage.initial_of(row, dtype, minimum) if start is None else start
    at = _reduce(rows, result, in_order, order, minimum, omit, neutral)
    if at < 0 and empty is not None and (rows.where is not None or not in_order):
        result[~_find_present(rows, result.shape, in_order)] = empty
    return at


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
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Return the maximum of each segment of the rows of an array.

    ``out[s] = numpy.maximum.reduce(data[segment_ids == s], axis=0, initial=initial)``, which is what TensorFlow's
    SegmentMaxV2 computes: the maximum starts from the lowest finite value.

    Parameters
    ----------
    data : array_like
        Rows of any shape and of any dtype that has a maximum. Never modified. Masked elements of a masked array do not
        count.
    segment_ids : array_like of int, optional
        The segment of each row, of any integer dtype. Its shape is how the shape of `data` begins. Rows whose id is
        negative, or `num_segments` or more, are dropped.
    num_segments : int, optional
        Number of segments, by default ``max(segment_ids) + 1``.
    indptr : array_like of int, optional
        Instead of `segment_ids`: segment ``s`` is the rows ``indptr[s]:indptr[s + 1]``.
    axis : int, optional
        The segmented axis of `data`, and where the result has its segments. Only with `indptr` or ids of one dimension.
    initial : scalar, optional
        Where the maximum of each segment starts, by default the lowest finite value of the dtype: so an empty segment,
        and one that holds only ``-inf``, gives the lowest finite value (datetime64 and timedelta64: an empty segment
        gives NaT).
    fill_value : scalar, optional
        What an empty segment holds instead of `initial`: one in which no row is left after dropping and `where`.
    nan : {'propagate', 'omit'}, optional
        Whether a NaN (NaT) makes its segment NaN or is skipped.
    where : array_like of bool, optional
        Elements that count, broadcast to the shape of `data`.
    indices_are_sorted : bool, optional
        Whether the ids do not decrease, which is checked. False means they may come in any order.
    out : ndarray, optional
        Where to write the result: of its shape and dtype, with any strides; may overlap `data`.

    Returns
    -------
    ndarray
        Of shape ``(num_segments,) + data.shape[segment_ids.ndim:]`` and the dtype of `data` in native byte order.

    Raises
    ------
    ValueError
        Ids that decrease, shapes that do not fit, a negative number of segments.
    TypeError
        Ids that are no integers, a dtype without a maximum, an `out` of another dtype.
    OverflowError
        An `initial` or `fill_value` that the dtype cannot hold.
    MemoryError
        A result that cannot be allocated.

    Notes
    -----
    The result has the same bits for every number of threads, CPU level and memory layout. For floats -0 is less than
    +0, and a NaN result is the dtype's canonical one.

    See Also
    --------
    unsorted_segment_max : for ids in any order.

    Examples
    --------
    >>> import numpy as np
    >>> from segmax import segment_max
    >>> segment_max(np.array([1.0, 5.0, 2.0, 7.0]), [0, 0, 1, 3], fill_value=-1)
    array([ 5.,  2., -1.,  7.])
    >>> segment_max(np.array([[1, 8], [4, 2], [3, 3]]), indptr=[0, 2, 3])
    array([[4, 8],
           [3, 3]])
    """
    return _segment(
        "segment_max",
        data,
        segment_ids,
        num_segments,
        indptr=indptr,
        axis=axis,
        initial=initial,
        fill_value=fill_value,
        nan=nan,
        where=where,
        indices_are_sorted=indices_are_sorted,
        out=out,
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
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Return the minimum of each segment of the rows of an array.

    The mirror image of `segment_max`: a minimum starts from the highest finite value, and of the zeros -0 is the least.

    Parameters
    ----------
    data, segment_ids, num_segments, indptr, axis, initial, fill_value, nan, where, indices_are_sorted, out
        As for `segment_max`.

    Returns
    -------
    ndarray
        Of shape ``(num_segments,) + data.shape[segment_ids.ndim:]`` and the dtype of `data` in native byte order.

    See Also
    --------
    segment_max : what the parameters mean and which errors are raised.

    Examples
    --------
    >>> import numpy as np
    >>> from segmax import segment_min
    >>> segment_min(np.array([3, 1, 2], np.int8), [0, 0, 2])
    array([  1, 127,   2], dtype=int8)
    """
    return _segment(
        "segment_min",
        data,
        segment_ids,
        num_segments,
        indptr=indptr,
        axis=axis,
        initial=initial,
        fill_value=fill_value,
        nan=nan,
        where=where,
        indices_are_sorted=indices_are_sorted,
        out=out,
    )


def segment_argmax(
    data: Any,
    segment_ids: Any = None,
    num_segments: Any = None,
    *,
    indptr: Any = None,
    axis: int = 0,
    fill_value: Any = None,
    nan: str = "propagate",
    where: Any = None,
    indices_are_sorted: bool = True,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Return the row of the first maximum of each segment.

    Parameters
    ----------
    data, segment_ids, num_segments, indptr, axis, nan, where, indices_are_sorted, out
        As for `segment_max`; `out` is int64.
    fill_value : int, optional
        What an empty segment holds, by default -1.

    Returns
    -------
    ndarray of int64
        Positions in the flattened `segment_ids`; with `indptr` or `axis`, along that axis. As for `numpy.argmax`, -0
        and +0 are equal and the first NaN is the extreme; with ``nan="omit"`` NaNs are skipped, and a segment of NaNs
        alone gives -1.

    See Also
    --------
    segment_max : what the parameters mean and which errors are raised.

    Examples
    --------
    >>> import numpy as np
    >>> from segmax import segment_argmax
    >>> segment_argmax(np.array([3.0, 7.0, 7.0, 5.0]), [0, 0, 0, 2])
    array([ 1, -1,  3])
    """
    return _segment(
        "segment_argmax",
        data,
        segment_ids,
        num_segments,
        indptr=indptr,
        axis=axis,
        fill_value=fill_value,
        nan=nan,
        where=where,
        indices_are_sorted=indices_are_sorted,
        out=out,
    )


def segment_argmin(
    data: Any,
    segment_ids: Any = None,
    num_segments: Any = None,
    *,
    indptr: Any = None,
    axis: int = 0,
    fill_value: Any = None,
    nan: str = "propagate",
    where: Any = None,
    indices_are_sorted: bool = True,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Return the row of the first minimum of each segment.

    Parameters
    ----------
    data, segment_ids, num_segments, indptr, axis, nan, where, indices_are_sorted, out
        As for `segment_max`; `out` is int64.
    fill_value : int, optional
        What an empty segment holds, by default -1.

    Returns
    -------
    ndarray of int64
        Positions in the flattened `segment_ids`; with `indptr` or `axis`, along that axis. As for `numpy.argmin`, -0
        and +0 are equal and the first NaN is the extreme; with ``nan="omit"`` NaNs are skipped, and a segment of NaNs
        alone gives -1.

    See Also
    --------
    segment_max : what the parameters mean and which errors are raised.

    Examples
    --------
    >>> import numpy as np
    >>> from segmax import segment_argmin
    >>> segment_argmin(np.array([3.0, 7.0, 7.0, 5.0]), [0, 0, 0, 2])
    array([ 0, -1,  3])
    """
    return _segment(
        "segment_argmin",
        data,
        segment_ids,
        num_segments,
        indptr=indptr,
        axis=axis,
        fill_value=fill_value,
        nan=nan,
        where=where,
        indices_are_sorted=indices_are_sorted,
        out=out,
    )


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
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Return the maximum of each segment, with ids in any order.

    This is `segment_max` with ``indices_are_sorted=False``.

    Parameters
    ----------
    data, segment_ids, num_segments, axis, initial, fill_value, nan, where, out
        As for `segment_max`; `segment_ids` may come in any order.

    Returns
    -------
    ndarray
        Of shape ``(num_segments,) + data.shape[segment_ids.ndim:]`` and the dtype of `data` in native byte order.

    See Also
    --------
    segment_max : what the parameters mean and which errors are raised.

    Examples
    --------
    >>> import numpy as np
    >>> from segmax import unsorted_segment_max
    >>> unsorted_segment_max(np.array([1, 2, 3]), [1, 0, 1])
    array([2, 3])
    """
    return _segment(
        "segment_max",
        data,
        segment_ids,
        num_segments,
        axis=axis,
        initial=initial,
        fill_value=fill_value,
        nan=nan,
        where=where,
        indices_are_sorted=False,
        out=out,
    )


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
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Return the minimum of each segment, with ids in any order.

    This is `segment_min` with ``indices_are_sorted=False``.

    Parameters
    ----------
    data, segment_ids, num_segments, axis, initial, fill_value, nan, where, out
        As for `segment_min`; `segment_ids` may come in any order.

    Returns
    -------
    ndarray
        Of shape ``(num_segments,) + data.shape[segment_ids.ndim:]`` and the dtype of `data` in native byte order.

    See Also
    --------
    segment_max : what the parameters mean and which errors are raised.

    Examples
    --------
    >>> import numpy as np
    >>> from segmax import unsorted_segment_min
    >>> unsorted_segment_min(np.array([1, 2, 3]), [1, 0, 1])
    array([2, 1])
    """
    return _segment(
        "segment_min",
        data,
        segment_ids,
        num_segments,
        axis=axis,
        initial=initial,
        fill_value=fill_value,
        nan=nan,
        where=where,
        indices_are_sorted=False,
        out=out,
    )
