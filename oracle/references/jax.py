"""jax.ops.segment_max and segment_min, called as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..case import Case
from ..implementation import Implementation, import_optional
from .domain import decline_call, decline_memory

#: Dtypes that a JAX array on a CPU can have.
_DTYPES = {
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz"),
}


def load(name: str) -> Implementation:
    """Return JAX with 64-bit types switched on."""
    jax = import_optional("jax")
    jax.config.update("jax_enable_x64", True)

    def call(function: Callable[..., Any], in_order: bool) -> Callable[..., np.ndarray]:
        def reduce(data: Any, segment_ids: Any, num_segments: Any) -> np.ndarray:
            arrays = (jax.numpy.asarray(np.ascontiguousarray(item)) for item in (data, segment_ids))
            return np.asarray(function(*arrays, num_segments, indices_are_sorted=in_order))

        return reduce

    functions = {
        prefix + operation: call(getattr(jax.ops, operation), not prefix)
        for operation in ("segment_max", "segment_min")
        for prefix in ("", "unsorted_")
    }
    return Implementation(name, functions, jax.__version__, _decline)


def _decline(case: Case) -> str:
    if case.dtype not in _DTYPES:
        return f"has no {case.dtype}"
    return decline_call(case, "JAX's") or decline_memory(case)
