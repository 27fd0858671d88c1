"""The process of one package: makes the arrays of a problem, compares, and times one call whenever it is told to.

`python -m segmax._bench.worker` reads a JSON object per line and answers with one. What packages print goes nowhere.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
import traceback
from importlib import metadata
from typing import Any

import numpy as np

from .peers import BY_NAME, Peer, Run
from .problem import Arrays, Problem

#: Seconds that a measurement lasts at least: short calls are repeated.
_LEAST = 2e-3


def find_difference(peer: Peer, arrays: Arrays, result: Any) -> str:
    """Say in words how a result differs from NumPy's where segments have rows, "" if it does not."""
    got = peer.fetch(result)
    segments, want = arrays.expected()
    if not peer.compact and len(got) != arrays.count and len(got) != segments[-1] + 1:
        return f"gives {len(got)} segments of {arrays.count}"
    found = got if peer.compact else got[segments]
    if found.shape != want.shape:
        return f"gives the shape {found.shape} instead of {want.shape}"
    wrong = np.flatnonzero((found != want).reshape(len(want), -1).any(axis=1))
    if len(wrong):
        return f"differs in {len(wrong)} of {len(want)} segments, first in {segments[wrong[0]]}"
    return ""


def time_call(run: Run, number: int) -> float:
    """Return the seconds that a call takes, on average over `number` calls."""
    if number > 1:
        run()  # a short call is timed warm, a long one cannot be
    start = time.perf_counter()
    for _ in range(number):
        run()
    return (time.perf_counter() - start) / number


class Bench:
    """What a process holds: the calls that are ready to be timed."""

    def __init__(self) -> None:
        self.runs: dict[str, tuple[Run, int]] = {}

    def prepare(self, problem: dict[str, Any], peers: list[str]) -> dict[str, Any]:
        """Make the arrays and the calls; answer with what was refused and why."""
        self.runs.clear()
        arrays, refusals = Problem(**problem).make(), {}
        for name in peers:
            peer = BY_NAME[name]
            try:
                run = peer.prepare(arrays)
                # Only our own call knows other operations; they are compared by the tests.
                compared = name != "read" and arrays.problem.operation == "segment_max"
                if compared and (difference := find_difference(peer, arrays, run())):
                    refusals[name] = difference
                    continue
                run()
                number = max(1, math.ceil(_LEAST / time_call(run, 1)))
                self.runs[name] = run, number
            except Exception as error:  # whatever a peer raises, it means that it cannot do this problem
                refusals[name] = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
        return {"refusals": refusals}

    def time(self, peer: str) -> dict[str, float]:
        """Answer with the seconds of one call."""
        return {"seconds": time_call(*self.runs[peer])}

    def version(self, package: str) -> dict[str, str]:
        """Answer with the version of a package."""
        for name in (package, package.replace("_", "-")):
            try:
                return {"version": metadata.version(name)}
            except metadata.PackageNotFoundError:
                continue
        return {"version": "unknown"}


def main() -> None:
    """Serve on standard input and what was standard output, until the other side has gone."""
    answers = os.fdopen(os.dup(1), "w")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    bench = Bench()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(bench, request.pop("do"))(**request)
        except Exception:
            answer = {"failure": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
