"""segment_max side by side with its peers, in one process, interleaved: `python benchmarks/segment.py`.

Each cell is the best of several rounds, in which every contender runs once in turn, so that all share the machine's
moods. `read` is NumPy's maximum over data and ids on one thread: the time in which the bytes can be read once. Results
are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

import segmax

Contender = Callable[[], np.ndarray]


def make_contenders(data: np.ndarray, ids: np.ndarray, count: int) -> dict[str, Contender]:
    """Return what is compared, by name."""

    def on_threads(threads: int) -> Contender:
        def run() -> np.ndarray:
            with segmax.num_threads(threads):
                return segmax.segment_max(data, ids, count)

        return run

    def reduceat() -> np.ndarray:
        return np.maximum.reduceat(data, np.flatnonzero(np.diff(ids, prepend=-1)))

    contenders = {"segmax 2": on_threads(2), "segmax 1": on_threads(1), "reduceat": reduceat}
    try:
        import tensorflow as tf
    except ImportError:
        return contenders
    tensors = tf.constant(data), tf.constant(ids)
    compiled = tf.function(
        lambda x, i: tf.raw_ops.SegmentMaxV2(data=x, segment_ids=i, num_segments=count), jit_compile=True
    )
    contenders["tf.segment_max"] = lambda: tf.math.segment_max(*tensors).numpy()
    contenders["SegmentMaxV2"] = lambda: compiled(*tensors).numpy()
    return contenders


def compare(contenders: dict[str, Contender], ids: np.ndarray) -> None:
    """Raise unless all give the same for the segments that have rows."""
    present = np.unique(ids)
    want = contenders["segmax 1"]()[present]
    for name, run in contenders.items():
        got = run()
        if not np.array_equal(got if name == "reduceat" else got[present], want):
            raise SystemExit(f"{name} differs from segmax")


def time_in_turn(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the best time of each in milliseconds."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], 1e3 * (time.perf_counter() - start))
    return best


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--widths", type=int, nargs="+", default=[1, 16, 128])
    parser.add_argument("--lengths", type=int, nargs="+", default=[1, 4, 32, 1000])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    header: list[str] = []
    for width in arguments.widths:
        rows = (10_000_000 if width == 1 else 20_000_000) // width
        data = rng.standard_normal((rows, width) if width > 1 else rows).astype(np.float32)
        for length in arguments.lengths:
            count = max(1, rows // length)
            ids = np.sort(rng.integers(0, count, rows)).astype(np.int32)
            contenders = make_contenders(data, ids, count)
            compare(contenders, ids)
            times = time_in_turn(contenders | {"read": lambda d=data, i=ids: (d.max(), i.max())}, arguments.rounds)
            peers = [value for name, value in times.items() if not name.startswith(("segmax", "read"))]
            if not header:
                header = ["width", "rows/segment", *(f"{name} [ms]" for name in times), "best peer / segmax 2"]
                print("| " + " | ".join(header) + " |\n|" + "---|" * len(header))
            cells = [str(width), str(length), *(f"{value:.1f}" for value in times.values())]
            print("| " + " | ".join([*cells, f"{min(peers) / times['segmax 2']:.1f}"]) + " |", flush=True)


if __name__ == "__main__":
    main()
