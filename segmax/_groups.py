"""Groups of rows by key: numbered at once, or block by block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def group_rows(keys: Sequence[np.ndarray], order: str = "auto") -> tuple[np.ndarray, list[np.ndarray], bool]:
    """Return numbers for the groups of equal keys.

    Rows whose keys stand together are a run. If no key comes back after its run, the runs are the groups, in the order
    in which they stand, and nothing has to be sorted; else the keys are factorised, in their own order.

    Parameters
    ----------
    keys : sequence of ndarray, shape (rows,)
        One or several columns, which together are the key.
    order : {'auto', 'sorted', 'unsorted'}
        'sorted' insists on runs, 'unsorted' on factorising.

    Returns
    -------
    ids : ndarray of int64, shape (rows,)
        The group of each row.
    labels : list of ndarray, shape (groups,)
        The key of each group, one array per column.
    in_order : bool
        Whether the ids do not decrease.

    Raises
    ------
    ValueError
        With 'sorted', a key that comes back; the message names its row.

    Examples
    --------
    >>> import numpy as np
    >>> ids, labels, in_order = group_rows([np.array(["b", "b", "a"])])
    >>> ids, labels[0].tolist(), in_order
    (array([0, 0, 1]), ['b', 'a'], True)
    """
    starts, run_of = _find_runs(keys)
    codes, first = _factorise([key[starts] for key in keys])
    comes_back = len(first) < len(starts)
    if order == "sorted" and comes_back:
        seen = np.zeros(len(starts), bool)
        seen[first] = True
        raise _return_error(keys, int(starts[np.flatnonzero(~seen)[0]]))
    if order != "unsorted" and not comes_back:
        return run_of, [key[starts] for key in keys], True
    return codes[run_of], [key[starts][first] for key in keys], False


def _factorise(keys: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's group, numbered in the order of the keys, and the first row of each group."""
    codes = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        values, inverse = np.unique(key, return_inverse=True)
        _, codes = np.unique(codes * len(values) + inverse, return_inverse=True)
    first = np.unique(codes, return_index=True)[1]
    return codes, first


def _find_runs(keys: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the first row of each run of equal keys, and the run of each row."""
    rows = len(keys[0])
    changes = np.zeros(max(rows - 1, 0), bool)
    for key in keys:
        is_itself = key == key
        changes |= (key[1:] != key[:-1]) & (is_itself[1:] | is_itself[:-1])  # NaN keys are one key
    starts = np.flatnonzero(np.concatenate([np.ones(min(rows, 1), bool), changes]))
    run_of = np.zeros(rows, np.int64)
    np.cumsum(changes, out=run_of[1:])
    return starts, run_of


def _return_error(keys: Sequence[np.ndarray], row: int, first_row: int = 0) -> ValueError:
    """Return the error for a key that comes back."""
    label = ", ".join(str(key[row]) for key in keys)
    return ValueError(
        f"the key {label} comes back in row {first_row + row + 1} after other keys; use --order unsorted."
    )


class Groups:
    """Numbers for keys that come block by block, in the order in which keys appear.

    Parameters
    ----------
    order : {'auto', 'sorted', 'unsorted'}
        As for `group_rows`.
    """

    def __init__(self, order: str = "auto") -> None:
        self._order = order
        self._codes: dict[Any, int] = {}
        self._labels: list[list[np.ndarray]] = []
        self._last: Any = None  # key of the last row so far
        self._comes_back = False

    def number(self, keys: Sequence[np.ndarray], first_row: int) -> np.ndarray:
        """Return the group of each row of a block; raise if keys come back and must not."""
        rows = len(keys[0])
        starts, run_of = _find_runs(keys)
        codes, first = _factorise([key[starts] for key in keys])
        appearance = np.argsort(first)
        at = starts[first[appearance]]
        labels = [key[at] for key in keys]
        known = [_as_key(items) for items in zip(*(column.tolist() for column in labels), strict=True)]
        old = np.array([name in self._codes for name in known], bool)
        if rows:
            returning = np.ones(len(starts), bool)
            returning[first] = False
            met = old.copy()
            met[0] &= known[0] != self._last  # the last block's last run may go on
            again = np.concatenate([starts[returning], at[met]])
            if len(again):
                self._comes_back = True
                if self._order == "sorted":
                    raise _return_error(keys, int(again.min()), first_row)
            self._last = _as_key([key[-1:].tolist()[0] for key in keys])
        numbers = np.array([self._codes.setdefault(name, len(self._codes)) for name in known], np.int64)
        self._labels.append([column[~old] for column in labels])
        mapped = np.empty(len(known), np.int64)
        mapped[appearance] = numbers
        ids: np.ndarray = mapped[codes][run_of]
        return ids

    def finish(self) -> tuple[list[np.ndarray], np.ndarray | None]:
        """Return the key of each group, one array per column, and which numbers they had, None for 0, 1, 2 ..."""
        labels = [np.concatenate(columns) for columns in zip(*self._labels, strict=True)]
        if self._order != "unsorted" and not self._comes_back:
            return labels, None
        codes, _ = _factorise(labels)
        order = np.argsort(codes)
        return [column[order] for column in labels], order


def _as_key(items: Sequence[Any]) -> tuple[Any, ...]:
    """Return something that equals itself: as a key, NaN is one key."""
    return tuple(item if item == item else "NaN" for item in items)
