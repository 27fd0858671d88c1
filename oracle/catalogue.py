"""Named edge cases: each a sentence of the contract, small enough to work out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array
from .case import Case

_NAN, _INFINITY = float("nan"), float("inf")


def _segments(
    operation: str, data: Any, ids: Any, count: Any = None, dtype: str = "float32", id_dtype: str = "int32", **more: Any
) -> Case:
    return Case.of(
        operation,
        "catalogue",
        data=Array.of(data, dtype=dtype),
        segment_ids=Array.of(ids, dtype=id_dtype),
        num_segments=count,
        **more,
    )


def _offsets(operation: str, data: Any, indptr: Any, dtype: str = "float32", **more: Any) -> Case:
    return Case.of(
        operation, "catalogue", data=Array.of(data, dtype=dtype), indptr=Array.of(indptr, dtype="int64"), **more
    )


def _pair(operation: str, x1: Any, x2: Any, dtype: str = "float32") -> Case:
    return Case.of(operation, "catalogue", x1=Array.of(x1, dtype=dtype), x2=Array.of(x2, dtype=dtype))


#: Edge cases by name.
CATALOGUE: dict[str, Case] = {
    "empty segments give the lowest finite value": _segments("segment_max", [1, 2], [1, 3], 5),
    "empty segments give the highest finite value": _segments("segment_min", [1, 2], [1, 3], 5),
    "no rows at all": _segments("segment_max", [], [], 2),
    "no segments": _segments("segment_max", [1, 2], [0, 1], 0),
    "no rows and no segments": _segments("segment_max", [], [], None),
    "only negative ids, number unknown": _segments("segment_max", [1, 2], [-2, -1], None),
    "-inf only gives the lowest finite value": _segments("segment_max", [-_INFINITY] * 2, [0, 0], 1),
    "-inf only with initial=-inf": _segments("segment_max", [-_INFINITY] * 2, [0, 0], 1, initial=-_INFINITY),
    "argmax of -inf only is its first row": _segments("segment_argmax", [-_INFINITY] * 2, [0, 0], 1),
    "NaN first": _segments("segment_max", [_NAN, 1, 2], [0, 0, 0], 1),
    "NaN in the middle": _segments("segment_max", [1, _NAN, 2], [0, 0, 0], 1),
    "NaN last": _segments("segment_max", [1, 2, _NAN], [0, 0, 0], 1),
    "NaN only": _segments("segment_max", [_NAN], [0], 1),
    "NaN omitted": _segments("segment_max", [_NAN, 1], [0, 0], 1, nan="omit"),
    "NaN only omitted": _segments("segment_max", [_NAN], [0], 1, nan="omit"),
    "NaN only omitted is no empty segment": _segments("segment_max", [_NAN], [0], 2, nan="omit", fill_value=7),
    "the first NaN wins argmax": _segments("segment_argmax", [1, _NAN, 2, _NAN], [0, 0, 0, 0], 1),
    "argmax of omitted NaN only is -1": _segments("segment_argmax", [_NAN, _NAN], [0, 0], 1, nan="omit", fill_value=9),
    "argmax ties go to the first row": _segments("segment_argmax", [3, 7, 7, 3], [0, 0, 0, 1], 3),
    "argmax of both zeros": _segments("segment_argmax", [-0.0, 0.0], [0, 0], 1),
    "-0 before +0": _segments("segment_max", [-0.0, 0.0], [0, 0], 1),
    "+0 before -0": _segments("segment_max", [0.0, -0.0], [0, 0], 1),
    "minimum of zeros": _segments("segment_min", [0.0, -0.0], [0, 0], 1),
    "subnormals are kept": _segments("segment_max", [1e-40, 1e-45], [0, 1], 2),
    "int8 id 127 makes 128 segments": _segments("segment_max", [1], [127], None, id_dtype="int8"),
    "uint8 id 255 makes 256 segments": _segments("segment_max", [1], [255], None, id_dtype="uint8"),
    "ids are not cut to 32 bits": _segments("segment_max", [1, 2], [0, 2**32], 1, id_dtype="int64"),
    "unsigned ids are not wrapped": _segments("segment_max", [1, 2], [0, 2**64 - 1], 1, id_dtype="uint64"),
    "unsigned 32-bit ids are not wrapped": _segments("segment_max", [1, 2], [0, 2**32 - 1], 1, id_dtype="uint32"),
    "ids beyond 2**53 are not rounded": _segments("segment_max", [1, 2], [2**53, 2**53 + 1], 1, id_dtype="int64"),
    "negative ids are dropped": _segments("segment_max", [9, 1], [-1, 0], 2),
    "ids above are dropped": _segments("segment_max", [1, 9], [0, 2], 2),
    "unsorted ids raise": _segments("segment_max", [1, 2, 3], [1, 0, 1], 2),
    "unsorted ids are fine": _segments("unsorted_segment_max", [1, 2, 3], [1, 0, 1], 2),
    "unsorted ids leave out alone": _segments(
        "segment_max", [1, 2, 3], [0, 1, 0], 2, out=Array.of([5, 6], dtype="float32")
    ),
    "ids of rank 0": _segments("segment_max", [1, 2, 3], 1, 3),
    "ids of rank 2": _segments("segment_max", np.arange(12).reshape(2, 3, 2), [[0, 0, 1], [1, 1, 2]], 3),
    "bool": _segments("segment_max", [False, True], [0, 2], 3, "bool"),
    "int64 beyond 2**53": _segments("segment_max", [2**53, 2**53 + 1], [0, 0], 1, "int64"),
    "uint64 above int64": _segments("segment_max", [2**63, 1], [0, 0], 1, "uint64"),
    "complex is lexicographic": _segments("segment_max", [1 + 9j, 2 - 9j, 2 - 8j], [0, 0, 0], 1, "complex64"),
    "complex NaN whole": _segments("segment_max", [1 + 9j, complex(_NAN, 3)], [0, 0], 2, "complex64"),
    "NaT of an empty segment": _segments("segment_max", [0], [1], 2, "datetime64"),
    "datetime keeps its unit": _segments("segment_max", np.array([5, 9], "M8[us]"), [0, 0], 1, "datetime64[us]"),
    "fill_value leaves others alone": _segments("segment_max", [-_INFINITY], [0], 2, fill_value=3),
    "initial counts in every segment": _segments("segment_max", [1, 9], [0, 1], 3, initial=5),
    "where leaves out": _segments(
        "segment_max", [[1, 9], [2, 3]], [0, 0], 1, where=np.array([[True, False], [True, True]])
    ),
    "where that leaves nothing": _segments("segment_max", [1], [0], 1, where=np.array([False]), fill_value=4),
    "masked elements do not count": _segments("segment_max", [1, 9], [0, 0], 1, mask=np.array([False, True])),
    "equal offsets make an empty segment": _offsets("segment_max", [1, 2, 3], [0, 2, 2, 3]),
    "rows outside of indptr": _offsets("segment_max", [9, 1, 2, 9], [1, 2, 3]),
    "positions of indptr count from the axis's start": _offsets("segment_argmax", [9, 1, 2, 9], [1, 2, 3]),
    "segments of columns": _segments("segment_max", [[1, 2, 3], [4, 5, 6]], [0, 0, 1], 2, axis=1),
    "out over data": _segments("segment_max", [1, 5, 2, 3], [0, 0, 1, 2], 3, out="data"),
    "out over data, backwards": _segments("segment_max", [1, 5, 2, 3], [0, 0, 1, 2], 3, out="data reversed"),
    "maximum of zeros": _pair("maximum", [0.0, -0.0], [-0.0, 0.0]),
    "maximum of NaN": _pair("maximum", [_NAN, 1, _NAN], [1, _NAN, _NAN]),
    "fmax of NaN": _pair("fmax", [_NAN, 1, _NAN], [1, _NAN, _NAN]),
    "maximum of int64 beyond 2**53": _pair("maximum", [2**53 + 1], [2**53], "int64"),
}
