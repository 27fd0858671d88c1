"""Two revisions of segmax, interleaved: `make bench-compare BASE=main`.

Both are checked out and built in folders of their own below build/compare. In every round each is timed once, in turn,
in a process of its own, and the two times make a ratio. A cell fails if even the lower end of the ratio's confidence
interval is above 1.10, and still is when it is measured again in new processes: where a process gets its memory can
make it slower for as long as it lives. The exit status is 1 if a cell fails, 2 if something could not be done.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from graft import graft

graft()

from segmax._bench.problem import Problem  # noqa: E402
from segmax._bench.rounds import Cell, Contender, Worker, WorkerError, measure  # noqa: E402
from segmax._dispatch import LEVEL  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build/compare"

#: The ratio that no cell may be above, beyond noise.
LIMIT = 1.10

#: What is compared: operation, dtype, rows, width, lengths, order.
CELLS = [
    Problem(dtype, rows, width, lengths)
    for dtype, rows, width in [("float32", 4_000_000, 1), ("float32", 250_000, 16), ("float32", 30_000, 128)]
    for lengths in ("1", "4", "32", "1000")
]
_ONE = Problem("float32", 4_000_000, 1, "32")
CELLS += [
    replace(_ONE, dtype=dtype) for dtype in ("bool", "int8", "float16", "bfloat16", "int64", "float64", "complex64")
]
CELLS += [replace(_ONE, lengths=lengths) for lengths in ("each", "skewed", "giant", "empty")]
CELLS += [replace(_ONE, ids="int64"), replace(_ONE, rows=8, lengths="4"), replace(_ONE, rows=2_000, lengths="4")]
CELLS += [replace(_ONE, operation=name) for name in ("segment_min", "segment_argmax")]
# In the cache: which pages three long arrays get decides more than the loop, for as long as a process lives.
CELLS += [replace(_ONE, operation=name, rows=100_000) for name in ("maximum", "fmax")]
CELLS += [replace(_ONE, order="shuffled", lengths=lengths) for lengths in ("4", "1000")]


@dataclass(frozen=True)
class Verdict:
    """The new revision's time over the base's: the median of the rounds and a confidence interval of it."""

    ratio: float
    low: float
    high: float

    @property
    def slower(self) -> bool:
        """Whether the limit is passed beyond noise."""
        return self.low > LIMIT


def judge(base: Sequence[float], new: Sequence[float]) -> Verdict:
    """Return the ratio of times taken in the same rounds.

    The interval is between two of the sorted ratios, as many places from either end as a coin that is thrown once per
    round stays above in at least 95 of 100 cases: nothing is presumed of how the noise is distributed.
    """
    ratios = sorted(n / b for b, n in zip(base, new, strict=True))
    rounds = len(ratios)
    place, outside = 0, 2.0 / 2**rounds
    while place + 1 < rounds - 1 - place and outside + 2 * math.comb(rounds, place + 1) / 2**rounds <= 0.05:
        place += 1
        outside += 2 * math.comb(rounds, place) / 2**rounds
    return Verdict(statistics.median(ratios), ratios[place], ratios[-1 - place])


def compare(problem: Problem, time: Callable[[Problem, int], Cell], rounds: int) -> tuple[Verdict | None, Cell]:
    """Measure a cell; measure it again, longer, if it seems to be slower. None if a revision cannot do it."""
    cell = time(problem, rounds)
    if cell.refusals:
        return None, cell
    verdict = judge(cell.times["base"], cell.times["new"])
    if verdict.ratio > LIMIT:
        cell = time(problem, 3 * rounds)
        verdict = judge(cell.times["base"], cell.times["new"])
    return verdict, cell


def show(problem: Problem) -> str:
    """Return a cell in words."""
    order = "" if problem.order == "sorted" else f" {problem.order}"
    ids = "" if problem.ids == "int32" else f", {problem.ids} ids"
    return (
        f"{problem.operation.removeprefix('segment_')} {problem.dtype} {problem.rows} x {problem.width}, "
        f"{problem.lengths} rows/segment{order}{ids}"
    )


def run_git(*arguments: str) -> str:
    """Return what git prints."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def build(revision: str) -> Path:
    """Check a revision out, build it, unless both are done, and return the folder to import it from."""
    commit = run_git("rev-parse", "--verify", f"{revision}^{{commit}}")
    tree, site = FOLDER / commit[:12] / "tree", FOLDER / commit[:12] / "site"
    if (site / "built").exists():
        return site
    print(f"building {revision} ({commit[:12]}) ...", flush=True)
    tree.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "-C", str(tree)], input=archive, check=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--upgrade",
        "--target",
        str(site),
        str(tree),
    ]
    levels = os.environ.get("SEGMAX_LEVELS", f"baseline,{LEVEL}")  # what this machine would choose
    subprocess.run(command, check=True, env=os.environ | {"SEGMAX_LEVELS": levels})
    (site / "built").touch()
    return site


def start(sites: dict[str, Path], threads: int) -> list[Contender]:
    """Return both revisions, each in a process of its own."""
    command = [sys.executable, "-P", str(ROOT / "benchmarks/graft.py")]
    contenders = []
    for name, site in sites.items():
        environment = {"PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)}
        contenders.append(Contender(name, Worker(name, threads, command, environment), "segmax"))
    return contenders


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", help="revision to compare with")
    parser.add_argument("--new", default="", help="revision to be judged (default: the tracked files as they are)")
    parser.add_argument("--threads", type=int, default=1, help="(default: 1, which is the quieter)")
    parser.add_argument("--rounds", type=int, default=15, help="(default: 15; fewer than 6 prove nothing)")
    parser.add_argument("--json", type=Path, help="write all times")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the cells whose line holds this text")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Build, compare, print a line per cell."""
    options = parse(argv)
    try:
        new = options.new or run_git("stash", "create") or "HEAD"
        sites = {"base": build(options.base), "new": build(new)}
    except subprocess.CalledProcessError as error:
        print(f"{' '.join(map(str, error.cmd))} failed: {(error.stderr or '')!s}", file=sys.stderr)
        return 2

    def time(problem: Problem, rounds: int) -> Cell:
        contenders = start(sites, options.threads)
        try:
            return measure(problem, contenders, options.threads, rounds)
        finally:
            for contender in contenders:
                contender.worker.close()

    slower, cells = [], []
    print("| cell | base [ms] | new [ms] | new / base | 95 % interval | |\n|---|---|---|---|---|---|")
    for problem in CELLS:
        if options.only not in show(problem):
            continue
        try:
            verdict, cell = compare(problem, time, options.rounds)
        except WorkerError as error:
            print(error, file=sys.stderr)
            return 2
        cells.append(cell.as_dict())
        if verdict is None:
            print(f"| {show(problem)} | - | - | - | - | {cell.refusals} |", flush=True)
            if "new" in cell.refusals:
                slower.append(show(problem))
            continue
        if verdict.slower:
            slower.append(show(problem))
        medians = " | ".join(f"{cell.median(name) * 1e3:.3g}" for name in ("base", "new"))
        interval = f"{verdict.low:.3f} to {verdict.high:.3f}"
        print(
            f"| {show(problem)} | {medians} | {verdict.ratio:.3f} | {interval} | {'SLOWER' * verdict.slower} |",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(cells, indent=1) + "\n")
    print(f"{len(slower)} of {len(cells)} cells are slower by more than {LIMIT - 1:.0%}, beyond noise, or refused.")
    return 1 if slower or not cells else 0


if __name__ == "__main__":
    sys.exit(main())
