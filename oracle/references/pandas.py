"""pandas: groupby().max() of a column, reindexed to all segments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..case import Case
from ..implementation import Implementation, import_optional
from .domain import decline_call, decline_memory

_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "datetime64", "timedelta64", "object", "StringDType"),
)


def load(name: str) -> Implementation:
    """Return pandas."""
    pandas = import_optional("pandas")

    def reduce(data: Any, segment_ids: Any, num_segments: Any) -> np.ndarray:
        found = pandas.Series(data).groupby(segment_ids).max()
        return np.asarray(found.reindex(range(num_segments)).to_numpy())

    return Implementation(name, {"segment_max": reduce, "unsorted_segment_max": reduce}, pandas.__version__, _decline)


def _decline(case: Case) -> str:
    return decline_columns(case) if case.dtype in _DTYPES else f"has no maximum of {case.dtype}"


def decline_columns(case: Case) -> str:
    """Decline what is no column with a column of ids."""
    reason = decline_call(case, "its") or decline_memory(case)
    if reason:
        return reason
    if len(case["data"].shape) != 1 or len(case["segment_ids"].shape) != 1:
        return "takes columns only"
    return "" if isinstance(case["num_segments"], int) else "num_segments must be an int"
