"""Limits that several implementations share, in words."""

from __future__ import annotations

from ..arrays import Array
from ..case import Case
from ..subjects import decline_options


def decline_call(case: Case, owner: str) -> str:
    """Decline what no plain call ``function(data, segment_ids, num_segments)`` can say."""
    return decline_options(case) or (f"errors are {owner} own" if case.family == "errors" else "")


def decline_memory(case: Case) -> str:
    """Decline what only a NumPy array can hold."""
    layouts = "+".join(array.layout for _, array in case.arguments if isinstance(array, Array))
    if "swapped" in layouts:
        return "takes native byte order only"
    return "takes bools of 0 and 1 only" if case.dtype == "bool" and "soiled" in layouts else ""
