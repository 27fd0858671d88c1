"""NumPy: its ufuncs are the model of ours, and segments are reduced with them by the contract's one sentence."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from ..._dtypes import BY_NAME, lookup
from ..case import Case
from ..functions import find_functions
from ..implementation import Implementation
from .domain import decline_call


def load(name: str) -> Implementation:
    """Return NumPy as a reference, or one of its ufunc's methods as if it were a segment_max."""
    if name == "numpy":
        functions = {
            key: (_silently if key.endswith(".at") else _without_warning)(function)
            for key, function in find_functions(np).items()
        }
        for operation in ("segment_max", "segment_min", "segment_argmax", "segment_argmin"):
            functions[operation] = _reduce_segments(operation)
        for operation in ("unsorted_segment_max", "unsorted_segment_min"):
            functions[operation] = _reduce_segments(operation.removeprefix("unsorted_"))
        return Implementation(name, functions, np.__version__, _decline)
    if name == "numpy.maximum.at":
        functions = {"segment_max": _scatter, "unsorted_segment_max": _scatter}
        return Implementation(name, functions, np.__version__, _decline_scatter)
    return Implementation(name, {"segment_max": _reduce_slices}, np.__version__, _decline_slices)


def _decline(case: Case) -> str:
    """Say where the sentence is silent: errors, `out`, and dtypes without a lowest value."""
    if "segment" not in case.operation:
        return ""
    if case.family == "errors" or case.get("out") is not None:
        return "the sentence speaks of valid calls only"
    if BY_NAME[case.dtype].kernel == "numpy":
        return f"{case.dtype} is reduced by NumPy anyway"
    if "arg" in case.operation and (case.get("where") or case.get("mask") or case.get("nan") == "omit"):
        return "numpy.argmax has no where and no nan"
    if "arg" in case.operation and case.dtype in ("complex32", "bcomplex32"):
        return f"numpy.argmax cannot order {case.dtype}"
    if "arg" in case.operation and BY_NAME[case.dtype].used is not None and "soiled" in case["data"].layout:
        return f"numpy.argmax heeds the unused bits of {case.dtype}"
    ids = case.get("segment_ids")
    if (
        ids is not None
        and not case.operation.startswith("unsorted")
        and (np.diff(ids.plain.reshape(-1).astype(object)) < 0).any()
    ):
        return "the sentence knows no order"
    return ""


def _decline_scatter(case: Case) -> str:
    """Say where `numpy.maximum.at` has nothing to start from."""
    if case.family != "errors" and BY_NAME[case.dtype].kernel == "numpy":
        return f"{case.dtype} has no lowest value to start from"
    return decline_call(case, "NumPy's")


def _decline_slices(case: Case) -> str:
    """Say where `numpy.maximum.reduceat` cannot be asked."""
    return decline_call(case, "NumPy's") or (
        "" if len(case["segment_ids"].shape) == 1 else "ids must have one dimension"
    )


def _without_warning(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does not warn of NaN in what ml_dtypes' loops compare, but still of other things."""

    def call(**arguments: Any) -> Any:
        try:
            return function(**arguments)
        except RuntimeWarning as warning:
            compared = "invalid value encountered in" in str(warning) and not str(warning).endswith("cast")
            if not compared or any(getattr(value, "dtype", None) == np.dtype("O") for value in arguments.values()):
                raise
            return _silently(function)(**arguments)

    return call


def _silently(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(**arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(**arguments)

    return call


def _lowest(dtype: np.dtype, minimum: bool) -> np.ndarray:
    """Return what a maximum starts from."""
    row = lookup(dtype)
    assert row is not None
    if row.name == "longdouble":
        return np.asarray(np.finfo(dtype).max if minimum else np.finfo(dtype).min)
    part = row if row.part is None else BY_NAME[row.part]
    bits = part.highest if minimum else part.lowest
    return np.array([bits] * (row.bits // part.bits), f"u{part.bits // 8}").view(dtype)[0:1].reshape(())


def _reduce_segments(operation: str) -> Callable[..., np.ndarray]:
    """Return ``out[s] = op.reduce(data[segment_ids == s], axis=0, initial=initial)``, with a loop over segments."""
    minimum, arg = operation.endswith("min"), "arg" in operation

    def reduce(
        data: Any,
        segment_ids: Any = None,
        num_segments: Any = None,
        *,
        indptr: Any = None,
        axis: int = 0,
        initial: Any = None,
        fill_value: Any = None,
        nan: str = "propagate",
        where: Any = None,
    ) -> np.ndarray:
        ufunc = getattr(np, {"propagate": ("maximum", "minimum"), "omit": ("fmax", "fmin")}[nan][minimum])
        keep = np.broadcast_to(True if where is None else where, data.shape) & ~np.ma.getmaskarray(data)
        rows = np.ma.getdata(data)
        if axis:
            rows, keep = np.moveaxis(rows, axis, 0), np.moveaxis(keep, axis, 0)
        rows = rows.astype(rows.dtype.newbyteorder("=")) if not rows.dtype.isnative else rows
        if indptr is None:
            lead = segment_ids.ndim
            ids = segment_ids.reshape(-1)
            count = max([-1, *ids.tolist()]) + 1 if num_segments is None else int(num_segments)
            members = [np.flatnonzero(ids == s) for s in range(count)]
        else:
            lead = 1
            members = [np.arange(int(a), int(b)) for a, b in pairwise(indptr)]
            count = len(members)
        shape = (count, *rows.shape[lead:])
        size = int(np.prod(rows.shape[:lead]))
        rows, keep = rows.reshape(size, *shape[1:]), keep.reshape(size, *shape[1:])
        result = np.empty(shape, np.int64 if arg else rows.dtype)
        for s, chosen in enumerate(members):
            if arg:
                result[s] = _find_position(rows[chosen], chosen, fill_value, minimum)
            else:
                result[s] = _find_extreme(ufunc, rows[chosen], keep[chosen], initial, fill_value, minimum)
        return np.ascontiguousarray(np.moveaxis(result, 0, axis)) if axis else result

    return _silently(reduce)


def _find_extreme(
    ufunc: np.ufunc, rows: np.ndarray, keep: np.ndarray, initial: Any, fill_value: Any, minimum: bool
) -> np.ndarray:
    missing = rows.dtype.kind in "mM" and initial is None
    start = _lowest(rows.dtype, minimum) if initial is None else initial
    if missing and ufunc in (np.fmax, np.fmin):
        start = np.array("NaT", rows.dtype)
    reduced = np.asarray(ufunc.reduce(rows, axis=0, initial=start, where=keep))
    empty = np.array("NaT", rows.dtype) if missing else start
    return np.where(keep.any(axis=0), reduced, empty if fill_value is None else fill_value).astype(rows.dtype)


def _find_position(rows: np.ndarray, chosen: Any, fill_value: Any, minimum: bool) -> Any:
    if not len(chosen):
        return -1 if fill_value is None else fill_value
    return chosen[(np.argmin if minimum else np.argmax)(rows, axis=0)]


def _scatter(data: Any, segment_ids: Any, num_segments: Any) -> np.ndarray:
    """Segments by `numpy.maximum.at`, as is usually written."""
    shape = (int(num_segments), *data.shape[segment_ids.ndim :])
    native = data.dtype if data.dtype.isnative else data.dtype.newbyteorder("=")
    result = np.full(shape, _lowest(native, False))
    np.maximum.at(result, segment_ids, data)
    return result


def _reduce_slices(data: Any, segment_ids: Any, num_segments: Any) -> np.ndarray:
    """Segments by `numpy.maximum.reduceat`, as is usually written."""
    starts = np.searchsorted(segment_ids, np.arange(num_segments))
    return np.asarray(np.maximum.reduceat(data, starts, axis=0))
