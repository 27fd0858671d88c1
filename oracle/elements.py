"""Elements worth comparing, and patterns of segment ids."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from .arrays import dtype_of, row_of

#: Items of the dtypes that have no bits of their own.
_ITEMS = {
    "object": (3, -(10**30), 2.5, True, 10**30, 0, -0.0, -7),
    "StringDType": (
        "",
        "a",
        "b",
        "ab",
        "é",
        "longer than sixteen bytes, on the heap",
        "longer than sixteen bytes",
        "zz",
    ),
}


@lru_cache
def find_special(name: str) -> np.ndarray:
    """Return a dtype's edges: limits, infinities, zeros, ones, subnormals, quiet and signalling NaNs."""
    row, dtype = row_of(name), dtype_of(name)
    if row.name == "longdouble":
        limits = np.finfo(dtype)
        few = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -np.longdouble(np.nan), limits.min, limits.max]
        return np.array([*few, limits.smallest_subnormal, -limits.smallest_subnormal, limits.smallest_normal], dtype)
    top = 1 << ((row.used or row.bits) - 1)
    assert row.lowest is not None
    assert row.highest is not None
    words = {row.lowest, row.highest, 0, 1, top, top - 1, 2 * top - 1, 2, top + 1 if top > 1 else 1}
    if row.largest is not None:
        words |= {row.largest, row.largest - 1, row.largest | top}
    if row.order == "sign" and row.nan is not None and row.largest is not None:
        step = top - row.largest
        words |= {row.nan, row.nan | top, row.largest + 1, (row.largest + 1) | top, step, step - 1, step | top}
        words |= {step * (row.largest // step // 2), step * (row.largest // step // 2) | top}
    if row.name == "bool":
        words = {0, 1}
    return np.array(sorted(word & (2 * top - 1) for word in words), f"u{row.bits // 8}").view(dtype)


def make_elements(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return elements of a dtype: special ones, small ones with many ties, and any bits at all."""
    row, dtype, size = row_of(name), dtype_of(name), int(np.prod(shape))
    if row.name in _ITEMS:
        array = np.empty(size, dtype)
        array[:] = [_ITEMS[row.name][k] for k in rng.integers(0, len(_ITEMS[row.name]), size)]
        return array.reshape(shape)
    if row.part is not None:
        parts = np.stack([make_elements(rng, row.part, shape) for _ in range(2)], -1)
        return parts.view(dtype).reshape(shape)
    special = find_special(name)
    if row.name == "longdouble":
        values = np.where(rng.random(size) < 0.4, rng.choice(special, size), rng.standard_normal(size).astype(dtype))
        return values.reshape(shape)
    words = np.frombuffer(rng.bytes(size * dtype.itemsize), f"u{dtype.itemsize}").copy()
    if row.used is not None:
        words &= (1 << row.used) - 1
    if row.name == "bool":
        words &= 1
    few = special.view(words.dtype)
    missing = find_nan(special)
    # NaNs only as often as wanted, else they would decide nearly every segment.
    numbers, share = few[~missing], rng.choice([0.0, 0.02, 0.3])
    words = np.where(rng.random(size) < rng.choice([0.1, 0.8]), rng.choice(numbers, size), words)
    words[find_nan(words.view(dtype))] = row.highest
    if missing.any() and share:
        words = np.where(rng.random(size) < share, rng.choice(few[missing], size), words)
    return words.view(dtype).reshape(shape)


def find_nan(array: np.ndarray) -> np.ndarray:
    """Return where an array is NaN or NaT."""
    row = row_of(array.dtype.name if array.dtype.kind not in "mM" else str(array.dtype))
    if row.kernel != "keys":
        with np.errstate(invalid="ignore"):
            return np.asarray(array != array)
    words = np.ascontiguousarray(array).view(f"u{row.bits // 8}").reshape(array.shape)
    if row.order == "sign":
        top = 1 << ((row.used or row.bits) - 1)
        return words & (top - 1) > (row.largest if row.largest is not None else top)
    return words == row.nan if row.nan is not None else np.zeros(array.shape, bool)


# Patterns of segment ids: each returns `rows` ids for about `segments` segments, in order.


def _even(_: np.random.Generator, rows: int, segments: int) -> np.ndarray:
    return np.arange(rows) * segments // max(rows, 1)


def _one(rng: np.random.Generator, rows: int, segments: int) -> np.ndarray:
    return np.full(rows, rng.integers(0, segments))


def _each(_: np.random.Generator, rows: int, __: int) -> np.ndarray:
    return np.arange(rows)


def _skewed(rng: np.random.Generator, rows: int, segments: int) -> np.ndarray:
    return np.sort((segments * rng.random(rows) ** 4).astype(np.int64))


def _sparse(rng: np.random.Generator, rows: int, segments: int) -> np.ndarray:
    """Most segments empty."""
    return np.sort(rng.choice(rng.integers(0, 4 * segments, 3), rows))


def _outside(rng: np.random.Generator, rows: int, segments: int) -> np.ndarray:
    """Ids below and above what is legal, near and far, so far that cutting bits off would bring them back."""
    near = rng.integers(-2, segments + 2, rows)
    far = rng.choice([-1, -(2**31), 2**31, 2**32, 2**32 + 1, -(2**32), 2**53 + 1, -(2**63), 2**63 - 1], rows)
    return np.sort(np.where(rng.random(rows) < 0.2, far, near))


ID_PATTERNS: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "even": _even,
    "one": _one,
    "each": _each,
    "skewed": _skewed,
    "sparse": _sparse,
    "outside": _outside,
}
ID_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def make_ids(rng: np.random.Generator, pattern: str, rows: int, segments: int, dtype: str) -> np.ndarray:
    """Return ids of a pattern as far as the dtype can hold them."""
    ids = ID_PATTERNS[pattern](rng, rows, segments)
    limits = np.iinfo(dtype)
    held = np.asarray(np.clip(ids, limits.min, min(int(limits.max), 2**63 - 1)), dtype)
    # The patterns are of int64: what is greatest there stands for what is greatest here.
    return np.where(ids == 2**63 - 1, dtype_of(dtype).type(limits.max), held)
