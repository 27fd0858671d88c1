"""A problem to be timed, in a few words, and the arrays that every process makes of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._dtypes import BY_NAME, DTYPES

#: Rows of a segment, on average, where a distribution's name says nothing else.
_MEAN = 32


def dtype_names() -> list[str]:
    """Return the names of the dtypes that can be timed: all that have a kernel."""
    return [row.name for row in DTYPES if row.kernel != "numpy"]


def find_dtype(name: str) -> np.dtype:
    """Return the NumPy dtype of a row of the table."""
    if BY_NAME[name].package == "numpy":
        return np.dtype(f"{name}[s]" if name in ("datetime64", "timedelta64") else name)
    dtype: np.dtype = np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
    return dtype


def make_values(name: str, shape: int | tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Return random elements without NaN and -0, so that whatever is a maximum to anybody has the same bits."""
    if name in ("float32", "float64"):
        return rng.standard_normal(shape, name)  # type: ignore[call-overload, no-any-return]
    whole = (rng.standard_normal(shape, np.float32) * 50).astype(np.int64)
    row = BY_NAME[name]
    if row.bits == 8 and row.order in ("sign", "negzero"):
        whole %= 7  # the least of these types end at 6, and an infinity is lower than the lowest finite value
    elif row.order == "unsigned":
        whole = np.abs(whole) + 1
    return whole.astype(find_dtype(name))


def _random(rows: int, mean: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    count = max(1, rows // mean)
    return np.sort(rng.integers(0, count, rows, np.int32)), count


def _even(rows: int, mean: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:  # noqa: ARG001
    return np.arange(rows) // mean, -(-rows // mean)


def _skewed(rows: int, mean: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Return lengths of a power law: most segments are short, a few hold a large part of the rows."""
    lengths = np.ceil((rng.pareto(1.2, max(1, 8 * rows // mean)) + 1) * mean / 6).astype(np.int64)
    ends = np.minimum(np.cumsum(lengths), rows)
    count = int(np.searchsorted(ends, rows)) + 1
    ends[count - 1 :] = rows  # whatever is left over belongs to the last
    return np.repeat(np.arange(count), np.diff(ends[:count], prepend=0)), count


def _giant(rows: int, mean: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:  # noqa: ARG001
    """Return one segment with nine tenths of the rows amid short ones."""
    side = rows // 20 // mean * mean
    ids = np.full(rows, side // mean)
    ids[:side] = np.arange(side) // mean
    ids[rows - side :] = side // mean + 1 + np.arange(side) // mean
    return ids, int(ids[-1]) + 1


def _empty(rows: int, mean: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Return even segments with an empty one after each."""
    ids, count = _even(rows, mean, rng)
    return 2 * ids, 2 * count


#: How rows fall into segments. A bare number L is `random:L`: sorted random ids, L rows per segment on average.
DISTRIBUTIONS: dict[str, Callable[[int, int, np.random.Generator], tuple[np.ndarray, int]]] = {
    "random": _random,
    "each": lambda rows, mean, rng: _even(rows, 1, rng),  # noqa: ARG005
    "even": _even,
    "skewed": _skewed,
    "giant": _giant,
    "empty": _empty,
}


def parse_lengths(text: str) -> tuple[str, int]:
    """Return the distribution and the mean length that `32`, `skewed` or `even:4` ask for.

    Raises
    ------
    ValueError
        If they ask for none.
    """
    name, _, mean = text.partition(":")
    if name.isdecimal() and not mean:
        name, mean = "random", name
    mean = mean or str(_MEAN)
    if name not in DISTRIBUTIONS or not mean.isdecimal() or int(mean) < 1:
        raise ValueError(
            f"lengths {text!r} are unknown; give a number of rows per segment, or one of {', '.join(DISTRIBUTIONS)}, "
            "with :NUMBER behind it if wanted."
        )
    return name, int(mean)


@dataclass(frozen=True)
class Problem:
    """A segmented maximum to be timed: enough to make its arrays, and small enough to be sent to any process."""

    dtype: str
    rows: int
    width: int
    lengths: str
    order: str = "sorted"  #: or `shuffled`: the same ids in no order
    ids: str = "int32"  #: dtype of the ids
    operation: str = "segment_max"  #: only our own adapter knows others

    def make(self) -> Arrays:
        """Return the arrays, the same wherever they are made."""
        rng = np.random.default_rng(0)
        name, mean = parse_lengths(self.lengths)
        ids, count = DISTRIBUTIONS[name](self.rows, mean, rng)
        if self.order == "shuffled":
            ids = rng.permutation(ids)
        values = make_values(self.dtype, self.rows if self.width == 1 else (self.rows, self.width), rng)
        return Arrays(values, ids.astype(self.ids), count, self)


@dataclass(frozen=True)
class Arrays:
    """What the contenders are given."""

    values: np.ndarray  #: of shape (rows,), or (rows, width) if a row has more than one element
    ids: np.ndarray
    count: int  #: number of segments
    problem: Problem

    @cached_property
    def lowest(self) -> Any:
        """The lowest finite value, which an empty segment holds."""
        row = BY_NAME[self.problem.dtype]
        if row.lowest is None:
            raise ValueError(f"{row.name} has no lowest value of its own")
        bits = np.array(row.lowest, f"u{row.bits // 8}")
        return bits.view(self.values.dtype)[()]

    def expected(self) -> tuple[np.ndarray, np.ndarray]:
        """Return which segments have rows, and their maxima according to NumPy."""
        values, ids = self.values, self.ids
        if self.problem.order == "shuffled":
            order = np.argsort(ids, kind="stable")
            values, ids = values[order], ids[order]
        starts = np.flatnonzero(np.diff(ids, prepend=-1))
        return ids[starts], np.maximum.reduceat(values, starts)
