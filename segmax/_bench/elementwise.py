"""The ufuncs side by side with NumPy's, in this process, round by round."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import _elementwise
from .problem import find_dtype

Run = Callable[[Any], Any]

#: The ufuncs, all of which NumPy has, too.
UFUNCS = ("maximum", "minimum", "fmax", "fmin")

#: Elements up to which `ufunc.at` is timed: NumPy's takes seconds for millions of some dtypes.
_MOST_AT = 100_000


def make_runs(dtype: np.dtype, size: int) -> dict[str, Run]:
    """Return what is timed on so many elements of a dtype, by layout: each is given the ufunc."""
    rng = np.random.default_rng(0)
    a, b = ((rng.standard_normal(2 * size) * 50).astype(np.int64).astype(dtype) for _ in range(2))
    x, y, out = a[:size], b[:size], np.empty(size, dtype)
    p, q = a[::2], b[::2]
    runs: dict[str, Run] = {
        "binary": lambda f: f(x, y, out=out),
        "scalar": lambda f: f(x, y[:1], out=out),
        "strided": lambda f: f(p, q, out=out),
        "reversed": lambda f: f(x[::-1], y, out=out),
        "reduce": lambda f: f.reduce(x),
        "reduce strided": lambda f: f.reduce(p),
        "accumulate": lambda f: f.accumulate(x, out=out),
    }
    if size <= _MOST_AT:
        places = rng.integers(0, size, size)
        runs["at"] = lambda f: f.at(out, places, y)
    return runs


def measure(name: str, run: Run, size: int, rounds: int) -> dict[str, float]:
    """Return the median times of NumPy and of us in seconds, and the first over the second."""
    times: dict[str, list[float]] = {"numpy": [], "segmax": []}
    ufuncs = {"numpy": getattr(np, name), "segmax": getattr(_elementwise, name)}
    repeats = max(1, 20_000 // max(size, 1))
    for _ in range(rounds):
        for who, ufunc in ufuncs.items():
            start = time.perf_counter()
            for _ in range(repeats):
                run(ufunc)
            times[who].append((time.perf_counter() - start) / repeats)
    theirs, ours = (statistics.median(taken) for taken in times.values())
    return {"numpy": theirs, "segmax": ours, "ratio": theirs / ours}


def measure_all(
    ufuncs: Sequence[str], dtypes: Sequence[str], sizes: Sequence[int], rounds: int
) -> Iterator[tuple[int, str, str, dict[str, dict[str, float]]]]:
    """Give size, ufunc, dtype and, by layout, what was measured."""
    for size in sizes:
        for name in dtypes:
            runs = make_runs(find_dtype(name), size)
            for ufunc in ufuncs:
                with np.errstate(all="ignore"):
                    yield size, ufunc, name, {what: measure(ufunc, run, size, rounds) for what, run in runs.items()}
