"""The ufuncs: dtype x layout, a size that fits a cache."""

from __future__ import annotations

import numpy as np

import segmax
from segmax._bench.elementwise import UFUNCS, make_runs
from segmax._bench.problem import find_dtype

_SIZE = 100_000


class Ufuncs:
    """Each layout of `segmax bench --elementwise`, by dtype."""

    param_names = ("ufunc", "dtype", "layout")
    params = (
        list(UFUNCS),
        ["int8", "int32", "float16", "bfloat16", "float32", "float64", "float8_e5m2", "complex64", "datetime64"],
        list(make_runs(np.dtype("i1"), 8)),
    )

    def setup(self, ufunc: str, dtype: str, layout: str) -> None:
        segmax.set_num_threads(1)
        self.ufunc, self.layout = getattr(segmax, ufunc), make_runs(find_dtype(dtype), _SIZE)[layout]

    def time_ufunc(self, ufunc: str, dtype: str, layout: str) -> None:
        self.layout(self.ufunc)
