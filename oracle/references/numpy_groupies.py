"""numpy_groupies.aggregate with func="max"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._dtypes import DTYPES
from ..case import Case
from ..implementation import Implementation, import_optional
from .domain import decline_call, decline_memory

#: The numbers of NumPy itself.
_DTYPES = [
    row.name
    for row in DTYPES
    if row.package == "numpy" and row.name not in ("datetime64", "timedelta64", "object", "StringDType")
]


def load(name: str) -> Implementation:
    """Return the aggregation in NumPy, which is there without a compiler."""
    groupies = import_optional("numpy_groupies")

    def call(func: str) -> Callable[..., np.ndarray]:
        def reduce(data: Any, segment_ids: Any, num_segments: Any) -> np.ndarray:
            axis = 0 if data.ndim > 1 else None
            result = groupies.aggregate_numpy.aggregate(segment_ids, data, func=func, size=num_segments, axis=axis)
            return np.asarray(result)

        return reduce

    functions = {
        prefix + operation: call(operation[-3:])
        for operation in ("segment_max", "segment_min")
        for prefix in ("", "unsorted_")
    }
    return Implementation(name, functions, getattr(groupies, "__version__", ""), _decline)


def _decline(case: Case) -> str:
    if case.dtype not in _DTYPES:
        return f"knows no {case.dtype}"
    reason = decline_call(case, "its") or decline_memory(case)
    if reason:
        return reason
    if len(case["segment_ids"].shape) != 1:
        return "ids must have one dimension"
    return "" if isinstance(case["num_segments"], int) else "num_segments must be an int"
