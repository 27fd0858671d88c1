"""pandas: groupby().max() of a column, reindexed to all segments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..case import Case
from ..implementation import Implementation, import_optional
from ..subjects import decline_options


def load(name: str) -> Implementation:
    """Return pandas."""
    pandas = import_optional("pandas")

    def reduce(data: Any, segment_ids: Any, num_segments: Any) -> np.ndarray:
        found = pandas.Series(data).groupby(segment_ids).max()
        return np.asarray(found.reindex(range(num_segments)).to_numpy())

    return Implementation(
        name, {"segment_max": reduce, "unsorted_segment_max": reduce}, pandas.__version__, decline_columns
    )


def decline_columns(case: Case) -> str:
    """Decline what is no column with a column of ids."""
    if decline_options(case) or case.family == "errors":
        return decline_options(case) or "errors are its own"
    if len(case["data"].shape) != 1 or len(case["segment_ids"].shape) != 1:
        return "takes columns only"
    if "swapped" in case["data"].layout + case["segment_ids"].layout:
        return "takes native byte order only"
    return "" if isinstance(case["num_segments"], int) else "num_segments must be an int"
