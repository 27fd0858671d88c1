"""Polars: group_by().max() of a column, put in its place among all segments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..case import Case
from ..implementation import Implementation, import_optional
from .pandas import decline_columns

_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "bool")


def load(name: str) -> Implementation:
    """Return Polars."""
    polars = import_optional("polars")

    def reduce(data: Any, segment_ids: Any, num_segments: Any) -> np.ndarray:
        frame = polars.DataFrame({"id": np.ascontiguousarray(segment_ids), "value": np.ascontiguousarray(data)})
        found = frame.group_by("id").agg(polars.col("value").max())
        everyone = polars.DataFrame({"id": polars.arange(num_segments, eager=True).cast(found["id"].dtype)})
        joined = everyone.join(found, on="id", how="left", maintain_order="left")
        return np.asarray(joined["value"].to_numpy())

    return Implementation(name, {"segment_max": reduce, "unsorted_segment_max": reduce}, polars.__version__, _decline)


def _decline(case: Case) -> str:
    return decline_columns(case) if case.dtype in _DTYPES else f"takes no {case.dtype}"
