"""Reductions of data that come in blocks: the state of one, updated, merged, pickled, and asked for its result."""

from __future__ import annotations

import functools
import math
from typing import Any, ClassVar, Self

import numpy as np

from . import _partials, _storage
from ._partials import Partial, Rules


class _Stream:
    """What SegmentMax, SegmentMin, SegmentArgmax and SegmentArgmin are: they differ in a name."""

    _name: ClassVar[str]

    def __init__(self, num_segments: Any, row_shape: Any, dtype: Any, initial: Any, fill_value: Any, nan: str) -> None:
        _storage.check_nan(nan)
        self._num_segments = None if num_segments is None else _storage.check_num_segments(num_segments)
        self._options = {"initial": initial, "fill_value": fill_value, "nan": nan}
        self._row_shape = None if row_shape is None else _as_shape(row_shape)
        self._dtype = None if dtype is None else np.dtype(dtype)
        if self._dtype is not None and not self._dtype.isnative:
            self._dtype = self._dtype.newbyteorder("=")
        self._rules: Rules | None = None
        self._parts: list[Partial] = []  # each less than half as long as the one before
        self._count = 0  # the greatest id so far, plus one
        self._rows = 0  # number of the next row
        self._pending: tuple[list[Any], dict[str, Any]] | None = None
        if self._dtype is not None:
            rules = self._find_rules(self._dtype, self._row_shape or ())
            self._rules = rules if self._row_shape is not None else None

    def update(self, data: Any, segment_ids: Any, where: Any = None, *, start: int | None = None) -> None:
        """Take in a block of rows.

        Parameters
        ----------
        data : array_like
            Rows of the dtype and shape of those before.
        segment_ids : array_like of int
            The segment of each row, in any order. Rows whose id is negative, or `num_segments` or more, are dropped.
        where : array_like of bool, optional
            Elements that count, broadcast to the shape of `data`.
        start : int, optional
            Number of the block's first row, by default the one after the last row of the block before. Give it where
            blocks come out of order, or states are merged, and row numbers matter.

        Raises
        ------
        ValueError, TypeError, OverflowError
            What the call on all rows would refuse, and a block whose dtype or row shape is another than before. The
            state is as it was.
        """
        self._settle()
        array, mask = _storage.as_array(data)
        _storage.find_row(array, self._name)
        if where is not None:
            where = _storage.as_where(where, array.shape)
        if mask is not None:
            where = ~mask if where is None else where & ~mask
        ids = _storage.as_ids(segment_ids)
        if array.shape[: ids.ndim] != ids.shape:
            raise ValueError(
                f"segment_ids has shape {ids.shape}, data has shape {array.shape}; the shape of segment_ids must be "
                "how the shape of data begins."
            )
        rules = self._match(array.dtype, array.shape[ids.ndim :])
        first_row = self._rows if start is None else _storage.as_integer(start, "start")
        if not 0 <= first_row <= 2**63 - 1 - ids.size:
            raise ValueError(f"start is {first_row}; row numbers go from 0 to 2**63 - 1.")
        if ids.ndim != 1:
            array = array.reshape(ids.size, *rules.row_shape)
            where = None if where is None else where.reshape(array.shape)
        narrow = _storage.narrow_ids(ids)
        part = _partials.reduce_block(rules, array, narrow, where, self._num_segments, first_row)
        count = max(self._count, int(narrow.max()) + 1) if narrow.size else self._count
        self._add(part, {"_rules": rules, "_count": count, "_rows": first_row + ids.size})

    def merge(self, other: Self) -> None:
        """Take in what another state has seen; the other one stays as it is.

        Row numbers are taken as they are: if they matter, give `start` to the updates of both. They matter for
        positions, and where equal or NaN elements are not the same (complex numbers, objects, text).

        Raises
        ------
        TypeError
            The other one is of another class or dtype.
        ValueError
            It was made with other options.
        """
        self._settle()
        if type(other) is not type(self):
            raise TypeError(f"other is a {type(other).__name__}; give a {type(self).__name__}.")
        other._settle()
        for name in ("initial", "fill_value", "nan"):
            mine, given = self._options[name], other._options[name]
            if not _is_same(mine, given):
                raise ValueError(
                    f"other has {name} {given!r}, this {type(self).__name__} has {mine!r}; make them alike."
                )
        if self._num_segments != other._num_segments:
            raise ValueError(
                f"other has num_segments {other._num_segments}, this {type(self).__name__} has {self._num_segments}; "
                "make them alike."
            )
        rules = self._rules
        if other._rules is not None:
            rules = self._match(other._rules.dtype, other._rules.row_shape)
        part = None
        if rules is not None and other._parts:
            unite = functools.partial(_partials.unite, rules, count=self._num_segments)
            part = functools.reduce(unite, other._parts).copy()
        changes = {"_count": max(self._count, other._count), "_rows": max(self._rows, other._rows)}
        self._add(part, {"_rules": rules, **changes})

    def result(self) -> np.ndarray:
        """Return the reduction of all rows so far: an array of its own. More rows may follow.

        Raises
        ------
        ValueError
            There was no block yet, and `dtype` and `row_shape` were not given; an empty segment of a dtype that has no
            lowest value, without `initial` and `fill_value`.
        MemoryError
            A result that cannot be allocated.
        """
        self._settle()
        rules = self._rules
        if rules is None:
            raise ValueError("there are no rows yet; update first, or give dtype and row_shape at the beginning.")
        count = self._segments
        held = self._parts[0] if len(self._parts) == 1 else None
        if held is not None and isinstance(held.segments, range) and held.segments == range(count):
            return _partials.finish(rules, held.copy())
        whole = _partials.make_blank(rules, range(count))
        for part in self._parts:
            whole = _partials.absorb(rules, whole, part.clip(count))
        return _partials.finish(rules, whole)

    def copy(self) -> Self:
        """Return a state of its own that has seen the same rows."""
        self._settle()
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, _parts=[part.copy() for part in self._parts])
        return twin

    __copy__ = copy

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        return self.__dict__

    def __repr__(self) -> str:
        self._settle()
        dtype = self._dtype if self._rules is None else self._rules.dtype
        return f"<{type(self).__name__} of {self._segments} segments, dtype {dtype}, {self.nbytes} bytes>"

    @property
    def nbytes(self) -> int:
        """Bytes that the state holds."""
        return sum(part.nbytes for part in self._parts)

    @property
    def result_nbytes(self) -> int:
        """Bytes that the result would take now, with the marks that are needed to make it."""
        return 0 if self._rules is None else self._segments * self._rules.row_bytes

    @property
    def _segments(self) -> int:
        """Number of segments of the result."""
        return self._count if self._num_segments is None else self._num_segments

    def _match(self, dtype: np.dtype, row_shape: tuple[int, ...]) -> Rules:
        """Return the rules for a block; raise unless it fits what came before."""
        dtype = dtype if dtype.isnative else dtype.newbyteorder("=")
        known = self._rules
        wanted_dtype = self._dtype if known is None else known.dtype
        wanted_shape = self._row_shape if known is None else known.row_shape
        if wanted_dtype is not None and dtype != wanted_dtype:
            raise TypeError(f"data has dtype {dtype}; this {type(self).__name__} takes {wanted_dtype}: convert one.")
        if wanted_shape is not None and row_shape != wanted_shape:
            raise ValueError(f"data has rows of shape {row_shape}; this {type(self).__name__} takes {wanted_shape}.")
        return known or self._find_rules(dtype, row_shape)

    def _find_rules(self, dtype: np.dtype, row_shape: tuple[int, ...]) -> Rules:
        return Rules.find(self._name, dtype=dtype, row_shape=row_shape, **self._options)

    def _add(self, part: Partial | None, changes: dict[str, Any]) -> None:
        """Add a partial result and make other changes, all or nothing."""
        rules = changes["_rules"]
        if part is None:
            self._commit([], changes)
            return
        parts = list(self._parts)
        for k, held in enumerate(parts):
            index = held.locate(part.segments)
            if index is not None:
                parts[k] = held.widen(part)
                writes = parts[k].writes(index, parts[k].combine(rules, index, part))
                self._commit(writes, {**changes, "_parts": parts})
                return
        # Small ones wait until together they are worth a copy of a greater one: so none is copied often, and all of
        # them together hold little more than the greatest.
        while parts and 2 * len(part) >= len(parts[-1]):
            part = _partials.unite(rules, parts.pop(), part, self._num_segments)
        self._commit([], {**changes, "_parts": [*parts, part]})

    def _commit(self, writes: list[Any], changes: dict[str, Any]) -> None:
        """Note what is to be written, then write it: whatever interrupts that, the next call begins by finishing it."""
        self._pending = writes, changes
        self._settle()

    def _settle(self) -> None:
        """Finish what an interrupted call has begun to write."""
        if self._pending is not None:
            writes, changes = self._pending
            for target, index, new in writes:
                target[index] = new
            self.__dict__.update(changes)
            self._pending = None


def _as_shape(row_shape: Any) -> tuple[int, ...]:
    """Return the shape of a row."""
    items = row_shape if isinstance(row_shape, (tuple, list)) else (row_shape,)
    shape = tuple(_storage.as_integer(item, "row_shape") for item in items)
    if any(size < 0 for size in shape):
        raise ValueError(f"row_shape is {row_shape!r}; give sizes of 0 or more.")
    math.prod(shape)
    return shape


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two options are the same; a NaN is the same as a NaN."""
    if one is other:
        return True
    if one is None or other is None or type(one) is not type(other):
        return False
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return bool(one == other) or bool(one != one and other != other)


class SegmentMax(_Stream):
    """The maximum of each segment of rows that come in blocks.

    However the rows are cut into blocks, and states of some of them merged, the result is, bit for bit, that of
    ``segment_max(data, segment_ids, num_segments, indices_are_sorted=False, ...)`` on all of them. States can be
    copied and pickled, so that processes and machines may each take a part of the rows.

    Parameters
    ----------
    num_segments : int, optional
        Number of segments, by default as many as the greatest id asks for.
    row_shape : int or tuple of int, optional
        Shape of a row, ``()`` for scalars, by default that of the first block.
    dtype : dtype, optional
        Dtype of the data, by default that of the first block.
    initial, fill_value, nan
        As for `segment_max`.

    Notes
    -----
    Memory is that of the segments that were seen, not of the rows, and at most a few times the least possible: a block
    that touches few segments is kept as a list until it pays to merge. `result` allocates one array more. A state
    belongs to one thread; give each its own and merge them.

    See Also
    --------
    segment_max : what the options mean.

    Examples
    --------
    >>> import numpy as np
    >>> from segmax import SegmentMax
    >>> state = SegmentMax(fill_value=-1)
    >>> state.update(np.array([3.0, 7.0]), [0, 4])
    >>> state.update(np.array([5.0, 6.0]), [1, 0])
    >>> state.result()
    array([ 6.,  5., -1., -1.,  7.])
    >>> other = SegmentMax(fill_value=-1)
    >>> other.update(np.array([9.0]), [2])
    >>> state.merge(other)
    >>> state.result()
    array([ 6.,  5.,  9., -1.,  7.])
    """

    _name = "segment_max"

    def __init__(
        self,
        num_segments: int | None = None,
        row_shape: int | tuple[int, ...] | None = None,
        dtype: Any = None,
        *,
        initial: Any = None,
        fill_value: Any = None,
        nan: str = "propagate",
    ) -> None:
        super().__init__(num_segments, row_shape, dtype, initial, fill_value, nan)


class SegmentMin(SegmentMax):
    """The minimum of each segment of rows that come in blocks: the mirror image of `SegmentMax`.

    Examples
    --------
    >>> import numpy as np
    >>> from segmax import SegmentMin
    >>> state = SegmentMin(num_segments=2)
    >>> state.update(np.array([[3, 1], [2, 4]]), [1, 1])
    >>> state.update(np.array([[5, 0]]), [0])
    >>> state.result()
    array([[5, 0],
           [2, 1]])
    """

    _name = "segment_min"


class SegmentArgmax(_Stream):
    """The row of the first maximum of each segment of rows that come in blocks.

    Rows are numbered through all blocks, or from the `start` that an update gives. The first is the one with the least
    number, whatever the order in which blocks come and states are merged.

    Parameters
    ----------
    num_segments, row_shape, dtype
        As for `SegmentMax`.
    fill_value, nan
        As for `segment_argmax`.

    Examples
    --------
    >>> import numpy as np
    >>> from segmax import SegmentArgmax
    >>> here, there = SegmentArgmax(), SegmentArgmax()
    >>> there.update(np.array([7.0, 9.0]), [0, 1], start=1000)
    >>> here.update(np.array([7.0, 8.0]), [0, 1], start=0)
    >>> there.merge(here)
    >>> there.result()
    array([   0, 1001])
    """

    _name = "segment_argmax"

    def __init__(
        self,
        num_segments: int | None = None,
        row_shape: int | tuple[int, ...] | None = None,
        dtype: Any = None,
        *,
        fill_value: int | None = None,
        nan: str = "propagate",
    ) -> None:
        super().__init__(num_segments, row_shape, dtype, None, fill_value, nan)


class SegmentArgmin(SegmentArgmax):
    """The row of the first minimum of each segment of rows that come in blocks: the mirror image of `SegmentArgmax`.

    Examples
    --------
    >>> import numpy as np
    >>> from segmax import SegmentArgmin
    >>> state = SegmentArgmin()
    >>> state.update(np.array([7, 3, 3]), [0, 0, 0])
    >>> state.update(np.array([3, 5]), [0, 2])
    >>> state.result()
    array([ 1, -1,  4])
    """

    _name = "segment_argmin"
