"""`python -m segmax.oracle.hostcuda [options] script.py [arguments]`: check a CuPy script on the CPU."""

from __future__ import annotations

import argparse
import dataclasses
import json
import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from . import configure, counts, events, install, launches, render, report
from .nvrtc import ARCHITECTURES
from .settings import SCHEDULES, Settings
from .versions import UnsupportedError


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    default = Settings()
    parser = argparse.ArgumentParser(
        prog="python -m segmax.oracle.hostcuda",
        description="Run a CuPy script on the CPU and report what is wrong with its kernels. "
        "Exits with 1 if anything is, with 2 if hostcuda cannot run here, and else as the script does.",
    )
    parser.add_argument("--seed", type=int, default=default.seed, help="of the order of threads (default %(default)s)")
    parser.add_argument("--schedule", choices=SCHEDULES, default=default.schedule, help="default: %(default)s")
    parser.add_argument("--ptx", action="store_true", help="run NVRTC's PTX, translated to C++, not the source")
    parser.add_argument("--arch", default=default.architecture, metavar="NN", help="of --ptx (default %(default)s)")
    parser.add_argument(
        "--nvrtc",
        nargs="?",
        const=",".join(ARCHITECTURES),
        default="",
        metavar="NN,NN",
        help="also compile every kernel with NVRTC for these (--nvrtc=90,120; without a value: the usual ones)",
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="also write faults, launches and counts as JSON")
    parser.add_argument("script", type=Path)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="for the script")
    return parser.parse_args(arguments)


def run(script: Path, arguments: Sequence[str]) -> int:
    """Run a script as python itself would, and return its exit status."""
    sys.argv = [str(script), *arguments]
    sys.path[0] = str(script.resolve().parent)
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def main() -> int:
    """Run the command and return its exit status."""
    options = parse()
    try:
        install()
    except UnsupportedError as error:
        print(error, file=sys.stderr)
        return 2
    configure(
        seed=options.seed,
        schedule=options.schedule,
        code="ptx" if options.ptx else "source",
        architecture=options.arch,
        architectures=tuple(filter(None, options.nvrtc.split(","))),
    )
    status = run(options.script, options.arguments)
    faults = report()
    print(render(faults), file=sys.stderr)
    if options.report:
        content = {
            "faults": [dataclasses.asdict(fault) for fault in faults],
            "launches": [dataclasses.asdict(launch) for launch in launches()],
            "events": len(events()),
            "counts": counts(),
        }
        options.report.write_text(json.dumps(content, indent=1) + "\n")
    return 1 if faults else status


if __name__ == "__main__":
    sys.exit(main())
