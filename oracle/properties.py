"""Properties of the contract: what a case can be about, by which implementations are told apart in a table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .arrays import Array
from .case import Case
from .deviations import predicates as p

_PLAIN = ("data", "segment_ids", "num_segments")


def _is_wide(case: Case) -> bool:
    return case.dtype in ("float16", "bfloat16", "float32", "float64")


def _has_layout(case: Case) -> bool:
    return any(array.layout for _, array in case.arguments if isinstance(array, Array))


def _has_other_ids(case: Case) -> bool:
    ids = case.get("segment_ids")
    return isinstance(ids, Array) and ids.dtype not in ("int32", "int64")


def _is_other(case: Case) -> bool:
    return case.dtype in ("object", "StringDType")


def _has_options(case: Case) -> bool:
    return "segment" in case.operation and any(name not in _PLAIN for name, _ in case.arguments)


#: Properties by name, in the order of the table: whether a case has it.
PROPERTIES: dict[str, Callable[[Case], bool]] = {
    "empty segments": p.has_empty_segment,
    "NaN": p.has_nan,
    "infinities": p.has_infinity,
    "signed zeros": p.has_both_zeros,
    "subnormals": p.has_subnormal,
    "negative ids": p.has_id_below,
    "ids of num_segments or more": p.has_id_above,
    "ids out of order": lambda case: p.is_unsorted(case) and not case.operation.startswith("unsorted"),
    "unsorted_ operations": lambda case: case.operation.startswith("unsorted"),
    "ids of other dtypes than int32 and int64": _has_other_ids,
    "ids of other ranks than 1": p.has_deep_ids,
    "num_segments=0": lambda case: p.find_count(case) == 0,
    "num_segments of None": lambda case: "segment_ids" in dict(case.arguments) and case.get("num_segments") is None,
    "no rows": p.has_no_rows,
    "rows of more than one element": p.has_wide_rows,
    "strides and byte order": _has_layout,
    "initial, where, out and other options": _has_options,
    "minimum": lambda case: case.operation.endswith("min") or case.operation.startswith("minimum"),
    "argmax and argmin": lambda case: "arg" in case.operation,
    "elementwise operations": lambda case: "segment" not in case.operation,
    "bool": lambda case: case.dtype == "bool",
    "integers": p.is_integer,
    "float16 to float64, bfloat16": _is_wide,
    "longdouble": lambda case: case.dtype == "longdouble",
    "complex numbers": p.is_complex,
    "dates and durations": p.is_time,
    "types of 8 bits and less": p.is_small,
    "Python objects and strings": _is_other,
}


def find_properties(case: Case) -> list[str]:
    """Return the properties that a case has."""
    with np.errstate(all="ignore"):
        return [name for name, has in PROPERTIES.items() if has(case)]
