"""Instructions per element under callgrind, against a budget: `make instructions`.

Seconds differ from run to run, instructions do not. Each cell is a call of the public function with two sizes; the
difference of their instructions over the difference of their elements is what an element costs, without what Python
and the call cost. Kernels of level v3 (valgrind knows no AVX-512), one thread.

The exit status is 1 if a cell needs over 3 % more than its budget, 2 if nothing can be counted here. `--update` writes
what was counted as the budget; a cell that needs over 3 % less ought to be written down, too, and is shown.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from graft import graft

package = graft()

from segmax import _dispatch  # noqa: E402
from segmax._bench.problem import Problem  # noqa: E402

HERE = Path(__file__).resolve().parent
BUDGET = HERE / "instructions.json"
LEVEL = "v3"
SLACK = 0.03

#: Rows, or elements of a ufunc, of the two calls whose difference counts.
SIZES = (8_000, 24_000)

_ONE = Problem("float32", 0, 1, "32")
CELLS = [
    *(
        replace(_ONE, lengths=lengths)
        for lengths in ("each", "even:4", "even:32", "even:1000", "skewed", "giant", "empty")
    ),
    *(replace(_ONE, dtype=name) for name in ("bool", "int8", "uint16", "int64", "float64")),
    *(replace(_ONE, dtype=name) for name in ("float16", "bfloat16", "float8_e5m2", "float8_e4m3fnuz", "complex64")),
    *(replace(_ONE, width=width, lengths="even:4") for width in (2, 8, 16, 128)),
    replace(_ONE, width=16, lengths="each"),
    replace(_ONE, dtype="float16", width=16),
    replace(_ONE, ids="int64"),
    replace(_ONE, operation="segment_min"),
    replace(_ONE, operation="segment_argmax"),
    replace(_ONE, order="shuffled"),
    *(replace(_ONE, operation="maximum", dtype=name) for name in ("float32", "float16", "int64", "complex64")),
    replace(_ONE, operation="fmin", dtype="bfloat16"),
]


class CountError(Exception):
    """Why nothing can be counted here, in a sentence."""


def show(problem: Problem) -> str:
    """Return the name of a cell in the budget."""
    parts = [problem.operation, problem.dtype]
    if "segment" in problem.operation:
        parts += [f"x{problem.width}", problem.lengths, problem.order, problem.ids]
    return " ".join(parts)


def find_obstacle() -> str:
    """Return why nothing can be counted here, "" if it can."""
    for program in ("valgrind", os.environ.get("CC", "cc")):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    if LEVEL not in _dispatch.available_levels():
        return f"level {LEVEL} is not built, or this CPU lacks it"
    return ""


def find_compiler() -> str:
    """Return what compiled the kernels, as it says itself in them."""
    kernels = next((Path(package.__file__).parent / "_kernels").glob(f"segment_{LEVEL}.*"))
    found = re.search(rb"GCC: \([^)]*\) [\d.]+|clang version [\d.]+", kernels.read_bytes())
    return found.group().decode() if found else "unknown"


def count(problems: Sequence[Problem], sizes: Sequence[int] = SIZES) -> dict[str, float]:
    """Return the instructions per element of each problem.

    Raises
    ------
    CountError
        If valgrind, its header or a C compiler is missing, or the counted process fails.
    """
    if obstacle := find_obstacle():
        raise CountError(f"{obstacle}: instructions cannot be counted here")
    environment = os.environ | {
        "SEGMAX_CPU_LEVEL": LEVEL,
        "SEGMAX_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    calls = [(f"{show(problem)}|{rows}", asdict(replace(problem, rows=rows))) for problem in problems for rows in sizes]
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "callgrind.so")
        command = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", str(HERE / "callgrind.c"), "-o", str(library)]
        built = subprocess.run(command, capture_output=True, text=True)
        if built.returncode:
            raise CountError(f"callgrind.c cannot be built (valgrind's header missing?):\n{built.stderr}")
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out"]
        command += [sys.executable, str(HERE / "count.py"), str(library)]
        ended = subprocess.run(command, input=json.dumps(calls), env=environment, capture_output=True, text=True)
        if ended.returncode:
            raise CountError(f"the counted process failed:\n{ended.stderr[-2000:]}")
        counts = read_counts(Path(folder))
    elements = {show(problem): problem.width * (sizes[1] - sizes[0]) for problem in problems}
    return {
        name: round((counts[f"{name}|{sizes[1]}"] - counts[f"{name}|{sizes[0]}"]) / elements[name], 4)
        for name in elements
    }


def read_counts(folder: Path) -> dict[str, int]:
    """Return the instructions in each of callgrind's files, by the name under which they were written down."""
    counts = {}
    for path in folder.glob("out.*"):
        text = path.read_text()
        name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
        total = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
        if name and total:
            counts[name.group(1)] = int(total.group(1))
    return counts


def check(budget: Mapping[str, float], counted: Mapping[str, float], slack: float = SLACK) -> dict[str, str]:
    """Return what is wrong with each cell, in words; a cell that is as it should be is left out."""
    wrong = {}
    for name in {**budget, **counted}:
        if name not in counted:
            wrong[name] = "is in the budget, but no longer counted"
        elif name not in budget:
            wrong[name] = "has no budget"
        elif counted[name] > budget[name] * (1 + slack):
            wrong[name] = f"needs {counted[name] / budget[name] - 1:.1%} more than its budget"
    return wrong


def main(argv: Sequence[str] | None = None) -> int:
    """Count, and compare with the budget or write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write what is counted as the budget")
    options = parser.parse_args(argv)
    compiler = find_compiler() if not find_obstacle() else ""
    content = {} if options.update else json.loads(BUDGET.read_text())
    if content and compiler and content["compiler"] != compiler:
        print(
            f"The budget was made with {content['compiler']}, the kernels with {compiler}: they cannot be compared. "
            "Check out the revision that is to be compared with, build it, and make instructions-update.",
            file=sys.stderr,
        )
        return 2
    try:
        counted = count(CELLS)
    except CountError as error:
        print(error, file=sys.stderr)
        return 2
    if options.update:
        BUDGET.write_text(json.dumps({"compiler": compiler, "level": LEVEL, "cells": counted}, indent=1) + "\n")
        print(f"wrote {len(counted)} cells to {BUDGET.name}")
        return 0
    budget = content["cells"]
    wrong = check(budget, counted)
    print("| cell | budget | counted | |\n|---|---|---|---|")
    for name in {**budget, **counted}:
        lower = name in counted and name in budget and counted[name] < budget[name] * (1 - SLACK)
        note = wrong.get(name, "needs less: make instructions-update" if lower else "")
        print(f"| {name} | {budget.get(name, '-')} | {counted.get(name, '-')} | {note} |")
    print(f"{len(wrong)} of {len(budget)} cells are out of their budget of instructions per element.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
