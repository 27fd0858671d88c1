"""Reductions of files larger than memory: blocks of rows go through a stream, one after the other."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _segment, _storage
from ._blocks import NpyFile, OtherKindError, Request, count_rows, read_blocks
from ._groups import Groups
from ._stream import SegmentArgmax, SegmentArgmin, SegmentMax, SegmentMin
from ._tables import Columns, InputError, kind_of

_STREAMS: dict[str, Any] = {"max": SegmentMax, "min": SegmentMin, "argmax": SegmentArgmax, "argmin": SegmentArgmin}

#: Bytes of a block: greater ones are not faster.
_MOST, _LEAST = 32 << 20, 64 << 10

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}


def parse_size(text: str | int) -> int:
    """Return a number of bytes.

    Examples
    --------
    >>> parse_size("300MB"), parse_size("2 GiB"), parse_size(4096)
    (300000000, 2147483648, 4096)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?\s*", str(text).upper())
    if found is None or found[2] not in _UNITS:
        raise ValueError(f"{text!r} is no size; give bytes, or a number with a unit as in 500MB or 2GiB.")
    return int(float(found[1]) * _UNITS[found[2]])


def reduce_file(
    file: str | Path,
    value: str | None = None,
    *,
    key: str | Sequence[str] = (),
    ids: str | Path | None = None,
    indptr: str | Path | None = None,
    op: str = "max",
    num_segments: int | None = None,
    order: str = "auto",
    initial: Any = None,
    fill_value: Any = None,
    nan: str = "propagate",
    memory_limit: int | str | None = None,
    progress: bool = False,
) -> tuple[Columns, np.ndarray]:
    r"""Reduce a column of a file by group, reading some rows at a time.

    Parameters
    ----------
    file : path
        A .npy, .csv, .csv.gz or .parquet file (CSV is read faster, and Parquet only, with pyarrow).
    value : str, optional
        Column to reduce; a .npy file has only one.
    key : str or sequence of str, optional
        Columns of group keys. This, `ids` or `indptr` says what the groups are.
    ids : str or path, optional
        Column, or .npy file, of segment ids.
    indptr : str or path, optional
        .npy file of offsets: segment ``s`` is the rows ``indptr[s]:indptr[s + 1]``.
    op : {'max', 'min', 'argmax', 'argmin'}, optional
        What to compute.
    num_segments : int, optional
        Number of segments, with `ids`.
    order : {'auto', 'sorted', 'unsorted'}, optional
        With keys, as they appear if none comes back and else in their own order, or insist on either. With `ids`,
        'sorted' refuses ids that decrease.
    initial, fill_value, nan
        As for `segment_max`.
    memory_limit : int or str, optional
        Bytes ("300MB") that blocks, state and result may take together, besides Python and the libraries. A result that
        cannot fit is an error before memory runs out.
    progress : bool, optional
        Whether to show a progress bar, if tqdm is installed and the standard error is a terminal.

    Returns
    -------
    labels : dict of ndarray
        The key of each group by column; empty with `ids` or `indptr`.
    result : ndarray
        What the call on the whole columns returns, bit for bit. Cells without a value, and nulls of Parquet, are NaN
        (NaT), and make integers float64.

    Raises
    ------
    InputError
        A file, column or cell that cannot be used.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from segmax import reduce_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "delays.csv"
    ...     _ = path.write_text("day,delay\nmon,3\ntue,-1\ntue,8\n")
    ...     labels, result = reduce_file(path, "delay", key="day")
    >>> labels["day"].tolist(), result
    (['mon', 'tue'], array([3, 8]))
    """
    keys = [key] if isinstance(key, str) else list(key)
    if op not in _STREAMS:
        raise ValueError(f"op is {op!r}; give one of {', '.join(_STREAMS)}.")
    if order not in ("auto", "sorted", "unsorted"):
        raise ValueError(f"order is {order!r}; give 'auto', 'sorted' or 'unsorted'.")
    if bool(keys) + (ids is not None) + (indptr is not None) != 1:
        raise InputError("give one of key, ids and indptr: what are the groups?")
    if num_segments is not None and ids is None:
        raise InputError("num_segments goes with ids: keys and offsets say themselves how many groups there are.")
    options = {"fill_value": fill_value, "nan": nan} | ({} if "arg" in op else {"initial": initial})
    if "arg" in op and initial is not None:
        raise TypeError(f"initial is {initial!r}; {op} takes none.")
    limit = None if memory_limit is None else parse_size(memory_limit)
    if limit is not None and limit < 16 * _LEAST:
        raise ValueError(f"memory_limit is {memory_limit!r}; give at least {16 * _LEAST} bytes.")
    other_kinds: set[str] = set()
    while True:
        job = _Job(Path(file), value, keys, ids, indptr, op, num_segments, order, options, limit, progress)
        try:
            return job.run(other_kinds)
        except OtherKindError as error:
            other_kinds.add(error.name)
        finally:
            job.close()


class _Job:
    """One way through a file."""

    def __init__(
        self,
        path: Path,
        value: str | None,
        keys: list[str],
        ids: str | Path | None,
        indptr: str | Path | None,
        op: str,
        num_segments: int | None,
        order: str,
        options: dict[str, Any],
        limit: int | None,
        progress: bool,
    ) -> None:
        if value is None and kind_of(path) != "npy":
            raise InputError(f"value is missing: which column of {path} is to be reduced?")
        self.path, self.value, self.keys, self.order = path, value or "value", keys, order
        self.limit, self.progress = limit, progress
        self.block_bytes = _MOST if limit is None else min(max(limit // 16, _LEAST), _MOST)
        self.offsets: np.ndarray | None = None
        self.ids: NpyFile | str | None = None
        if indptr is not None:
            self.offsets = self._read_offsets(Path(indptr))
            num_segments = len(self.offsets) - 1
        is_file = str(ids).endswith(".npy")
        if kind_of(path) == "npy" and (keys or (ids is not None and not is_file)):
            raise InputError(f"{path} holds one array; give the segments as another .npy file of ids or offsets.")
        self.groups = Groups(order)
        self.state = _STREAMS[op](num_segments, **options)
        self.name = _STREAMS[op]._name
        if ids is not None:
            self.ids = NpyFile(Path(ids)) if is_file else str(ids)

    def close(self) -> None:
        """Close the file of ids."""
        if isinstance(self.ids, NpyFile):
            self.ids.close()

    def _read_offsets(self, path: Path) -> np.ndarray:
        """Return checked offsets."""
        rows = count_rows(self.path)
        with contextlib.closing(NpyFile(path)) as file:
            offsets = file.read(0, file.shape[0] if file.shape else 1)
        return _storage.as_offsets(offsets, 2**63 - 1 if rows is None else rows)

    def run(self, other_kinds: set[str]) -> tuple[Columns, np.ndarray]:
        """Return labels and result."""
        names = [self.value, *self.keys, *([self.ids] if isinstance(self.ids, str) else [])]
        row = before = 0
        last: Any = None
        request = Request(list(dict.fromkeys(names)), {self.value}, other_kinds, self.block_bytes, self.progress)
        for block in read_blocks(self.path, request):
            data = block[self.value]
            after = before + (len(data) if data.ndim else 1)
            ids = self._find_ids(block, before, after)
            if self.order == "sorted" and not self.keys and ids.size:
                flat = ids.reshape(-1)
                joined = flat if last is None else np.concatenate([last, flat])
                at = _segment._find_disorder(joined)
                if at >= 0:
                    raise _segment._disorder_error(joined, at, self.name, row - (last is not None))
                last = flat[-1:]
            self.state.update(data, ids, start=row)
            self._check_memory()
            row, before = row + ids.size, after
        if isinstance(self.ids, NpyFile) and self.ids.shape and self.ids.shape[0] != before:
            raise InputError(f"{self.ids.path} has {self.ids.shape[0]} ids, {self.path} has {before} rows.")
        if self.offsets is not None and self.offsets[-1] > before:
            raise InputError(f"the last offset is {self.offsets[-1]}, but {self.path} has only {before} rows.")
        result = self.state.result()
        if not self.keys:
            return {}, result
        labels, order = self.groups.finish()
        return dict(zip(self.keys, labels, strict=True)), result if order is None else result[order]

    def _find_ids(self, block: Columns, first: int, last: int) -> np.ndarray:
        """Return the segment of each row of a block."""
        if self.keys:
            shape = block[self.value].shape[:1]
            for name in self.keys:
                if block[name].shape != shape:
                    raise InputError(f"key {name} has shape {block[name].shape}; give one key per row.")
            return self.groups.number([block[name] for name in self.keys], first)
        if self.offsets is not None:
            return np.searchsorted(self.offsets, np.arange(first, last), side="right") - 1
        if isinstance(self.ids, NpyFile):
            if self.ids.shape and last > self.ids.shape[0]:
                raise InputError(f"{self.ids.path} has {self.ids.shape[0]} ids, {self.path} has more rows.")
            return self.ids.read(first, last)
        return block[str(self.ids)]

    def _check_memory(self) -> None:
        """Raise if the state and what a merge or the result takes besides cannot fit."""
        held, final = self.state.nbytes, self.state.result_nbytes
        needed = held + 2 * max(held, final) + 6 * self.block_bytes
        if self.limit is not None and needed > self.limit:
            raise InputError(
                f"the groups of {self.path} take {held} bytes so far and the result {final}: with what is needed to "
                f"merge them, {needed} bytes, more than the memory limit of {self.limit}; raise it."
            )
