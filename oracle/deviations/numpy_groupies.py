"""numpy_groupies: aggregate with func="max" and "min"."""

from __future__ import annotations

from ..arrays import Array, row_of
from ..case import Case
from .deviation import Deviation
from .predicates import (
    both,
    has_both_zeros,
    has_empty_segment,
    has_id_above,
    has_id_below,
    has_infinity,
    has_no_rows,
    is_float,
    is_unsorted,
    neither,
)
from .questions import INFINITY, NAN, change, segments, start_from_infinity, to_unsorted, zeros

_NAME = "numpy_groupies"
_SOURCE = "https://github.com/ml31415/numpy-groupies#dealing-with-missing-or-empty-groups"
_CODE = "numpy_groupies/utils_np.py, input_validation"
_START = "numpy_groupies/aggregate_numpy/reductions.py, _max"


def _fill_with_nan(case: Case) -> Case:
    missing = complex(NAN, NAN) if row_of(case.dtype).part else NAN
    return change(fill_value=Array.of(missing, dtype=case.dtype))(case)


#: numpy_groupies' entries.
NUMPY_GROUPIES: tuple[Deviation, ...] = (
    Deviation(
        _NAME,
        "*",
        "raises ValueError where there are no rows",
        "it holds that for a mistake",
        _CODE,
        segments([], [], 2),
        has_no_rows,
        about="no rows",
        raises="ValueError",
    ),
    Deviation(
        _NAME,
        "*",
        "raises ValueError for negative ids",
        "it does not drop rows",
        _CODE,
        segments([9, 1], [-1, 0], 2),
        both(has_id_below, neither(has_no_rows)),
        about="negative ids",
        raises="ValueError",
    ),
    Deviation(
        _NAME,
        "*",
        "raises ValueError for ids of num_segments or more",
        "it does not drop rows",
        _CODE,
        segments([1, 2], [0, 1], 1),
        has_id_above,
        about="ids of num_segments or more",
        raises="ValueError",
    ),
    Deviation(
        _NAME,
        "segment_max,segment_min",
        "answers for ids out of order as if they were in order",
        "labels of groups have no order",
        _SOURCE,
        segments([3, 1, 2], [1, 0, 1], 2),
        is_unsorted,
        about="ids out of order",
        question=to_unsorted,
    ),
    Deviation(
        _NAME,
        "*",
        "gives NaN for empty segments of floats",
        "its default fill_value is NaN",
        _SOURCE,
        segments([1], [0], 2),
        both(is_float, has_empty_segment),
        about="empty segments",
        question=_fill_with_nan,
    ),
    Deviation(
        _NAME,
        "*",
        "gives 0 for empty segments of integers and bools",
        "its default fill_value is 0 where the dtype has no NaN",
        _SOURCE,
        segments([1], [0], 2, dtype="int32"),
        both(has_empty_segment, neither(is_float)),
        about="integers",
        question=change(fill_value=0),
    ),
    Deviation(
        _NAME,
        "*",
        "gives -inf for a segment of -inf only (a minimum gives inf)",
        "it starts from -inf",
        _START,
        segments([-INFINITY], [0]),
        has_infinity,
        about="infinities",
        question=start_from_infinity,
    ),
    Deviation(
        _NAME,
        "*",
        "gives either zero where +0 meets -0",
        "it uses numpy.maximum.at",
        _START,
        zeros(),
        has_both_zeros,
        about="signed zeros",
        erase=("zeros",),
    ),
)
