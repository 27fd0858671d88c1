"""Tables: pandas and Polars, whose groups are those that have rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Array, row_of
from ..case import Case
from .deviation import Deviation
from .predicates import (
    both,
    find_count,
    find_ids,
    has_both_zeros,
    has_empty_segment,
    has_infinity,
    has_nan,
    is_float,
    is_integer,
    is_time,
    is_unsorted,
    of_dtype,
)
from .questions import INFINITY, NAN, change, segments, start_from_infinity, to_unsorted, zeros

_BOTH = "pandas,polars"
_PANDAS = "https://pandas.pydata.org/docs/user_guide/missing_data.html"
_POLARS = "https://docs.pola.rs/user-guide/expressions/missing-data/"
_MAXIMA = (
    "https://pandas.pydata.org/docs/reference/api/pandas.api.typing.DataFrameGroupBy.max.html, "
    "https://docs.pola.rs/api/python/stable/reference/expressions/api/polars.Expr.max.html"
)


def _fill_with_nan(case: Case) -> Case:
    return change(fill_value=Array.of(NAN, dtype=case.dtype))(case)


def _skip_nan(case: Case) -> Case:
    return change(nan="omit", initial=Array.of(NAN, dtype=case.dtype))(case)


def _find_empty(case: Case) -> np.ndarray:
    """Return where segments have no rows."""
    return ~np.isin(np.arange(find_count(case) or 0), find_ids(case).tolist())


def _widen(case: Case, value: np.ndarray) -> np.ndarray:
    """Return integers as pandas does that has to put NaN among them."""
    return np.where(_find_empty(case), np.nan, value.astype(np.float64))


def _widen_little(case: Case, value: np.ndarray) -> np.ndarray:
    """Return integers as Polars does that has to put NaN among them."""
    return _widen(case, value).astype(np.float32 if row_of(case.dtype).bits < 32 else np.float64)


def _mix(missing: float | None) -> Callable[[Case, np.ndarray], np.ndarray]:
    """Return what makes bools Python objects that have to put another object among them."""
    return lambda case, value: np.where(_find_empty(case), np.array(missing, object), value.astype(object))


#: The entries of pandas and Polars.
TABLES: tuple[Deviation, ...] = (
    Deviation(
        _BOTH,
        "segment_max",
        "answers for ids out of order as if they were in order",
        "keys of groups have no order",
        _MAXIMA,
        segments([3, 1, 2], [1, 0, 1], 2),
        is_unsorted,
        about="ids out of order",
        question=to_unsorted,
    ),
    Deviation(
        _BOTH,
        "*",
        "gives NaN for empty segments of floats",
        "a group without rows is missing, and NaN stands for what is missing",
        f"{_PANDAS}, {_POLARS}",
        segments([1], [0], 2),
        both(is_float, has_empty_segment),
        about="empty segments",
        question=_fill_with_nan,
    ),
    Deviation(
        "pandas",
        "*",
        "gives float64 with NaN if a segment of integers is empty, which rounds large integers",
        "NumPy's integers cannot be missing",
        _PANDAS,
        segments([2**53 + 1], [0], 2, dtype="int64"),
        both(is_integer, has_empty_segment),
        about="integers",
        answer=_widen,
    ),
    Deviation(
        "polars",
        "*",
        "gives float32 or float64 with NaN if a segment of integers is empty, which rounds large integers",
        "null becomes NaN on the way to NumPy",
        "https://docs.pola.rs/api/python/stable/reference/series/api/polars.Series.to_numpy.html",
        segments([2**53 + 1], [0], 2, dtype="int64"),
        both(is_integer, has_empty_segment),
        about="integers",
        answer=_widen_little,
    ),
    Deviation(
        "pandas",
        "*",
        "gives Python objects, NaN among them, if a segment of bools is empty",
        "NumPy's bools cannot be missing",
        _PANDAS,
        segments([True], [0], 2, dtype="bool"),
        both(of_dtype("bool"), has_empty_segment),
        about="bool",
        answer=_mix(NAN),
    ),
    Deviation(
        "polars",
        "*",
        "gives Python objects, None among them, if a segment of bools is empty",
        "null becomes None on the way to NumPy",
        "https://docs.pola.rs/api/python/stable/reference/series/api/polars.Series.to_numpy.html",
        segments([True], [0], 2, dtype="bool"),
        both(of_dtype("bool"), has_empty_segment),
        about="bool",
        answer=_mix(None),
    ),
    Deviation(
        _BOTH,
        "*",
        "leaves NaN out; a segment of NaN only gives NaN",
        "NaN counts as missing",
        _MAXIMA,
        segments([NAN, 1], [0, 0]),
        both(is_float, has_nan),
        about="NaN",
        question=_skip_nan,
    ),
    Deviation(
        _BOTH,
        "*",
        "gives -inf for a segment of -inf only",
        "its maximum starts from the first row",
        _MAXIMA,
        segments([-INFINITY], [0]),
        has_infinity,
        about="infinities",
        question=start_from_infinity,
    ),
    Deviation(
        _BOTH,
        "*",
        "gives either zero where +0 meets -0",
        "its comparison holds the two equal",
        "seen with pandas 3.1 and Polars 2.1",
        zeros(),
        has_both_zeros,
        about="signed zeros",
        erase=("zeros",),
    ),
    Deviation(
        "pandas",
        "*",
        "leaves NaT out",
        "NaT counts as missing",
        _PANDAS,
        segments(np.array(["NaT", 1], "M8[ms]"), [0, 0], dtype="datetime64"),
        both(is_time, has_nan),
        about="dates and durations",
        question=change(nan="omit"),
    ),
)
