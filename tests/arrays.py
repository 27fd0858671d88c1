"""What the tests of the segment functions share: elements of every dtype, ids, memory layouts, bitwise comparison."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import numpy as np

from segmax._dtypes import BY_NAME, DTYPES, lookup

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

#: Rows that can be made here (ml_dtypes is optional, and older releases lack some of its types).
ROWS = [row for row in DTYPES if row.package == "numpy" or hasattr(ml_dtypes, row.name)]
NAMES = [row.name for row in ROWS]
#: Dtypes whose elements are plain bytes: all but those that point to Python objects or to text.
PLAIN = [name for name in NAMES if name not in ("object", "StringDType")]
MODES = ("sorted", "unsorted", "indptr")
ID_DTYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", ">i4", ">i8", ">u4", ">u8"]

_LONG = 10 if np.finfo(np.longdouble).nmant == 63 else np.dtype(np.longdouble).itemsize


def dtype_of(name: str) -> np.dtype:
    """Return a dtype by its name in the table; datetimes get a unit."""
    row = BY_NAME[name]
    if name == "StringDType":
        return np.dtypes.StringDType()
    if name in ("datetime64", "timedelta64"):
        return np.dtype(f"{name}[ms]")
    return np.dtype(getattr(ml_dtypes, name) if row.package == "ml_dtypes" else name)


def make_elements(rng: np.random.Generator, name: str, shape: tuple[int, ...], nans: bool = True) -> np.ndarray:
    """Return elements of a dtype, with many ties, zeros of both signs, infinities, limits and NaNs of many payloads."""
    row, dtype, size = BY_NAME[name], dtype_of(name), int(np.prod(shape))
    if name == "object":
        few = [3, -(10**30), 2.5, True, 10**30, 0, -0.0, -7]
        return np.array([few[k] for k in rng.integers(0, len(few), size)], object).reshape(shape)
    if name == "StringDType":
        few = ["", "a", "b", "ab", "é", "longer than sixteen bytes, on the heap", "longer than sixteen bytes", "zz"]
        return np.array([few[k] for k in rng.integers(0, len(few), size)], dtype).reshape(shape)
    if row.part is not None:
        return np.stack([make_elements(rng, row.part, shape, nans) for _ in range(2)], -1).view(dtype).reshape(shape)
    if name == "longdouble":
        few = [
            -np.inf,
            np.inf,
            0.0,
            -0.0,
            1.5,
            np.finfo(dtype).min,
            np.finfo(dtype).max,
            np.finfo(dtype).smallest_subnormal,
        ]
        few += [np.nan, -np.longdouble(np.nan)] if nans else []
        values = np.where(
            rng.random(size) < 0.3, rng.choice(np.array(few, dtype), size), rng.standard_normal(size).astype(dtype)
        )
        return values.reshape(shape)
    words = np.frombuffer(rng.bytes(size * dtype.itemsize), f"u{dtype.itemsize}").copy()
    if name == "bool":
        return (words & 1).view(bool).reshape(shape)
    few = [row.lowest, row.highest, 0, 1, 1 << ((row.used or row.bits) - 1)]
    if row.order == "sign" and row.nan is not None:
        few += [row.largest, row.largest | 1 << (row.bits - 1)]
    rare = rng.choice(np.array(few, words.dtype), size)
    words = np.where(rng.random(size) < rng.choice([0.1, 0.7]), rare, words)
    table = {bits: row.rank(bits) is None for bits in set(words.tolist())}
    missing = np.array([table[bits] for bits in words.tolist()], bool)
    if row.used is not None:
        words &= (1 << row.used) - 1
    # NaNs only as often as wanted, else they would decide nearly every segment.
    share = rng.choice([0.0, 0.02, 0.3]) if nans else 0.0
    words[missing & (rng.random(size) >= share)] = row.highest
    if row.nan is not None and nans:
        words[rng.random(size) < share / 4] = row.nan
    return words.view(dtype).reshape(shape)


def make_ids(rng: np.random.Generator, shape: tuple[int, ...], mean: float, dtype: str, in_order: bool) -> np.ndarray:
    """Return ids with about `mean` rows a segment, gaps, and some out of range on both sides."""
    size = int(np.prod(shape))
    segments = max(1, round(size / mean))
    low, high = (0, 2) if dtype.lstrip(">")[0] == "u" else (-2, 2)
    limits = np.iinfo(np.dtype(dtype))
    ids = np.clip(rng.integers(low, segments + high, size), limits.min, min(limits.max, 2**63 - 1)).astype(dtype)
    if rng.random() < 0.3:
        ids = np.where(rng.random(size) < 0.1, rng.choice(np.array([limits.min, limits.max], dtype), size), ids)
    if in_order:
        ids = np.sort(ids)
    return ids.astype(dtype).reshape(shape)


def make_indptr(rng: np.random.Generator, rows: int, mean: float) -> np.ndarray:
    """Return CSR offsets, at times with rows before the first and after the last segment."""
    segments = max(1, round(rows / mean))
    low, high = (0, rows) if rng.random() < 0.5 else sorted(rng.integers(0, rows + 1, 2).tolist())
    offsets = np.sort(rng.integers(low, high + 1, segments + 1))
    return offsets.astype(rng.choice(["i8", "i4", "u8", "u4", ">i4"]))


# Memory layouts: each takes a C-contiguous array and returns one that holds elements of the same dtype in another way
# (not always the same elements); None where the dtype cannot have it.


def _plain(array):
    return array


def _row_gaps(array):
    wide = np.repeat(array, 3, axis=0)
    return wide[1::3]


def _inner_gaps(array):
    return np.repeat(array, 2, axis=-1)[..., ::2]


def _narrow_slice(array):
    """Rows of contiguous elements, further apart than they are long."""
    if array.ndim < 2:
        return None
    return np.concatenate([array, array, array[:, :1]], axis=1)[:, array.shape[1] : 2 * array.shape[1]]


def _reversed_rows(array):
    return array[::-1].copy()[::-1]


def _reversed_all(array):
    flip = (slice(None, None, -1),) * array.ndim
    return array[flip].copy()[flip]


def _same_row(array):
    return np.broadcast_to(array[:1], array.shape)


def _same_column(array):
    return np.broadcast_to(array[..., :1], array.shape)


def _fortran(array):
    return np.asfortranarray(array)


def _swapped(array):
    try:
        swapped = array.dtype.newbyteorder("S")
        return None if swapped.isnative else array.astype(swapped)
    except (TypeError, ValueError, SystemError):
        return None


def _misaligned(array):
    if array.dtype.name not in PLAIN_NUMPY:
        return None
    moved = np.ndarray(array.shape, array.dtype, bytearray(array.nbytes + 1), 1)
    moved[...] = array
    return moved


def _odd_stride(array):
    if array.dtype.name not in PLAIN_NUMPY:
        return None
    step = array[:1].nbytes + 3
    moved = np.ndarray(array.shape, array.dtype, bytearray(len(array) * step + 1), 1, (step, *array.strides[1:]))
    moved[...] = array
    return moved


def _read_only(array):
    locked = array.copy()
    locked.flags.writeable = False
    return locked


def _memory_mapped(array):
    if array.dtype.hasobject or lookup(array.dtype).name == "StringDType" or array.size == 0:
        return None
    with tempfile.TemporaryDirectory() as folder:  # on Linux the mapping outlives the file's name
        path = Path(folder) / "data"
        path.write_bytes(array.tobytes())
        return np.memmap(path, array.dtype, "r", shape=array.shape)


class WithArray:
    """An object of which NumPy only knows `__array__`."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


class WithDLPack:
    """An object that only speaks DLPack, as a tensor of another library does."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def _with_array(array):
    return WithArray(array)


def _with_dlpack(array):
    try:
        array.__dlpack__()
    except (BufferError, TypeError):
        return None
    return WithDLPack(array)


def _buffer(array):
    try:
        return memoryview(array) if array.size else None
    except (BufferError, ValueError, NotImplementedError):
        return None


def _list(array):
    items = array.tolist()
    return items if np.asarray(items).dtype == array.dtype and array.ndim else None


def _masked(array):
    mask = np.random.default_rng(array.size).random(array.shape) < 0.3
    return np.ma.array(array, mask=mask)


def _subclass(array):
    class Special(np.ndarray):
        pass

    return array.view(Special)


PLAIN_NUMPY = {dtype_of(name).name for name in PLAIN}
LAYOUTS = {
    function.__name__.lstrip("_"): function
    for function in (
        _plain,
        _row_gaps,
        _inner_gaps,
        _narrow_slice,
        _reversed_rows,
        _reversed_all,
        _same_row,
        _same_column,
        _fortran,
        _swapped,
        _misaligned,
        _odd_stride,
        _read_only,
        _memory_mapped,
        _with_array,
        _with_dlpack,
        _buffer,
        _list,
        _masked,
        _subclass,
    )
}


def as_plain(given):
    """Return what a layout holds as a native, aligned, C-contiguous array, and its mask (None if there is none)."""
    if isinstance(given, (WithArray, WithDLPack)):
        given = given.array
    mask = np.ma.getmaskarray(given) if isinstance(given, np.ma.MaskedArray) else None
    array = np.asarray(given)
    dtype = array.dtype if array.dtype.isnative else array.dtype.newbyteorder("=")
    return np.array(array, dtype, order="C"), mask


def bits_of(array: np.ndarray):
    """Return what is compared of an array: all its bits that mean something."""
    row = lookup(array.dtype)
    if row.kernel == "numpy" and row.part is None:
        return [(type(item), repr(item)) for item in array.reshape(-1).tolist()]
    if row.name in ("longdouble", "clongdouble"):
        return (
            np.frombuffer(array.tobytes(), np.uint8).reshape(-1, np.dtype(np.longdouble).itemsize)[:, :_LONG].tobytes()
        )
    return array.tobytes()


def assert_same(got, expected, what=""):
    """Raise unless two arrays have the same type, dtype, shape and bits."""
    assert isinstance(got, np.ndarray), f"got a {type(got).__name__} {what}"
    assert got.dtype == expected.dtype, f"got dtype {got.dtype}, but should be {expected.dtype} {what}"
    assert got.shape == expected.shape, f"got shape {got.shape}, but should be {expected.shape} {what}"
    if bits_of(got) == bits_of(expected):
        return
    flat, wanted = got.reshape(-1), expected.reshape(-1)
    for k in range(flat.size):
        if bits_of(flat[k : k + 1]) != bits_of(wanted[k : k + 1]):
            at = tuple(int(j) for j in np.unravel_index(k, got.shape))
            raise AssertionError(
                f"got {flat[k]!r} at {at}, but should be {wanted[k]!r}; bytes {flat[k : k + 1].tobytes().hex()} and "
                f"{wanted[k : k + 1].tobytes().hex()} {what}"
            )


# A second model, fast enough for large arrays: each column sorted by segment, then by rank.


@functools.cache
def _rank_all(row):
    """Return the rank of every element of a dtype of 8 or 16 bits (0 for a NaN) and which are NaN."""
    ranks = [row.rank(bits) for bits in range(1 << row.bits)]
    return np.array([rank or 0 for rank in ranks], np.int64), np.array([rank is None for rank in ranks])


def find_order(array: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return integer ranks of an array (two arrays; the second is 0 except for complex numbers) and where it is NaN."""
    row = lookup(array.dtype)
    if row.kernel == "complex":
        parts = np.ascontiguousarray(array).view(dtype_of(row.part)).reshape(*array.shape, 2)
        first, second = (find_order(parts[..., k]) for k in range(2))
        # The zeros of complex numbers are equal.
        first_rank, second_rank = (np.where(ranks == -1, 0, ranks) for ranks, _, _ in (first, second))
        return first_rank, second_rank, first[2] | second[2]
    words = np.ascontiguousarray(array).view(f"u{row.bits // 8}").reshape(array.shape)
    if row.bits <= 16:
        ranks, nan = (table[words] for table in _rank_all(row))
        return ranks, np.zeros_like(ranks), nan
    top = 1 << (row.bits - 1)
    signed = words.view(f"i{row.bits // 8}").astype(np.int64)
    if row.order == "unsigned":
        ranks = signed ^ -(2**63) if row.bits == 64 else words.astype(np.int64)
        return ranks, np.zeros_like(ranks), np.zeros(ranks.shape, bool)
    if row.order == "signed":
        nan = words == row.nan if row.nan is not None else np.zeros(words.shape, bool)
        return signed, np.zeros_like(signed), nan
    magnitude = (words & (top - 1)).astype(np.int64)
    ranks = np.where(words & top != 0, -magnitude - 1, magnitude)
    return ranks, np.zeros_like(ranks), magnitude > row.largest


def reduce_fast(data, segments, count, *, minimum=False, arg=False, omit=False, where=None):
    """Return the segment reduction of `data` (rows, width), by default from the lowest value, for a kernel's dtypes.

    `segments` is the segment of each row, with -1 for a dropped one.
    """
    row, dtype = lookup(data.dtype), data.dtype
    first, second, nan = find_order(data)
    result = np.empty((count, data.shape[1]), np.int64 if arg else dtype)
    part = row if row.part is None else BY_NAME[row.part]
    limit = np.array([part.highest if minimum else part.lowest] * (row.bits // part.bits), f"u{part.bits // 8}")
    start = np.frombuffer(limit.tobytes(), dtype)
    canonical = None if row.nan is None else np.frombuffer(np.array([row.nan], f"u{row.bits // 8}").tobytes(), dtype)
    for column in range(data.shape[1]):
        use = np.flatnonzero((segments >= 0) if where is None else (segments >= 0) & where[:, column])
        values, owner, position = data[use, column], segments[use], use
        keys = [item[use, column] for item in (first, second, nan)]
        if not arg:
            # Every segment begins with a row that holds the lowest value.
            values = np.concatenate([np.repeat(start, count), values])
            owner = np.concatenate([np.arange(count), owner])
            position = np.concatenate([np.full(count, -1), position])
            keys = [np.concatenate([np.repeat(a, count), b]) for a, b in zip(find_order(start), keys, strict=True)]
        elif row.order == "sign":
            keys[0] = np.where(keys[0] == -1, 0, keys[0])
        major, minor = (np.where(keys[2], 0, ~key if minimum else key) for key in keys[:2])
        order = np.lexsort((-position, minor, major, np.where(keys[2], -1 if omit else 1, 0), owner))
        last = np.searchsorted(owner[order], np.arange(count), side="right") - 1
        numbers = np.bincount(owner[~keys[2]] if omit else owner, minlength=count)
        if arg:
            result[:, column] = -1
            some = numbers > 0
            result[some, column] = position[order[last[some]]]
            continue
        winner = order[last]
        result[:, column] = values[winner]
        if canonical is not None:
            result[keys[2][winner], column] = canonical[0]
        if dtype.kind in "mM":
            result[numbers == 1, column] = canonical[0]
    return result
