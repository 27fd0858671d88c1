"""PyTorch: two usual ways of reducing segments."""

from __future__ import annotations

from .deviation import Deviation
from .predicates import (
    both,
    has_both_zeros,
    has_empty_segment,
    has_id_above,
    has_id_below,
    has_infinity,
    has_no_rows,
    has_no_segments,
    is_unsorted,
    neither,
)
from .questions import INFINITY, grow, segments, sort_ids, start_from_infinity, to_unsorted, zeros

_SCATTER = "torch.scatter_reduce"
_REDUCE = "torch.segment_reduce"
_ABOUT_SCATTER = "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.scatter_reduce_.html"
_ABOUT_BINCOUNT = "https://docs.pytorch.org/docs/stable/generated/torch.bincount.html"
_SEEN = "seen with PyTorch 2.13 on a CPU"

#: PyTorch's entries.
TORCH: tuple[Deviation, ...] = (
    Deviation(
        _SCATTER,
        "*",
        "raises RuntimeError for ids of num_segments or more",
        "ids are indices",
        _ABOUT_SCATTER,
        segments([1, 2], [0, 1], 1),
        has_id_above,
        about="ids of num_segments or more",
        raises="RuntimeError",
    ),
    Deviation(
        _SCATTER,
        "*",
        "raises RuntimeError for negative ids",
        "ids are indices, and negative ones are none",
        _ABOUT_SCATTER,
        segments([9, 1], [-1, 0], 2),
        both(has_id_below, neither(has_id_above)),
        about="negative ids",
        raises="RuntimeError",
    ),
    Deviation(
        _SCATTER,
        "segment_max",
        "answers for ids out of order as if they were in order",
        "indices have no order",
        _ABOUT_SCATTER,
        segments([3, 1, 2], [1, 0, 1], 2),
        is_unsorted,
        about="ids out of order",
        question=to_unsorted,
    ),
    Deviation(
        _REDUCE,
        "*",
        "gives -inf for empty segments",
        "-inf is what a maximum of floats can start from without a trace",
        _SEEN,
        segments([1], [0], 2),
        lambda case: has_empty_segment(grow(case)),
        about="empty segments",
        question=start_from_infinity,
    ),
    Deviation(
        _REDUCE,
        "*",
        "gives -inf for a segment of -inf only",
        "-inf is what a maximum of floats can start from without a trace",
        _SEEN,
        segments([-INFINITY], [0]),
        has_infinity,
        about="infinities",
        question=start_from_infinity,
    ),
    Deviation(
        _REDUCE,
        "*",
        "raises RuntimeError for negative ids",
        "it wants lengths of segments, which torch.bincount counts for ids from 0 only",
        _ABOUT_BINCOUNT,
        segments([1, 2], [-1, 0], 1),
        has_id_below,
        about="negative ids",
        raises="RuntimeError",
    ),
    Deviation(
        _REDUCE,
        "*",
        "answers for more segments than num_segments if the ids speak of more",
        "the lengths of all segments must add up to the number of rows, so torch.bincount counts them all",
        _ABOUT_BINCOUNT,
        segments([1, 2], [0, 1], 1),
        has_id_above,
        about="ids of num_segments or more",
        question=grow,
    ),
    Deviation(
        _REDUCE,
        "*",
        "takes ids out of order for ids in order",
        "lengths say nothing of which rows are meant",
        _ABOUT_BINCOUNT,
        segments([3, 1, 2], [1, 0, 1], 2),
        is_unsorted,
        about="ids out of order",
        question=sort_ids,
    ),
    Deviation(
        _REDUCE,
        "*",
        "raises RuntimeError where there are no lengths at all",
        "it looks for the least length to check that none is negative",
        _SEEN,
        segments([], [], 0),
        both(has_no_rows, has_no_segments),
        about="num_segments=0",
        raises="RuntimeError",
    ),
    Deviation(
        f"{_SCATTER},{_REDUCE}",
        "*",
        "gives either zero where +0 meets -0",
        "its comparison holds the two equal",
        _SEEN,
        zeros(),
        has_both_zeros,
        about="signed zeros",
        erase=("zeros",),
    ),
)
