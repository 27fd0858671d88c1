"""JAX: jax.ops.segment_max and segment_min."""

from __future__ import annotations

import numpy as np

from ..._dtypes import BY_NAME
from ..case import Case
from .deviation import Deviation
from .predicates import (
    both,
    has_deep_ids,
    has_empty_segment,
    has_infinity,
    has_long_id,
    is_complex,
    is_float,
    is_unsorted,
    neither,
    of_dtype,
)
from .questions import (
    INFINITY,
    NAN,
    broadcast_rows,
    cut_ids,
    segments,
    start_from_infinity,
    start_from_nan,
    to_unsorted,
)

_SOURCE = "https://docs.jax.dev/en/latest/_autosummary/jax.ops.segment_max.html"
_SEEN = "seen with JAX 0.10 on a CPU"
_CODE = "jax/_src/ops/scatter.py"


def _has_no_infinity(case: Case) -> bool:
    row = BY_NAME[case.dtype]
    return row.largest is not None and row.largest in (row.highest, row.nan)


def _fits(case: Case) -> bool:
    try:
        broadcast_rows(case)
    except ValueError:
        return False
    return True


def _fold(case: Case, value: np.ndarray) -> np.ndarray:
    """Return the segments of complex numbers as JAX compares them: row by row, by parts that may be NaN."""
    minimum = case.operation.endswith("min")
    ids = case["segment_ids"].plain
    rows = case["data"].plain.reshape(ids.size, *value.shape[1:])
    result = np.full_like(value, INFINITY if minimum else -INFINITY)
    for row, segment in zip(rows, ids.reshape(-1).tolist(), strict=True):
        if 0 <= segment < len(result):
            kept, other = (_flush(-item if minimum else item) for item in (result[segment], row))
            equal = kept.real == other.real
            greater = np.where(equal, kept.imag > other.imag, kept.real > other.real)
            result[segment] = np.where(greater, result[segment], row)
    return result


def _flush(values: np.ndarray) -> np.ndarray:
    """Return complex numbers with zeros for subnormal parts."""
    parts = np.array(values, ndmin=1).view(values.real.dtype)
    parts[np.abs(parts) < np.finfo(parts.dtype).tiny] = 0
    return parts.view(values.dtype).reshape(values.shape)


#: JAX's entries.
JAX: tuple[Deviation, ...] = (
    Deviation(
        "jax",
        "*",
        "gives -inf for empty segments (a minimum gives inf)",
        "-inf is what a maximum of floats can start from without a trace",
        _SOURCE,
        segments([1], [0], 2),
        both(is_float, has_empty_segment, neither(is_complex, _has_no_infinity)),
        about="empty segments",
        question=start_from_infinity,
    ),
    Deviation(
        "jax",
        "*",
        "gives -inf for a segment of -inf only (a minimum gives inf)",
        "-inf is what a maximum of floats can start from without a trace",
        _SOURCE,
        segments([-INFINITY], [0]),
        both(has_infinity, neither(is_complex)),
        about="infinities",
        question=start_from_infinity,
    ),
    Deviation(
        "jax",
        "*",
        "starts complex numbers from -inf+0j, and keeps or drops NaN by its position",
        "-inf becomes complex with an imaginary part of 0; numbers are compared part by part, which NaN loses or wins",
        "https://github.com/jax-ml/jax/blob/main/jax/_src/lax/lax.py, the lowering of max and min",
        segments([1, complex(NAN, 0), 2], [0, 0, 0], 2, dtype="complex64"),
        is_complex,
        about="complex numbers",
        answer=_fold,
    ),
    Deviation(
        "jax",
        "*",
        "flushes subnormal numbers to zero",
        "XLA's CPU compiler sets flush-to-zero; float16 is computed in float32, where it has none",
        _SEEN,
        segments([1e-40], [0]),
        of_dtype("float32", "float64", "bfloat16"),
        about="subnormals",
        erase=("subnormals",),
    ),
    Deviation(
        "jax",
        "*",
        "gives NaN everywhere in floats that have no infinity",
        "it starts from -inf, which such a dtype makes NaN",
        _CODE,
        segments([1], [0], dtype="float8_e4m3fn"),
        _has_no_infinity,
        about="types of 8 bits and less",
        question=start_from_nan,
    ),
    Deviation(
        "jax",
        "*",
        "cuts ids to 32 bits, which brings ids that are far out of range back into it",
        "indices are int32 where the array indexed is smaller than that",
        _CODE,
        segments([1, 2], np.array([0, 2**32]), 1),
        has_long_id,
        about="ids of num_segments or more",
        question=cut_ids,
    ),
    Deviation(
        "jax",
        "segment_max,segment_min",
        "answers for ids out of order as if they were in order",
        "indices_are_sorted is a promise that is not checked",
        _SOURCE,
        segments([3, 1, 2], [1, 0, 1], 2),
        is_unsorted,
        about="ids out of order",
        question=to_unsorted,
    ),
    Deviation(
        "jax",
        "*",
        "gives ids of rank n a result of another shape",
        "only the first axis of the data is that of the ids, whatever their rank",
        _CODE,
        segments([[1, 2], [3, 4]], [[0, 0], [1, 1]], 2),
        both(has_deep_ids, _fits),
        about="ids of other ranks than 1",
        question=broadcast_rows,
    ),
    Deviation(
        "jax",
        "*",
        "raises ValueError for ids of rank n",
        "only the first axis of the data is that of the ids, whatever their rank",
        _CODE,
        segments([[1], [3]], [[0], [1]], 2),
        both(has_deep_ids, neither(_fits)),
        about="ids of other ranks than 1",
        raises="ValueError",
    ),
)
