"""`segmax bench`: its options, and what they lead to."""

from __future__ import annotations

import argparse
import importlib.util
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import _threads
from .._dtypes import BY_NAME as DTYPE_ROWS
from .._tables import InputError
from . import elementwise, report
from .peers import PEERS
from .problem import Problem, dtype_names, parse_lengths
from .rounds import Cell, Contender, Worker, WorkerError, measure

#: Elements of a problem, unless --rows says how many rows: a row of one element brings its id, which must be read, too.
_ELEMENTS = {"narrow": 10_000_000, "wide": 20_000_000}
_QUICK = {"narrow": 500_000, "wide": 1_000_000}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Give `segmax bench` its options."""
    peers = ", ".join(peer.name for peer in PEERS if peer.name != "read" and peer.package != "segmax")
    parser.set_defaults(run=run)
    parser.add_argument("--dtype", nargs="+", metavar="NAME", help="dtypes (default: float32; with --elementwise: all)")
    parser.add_argument("--rows", nargs="+", type=int, metavar="N", help="rows (default: 10 or 20 million elements)")
    parser.add_argument("--width", nargs="+", type=int, metavar="N", help="elements of a row (default: 1 16 128)")
    parser.add_argument(
        "--lengths",
        nargs="+",
        metavar="WHAT",
        help="rows per segment: a number, or each, even, skewed, giant, empty, with :NUMBER (default: 1 4 32 1000)",
    )
    parser.add_argument("--order", choices=["sorted", "shuffled"], default="sorted", help="order of the ids")
    parser.add_argument("--threads", nargs="+", type=int, metavar="N", help="threads of everybody (default: all CPUs)")
    parser.add_argument("--peers", nargs="+", metavar="NAME", help=f"whom to compare (default: all of {peers})")
    parser.add_argument("--repeats", type=int, metavar="N", help="rounds (default: 7)")
    parser.add_argument("--json", metavar="FILE", help="write all times")
    parser.add_argument("--plot", metavar="FILE.png", help="draw the ratios, and times against lengths")
    parser.add_argument("--quick", action="store_true", help="few small problems, three rounds: a look, no result")
    parser.add_argument("--elementwise", action="store_true", help="time the ufuncs against NumPy's instead")
    parser.add_argument("--ufunc", nargs="+", choices=elementwise.UFUNCS, help="with --elementwise (default: maximum)")


def _check(arguments: argparse.Namespace) -> None:
    """Raise InputError for options that ask for nothing that there is."""
    for option in ("rows", "width", "threads", "repeats"):
        given = getattr(arguments, option)
        for number in [] if given is None else given if isinstance(given, list) else [given]:
            if number < 1:
                raise InputError(f"--{option} is {number}; give 1 or more.")
    for name in arguments.dtype or ():
        if name not in dtype_names():
            raise InputError(f"--dtype {name} is unknown; give one of {', '.join(dtype_names())}.")
        if DTYPE_ROWS[name].package != "numpy" and importlib.util.find_spec(DTYPE_ROWS[name].package) is None:
            raise InputError(f"--dtype {name} needs {DTYPE_ROWS[name].package}: pip install 'segmax[small-floats]'.")
    for text in arguments.lengths or ():
        parse_lengths(text)
    known = [peer.name for peer in PEERS]
    for name in arguments.peers or ():
        if name not in known:
            raise InputError(f"--peers {name} is unknown; give some of {', '.join(known)}.")
        if not next(peer for peer in PEERS if peer.name == name).installed:
            raise InputError(f"--peers {name} is not installed; leave it out.")
    for option in ("json", "plot"):
        path = getattr(arguments, option)
        if path and not Path(path).absolute().parent.is_dir():
            raise InputError(f"--{option} {path} lies in a folder that does not exist.")
    if arguments.plot:
        if not arguments.plot.endswith((".png", ".svg", ".pdf")):
            raise InputError(f"--plot {arguments.plot} ends in none of .png, .svg and .pdf.")
        if arguments.elementwise:
            raise InputError("--plot draws segments; leave out --elementwise.")
        if importlib.util.find_spec("matplotlib") is None:
            raise InputError("--plot needs matplotlib: pip install 'segmax[plot]'.")
    if arguments.elementwise:
        for option in ("width", "lengths", "peers"):
            if getattr(arguments, option):
                raise InputError(f"--{option} is for segments; leave out --elementwise.")
    elif arguments.ufunc:
        raise InputError("--ufunc goes with --elementwise.")


def list_problems(arguments: argparse.Namespace) -> Iterator[Problem]:
    """Give the problems that the options ask for."""
    quick = arguments.quick
    elements = _QUICK if quick else _ELEMENTS
    widths = arguments.width or ([1, 16] if quick else [1, 16, 128])
    distributions = arguments.lengths or (["1", "32", "1000"] if quick else ["1", "4", "32", "1000"])
    for dtype in arguments.dtype or ["float32"]:
        for width in widths:
            for rows in arguments.rows or [elements["narrow" if width == 1 else "wide"] // width or 1]:
                for lengths in distributions:
                    yield Problem(dtype, rows, width, lengths, arguments.order)


def choose_names(arguments: argparse.Namespace) -> list[str]:
    """Return the contenders: the yardstick, ourselves and those asked for, or all that are installed."""
    asked = {*(arguments.peers or [peer.name for peer in PEERS if peer.installed])}
    asked |= {peer.name for peer in PEERS if peer.name == "read" or peer.package == "segmax"}
    shuffled = arguments.order == "shuffled"
    return [peer.name for peer in PEERS if peer.name in asked and (peer.any_order or not shuffled)]


def measure_problems(
    problems: list[Problem], names: list[str], threads: int, rounds: int, versions: dict[str, str]
) -> Iterator[Cell]:
    """Give a cell per problem; one process per package lives as long."""
    workers: dict[str, Worker] = {}
    try:
        contenders = []
        for peer in PEERS:
            if peer.name in names:
                if peer.package not in workers:
                    workers[peer.package] = Worker(peer.package, threads)
                contenders.append(Contender(peer.name, workers[peer.package], peer.name))
        for package, worker in workers.items():
            versions[package] = worker.ask("version", package=package)["version"]
        for problem in problems:
            yield measure(problem, contenders, threads, rounds)
    finally:
        for worker in workers.values():
            worker.close()


def run(arguments: argparse.Namespace) -> int:
    """Do `segmax bench`."""
    _check(arguments)
    if arguments.elementwise:
        return run_elementwise(arguments)
    names, problems = choose_names(arguments), list(list_problems(arguments))
    rounds = arguments.repeats or (3 if arguments.quick else 7)
    cells: list[Cell] = []
    versions: dict[str, str] = {}
    print(
        f"Median of {rounds} rounds ± half the distance between the quartiles; segments without rows are not compared."
    )
    print(report.show_header(names))
    try:
        for threads in arguments.threads or [_threads.get_num_threads()]:
            for cell in measure_problems(problems, names, threads, rounds, versions):
                print(report.show_cell(cell, names), flush=True)
                cells.append(cell)
    except WorkerError as error:
        raise InputError(f"{error}; leave the peer out with --peers.") from error
    for sentence in report.show_refusals(cells):
        print(sentence)
    if arguments.json:
        machine = report.describe_machine(versions)
        report.write_json(
            Path(arguments.json), {"machine": machine, "rounds": rounds, "cells": [c.as_dict() for c in cells]}
        )
        print(f"wrote {arguments.json}")
    if arguments.plot:
        from .plot import plot_cells

        plot_cells(cells, Path(arguments.plot))
        print(f"wrote {arguments.plot}")
    # Whoever gives a wrong result is left out, but that we do must not be overlooked.
    wrong = [cell for cell in cells if "segmax" in cell.refusals]
    return 1 if wrong else 0


def run_elementwise(arguments: argparse.Namespace) -> int:
    """Do `segmax bench --elementwise`."""
    quick = arguments.quick
    rounds = arguments.repeats or (3 if quick else 7)
    sizes = arguments.rows or ([1000] if quick else [1, 1000, 100_000, 10_000_000])
    ml_dtypes = importlib.util.find_spec("ml_dtypes") is not None
    names = arguments.dtype or [
        name
        for name in dtype_names()
        if DTYPE_ROWS[name].package == "numpy" or (ml_dtypes and not DTYPE_ROWS[name].used)
    ]
    results: list[dict[str, Any]] = []
    thread_counts = arguments.threads or [1]
    print("NumPy's time over ours, by layout: above 1 we are faster.")
    for threads in thread_counts:
        with _threads.num_threads(threads), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shown = 0
            for size, ufunc, dtype, cells in elementwise.measure_all(
                arguments.ufunc or ["maximum"], names, sizes, rounds
            ):
                if size != shown:
                    print(
                        f"\n| n = {size:,}, {threads} thread(s) | | {' | '.join(cells)} |\n{'|---' * (len(cells) + 2)}|"
                    )
                    shown = size
                ratios = " | ".join(f"{cell['ratio']:.2f}" for cell in cells.values())
                print(f"| {ufunc} | {dtype} | {ratios} |", flush=True)
                results.append({"size": size, "threads": threads, "ufunc": ufunc, "dtype": dtype, "layouts": cells})
    if arguments.json:
        report.write_json(
            Path(arguments.json), {"machine": report.describe_machine({}), "rounds": rounds, "elementwise": results}
        )
        print(f"wrote {arguments.json}")
    return 0
