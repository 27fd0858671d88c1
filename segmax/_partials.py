"""Partial results: what some rows amount to, held compactly, and how two of them become one.

A maximum of real numbers does not depend on the order of its rows: a partial result is just the values so far. Where
the order matters (positions; elements that are equal or NaN and yet not the same: complex numbers, objects, text) the
row of every value is kept with it, so that the first one wins however the rows were cut and merged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _elementwise, _segment, _storage
from ._dtypes import lookup

Segments = range | np.ndarray

_UFUNCS = {
    ("segment_max", "propagate"): _elementwise.maximum,
    ("segment_min", "propagate"): _elementwise.minimum,
    ("segment_max", "omit"): _elementwise.fmax,
    ("segment_min", "omit"): _elementwise.fmin,
}


@dataclass(frozen=True)
class Rules:
    """What a reduction does, once its dtype and the shape of its rows are known."""

    name: str  #: segment_max, segment_min, segment_argmax or segment_argmin
    nan: str
    dtype: np.dtype
    row_shape: tuple[int, ...]
    start: np.ndarray | None  #: element where a segment starts, None if it starts from nothing
    empty: np.ndarray | None  #: element of an empty segment, None if that is an error
    placed: bool  #: whether the row of every value is kept
    tracked: bool  #: whether a mark of every segment that has rows is kept (places are marks)

    @classmethod
    def find(
        cls, name: str, nan: str, dtype: np.dtype, row_shape: tuple[int, ...], initial: Any, fill_value: Any
    ) -> Rules:
        """Return the rules of a reduction; raise as the call on all rows would for a bad initial or fill_value."""
        row = _storage.find_row(np.empty(0, dtype), name)
        arg, omit = "arg" in name, nan == "omit"
        if arg:
            position = _ask_empty(name, dtype, fill_value=fill_value)
            return cls(name, nan, dtype, row_shape, None, position, True, False)
        bare = row.name in ("object", "StringDType")  # no lowest value
        start = None
        if initial is not None or not (bare or dtype.kind in "mM"):
            start = _ask_empty(name, dtype, initial=initial)
        elif not bare:
            start = np.array("NaT", dtype) if omit else _storage.initial_of(row, dtype, name == "segment_min")
        empty: np.ndarray | None = None
        if not bare or initial is not None or fill_value is not None:
            empty = _ask_empty(name, dtype, initial=initial, fill_value=fill_value)
        placed = row.kernel in ("complex", "numpy")
        tracked = fill_value is not None or (dtype.kind in "mM" and initial is None and not omit)
        return cls(name, nan, dtype, row_shape, start, empty, placed, tracked and not placed)

    @property
    def row_bytes(self) -> int:
        """Bytes of one segment."""
        items = math.prod(self.row_shape)
        return max(1, items * (self.dtype.itemsize + 8 * self.placed) + self.tracked)

    @property
    def arg_name(self) -> str:
        """The reduction that finds places instead of values."""
        return "segment_argmin" if self.name.endswith("min") else "segment_argmax"


def _ask_empty(name: str, dtype: np.dtype, **options: Any) -> np.ndarray:
    """Return what an empty segment holds."""
    nothing = np.empty(0, np.int64)
    return _segment._segment(name, np.empty(0, dtype), nothing, 1, **options).reshape(())


@dataclass(slots=True)
class Partial:
    """Values of some segments: of a range of them, or of a list in ascending order."""

    segments: Segments
    values: np.ndarray
    places: np.ndarray | None  #: row of each value, -1 where there is none; of values' shape
    seen: np.ndarray | None  #: whether any row counted; broadcasts to values' shape

    def __len__(self) -> int:
        return len(self.segments)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        arrays = (self.values, self.places, self.seen, self.segments)
        return sum(item.nbytes for item in arrays if isinstance(item, np.ndarray))

    def copy(self) -> Partial:
        """Return a partial result that shares nothing with this one that may change."""
        places, seen = (None if item is None else item.copy() for item in (self.places, self.seen))
        return Partial(self.segments, self.values.copy(), places, seen)

    def clip(self, count: int) -> Partial:
        """Return the segments below `count`, without a copy."""
        part: slice
        if isinstance(self.segments, range):
            segments: Segments = range(self.segments.start, max(self.segments.start, min(self.segments.stop, count)))
            part = slice(0, len(segments))
        else:
            part = slice(0, len(self) if count >= 2**63 else int(np.searchsorted(self.segments, count)))
            segments = self.segments[part]
        places, seen = (None if item is None else item[part] for item in (self.places, self.seen))
        return Partial(segments, self.values[part], places, seen)

    def locate(self, segments: Segments) -> Any:
        """Return the index of some segments here, None unless all are here."""
        if not len(segments):
            return slice(0, 0)
        first, last = int(segments[0]), int(segments[-1])
        if isinstance(self.segments, range):
            low = self.segments.start
            if first < low or last >= self.segments.stop:
                return None
            return slice(first - low, last + 1 - low) if isinstance(segments, range) else segments - low
        if len(segments) > len(self) or last > self.segments[-1]:
            return None
        listed = _list(segments)
        index = np.searchsorted(self.segments, listed)
        return index if np.array_equal(self.segments[index], listed) else None

    def combine(self, rules: Rules, index: Any, new: Partial) -> Partial:
        """Return what those of the segments here that `index` names become with the values of a later partial result.

        Later means: of what has no place, or the same place, the values here come first.
        """
        values = self.values[index]
        if self.places is None or new.places is None:
            seen = None if self.seen is None or new.seen is None else self.seen[index] | new.seen
            ufunc = _UFUNCS[rules.name, rules.nan]
            # int4 and smaller come back as int8.
            return Partial(new.segments, ufunc(values, new.values).astype(rules.dtype, copy=False), None, seen)
        places = self.places[index]
        swap = (new.places >= 0) & ((places < 0) | (new.places < places))
        pair = [np.where(swap, b, a) for a, b in ((values, new.values), (new.values, values))]
        rows = np.stack([np.where(swap, b, a) for a, b in ((places, new.places), (new.places, places))])
        chosen = np.maximum(_find_better(rules, np.stack(pair), rows >= 0), 0)
        return Partial(new.segments, np.where(chosen, pair[1], pair[0]), np.where(chosen, rows[1], rows[0]), None)

    def widen(self, new: Partial) -> Partial:
        """Return this partial result with marks for every element, if the other one has them."""
        if self.seen is None or new.seen is None or self.seen.shape[1:] == new.seen.shape[1:]:
            return self
        if self.seen.shape == self.values.shape:
            return self
        return Partial(self.segments, self.values, self.places, np.broadcast_to(self.seen, self.values.shape).copy())

    def writes(self, index: Any, new: Partial) -> list[tuple[np.ndarray, Any, np.ndarray]]:
        """Return the assignments that make the segments at `index` what `combine` returned."""
        pairs = ((self.values, new.values), (self.places, new.places), (self.seen, new.seen))
        return [(old, index, item) for old, item in pairs if old is not None and item is not None]


def _list(segments: Segments) -> np.ndarray:
    """Return segments as an array."""
    if isinstance(segments, range):
        return np.arange(segments.start, segments.stop, dtype=np.int64)
    return segments


def _find_better(rules: Rules, pair: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Return for each element of two arrays which one wins, 0 or 1: -1 if none is there, or all are NaN and omitted."""
    flat, where = pair.reshape(2, -1), present.reshape(2, -1)
    chosen = _segment._segment(rules.arg_name, flat, None, None, indptr=[0, 2], where=where, nan=rules.nan)
    return chosen.reshape(pair.shape[1:])


def make_blank(rules: Rules, segments: Segments) -> Partial:
    """Return the partial result of no rows."""
    shape = (len(segments), *rules.row_shape)
    values = _segment._allocate(shape, rules.dtype)
    if rules.placed:
        values = np.zeros(shape, rules.dtype)  # whatever they are: nothing looks at them
        return Partial(segments, values, np.full(shape, -1, np.int64), None)
    values[...] = rules.start
    marks = np.zeros((len(segments), *(1 for _ in rules.row_shape)), bool) if rules.tracked else None
    return Partial(segments, values, None, marks)


def unite(rules: Rules, first: Partial, second: Partial, count: int | None) -> Partial:
    """Return one partial result for two; neither is changed."""
    whole = make_blank(rules, _unite_segments(rules, first.segments, second.segments, count))
    for part in (first, second):
        whole = absorb(rules, whole, part)
    return whole


def absorb(rules: Rules, whole: Partial, part: Partial) -> Partial:
    """Put a partial result into one that has all its segments, in place as far as that goes; return it."""
    index = whole.locate(part.segments)
    whole = whole.widen(part)
    for target, place, new in whole.writes(index, whole.combine(rules, index, part)):
        target[place] = new
    return whole


def _is_worth_a_range(rules: Rules, span: int, number: int) -> bool:
    """Return whether a range takes at most twice the bytes of a list."""
    return span * rules.row_bytes <= 2 * number * (rules.row_bytes + 8)


def _unite_segments(rules: Rules, first: Segments, second: Segments, count: int | None) -> Segments:
    """Return the segments of both: as a range, with some room at its ends, or as a list."""
    low, high = min(int(first[0]), int(second[0])), max(int(first[-1]), int(second[-1])) + 1
    if not _is_worth_a_range(rules, high - low, max(len(first), len(second))):
        union = _merge_lists(_list(first), _list(second))
        if not _is_worth_a_range(rules, high - low, len(union)):
            return union
    # Whole steps, so that the next block, which may reach a little further, is still inside.
    step = 1 << max(0, (high - low).bit_length() - 4)
    low, high = low // step * step, -(-high // step) * step
    return range(low, high if count is None else min(high, count))


def _merge_lists(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the union of two ascending lists (`numpy.union1d` hashes, and takes ten times as long)."""
    both = np.concatenate([first, second])
    both.sort(kind="stable")  # which merges what is in order
    keep = np.ones(len(both), bool)
    np.not_equal(both[1:], both[:-1], out=keep[1:])
    return both[keep]


def reduce_block(
    rules: Rules, data: np.ndarray, ids: np.ndarray, where: np.ndarray | None, count: int | None, first_row: int
) -> Partial | None:
    """Return the partial result of a block of rows; None if none of them is in any segment.

    `ids` are int32 or int64, of one dimension; `count` of None means as many segments as there are.
    """
    low, high = (max(0, int(ids.min())), int(ids.max()) + 1) if ids.size else (0, 0)
    if count is not None:
        high = min(high, count)
    if low >= high:
        return None
    segments: Segments
    if _is_worth_a_range(rules, high - low, ids.size):
        segments, local = range(low, high), ids - ids.dtype.type(low) if low else ids
    else:
        present, local = np.unique(ids, return_inverse=True)
        present = present.astype(np.int64)
        cut = slice(int(np.searchsorted(present, low)), int(np.searchsorted(present, high - 1, "right")))
        segments, local = present[cut], local - cut.start
    if not len(segments):
        return None
    options: dict[str, Any] = {"indices_are_sorted": _segment._find_disorder(local) < 0}

    def reduce(name: str, rows: np.ndarray, **more: Any) -> np.ndarray:
        return _segment._segment(name, rows, local, len(segments), **options, **more)

    if rules.placed:
        return _find_places(rules, segments, data, where, reduce, first_row)
    values = reduce(rules.name, data, where=where, nan=rules.nan, initial=rules.start)
    seen = None
    if rules.tracked:
        marks = np.broadcast_to(np.True_, len(data)) if where is None else where
        seen = reduce("segment_max", marks)
        seen = seen.reshape(len(segments), *(1 for _ in rules.row_shape)) if where is None else seen
    return Partial(segments, values, None, seen)


def _find_places(
    rules: Rules, segments: Segments, data: np.ndarray, where: np.ndarray | None, reduce: Any, first_row: int
) -> Partial:
    """Return a block's partial result with the row of each value; an omitted NaN counts where nothing else is."""
    rows = reduce(rules.arg_name, data, where=where, nan=rules.nan)
    if rules.nan == "omit" and (rows < 0).any():
        rows = np.where(rows < 0, reduce(rules.arg_name, data, where=where), rows)
    if data.dtype == bool:
        data = np.minimum(np.ascontiguousarray(data).view(np.uint8), 1).view(bool)
    values = np.take_along_axis(data, np.maximum(rows, 0), axis=0)
    values = values.astype(rules.dtype, order="C", copy=False)
    row = lookup(rules.dtype)
    if row is not None and row.used:
        values = (values.view(np.uint8) & np.uint8((1 << row.used) - 1)).view(rules.dtype)
    return Partial(segments, values, np.where(rows < 0, -1, rows + first_row), None)


def finish(rules: Rules, whole: Partial) -> np.ndarray:
    """Return the result, which may be what the partial result held."""
    if whole.places is None:
        if whole.seen is not None:
            np.copyto(whole.values, np.asarray(rules.empty), where=~whole.seen)
        return whole.values
    absent = whole.places < 0
    if "arg" in rules.name:
        if rules.nan == "omit":
            alone = _find_better(rules, np.stack([whole.values] * 2), np.stack([~absent] * 2))
            whole.places[alone < 0] = -1
        whole.places[absent] = rules.empty
        return whole.places
    if absent.any() and rules.empty is None:
        raise ValueError(
            f"segment {int(np.argwhere(absent)[0][0])} is empty, and dtype {rules.dtype} has no lowest value; give "
            "initial or fill_value."
        )
    values = whole.values
    if rules.start is not None:
        pair = np.stack([np.broadcast_to(rules.start, values.shape), values])
        chosen = _find_better(rules, pair, np.stack([np.ones_like(absent), ~absent]))
        values = np.where(chosen > 0, pair[1], pair[0])
    if absent.any():
        values[absent] = rules.empty[()] if rules.empty is not None else None
    return values
