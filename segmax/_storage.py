"""Arrays in, kernel views out.

The kernels read rows of native, aligned elements that stand together within a row, and ids of 32 or 64 bits that stand
together. What comes like that is handed over in place, whatever the distance between rows; everything else (other
layouts and byte orders, `where`, small id types) is gathered in blocks of bounded size.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._dtypes import BY_NAME, Dtype, lookup

#: Bytes of a block that is gathered: large enough to forget the cost of a call, small enough for the L2 cache.
BLOCK_BYTES = 1 << 19

_WORDS: dict[int, np.dtype] = {8: np.dtype("u1"), 16: np.dtype("u2"), 32: np.dtype("u4"), 64: np.dtype("u8")}
_OBJECT = lookup(np.dtype(object))
_INT32, _INT64 = np.dtype("i4"), np.dtype("i8")


def as_array(data: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return any array-like as an array (without copying one) and the mask of a masked array."""
    if type(data) is np.ndarray:
        return data, None
    mask = None
    if isinstance(data, np.ma.MaskedArray):
        if data.mask is not np.ma.nomask:
            mask = np.ma.getmaskarray(data)
        data = data.data
    elif not hasattr(data, "__array__") and hasattr(data, "__dlpack__"):
        data = np.from_dlpack(data)
    return np.asarray(data), mask


def find_row(array: np.ndarray, function: str) -> Dtype:
    """Return the table's row of an array's dtype."""
    row = lookup(array.dtype)
    if row is None:
        raise TypeError(
            f"data has dtype {array.dtype}, which has no maximum; {function} takes numbers, bool, datetime64, "
            "timedelta64, the small types of ml_dtypes, object and StringDType."
        )
    return row


def as_ids(segment_ids: Any) -> np.ndarray:
    """Return segment ids as an integer array."""
    ids = segment_ids if type(segment_ids) is np.ndarray else np.asarray(as_array(segment_ids)[0])
    if ids.dtype.kind not in "iu":
        if ids.size == 0 and ids is not segment_ids and not hasattr(segment_ids, "dtype"):
            return ids.astype(np.int64)
        raise TypeError(f"segment_ids has dtype {ids.dtype}; give integers (of any size, signed or not).")
    return ids


def as_offsets(indptr: Any, rows: int) -> np.ndarray:
    """Return CSR offsets as int64, checked against the number of rows."""
    given = as_array(indptr)[0]
    if given.dtype.kind not in "iu":
        raise TypeError(f"indptr has dtype {given.dtype}; give integers.")
    if given.ndim != 1 or given.size == 0:
        raise ValueError(f"indptr has shape {given.shape}; give one dimension of num_segments + 1 offsets.")
    offsets = narrow_ids(given)
    if offsets.dtype != _INT64:
        offsets = offsets.astype(_INT64)
    if offsets[0] < 0:
        raise ValueError(f"indptr[0] is {offsets[0]}; the first offset must be 0 or more.")
    falls = offsets[1:] < offsets[:-1]
    if falls.any():
        k = int(falls.argmax())
        raise ValueError(f"indptr decreases from {offsets[k]} at position {k} to {offsets[k + 1]} at position {k + 1}.")
    if offsets[-1] > rows:
        raise ValueError(f"indptr[{offsets.size - 1}] is {offsets[-1]}, but data has only {rows} rows.")
    return offsets


def narrow_ids(ids: np.ndarray) -> np.ndarray:
    """Return ids as a contiguous int32 or int64 array of one dimension, in place if they are one."""
    if is_plain(ids):
        return ids.reshape(-1)
    if ids.dtype.kind == "u" and ids.dtype.itemsize == 8:
        # Ids beyond int64 are beyond any number of segments: the greatest int64 stands for them and keeps the order.
        ids = np.minimum(ids, np.uint64(2**63 - 1))
    narrowed: np.ndarray = np.ascontiguousarray(ids, _INT32 if is_short(ids) else _INT64)
    return narrowed.reshape(-1)


def is_plain(ids: np.ndarray) -> bool:
    """Return whether the kernels can read ids where they are."""
    return (ids.dtype == _INT64 or ids.dtype == _INT32) and ids.flags.c_contiguous and ids.flags.aligned


def is_short(ids: np.ndarray) -> bool:
    """Return whether ids become int32, not int64, in the kernels."""
    return ids.dtype.itemsize < 4 or ids.dtype == _INT32


def as_element(value: Any, dtype: np.dtype, row: Dtype, name: str) -> np.ndarray:
    """Return a scalar as a 0-d array of `dtype`, refusing one whose value would change."""
    if row.name in ("object", "StringDType"):
        if row.name == "StringDType" and not isinstance(value, str):
            raise TypeError(f"{name} is {value!r}; give a string.")
        element = np.empty((), dtype)
        element[()] = value
        return element
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name} is {value!r}; give a number of dtype {dtype}.")
    given = np.asarray(value)
    if given.ndim:
        raise TypeError(f"{name} has shape {given.shape}; give a scalar.")
    if isinstance(value, int) and given.dtype == object and int(np.longdouble(value)) == value:
        given = np.asarray(np.longdouble(value))  # beyond 64 bits, but a float may hold it
    if lookup(given.dtype) in (None, _OBJECT):
        if not isinstance(value, int):
            raise TypeError(f"{name} is {value!r}; give a number of dtype {dtype}.")
        raise OverflowError(f"{name} is {value}, which is out of the range of dtype {dtype}.")
    kinds = given.dtype.kind + dtype.kind
    if ("m" in kinds or "M" in kinds) and kinds not in ("mm", "MM"):
        raise TypeError(f"{name} is {value!r} of dtype {given.dtype}; give a scalar of dtype {dtype}.")
    if row.part is None and getattr(lookup(given.dtype), "part", None):
        given = _drop_imaginary(given, dtype, name)
    try:
        with np.errstate(all="ignore"):  # a signalling NaN is no reason to warn
            element = given.astype(dtype)
            wide = element.dtype if dtype.kind in "mM" else np.dtype(np.clongdouble)
            before, after = (given, element) if dtype.kind in "mM" else (given.astype(wide), element.astype(wide))
            missing, same = bool(before != before), bool(before == after)
            if missing and bool(after != after):
                return canonical(element, row)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} is {value!r}; give a scalar that dtype {dtype} can hold.") from error
    if same:
        return canonical(element, row) if row.used else element
    if missing or _between(given, row):
        raise TypeError(f"{name} is {value!r}, which dtype {dtype} cannot hold exactly.")
    raise OverflowError(f"{name} is {value!r}, which is out of the range of dtype {dtype}.")


def _drop_imaginary(given: np.ndarray, dtype: np.dtype, name: str) -> np.ndarray:
    """Return the real part of a complex scalar that has no other."""
    wide = given.astype(np.clongdouble)
    if wide.imag != 0:
        raise TypeError(f"{name} is {given[()]!r}, which dtype {dtype} cannot hold exactly.")
    return np.asarray(wide.real)


def _between(given: np.ndarray, row: Dtype) -> bool:
    """Return whether a finite scalar lies in the range of a dtype."""
    part = BY_NAME[row.part] if row.part else row
    if part.kernel != "keys" or given.dtype.kind in "mM":
        return True
    dtype = np.dtype(part.name) if part.package == "numpy" else getattr(sys.modules["ml_dtypes"], part.name)
    bits: np.ndarray = np.array([part.lowest, part.highest], _WORDS[part.bits])
    limits = bits.view(dtype).astype(np.longdouble)
    wide = given.astype(np.clongdouble)
    parts = (wide.real, wide.imag) if row.part else (wide.real,)
    return all(bool(limits[0] <= item <= limits[1]) for item in parts)


def canonical(element: np.ndarray, row: Dtype) -> np.ndarray:
    """Return the element that stands for all that are the same: one NaN (complex: as it is), no unused bits."""
    if row.kernel == "longdouble":
        return np.array(np.nan, element.dtype) if element != element else element
    if row.kernel != "keys":
        return element
    bits: np.ndarray = np.array(element).view(_WORDS[row.bits])
    if row.used:
        bits = bits & ((1 << row.used) - 1)
    elif row.nan is not None:
        bits = np.array(row.nan, bits.dtype)
    return bits.view(element.dtype.newbyteorder("="))


def kind_of(row: Dtype) -> str:
    """Return the name of a row's kind in the kernels."""
    if row.kernel == "longdouble":
        return "ld"
    return f"z{row.bits // 2}" if row.kernel == "complex" else f"u{row.bits}"


def words_of(row: Dtype) -> np.dtype:
    """Return the dtype of the machine words in which the kernels see a row's elements."""
    if row.kernel == "longdouble":
        return _WORDS[64]
    return _WORDS[row.bits // 2 if row.kernel == "complex" else row.bits]


@functools.cache
def recoding(row: Dtype) -> tuple[np.ndarray, np.ndarray]:
    """Return the tables to and from the bytes in which the kernels see a recoded dtype."""
    there = np.frombuffer(row.recode(), np.uint8)
    back = np.zeros(256, np.uint8)
    used = np.arange(1 << (row.used or 8), dtype=np.uint8)
    back[there[used]] = used
    if row.nan is not None:
        back[0x80] = row.nan
    return there, back


@functools.lru_cache(maxsize=1024)
def pack_order(row: Dtype, minimum: bool, omit: bool, initial: bytes | None, fill: bytes | None) -> bytes:
    """Return the constants of a reduction as the kernels' struct of them.

    `initial` and `fill` are the bytes of an element; None means the lowest (for a minimum: highest) finite value, and
    for `fill` what `initial` is.
    """
    if row.kernel == "longdouble":
        limits = np.finfo(np.longdouble)
        start = initial or np.longdouble(limits.max if minimum else limits.min).tobytes()
        return start + (fill or start) + np.longdouble(np.nan).tobytes()
    if row.kernel == "complex":
        part = BY_NAME[str(row.part)]
        limit = part.highest if minimum else part.lowest
        words: np.ndarray = np.array([limit, limit, part.largest], _WORDS[part.bits])
        start = initial or words[:2].tobytes()
        return start + (fill or start) + words[2:].tobytes()
    key = row.key(minimum, omit)
    first = int((row.highest if minimum else row.lowest) or 0)
    if initial is not None:
        first = int.from_bytes(initial, sys.byteorder)
    empty = first if fill is None else int.from_bytes(fill, sys.byteorder)
    less_zero = 1 << ((row.used or row.bits) - 1) if row.order == "sign" else 0
    elements = [first, empty, less_zero, 0]
    if row.recoded:
        elements = [row.recode()[element] for element in elements]
    first, empty, less_zero, zero = elements
    values = [key.fold, key.flip, key.turn, key.first, key.span, key.nan, key.encode(first), first, empty]
    packed: np.ndarray = np.array([*values, key.encode(less_zero), key.encode(zero)], _WORDS[row.bits])
    return packed.tobytes()


def can_read_in_place(array: np.ndarray, lead: int, row: Dtype) -> bool:
    """Return whether the kernels can read the rows of an array where they are."""
    if row.recoded or not array.dtype.isnative or not array.flags.aligned:
        return False
    if array.flags.c_contiguous:
        return True
    return (
        lead == 1
        and array.strides[0] % array.itemsize == 0
        and (array[:1].flags.c_contiguous)
        and (row.kernel == "keys" or array.ndim > 1)
    )


@dataclass(slots=True)
class Rows:
    """What is to be reduced: rows of elements, which elements count, and the segment of each row."""

    data: np.ndarray
    row: Dtype
    ids: np.ndarray | None  #: its shape is how data's begins
    offsets: np.ndarray | None  #: instead of ids
    where: np.ndarray | None  #: boolean, of data's shape
    count: int = 0  #: number of rows
    width: int = 0  #: number of elements in a row

    def __post_init__(self) -> None:
        lead = 1 if self.ids is None else self.ids.ndim
        self.count = math.prod(self.data.shape[:lead])
        self.width = math.prod(self.data.shape[lead:])

    @property
    def source(self) -> str:
        """Name of the kernels' way to find a row's segment: i32, i64 or ptr."""
        return "ptr" if self.ids is None else "i32" if is_short(self.ids) else "i64"

    def in_one_block(self) -> bool:
        """Return whether the kernels can read everything where it is (or, of the ids, a small copy)."""
        lead = 1 if self.ids is None else self.ids.ndim
        return (
            self.where is None
            and (self.ids is None or is_plain(self.ids) or self.ids.nbytes <= BLOCK_BYTES)
            and can_read_in_place(self.data, lead, self.row)
        )

    def blocks(self, neutral: np.ndarray | None = None) -> Iterator[tuple[int, Any, Any, Any]]:
        """Yield (first row, words of data, ids or all offsets, where) of one block of rows after the other.

        Elements that `where` leaves out are replaced by `neutral`, if there is one.
        """
        words = words_of(self.row)
        if self.in_one_block():
            ids = self.offsets if self.ids is None else narrow_ids(self.ids)
            yield 0, self.data.reshape(self.count, self.width).view(words), ids, None
            return
        step = max(1, BLOCK_BYTES // max(1, self.width * self.data.itemsize))
        for first in range(0, max(self.count, 1), step):
            last = min(first + step, self.count)
            part: Any = slice(first, last)
            if self.ids is not None and self.ids.ndim != 1:
                part = np.unravel_index(np.arange(first, last), self.ids.shape) if self.ids.ndim else ...
            data = np.array(self.data[part], self.data.dtype.newbyteorder("="), order="C").reshape(
                last - first, self.width
            )
            where = None
            if self.where is not None:
                where = np.ascontiguousarray(self.where[part]).reshape(last - first, self.width)
                if neutral is not None:
                    _replace(data, where, neutral)
            if self.row.recoded:
                data = recoding(self.row)[0][data.view(np.uint8)]
            yield first, data.view(words), self.offsets if self.ids is None else narrow_ids(self.ids[part]), where


def _replace(data: np.ndarray, where: np.ndarray, neutral: np.ndarray) -> None:
    """Write `neutral` where elements do not count: by bits, for NumPy's masked assignment takes nine times as long."""
    if data.itemsize > 8 or data.dtype.hasobject:
        data[~where] = neutral
        return
    bits = np.dtype(f"u{data.itemsize}")
    words, other = data.view(bits), neutral.view(bits)
    words ^= other
    words &= np.negative(where.view(np.int8)).astype(f"i{data.itemsize}").view(bits)
    words ^= other


def as_integer(value: Any, name: str) -> int:
    """Return an integer argument as an int; a bool is none."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, (bool, np.bool_)):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise TypeError(f"{name} is {value!r} of type {type(value).__name__}; give an integer.")


def check_nan(nan: Any) -> bool:
    """Return whether NaNs are omitted."""
    if isinstance(nan, str) and nan in ("propagate", "omit"):
        return nan == "omit"
    raise ValueError(f"nan is {nan!r}; give 'propagate' or 'omit'.")


def check_num_segments(num_segments: Any) -> int:
    """Return a number of segments as an int."""
    count = as_integer(num_segments, "num_segments")
    if count < 0:
        raise ValueError(f"num_segments is {count}; give 0 or more, or None for max(segment_ids) + 1.")
    return count


def check_position(fill_value: Any) -> int:
    """Return a fill_value of an arg-reduction as an int."""
    position = as_integer(fill_value, "fill_value")
    if not -(2**63) <= position < 2**63:
        raise OverflowError(f"fill_value is {position}, which int64 cannot hold.")
    return position


def count_segments(ids: Any, in_order: bool) -> int:
    """Return max(ids) + 1 without overflow, 0 if there is no id of 0 or more. For ids on a GPU, this waits for it."""
    if ids.size == 0:
        return 0
    return max(int(ids[-1] if in_order and ids.ndim == 1 else ids.max()) + 1, 0)


def as_where(where: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return `where` broadcast to data's shape."""
    given = np.asarray(where)
    if given.dtype != bool:
        raise TypeError(f"where has dtype {given.dtype}; give booleans.")
    try:
        return np.broadcast_to(given, shape)
    except ValueError:
        raise ValueError(f"where has shape {given.shape}, which does not broadcast to data's shape {shape}.") from None


def bring_forward(array: np.ndarray, where: np.ndarray | None, axis: Any) -> tuple[np.ndarray, np.ndarray | None, int]:
    """Return data and `where` with the segmented axis first, and that axis as a number from 0 on."""
    position = as_integer(axis, "axis")
    if not -array.ndim <= position < array.ndim:
        raise np.exceptions.AxisError(position, array.ndim)
    position %= array.ndim
    if position:
        array = np.moveaxis(array, position, 0)
        where = None if where is None else np.moveaxis(where, position, 0)
    return array, where, position


@functools.cache
def _missing(dtype: np.dtype) -> np.ndarray:
    """Return NaT of a datetime or timedelta dtype."""
    return np.array("NaT", dtype)


def find_starts(
    row: Dtype, dtype: np.dtype, initial: Any, fill_value: Any, omit: bool
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the elements from which a segment starts and that an empty one holds, None for the dtype's own."""
    start = None if initial is None else as_element(initial, dtype, row, "initial")
    empty = None if fill_value is None else as_element(fill_value, dtype, row, "fill_value")
    if dtype.kind in "mM" and start is None:
        # NaT is what nothing gives. It may be the start only where NaTs are omitted, else it would spread.
        if empty is None:
            empty = _missing(dtype)
        if omit:
            start = _missing(dtype)
    return start, empty


def initial_of(row: Dtype, dtype: np.dtype, minimum: bool) -> np.ndarray:
    """Return the lowest finite element of a dtype (for a minimum: the highest), where a segment starts by default."""
    order = pack_order(row, minimum, False, None, None)
    if row.recoded:
        return np.array(row.highest if minimum else row.lowest, np.uint8).view(dtype)
    at = 7 * dtype.itemsize if row.kernel == "keys" else 0
    return np.frombuffer(order, dtype, 1, at)[0:1].reshape(())
