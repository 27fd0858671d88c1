"""numpy_groupies.aggregate with func="max"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..case import Case
from ..implementation import Implementation, import_optional
from ..subjects import decline_options


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
    if decline_options(case) or case.family == "errors":
        return decline_options(case) or "errors are its own"
    return "" if len(case["segment_ids"].shape) == 1 else "ids must have one dimension"
