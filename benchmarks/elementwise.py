"""The ufuncs side by side with NumPy's, interleaved, median of rounds: `python benchmarks/elementwise.py`.

A cell is NumPy's time over ours: above 1 we are faster. One thread unless --threads says more.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import segmax
from segmax._dtypes import DTYPES

Run = Callable[[np.ufunc], Any]


def make_runs(dtype: np.dtype, n: int) -> dict[str, Run]:
    """Return what is timed on n elements of a dtype, by name."""
    rng = np.random.default_rng(0)
    a, b = ((rng.standard_normal(2 * n) * 50).astype(np.int64).astype(dtype) for _ in range(2))
    x, y, out = a[:n], b[:n], np.empty(n, dtype)
    p, q = a[::2], b[::2]
    places = rng.integers(0, n, n)
    runs: dict[str, Run] = {
        "binary": lambda f: f(x, y, out=out),
        "scalar": lambda f: f(x, y[:1], out=out),
        "strided": lambda f: f(p, q, out=out),
        "reversed": lambda f: f(x[::-1], y, out=out),
        "reduce": lambda f: f.reduce(x),
        "reduce strided": lambda f: f.reduce(p),
        "accumulate": lambda f: f.accumulate(x, out=out),
    }
    if n <= 100_000:
        runs["at"] = lambda f: f.at(out, places, y)
    return runs


def measure(run: Run, rounds: int, n: int) -> float:
    """Return the ratio of NumPy's median time to ours."""
    times: dict[Any, list[float]] = {np.maximum: [], segmax.maximum: []}
    repeats = max(1, 20_000 // max(n, 1))
    for _ in range(rounds):
        for ufunc, taken in times.items():
            start = time.perf_counter()
            for _ in range(repeats):
                run(ufunc)
            taken.append(time.perf_counter() - start)
    theirs, ours = (statistics.median(taken) for taken in times.values())
    return theirs / ours


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 1000, 100_000, 10_000_000])
    parser.add_argument("--dtypes", nargs="+")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    segmax.set_num_threads(arguments.threads)
    results: dict[str, dict[str, float]] = {}
    for n in arguments.sizes:
        names = list(make_runs(np.dtype("i1"), 1 if n < 100 else 100))
        print(f"\n| n = {n:,} | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 1))
        for row in DTYPES:
            if (row.used and row.order != "sign") or row.kernel == "numpy":
                continue
            if arguments.dtypes and row.name not in arguments.dtypes:
                continue
            try:
                if row.package == "ml_dtypes":
                    import ml_dtypes

                    dtype = np.dtype(getattr(ml_dtypes, row.name))
                else:
                    dtype = np.dtype({"datetime64": "M8[s]", "timedelta64": "m8[s]"}.get(row.name, row.name))
                runs = make_runs(dtype, n)
            except (ImportError, TypeError, ValueError):
                continue
            cells = {name: measure(run, arguments.rounds, n) for name, run in runs.items()}
            results[f"{row.name} {n}"] = cells
            print(
                f"| {row.name} | " + " | ".join(f"{cells[name]:.2f}" if name in cells else "" for name in names) + " |",
                flush=True,
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
