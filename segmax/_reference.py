"""The contract in the plainest NumPy and Python: slow, obvious, and what everything else is compared with.

One Python loop over segments, columns and rows; no kernel, no key, no block, no thread. Of the functions of the library
it holds the segment reductions, with every option, dtype and error; the elementwise functions have NumPy as model. An
element is compared through its rank, an integer (for a complex number a pair), which the table of dtypes defines.
"""

from __future__ import annotations

import operator
import warnings
from fractions import Fraction
from typing import Any

import numpy as np

from ._dtypes import BY_NAME, Dtype, lookup

__all__ = [
    "segment_argmax",
    "segment_argmin",
    "segment_max",
    "segment_min",
    "unsorted_segment_max",
    "unsorted_segment_min",
]

#: What every NaN and NaT is among ranks.
_NAN: Any = object()

#: Where a reduction starts that has nothing to start from: its first element replaces this, whatever it is.
_NOTHING: Any = object()


def segment_max(
    data: Any, segment_ids: Any = None, num_segments: Any = None, *, initial: Any = None, **options: Any
) -> np.ndarray:
    """Return the maximum of each segment, as `segmax.segment_max` does."""
    return _segment("segment_max", data, segment_ids, num_segments, initial, **options)


def segment_min(
    data: Any, segment_ids: Any = None, num_segments: Any = None, *, initial: Any = None, **options: Any
) -> np.ndarray:
    """Return the minimum of each segment, as `segmax.segment_min` does."""
    return _segment("segment_min", data, segment_ids, num_segments, initial, **options)


def segment_argmax(data: Any, segment_ids: Any = None, num_segments: Any = None, **options: Any) -> np.ndarray:
    """Return the first row of each segment's maximum, as `segmax.segment_argmax` does."""
    return _segment("segment_argmax", data, segment_ids, num_segments, None, **options)


def segment_argmin(data: Any, segment_ids: Any = None, num_segments: Any = None, **options: Any) -> np.ndarray:
    """Return the first row of each segment's minimum, as `segmax.segment_argmin` does."""
    return _segment("segment_argmin", data, segment_ids, num_segments, None, **options)


def unsorted_segment_max(data: Any, segment_ids: Any, num_segments: Any = None, **options: Any) -> np.ndarray:
    """Return the maximum of each segment, as `segmax.unsorted_segment_max` does."""
    return segment_max(data, segment_ids, num_segments, indices_are_sorted=False, **options)


def unsorted_segment_min(data: Any, segment_ids: Any, num_segments: Any = None, **options: Any) -> np.ndarray:
    """Return the minimum of each segment, as `segmax.unsorted_segment_min` does."""
    return segment_min(data, segment_ids, num_segments, indices_are_sorted=False, **options)


def _segment(
    name: str,
    data: Any,
    segment_ids: Any,
    num_segments: Any,
    initial: Any,
    *,
    indptr: Any = None,
    axis: Any = 0,
    fill_value: Any = None,
    nan: Any = "propagate",
    where: Any = None,
    indices_are_sorted: bool = True,
    out: Any = None,
) -> np.ndarray:
    arg, minimum = name.startswith("segment_arg"), name.endswith("min")
    if nan not in ("propagate", "omit"):
        raise ValueError(f"nan is {nan!r}; give 'propagate' or 'omit'.")
    omit = nan == "omit"
    array, row, keep = _read_data(data, where)
    if (segment_ids is None) == (indptr is None):
        raise TypeError(f"{name} takes either segment_ids or indptr; {'neither' if indptr is None else 'both'} given.")

    # Where the segmented axis is, and the shape of a row.
    ids = None if segment_ids is None else _read_ids(segment_ids)
    lead = 1 if ids is None else ids.ndim
    axis = _read_axis(axis, array.ndim, lead)
    array, keep = np.moveaxis(array, axis, 0) if axis else array, np.moveaxis(keep, axis, 0) if axis else keep
    if ids is not None and array.shape[:lead] != ids.shape:
        raise ValueError(
            f"segment_ids has shape {ids.shape}, data has shape {array.shape}: the one must be how the other begins."
        )
    if array.ndim < lead:
        raise ValueError("data has no dimension; indptr needs rows.")

    # Which rows are in which segment.
    if ids is not None:
        flat = [int(k) for k in ids.reshape(-1)]
        if indices_are_sorted:
            _check_order(flat, name)
        segment_of = dict(enumerate(flat))
        count = max([*flat, -1]) + 1 if num_segments is None else _read_num_segments(num_segments)
    else:
        offsets = _read_indptr(indptr, len(array))
        count = len(offsets) - 1
        segment_of = {k: s for s in range(count) for k in range(offsets[s], offsets[s + 1])}
        if num_segments is not None and _read_num_segments(num_segments) != count:
            raise ValueError(
                f"num_segments is {num_segments}, but indptr has {count} segments; leave num_segments out."
            )
    members: dict[int, list[int]] = {}
    for k, s in segment_of.items():
        if 0 <= s < count:
            members.setdefault(s, []).append(k)

    # What to start from and what an empty segment holds.
    dtype = np.dtype(np.int64) if arg else array.dtype
    shape = (count, *array.shape[lead:])
    start: np.ndarray | None = None
    if arg:
        empty: np.ndarray | None = np.array(-1 if fill_value is None else _read_position(fill_value), dtype)
        start_rank = _NAN if omit else _NOTHING
    else:
        start = _limit(row, dtype, minimum) if initial is None else _convert(initial, dtype, row, "initial")
        empty = start if fill_value is None else _convert(fill_value, dtype, row, "fill_value")
        if dtype.kind in "mM" and initial is None:
            missing = np.array("NaT", dtype)
            start = missing if omit else start
            empty = missing if fill_value is None else empty
        start_rank = _NOTHING if start is None else _ranks(start, row, arg)[0]

    if out is not None:
        _check_out(out, (*shape[1 : axis + 1], count, *shape[axis + 1 :]), dtype)
    result = _allocate(shape, dtype)
    rows, width = int(np.prod(array.shape[:lead])), int(np.prod(array.shape[lead:]))
    elements, keep = array.reshape(rows, width), keep.reshape(rows, width)
    cells = result.reshape(count, width)
    for column in range(width):
        ranks = _ranks(elements[:, column].copy(), row, arg)
        for s in range(count):
            left = [k for k in members.get(s, []) if keep[k, column]]
            winner = _find_winner(ranks, left, start_rank, minimum, omit)
            if not left and empty is None:
                raise ValueError(
                    f"segment {s} is empty, and dtype {dtype} has no lowest value; give initial or fill_value."
                )
            if not left:
                cells[s, column, ...] = empty
            elif arg:
                cells[s, column] = -1 if winner is None else winner
            elif winner is None:
                cells[s, column, ...] = start
            elif ranks[winner] is _NAN and row.kernel in ("keys", "longdouble"):
                cells[s, column, ...] = _canonical_nan(row, dtype)
            else:
                cells[s, column, ...] = elements[winner, column, ...]

    if axis:
        result = np.ascontiguousarray(np.moveaxis(result, 0, axis))
    if out is None:
        return result
    out[...] = result
    return out  # type: ignore[no-any-return]


def _find_winner(ranks: list[Any], rows: list[int], start: Any, minimum: bool, omit: bool) -> int | None:
    """Return the row that a reduction of some rows, in order, ends with; None if it ends where it started."""
    best, winner = start, None
    for k in rows:
        if _replaces(ranks[k], best, minimum, omit):
            best, winner = ranks[k], k
    return winner


def _replaces(rank: Any, best: Any, minimum: bool, omit: bool) -> bool:
    """Return whether an element takes the place of what a reduction has so far; of equals the first stays."""
    if best is _NOTHING:
        return True
    if best is _NAN:
        return omit and rank is not _NAN
    if rank is _NAN:
        return not omit
    return not (best <= rank if minimum else best >= rank)


def _ranks(array: np.ndarray, row: Dtype, arg: bool) -> list[Any]:
    """Return for each element something that `<=` and `>=` compare as the contract wants; a NaN gives `_NAN`.

    -0 < +0 in a real float, except for the position of an extreme, which is `numpy.argmax`'s; the two are equal in a
    complex number.
    """
    if row.name == "bool":
        return array.reshape(-1).tolist()
    if row.kernel == "keys":
        return [_rank(bits, row, arg) for bits in _words(array, row.bits)]
    if row.kernel == "complex":
        part = BY_NAME[str(row.part)]
        parts = [_rank(bits, part, True) for bits in _words(array, part.bits)]
        pairs = list(zip(parts[::2], parts[1::2], strict=True))
        return [_NAN if re is _NAN or im is _NAN else (re, im) for re, im in pairs]
    if row.name == "longdouble":
        return [_NAN if x != x else (x, arg or not np.signbit(x)) for x in array.reshape(-1)]
    if row.name == "clongdouble":
        return [_NAN if z != z else (z.real, z.imag) for z in array.reshape(-1)]
    return [_NAN if x != x else x for x in array.reshape(-1).tolist()]


def _rank(bits: int, row: Dtype, equal_zeros: bool) -> Any:
    """Return the rank of an element, `_NAN` for a NaN."""
    rank = row.rank(bits)
    if rank is None:
        return _NAN
    return 0 if rank == -1 and row.order == "sign" and equal_zeros else rank


def _words(array: np.ndarray, bits: int) -> list[int]:
    """Return the bits of a native array, `bits` at a time, as integers."""
    words: list[int] = np.frombuffer(array.tobytes(), f"u{bits // 8}").tolist()
    return words


def _element(words: list[int], bits: int, dtype: np.dtype) -> np.ndarray:
    """Return the 0-d array that has these bits."""
    return np.frombuffer(np.array(words, f"u{bits // 8}").tobytes(), dtype).reshape(())


def _clear_unused(array: np.ndarray, row: Dtype) -> np.ndarray:
    """Return an array with the bits above an element's own, which mean nothing, as zeros."""
    return array if row.used is None else (array.view(np.uint8) & np.uint8((1 << row.used) - 1)).view(array.dtype)


def _canonical_nan(row: Dtype, dtype: np.dtype) -> np.ndarray:
    """Return the NaN (NaT) that a segment reduction returns for any NaN."""
    return np.array(np.nan, dtype) if row.nan is None else _element([row.nan], row.bits, dtype)


def _limit(row: Dtype, dtype: np.dtype, minimum: bool) -> np.ndarray | None:
    """Return the lowest finite value (for a minimum: the highest), None if the dtype has none."""
    if row.kernel == "keys":
        return _element([int(row.highest if minimum else row.lowest)], row.bits, dtype)  # type: ignore[arg-type]
    if row.kernel == "complex":
        part = BY_NAME[str(row.part)]
        return _element([int(part.highest if minimum else part.lowest)] * 2, part.bits, dtype)  # type: ignore[arg-type]
    if row.name in ("longdouble", "clongdouble"):
        limits = np.finfo(np.longdouble)
        limit = limits.max if minimum else limits.min
        return np.array([limit, limit]).view(dtype)[:1].reshape(())
    return None


# Reading the arguments.


def _as_array(value: Any) -> np.ndarray:
    """Return anything array-like as an array."""
    if not hasattr(value, "__array__") and hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    return np.asarray(value)


def _read_data(data: Any, where: Any) -> tuple[np.ndarray, Dtype, np.ndarray]:
    """Return a native copy of the data, its row of the table, and for each element whether it counts."""
    mask: Any = False
    if isinstance(data, np.ma.MaskedArray):
        data, mask = data.data, np.ma.getmaskarray(data)
    array = _as_array(data)
    row = lookup(array.dtype)
    if row is None:
        raise TypeError(
            f"data has dtype {array.dtype}, which has no maximum; give numbers, bool, datetime64, timedelta64, object "
            "or StringDType."
        )
    dtype = array.dtype if array.dtype.isnative else array.dtype.newbyteorder("=")
    array = np.array(array, dtype, order="C")
    array = (array.view(np.uint8) != 0).reshape(array.shape) if row.name == "bool" else _clear_unused(array, row)
    given = np.asarray(True if where is None else where)
    if given.dtype != bool:
        raise TypeError(f"where has dtype {given.dtype}; give booleans.")
    try:
        keep = np.broadcast_to(given, array.shape) & ~np.asarray(mask)
    except ValueError:
        raise ValueError(f"where has shape {given.shape}, which does not broadcast to data's {array.shape}.") from None
    return array, row, keep


def _read_ids(segment_ids: Any) -> np.ndarray:
    """Return segment ids as an array of some integer dtype."""
    ids = _as_array(segment_ids)
    if ids.size == 0 and not hasattr(segment_ids, "dtype"):
        return ids.astype(np.int64)
    if ids.dtype.kind not in "iu":
        raise TypeError(f"segment_ids has dtype {ids.dtype}; give integers.")
    return ids


def _check_order(ids: list[int], name: str) -> None:
    """Raise if ids decrease anywhere."""
    for k in range(len(ids) - 1):
        if ids[k] > ids[k + 1]:
            way = "pass indices_are_sorted=False" if "arg" in name else f"use unsorted_{name}"
            raise ValueError(
                f"segment_ids decrease from {ids[k]} at position {k} to {ids[k + 1]} at position {k + 1}; sort them, "
                f"or {way}."
            )


def _read_indptr(indptr: Any, rows: int) -> list[int]:
    """Return offsets as integers."""
    given = _as_array(indptr)
    if given.dtype.kind not in "iu":
        raise TypeError(f"indptr has dtype {given.dtype}; give integers.")
    if given.ndim != 1 or given.size == 0:
        raise ValueError(f"indptr has shape {given.shape}; give one dimension of num_segments + 1 offsets.")
    offsets = [int(k) for k in given]
    if offsets[0] < 0:
        raise ValueError(f"indptr[0] is {offsets[0]}; the first offset must be 0 or more.")
    for k in range(len(offsets) - 1):
        if offsets[k] > offsets[k + 1]:
            raise ValueError(
                f"indptr decreases from {offsets[k]} at position {k} to {offsets[k + 1]} at position {k + 1}; give "
                "offsets in order."
            )
    if offsets[-1] > rows:
        raise ValueError(f"indptr[{len(offsets) - 1}] is {offsets[-1]}, but data has only {rows} rows.")
    return offsets


def _read_integer(value: Any, name: str) -> int:
    """Return an integer that is no bool."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {value!r}; give an integer.")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r} of type {type(value).__name__}; give an integer.") from None


def _read_num_segments(num_segments: Any) -> int:
    """Return a number of segments."""
    count = _read_integer(num_segments, "num_segments")
    if count < 0:
        raise ValueError(f"num_segments is {count}; give 0 or more, or None for max(segment_ids) + 1.")
    return count


def _read_position(fill_value: Any) -> int:
    """Return the `fill_value` of a position."""
    position = _read_integer(fill_value, "fill_value")
    if not -(2**63) <= position < 2**63:
        raise OverflowError(f"fill_value is {position}, which is out of the range of dtype int64.")
    return position


def _read_axis(axis: Any, ndim: int, lead: int) -> int:
    """Return the segmented axis, counted from 0."""
    position = _read_integer(axis, "axis")
    if position == 0:
        return 0
    if lead != 1:
        raise ValueError(f"axis is {axis}; with segment_ids of {lead} dimensions it must be 0.")
    if not -ndim <= position < ndim:
        raise np.exceptions.AxisError(position, ndim)
    return position % ndim


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


def _allocate(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an array for the result."""
    try:
        return np.empty(shape, dtype)
    except (ValueError, MemoryError) as error:
        raise MemoryError(
            f"num_segments = {shape[0]} asks for a result of shape {shape} and dtype {dtype}: too large to allocate."
        ) from error


# Reading a scalar.


def _convert(value: Any, dtype: np.dtype, row: Dtype, name: str) -> np.ndarray:
    """Return a scalar as a 0-d array of `dtype`; raise if its value would change."""
    if row.name == "object":
        element = np.empty((), dtype)
        element[()] = value
        return element
    if row.name == "StringDType":
        if not isinstance(value, str) and value is not getattr(dtype, "na_object", _NOTHING):
            raise TypeError(f"{name} is {value!r}; give a string for dtype {dtype}.")
        return np.array(value, dtype)
    given = np.asarray(value)
    if given.ndim:
        raise TypeError(f"{name} has shape {given.shape}; give a scalar.")
    if dtype.kind in "mM":
        if given.dtype.kind != dtype.kind:
            raise TypeError(f"{name} is {value!r}; give a scalar of dtype {dtype}.")
        element = given.astype(dtype)
        if np.isnat(given) or (not np.isnat(element) and element.astype(given.dtype) == given):
            return element
        raise TypeError(f"{name} is {value!r}, which dtype {dtype} cannot hold exactly.")

    source = lookup(given.dtype)
    if isinstance(value, int) and given.dtype == object:
        given = np.asarray(np.longdouble(value))
        wanted: tuple[Any, Any] = (Fraction(value), Fraction(0))
    elif source is None or source.name in ("object", "StringDType", "datetime64", "timedelta64"):
        raise TypeError(f"{name} is {value!r}; give a number of dtype {dtype}.")
    else:
        wanted = _parts(given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        element = given.astype(dtype)
    limits = [_parts(limit)[0] for limit in (_limit(row, dtype, False), _limit(row, dtype, True)) if limit is not None]
    if all(a == b or (a != a and b != b) for a, b in zip(wanted, _parts(element), strict=True)):
        has_nan = any(part != part for part in wanted)
        return (
            _canonical_nan(row, dtype)
            if has_nan and row.kernel in ("keys", "longdouble")
            else _clear_unused(element, row)
        )
    if any(part != part for part in wanted):
        raise TypeError(f"{name} is {value!r}, and dtype {dtype} has no NaN.")
    if all(limits[0] <= part <= limits[1] or part == 0 for part in wanted) or (wanted[1] != 0 and row.part is None):
        raise TypeError(f"{name} is {value!r}, which dtype {dtype} cannot hold exactly.")
    raise OverflowError(f"{name} is {value!r}, which is out of the range of dtype {dtype}.")


def _parts(number: np.ndarray) -> tuple[Any, Any]:
    """Return the exact real and imaginary part of a number: a fraction each, or a float that is infinite or NaN."""
    if number.dtype.kind in "biu":
        return Fraction(int(number)), Fraction(0)
    with np.errstate(invalid="ignore"):  # a signalling NaN
        wide = number.astype(np.clongdouble)
    parts: list[Any] = [wide.real[()], wide.imag[()]]
    real, imaginary = (Fraction(*part.as_integer_ratio()) if np.isfinite(part) else float(part) for part in parts)
    return real, imaginary
