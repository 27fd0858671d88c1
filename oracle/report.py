"""The report of a run: a document that JSON can carry, and one page of HTML made of that document alone.

Fields of the document (format 1; docs/verify.md shows one):

format, made, seconds      1; when the run ended, in UTC; how long it took
passed, full               the verdict; whether the run was one that must use every deviation entry
options                    what the run was asked for: seed, operation, dtype, family, and cases or seconds
subject                    name, version, seconds of answering
references                 for each: name, version, comparisons, seconds, per_second, declined (reason -> cases)
missing                    references that are not installed: name -> why
cases, comparisons         how many
dtypes, families           rows and columns of the matrix, in order
cells                      of the matrix: dtype, family, comparisons, unexplained
operations                 reference, operation, dtype, comparisons
differences                the first unexplained: reference, operation, dtype, family, got, expected, where, case,
                           replay
unexplained                how many there are
explained                  deviation entries: implementation, operation, does, reason, source, anything (whether any
                           answer is accepted), count, case (its first)
stale                      entries that explained nothing, in the same words
platform, versions, config where it ran, installed packages, what segmax.show_config() says

A `case` is the line that `segmax verify --case` takes, a `replay` the whole command.
"""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import os
import platform
import shlex
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import show_config
from .arrays import ROWS
from .case import Case
from .deviations import Deviation
from .implementation import Implementation
from .references import FILES
from .run import Tally
from .strategies import FAMILY_NAMES

Document = dict[str, Any]

#: Packages whose versions a report gives where they are installed.
_PACKAGES = ("segmax", "numpy", "ml_dtypes", "hypothesis", *dict.fromkeys(FILES.values()))


def describe(
    tally: Tally,
    subject: Implementation,
    references: Sequence[Implementation],
    *,
    command: Sequence[str] = ("segmax", "verify"),
    options: Mapping[str, Any] | None = None,
    missing: Mapping[str, str] | None = None,
    full: bool = False,
) -> Document:
    """Return the document of a run.

    Parameters
    ----------
    tally : Tally
        What the run found.
    subject, references : Implementation
        Who took part.
    command : sequence of str
        Words that replay a case when ``--reference NAME --case JSON`` follows.
    options, missing, full
        What the run was asked for, references that are not installed, whether no entry may be stale.
    """
    dtypes, families = order_cells(tally)
    return {
        "format": 1,
        "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "seconds": round(tally.seconds, 3),
        "passed": tally.passed,
        "full": full,
        "options": dict(options or {}),
        "subject": {
            "name": subject.name,
            "version": subject.version,
            "seconds": round(tally.spent.get(subject.name, 0.0), 3),
        },
        "references": [_describe_reference(tally, item) for item in references],
        "missing": dict(missing or {}),
        "cases": tally.cases,
        "comparisons": tally.comparisons,
        "dtypes": dtypes,
        "families": families,
        "cells": [
            {
                "dtype": dtype,
                "family": family,
                "comparisons": tally.cells[dtype, family],
                "unexplained": tally.failed[dtype, family],
            }
            for dtype in dtypes
            for family in families
            if tally.cells[dtype, family]
        ],
        "operations": [
            {"reference": reference, "operation": operation, "dtype": dtype, "comparisons": count}
            for (reference, operation, dtype), count in tally.by_operation.items()
        ],
        "differences": [
            {
                "reference": reference,
                "operation": item.case.operation,
                "dtype": item.case.dtype,
                "family": item.case.family,
                "got": item.got,
                "expected": item.expected,
                "where": item.where,
                "case": item.case.to_json(),
                "replay": format_replay(item.case, reference, command),
            }
            for reference, item in tally.differences
        ],
        "unexplained": sum(tally.failed.values()),
        "explained": [
            _describe_entry(entry) | {"count": count, "case": tally.examples[entry].to_json()}
            for entry, count in tally.explained.most_common()
        ],
        "stale": [_describe_entry(entry) for entry in tally.stale],
        "platform": platform.platform(),
        "versions": {"python": platform.python_version()} | find_versions(),
        "config": read_config(),
    }


def order_cells(tally: Tally) -> tuple[list[str], list[str]]:
    """Return the dtypes and families of a run, in the order of the table of dtypes and of the strategies."""
    dtypes, families = ({cell[k] for cell in tally.cells} for k in range(2))
    return _sort(dtypes, [row.name for row in ROWS]), _sort(families, FAMILY_NAMES)


def _sort(names: Collection[str], order: Sequence[str]) -> list[str]:
    """Return names in an order, and what that does not know after them."""
    return [*(name for name in order if name in names), *sorted(set(names) - set(order))]


def _describe_reference(tally: Tally, reference: Implementation) -> Document:
    compared, seconds = tally.compared[reference.name], tally.spent.get(reference.name, 0.0)
    declined = Counter({reason: n for (name, reason), n in tally.declined.items() if name == reference.name})
    return {
        "name": reference.name,
        "version": reference.version,
        "comparisons": compared,
        "seconds": round(seconds, 3),
        "per_second": round(compared / seconds, 1) if seconds else 0.0,
        "declined": dict(declined.most_common()),
    }


def _describe_entry(entry: Deviation) -> Document:
    return {
        name: getattr(entry, name) for name in ("implementation", "operation", "does", "reason", "source", "anything")
    }


def format_replay(case: Case, reference: str, command: Sequence[str] = ("segmax", "verify")) -> str:
    """Return the line for a shell that compares a case once more."""
    return shlex.join([*command, "--reference", reference, "--case", case.to_json()])


def find_versions() -> dict[str, str]:
    """Return the versions of the packages that are installed."""
    found = {}
    for name in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def read_config() -> dict[str, str]:
    """Return what `segmax.show_config` prints, by what its lines begin with."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        show_config()
    return {line[:12].strip(): line[12:].strip() for line in printed.getvalue().splitlines()}


def write_json(document: Document, path: Path) -> None:
    """Write a document; the file is there as a whole or not at all."""
    write_whole(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def write_html(document: Document, path: Path) -> None:
    """Write a document's page; the file is there as a whole or not at all."""
    from .page import render

    write_whole(path, render(document))


def write_whole(path: Path, text: str) -> None:
    """Write a file that takes its name only when all is written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
