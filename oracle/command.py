"""`segmax verify` and `python -m segmax.oracle`: judge a subject, print what came of it, write reports.

Exit status: 0 if nothing is unexplained, 1 for an unexplained difference or, in a full run, a stale deviation entry,
2 if there was no such run to make.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path

from . import deviations, references, report, strategies, subjects, terminal
from .arrays import ROWS
from .case import OPERATIONS, SEGMENT_OPERATIONS, Case
from .catalogue import CATALOGUE
from .implementation import Implementation, MissingError, Remote
from .run import Judge, Tally, find_stale
from .shrink import shrink

#: Random cases of a run, and the fewest of a full one.
CASES = 20_000

#: Differences that are shrunk; the others say the same, most of the time.
_SHRUNK = 5


class UsageError(Exception):
    """There is no such run to make."""


def build_parser(program: str = "segmax verify") -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(
        prog=program,
        description="Compare an implementation bit for bit with references, on named and on random cases.",
        epilog="PATTERNs are comma-separated and may have `*`. --list shows all names.",
    )
    parser.add_argument("--subject", default="cpu", metavar="NAME", help="what is judged (default: cpu)")
    parser.add_argument(
        "--reference",
        action="append",
        metavar="NAME",
        help=f"what it is compared with; may be repeated (default: {', '.join(references.USUAL)}, if installed)",
    )
    for name in ("operation", "dtype", "family"):
        parser.add_argument(f"--{name}", default="*", metavar="PATTERN", help=f"only what fits (default: every {name})")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--cases", type=int, metavar="N", help=f"random cases to make (default: {CASES})")
    length.add_argument("--seconds", type=float, metavar="S", help="make random cases for so long instead")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="the same seed, the same cases (default: 0)")
    parser.add_argument("--case", metavar="JSON", help="compare this one case, as a run printed it (-: standard input)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found")
    parser.add_argument("--report", type=Path, metavar="FILE.html", help="write it as a page")
    parser.add_argument("--no-shrink", dest="shrink", action="store_false", help="show differences as they were found")
    parser.add_argument("--list", action="store_true", help="show subjects, references, operations, families, dtypes")
    return parser


def main(argv: Sequence[str] | None = None, program: str = "segmax verify") -> int:
    """Run the command and return its exit status."""
    arguments = build_parser(program).parse_args(argv)
    try:
        with contextlib.ExitStack() as stack:
            return _run(arguments, stack)
    except BrokenPipeError:
        # Whoever read our output has had enough. Python would complain of it once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return 130
    except (UsageError, MissingError, RuntimeError, OSError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2


def _run(arguments: argparse.Namespace, stack: contextlib.ExitStack) -> int:
    if arguments.list:
        _list_names()
        return 0
    _check(arguments)
    case = _read_case(arguments.case) if arguments.case is not None else None
    subject = _load_subject(arguments, case)
    stack.callback(subject.close)
    judges, missing = load_references(arguments.reference)
    for judge in judges:
        stack.callback(judge.close)
        if isinstance(judge, Remote):
            judge.start()
    for name, why in missing.items():
        print(f"{name} is left out: {why}", file=sys.stderr)
    if case is not None:
        return _replay(case, subject, judges)
    tally = judge_all(subject, judges, arguments)
    full = _is_full(arguments, subject, tally)
    if full:
        tally.stale = find_stale(tally, deviations.DEVIATIONS)
    if arguments.shrink:
        shrink_differences(tally, subject, judges)
    document = report.describe(
        tally,
        subject,
        judges,
        command=("segmax", "verify", *(("--subject", arguments.subject) if arguments.subject != "cpu" else ())),
        options=_describe_options(arguments),
        missing=missing,
        full=full,
    )
    terminal.print_document(document)
    if arguments.json:
        report.write_json(document, arguments.json)
        print(f"wrote {arguments.json}")
    if arguments.report:
        report.write_html(document, arguments.report)
        print(f"wrote {arguments.report}")
    if not tally.comparisons:
        raise UsageError("nothing was compared: the references decline every case that fits.")
    return 0 if tally.passed else 1


def _describe_options(arguments: argparse.Namespace) -> dict[str, object]:
    """Return what the run was asked for, as the report shows it."""
    options = {name: getattr(arguments, name) for name in ("seed", "operation", "dtype", "family")}
    if arguments.seconds is not None:
        return options | {"seconds": arguments.seconds}
    return options | {"cases": CASES if arguments.cases is None else arguments.cases}


def _check(arguments: argparse.Namespace) -> None:
    """Refuse what argparse lets through."""
    if arguments.cases is not None and arguments.cases < 0:
        raise UsageError(f"--cases is {arguments.cases}; give 0 or more.")
    if arguments.seconds is not None and not arguments.seconds >= 0:
        raise UsageError(f"--seconds is {arguments.seconds}; give 0 or more.")
    for name in ("json", "report"):
        path = getattr(arguments, name)
        if path is not None and path.is_dir():
            raise UsageError(f"--{name} {path} is a folder; give a file.")
    if arguments.seed < 0:
        raise UsageError(f"--seed is {arguments.seed}; give 0 or more.")
    known = {
        "operation": OPERATIONS,
        "dtype": [row.name for row in ROWS],
        "family": strategies.FAMILY_NAMES,
    }
    for name, names in known.items():
        for pattern in getattr(arguments, name).split(","):
            if not any(fnmatch(item, pattern) for item in names):
                raise UsageError(f"--{name} {pattern} fits none; --list shows what there is.")


def _read_case(text: str) -> Case:
    try:
        case = Case.from_json(sys.stdin.read() if text == "-" else text)
        case.build()
    except Exception as error:  # whatever is wrong with it: the text is the user's
        raise UsageError(f"--case is no case as a run prints them ({type(error).__name__}: {error}).") from error
    return case


def _load_subject(arguments: argparse.Namespace, case: Case | None) -> Implementation:
    operation = case.operation if case else arguments.operation
    try:
        # A callable does one operation only: the one asked for.
        return subjects.load(arguments.subject, operation if operation in OPERATIONS else SEGMENT_OPERATIONS[0])
    except (ValueError, AttributeError) as error:
        raise UsageError(f"--subject {arguments.subject}: {error}") from error


def load_references(asked: Sequence[str] | None) -> tuple[list[Implementation], dict[str, str]]:
    """Return references, those asked for or the usual ones, and why others of the usual ones are missing."""
    loaded, missing = [], {}
    for name in dict.fromkeys(asked or references.USUAL):
        try:
            loaded.append(references.load(name))
        except ValueError as error:
            raise UsageError(f"--reference {error}") from error
        except MissingError as error:
            if asked or (name.startswith("tensorflow") and os.environ.get("SEGMAX_REQUIRE_TENSORFLOW") == "1"):
                raise UsageError(f"the reference {name} is missing: {error}") from error
            missing[name] = str(error)
    return loaded, missing


def find_named_cases(names: Sequence[str]) -> list[Case]:
    """Return the catalogue, and the proofs of what is known of some implementations."""
    entries = [entry for entry in deviations.DEVIATIONS if any(map(entry.applies_to, names))]
    return [*CATALOGUE.values(), *(entry.proof for entry in entries)]


def judge_all(subject: Implementation, judges: Sequence[Implementation], arguments: argparse.Namespace) -> Tally:
    """Run the named cases, then random ones, as far as they fit."""

    def fits(case: Case) -> bool:
        pairs = ((case.operation, arguments.operation), (case.dtype, arguments.dtype), (case.family, arguments.family))
        return all(any(fnmatch(name, item) for item in patterns.split(",")) for name, patterns in pairs)

    named = filter(fits, find_named_cases([subject.name, *(item.name for item in judges)]))
    cells = strategies.find_cells(arguments.operation, arguments.dtype, arguments.family)
    own = [cell for cell in cells if cell[1] in subject.functions]
    start = time.monotonic()
    number = None if arguments.seconds is not None else CASES if arguments.cases is None else arguments.cases

    def generate() -> Iterator[Case]:
        yield from (case for case in named if case.operation in subject.functions)
        for case in islice(strategies.generate(own, arguments.seed), number):
            if arguments.seconds is not None and time.monotonic() - start > arguments.seconds:
                return
            yield case

    with _show_progress(number, arguments.seconds, start) as watch:
        return Judge(subject, judges, deviations.DEVIATIONS).run(generate(), watch)


@contextlib.contextmanager
def _show_progress(number: int | None, seconds: float | None, start: float) -> Iterator[Callable[[Tally], None]]:
    """Show a bar on a terminal, if tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        tqdm = None
    if tqdm is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    total, unit = (number, "case") if seconds is None else (round(seconds), "s")
    with tqdm(total=total, unit=unit, leave=False) as bar:

        def watch(tally: Tally) -> None:
            done = tally.cases if seconds is None else round(time.monotonic() - start)
            bar.set_postfix_str(f"{tally.comparisons:,} comparisons, {sum(tally.failed.values()):,} unexplained")
            bar.update(min(done, bar.total) - bar.n)

        yield watch


def _is_full(arguments: argparse.Namespace, subject: Implementation, tally: Tally) -> bool:
    """Return whether a run was wide and long enough to show whatever is known of those who took part."""
    unfiltered = all(getattr(arguments, name) == "*" for name in ("operation", "dtype", "family"))
    return unfiltered and tally.cases >= CASES and all(name in subject.functions for name in OPERATIONS)


def shrink_differences(tally: Tally, subject: Implementation, judges: Sequence[Implementation]) -> None:
    """Put smaller cases that fail in the same way in the place of the first differences."""
    by_name = {judge.name: judge for judge in judges}
    for k, (name, difference) in enumerate(tally.differences[:_SHRUNK]):
        found = difference.case
        error = subject.ask(found).error

        def is_failing(case: Case, name: str = name, error: str = error) -> bool:
            if subject.declines(case) or by_name[name].declines(case) or subject.ask(case).error != error:
                return False
            return bool(_judge_one(case, subject, by_name[name]).differences)

        again = _judge_one(shrink(found, is_failing), subject, by_name[name]).differences
        if again:
            tally.differences[k] = again[0]


def _judge_one(case: Case, subject: Implementation, judge: Implementation) -> Tally:
    return Judge(subject, [judge], deviations.DEVIATIONS, keep=1).run([case])


def _replay(case: Case, subject: Implementation, judges: Sequence[Implementation]) -> int:
    """Compare one case and print everything about it."""
    reason = subject.declines(case)
    if reason:
        raise UsageError(f"{subject.name} declines the case: {reason}.")
    terminal.print_case(case)
    terminal.print_outcome(subject.name, subject.ask(case))
    failed = compared = 0
    for judge in judges:
        reason = judge.declines(case)
        if reason:
            print(f"\n{judge.name} declines the case: {reason}")
            continue
        tally = _judge_one(case, subject, judge)
        terminal.print_outcome(judge.name, judge.ask(case))
        terminal.print_comparison(tally)
        compared += 1
        failed += not tally.passed
    if not compared:
        raise UsageError("nothing was compared: every reference declines the case.")
    return 1 if failed else 0


def _list_names() -> None:
    """Print all names that options take."""
    installed = {
        name: file in ("model", "numpy") or importlib.util.find_spec(file) is not None
        for name, file in references.FILES.items()
    }
    terminal.print_names("subjects", (subjects.__doc__ or "").splitlines()[2:])
    terminal.print_names(
        "references", [name + ("" if there else " (not installed)") for name, there in installed.items()]
    )
    terminal.print_names("operations", list(OPERATIONS))
    terminal.print_names("families", strategies.FAMILY_NAMES)
    terminal.print_names("dtypes", [row.name for row in ROWS])
