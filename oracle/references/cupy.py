"""cupyx.scatter_max into an array of the lowest value (needs CuPy and a GPU)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..case import Case
from ..implementation import Implementation, MissingError, import_optional
from ..subjects import decline_options

_DTYPES = ("int32", "uint32", "uint64", "float32", "float64", "float16")


def load(name: str) -> Implementation:
    """Return CuPy's scatter."""
    cupy, cupyx = import_optional("cupy"), import_optional("cupyx")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise MissingError(f"CuPy finds no GPU: {error}") from error

    def scatter(data: Any, segment_ids: Any, num_segments: Any) -> np.ndarray:
        lowest = np.finfo(data.dtype).min if data.dtype.kind == "f" else np.iinfo(data.dtype).min
        out = cupy.full((num_segments, *data.shape[1:]), lowest, data.dtype)
        cupyx.scatter_max(out, cupy.asarray(segment_ids), cupy.asarray(data))
        return np.asarray(cupy.asnumpy(out))

    return Implementation(name, {"segment_max": scatter, "unsorted_segment_max": scatter}, cupy.__version__, _decline)


def _decline(case: Case) -> str:
    if case.dtype not in _DTYPES:
        return f"takes no {case.dtype}"
    if len(case.get("segment_ids").shape if case.get("segment_ids") else ()) != 1:
        return "ids must have one dimension"
    return decline_options(case) or ("errors are CuPy's own" if case.family == "errors" else "")
