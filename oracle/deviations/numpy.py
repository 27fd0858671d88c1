"""NumPy: the contract's one sentence in its words, and two usual ways of reducing segments with its ufuncs."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..case import Case
from .deviation import Deviation
from .predicates import (
    both,
    find_count,
    has_empty_segment,
    has_id_above,
    has_infinity,
    has_nan,
    has_real_float,
    has_signalling_nan,
    is_float,
    is_small,
    is_time,
    is_unsorted,
    neither,
    of_dtype,
    omits,
)
from .questions import (
    INFINITY,
    NAN,
    borrow_rows,
    clip_ids,
    pair,
    segments,
    slice_rows,
    start_from_infinity,
    start_from_lowest,
    to_unsorted,
    wrap_ids,
    zeros,
)

#: Of a float32: the quiet bit is not set.
_SIGNALLING = np.array([0x7F800001] * 4, np.uint32).view(np.float32)

_AT = "numpy.maximum.at"
_REDUCEAT = "numpy.maximum.reduceat"
_ABOUT_AT = "https://numpy.org/doc/stable/reference/generated/numpy.ufunc.at.html"
_ABOUT_REDUCEAT = "https://numpy.org/doc/stable/reference/generated/numpy.ufunc.reduceat.html"

_SEEN = "seen with NumPy 2.4"


def _find_indices(case: Case) -> np.ndarray:
    """Return the ids as NumPy takes them as indices: those of uint64 are wrapped."""
    ids: np.ndarray = case["segment_ids"].plain.astype(np.int64)
    return ids


def _is_no_index(case: Case) -> bool:
    ids, count = _find_indices(case), int(find_count(case) or 0)
    return bool(((ids >= count) | (ids < -count)).any())


def _is_negative_index(case: Case) -> bool:
    return bool((_find_indices(case) < 0).any())


def _ends_behind(case: Case) -> bool:
    """Return whether the last slice would begin behind the last row."""
    starts = np.searchsorted(case["segment_ids"].plain, np.arange(find_count(case) or 0))
    return bool((starts == len(case["segment_ids"].plain)).any())


def _is_tiny_integer(case: Case) -> bool:
    return is_small(case) and "int" in case.dtype


def _lacks_elements(case: Case) -> bool:
    """Return whether a reduction of objects has a result without any element of its own."""
    if case.dtype != "object":
        return False
    counted, where = np.ones(case.main.shape, bool), case.get("where")
    if isinstance(where, Array):
        counted &= where.plain
    return not np.all(np.any(counted, axis=case.get("axis")))


def _gives_scalar(case: Case) -> bool:
    ndim = len(case.main.shape)
    return ndim == 0 or (not case.get("keepdims") and (case.get("axis") is None or ndim == 1))


#: NumPy's entries.
NUMPY: tuple[Deviation, ...] = (
    Deviation(
        "numpy,numpy.*",
        "*",
        "gives either zero where +0 meets -0",
        "which one depends on dtype, platform and length",
        "numpy.maximum compares with >=; IEEE 754-2019 orders -0 below +0",
        zeros(),
        lambda case: has_real_float(case) or ("segment" in case.operation and is_float(case)),
        about="signed zeros",
        erase=("zeros",),
    ),
    Deviation(
        "numpy",
        "fmax*,fmin*,nanmax,nanmin,*segment_*",
        "depends on the position for signalling NaN",
        "vector and scalar loops of fmax and fmin differ",
        "IEEE 754-2008 maxNum against maximumNumber",
        pair("fmax", _SIGNALLING, [1.0] * 4),
        lambda case: omits(case) and has_signalling_nan(case),
        about="NaN",
        anything=True,
    ),
    Deviation(
        "numpy",
        "nanmax,nanmin",
        "fails for objects where nothing but initial is left, if the result is no array",
        "it takes that for NaN only, and asks the result for a dtype to make NaN of",
        "numpy/lib/_nanfunctions_impl.py: nanmin, _copyto",
        Case.of("nanmin", "proof", a=np.empty(0, object), initial=5),
        lambda case: _lacks_elements(case) and _gives_scalar(case),
        about="Python objects and strings",
        raises="AttributeError",
    ),
    Deviation(
        "numpy",
        "nanmax,nanmin",
        "warns of NaN for objects where nothing but initial is left",
        "it takes that for NaN only, and forgets initial",
        "numpy/lib/_nanfunctions_impl.py: nanmin",
        Case.of("nanmin", "proof", a=np.empty((0, 2), object), axis=0, initial=5),
        lambda case: _lacks_elements(case) and not _gives_scalar(case),
        about="Python objects and strings",
        raises="RuntimeWarning",
    ),
    Deviation(
        _AT,
        "*",
        "raises IndexError for ids of num_segments or more, and below -num_segments",
        "ids are indices",
        _ABOUT_AT,
        segments([1, 2], [0, 1], 1),
        _is_no_index,
        about="ids of num_segments or more",
        raises="IndexError",
    ),
    Deviation(
        _AT,
        "*",
        "counts negative ids from the end",
        "ids are indices",
        _ABOUT_AT,
        segments([9, 1], [-1, 0], 2),
        _is_negative_index,
        about="negative ids",
        question=wrap_ids,
    ),
    Deviation(
        _AT,
        "segment_max",
        "answers for ids out of order as if they were in order",
        "indices have no order",
        _ABOUT_AT,
        segments([3, 1, 2], [1, 0, 1], 2),
        is_unsorted,
        about="ids out of order",
        question=to_unsorted,
    ),
    Deviation(
        _AT,
        "*",
        "warns of NaN, which fails where warnings are errors",
        "the loop of `at` leaves the processor's flag for invalid operations set",
        _SEEN,
        segments([NAN, 1], [0, 0]),
        both(has_nan, is_float),
        about="NaN",
        raises="RuntimeWarning",
    ),
    Deviation(
        _AT,
        "*",
        "gives the earliest date in empty segments",
        "NaT would win against every date, so a maximum has to start from the earliest",
        _SEEN,
        segments([1], [0], 2, dtype="datetime64"),
        both(is_time, has_empty_segment),
        about="dates and durations",
        question=start_from_lowest,
    ),
    Deviation(
        _REDUCEAT,
        "*",
        "raises IndexError if the last segment is empty",
        "its slice would begin behind the last row",
        _ABOUT_REDUCEAT,
        segments([1], [0], 2),
        _ends_behind,
        about="empty segments",
        raises="IndexError",
    ),
    Deviation(
        _REDUCEAT,
        "*",
        "counts ids of num_segments or more to the last segment",
        "the last slice reaches to the last row",
        _ABOUT_REDUCEAT,
        segments([1, 2], [0, 1], 1),
        has_id_above,
        about="ids of num_segments or more",
        question=clip_ids,
    ),
    Deviation(
        _REDUCEAT,
        "*",
        "gives the next segment's first row in an empty segment",
        "for an index that is not below the next it gives the element there",
        _ABOUT_REDUCEAT,
        segments([1, 2], [0, 2], 3),
        both(has_empty_segment, neither(_ends_behind, is_unsorted)),
        about="empty segments",
        question=borrow_rows,
    ),
    Deviation(
        _REDUCEAT,
        "*",
        "gives -inf for a segment of -inf only",
        "it starts from the first row and not from the lowest finite value",
        _ABOUT_REDUCEAT,
        segments([-INFINITY], [0]),
        has_infinity,
        about="infinities",
        question=start_from_infinity,
    ),
    Deviation(
        _REDUCEAT,
        "*",
        "answers in int8",
        "numpy.maximum has no loop for integers of less than 8 bits, and casts",
        _SEEN,
        segments([1], [0], dtype="int4"),
        _is_tiny_integer,
        about="types of 8 bits and less",
        answer=lambda _, value: value.astype(np.int8),
    ),
    Deviation(
        _REDUCEAT,
        "*",
        "answers for ids out of order as a binary search finds them",
        "numpy.searchsorted, with which slices are found, wants ids in order and does not check",
        "https://numpy.org/doc/stable/reference/generated/numpy.searchsorted.html",
        segments([3, 1, 2], [1, 0, 1], 2),
        both(is_unsorted, neither(_ends_behind)),
        about="ids out of order",
        question=slice_rows,
    ),
    Deviation(
        _REDUCEAT,
        "*",
        "warns of NaN in bfloat16 and complex numbers of 16-bit floats, which fails where warnings are errors",
        "the loops of ml_dtypes leave the processor's flag for invalid operations set",
        _SEEN,
        segments([1, NAN], [0, 0], dtype="bfloat16"),
        both(has_nan, of_dtype("bfloat16", "complex32", "bcomplex32")),
        about="NaN",
        raises="RuntimeWarning",
    ),
)
