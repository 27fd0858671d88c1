"""Rounds: in each, every contender is timed once, in turn, so that all share the machine's moods."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .peers import PEERS
from .problem import Problem

#: Seconds between two contenders: threads of the last one may still be waiting for work, busily.
_REST = 5e-3


class WorkerError(Exception):
    """A process that has ended or failed outside of a call."""


def limit_threads(threads: int) -> dict[str, str]:
    """Return the environment in which every package uses so many threads."""
    count = str(threads)
    many = "true" if threads > 1 else "false"
    return {
        "SEGMAX_NUM_THREADS": count,
        "OMP_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "NUMBA_NUM_THREADS": count,
        "POLARS_MAX_THREADS": count,
        "TF_NUM_INTRAOP_THREADS": count,
        "TF_NUM_INTEROP_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={many} intra_op_parallelism_threads={count}",
        "NPROC": count,  # what JAX's CPU client takes the size of its pool from
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_X64": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }


class Worker:
    """A process with an environment of its own, kept to as many CPUs as it may have threads."""

    def __init__(
        self,
        name: str,
        threads: int,
        command: Sequence[str] = (sys.executable, "-P", "-m", f"{__package__}.worker"),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        here = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        merged = os.environ | limit_threads(threads) | here | dict(environment or {})
        self._process = subprocess.Popen(
            command, env=merged, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        if hasattr(os, "sched_setaffinity"):
            cpus = sorted(os.sched_getaffinity(0))[:threads]
            os.sched_setaffinity(self._process.pid, cpus)

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Return the answer to a request."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do} | request) + "\n")
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            raise WorkerError(f"the process of {self.name} has ended with status {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "failure" in answer:
            raise WorkerError(f"the process of {self.name} failed:\n{answer['failure']}")
        return answer

    def close(self) -> None:
        """End the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        self._process.wait()


@dataclass(frozen=True)
class Contender:
    """Whose time it is: a peer in a process. In the same process may be several."""

    name: str
    worker: Worker
    peer: str


@dataclass
class Cell:
    """A problem and the seconds that each contender took, round by round."""

    problem: Problem
    threads: int
    times: dict[str, list[float]]
    refusals: dict[str, str] = field(default_factory=dict)  #: who cannot do it, and why

    def median(self, name: str) -> float:
        """Return the median time of a contender in seconds."""
        return statistics.median(self.times[name])

    def spread(self, name: str) -> float:
        """Return half the distance between the quartiles, as a part of the median."""
        times = self.times[name]
        if len(times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(times, n=4, method="inclusive")
        return (high - low) / 2 / self.median(name)

    def best_peer(self, offsets: bool = False) -> str | None:
        """Return the fastest of those that are given ids, or else offsets; None if there is none."""
        others = [
            peer.name
            for peer in PEERS
            if peer.name in self.times and peer.offsets == offsets and peer.package != "segmax" and peer.name != "read"
        ]
        return min(others, key=self.median) if others else None

    def ratio(self, offsets: bool = False) -> float | None:
        """Return the best peer's time over ours, both given ids, or else offsets."""
        best, ours = self.best_peer(offsets), "segmax-indptr" if offsets else "segmax"
        return self.median(best) / self.median(ours) if best and ours in self.times else None

    def as_dict(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        return {
            "problem": asdict(self.problem),
            "threads": self.threads,
            "median": {name: self.median(name) for name in self.times},
            "spread": {name: self.spread(name) for name in self.times},
            "times": self.times,
            "refusals": self.refusals,
            "best_peer": self.best_peer(),
            "ratio": self.ratio(),
            "best_peer_offsets": self.best_peer(offsets=True),
            "ratio_offsets": self.ratio(offsets=True),
        }


def measure(problem: Problem, contenders: Iterable[Contender], threads: int, rounds: int) -> Cell:
    """Prepare a problem everywhere, then time all that can do it round by round, every other round backwards."""
    contenders = list(contenders)
    cell = Cell(problem, threads, {})
    by_worker: dict[Worker, list[Contender]] = {}
    for contender in contenders:
        by_worker.setdefault(contender.worker, []).append(contender)
    for worker, ours in by_worker.items():
        answer = worker.ask("prepare", problem=asdict(problem), peers=[contender.peer for contender in ours])
        cell.refusals |= {c.name: answer["refusals"][c.peer] for c in ours if c.peer in answer["refusals"]}
    able = [contender for contender in contenders if contender.name not in cell.refusals]
    cell.times = {contender.name: [] for contender in able}
    for turn in range(rounds):
        for contender in able if turn % 2 == 0 else reversed(able):
            time.sleep(_REST)
            cell.times[contender.name].append(contender.worker.ask("time", peer=contender.peer)["seconds"])
    return cell
