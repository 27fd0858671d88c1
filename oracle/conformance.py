"""How other implementations keep the contract: `python -m segmax.oracle.conformance` asks them and writes a document.

Every reference that is installed is asked the proofs of what is known of it, the catalogue, and random cases of its
domain. A difference that no entry of DEVIATIONS predicts, and an entry whose proof no longer shows
it, make the run fail; the document says so.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

from . import references, strategies
from .case import Case
from .catalogue import CATALOGUE
from .deviations import DEVIATIONS, Deviation, explain
from .document import write_document
from .implementation import Implementation, MissingError
from .outcome import Outcome
from .properties import find_properties
from .run import Judge, Tally

#: Random cases that each implementation answers, and the seed they are made from.
CASES, SEED = 3000, 1

#: How many cases are made at most for each one that an implementation takes.
_PATIENCE = 60


@dataclass
class Survey:
    """What one implementation was asked, and how it answered."""

    implementation: Implementation
    tally: Tally
    entries: list[Deviation]  #: those that speak of it
    asked: Counter[str] = field(default_factory=Counter)  #: cases by property
    declined: Counter[str] = field(default_factory=Counter)  #: cases not asked, by reason
    stale: list[Deviation] = field(default_factory=list)  #: entries whose proof no longer shows them
    open: list[Deviation] = field(default_factory=list)  #: entries on what the model does not answer

    conformed: Counter[str] = field(default_factory=Counter)  #: cases without any deviation, by property

    @property
    def passed(self) -> bool:
        """Whether every difference is predicted and every entry shows."""
        return self.tally.passed and not self.stale

    def judge_property(self, name: str) -> str:
        """Return "conforms", "differs", or "" if no case of its domain has the property."""
        if any(entry.about == name for entry in self.tally.explained):
            return "differs"
        if self.conformed[name]:
            return "conforms"
        # What never comes out right is at the least overshadowed by something else.
        return "differs" if self.asked[name] else ""


class _Counting(Judge):
    """A judge that tells which properties are kept."""

    def __init__(self, subject: Implementation, model: Implementation, entries: Collection[Deviation]) -> None:
        super().__init__(subject, [model], entries)
        self.conformed: Counter[str] = Counter()

    def _compare(self, case: Case, got: Outcome, reference: Implementation, expected: Outcome) -> None:
        before = self._count()
        super()._compare(case, got, reference, expected)
        if self._count() == before:
            self.conformed.update(find_properties(case))

    def _count(self) -> int:
        return self.tally.explained.total() + self.tally.failed.total()


def show(
    entry: Deviation, subject: Implementation, model: Implementation, entries: Collection[Deviation] = DEVIATIONS
) -> bool | None:
    """Return whether the proof of an entry deviates as the entry alone predicts, None if it cannot be asked."""
    if subject.declines(entry.proof) or model.declines(entry.proof):
        return None
    [outcome] = subject.answer([entry.proof])
    return explain(subject.name, entry.proof, outcome, model.ask, ("payloads",), entries) == (entry,)


def survey(
    subject: Implementation,
    model: Implementation,
    cases: int = CASES,
    seed: int = SEED,
    entries: Collection[Deviation] = DEVIATIONS,
) -> Survey:
    """Ask an implementation its proofs, the catalogue and random cases of its domain."""
    own = [entry for entry in entries if entry.applies_to(subject.name)]
    judge = _Counting(subject, model, entries)
    found = Survey(subject, judge.tally, own, conformed=judge.conformed)
    for entry in own:
        shown = show(entry, subject, model, entries)
        if shown is None and not any(operation == entry.proof.operation for operation in subject.functions):
            continue
        if shown is None:
            found.open.append(entry)
        elif not shown:
            found.stale.append(entry)
    fixed = [*(entry.proof for entry in own), *CATALOGUE.values()]
    taken = chain(_take(found, model, fixed), islice(_take(found, model, _make(subject, cases, seed)), cases))
    judge.run(taken)
    return found


def _make(subject: Implementation, cases: int, seed: int) -> Iterator[Case]:
    cells = strategies.find_cells(",".join(subject.functions))
    return islice(strategies.generate(cells, seed), cases * _PATIENCE)


def _take(found: Survey, model: Implementation, cases: Iterator[Case] | Sequence[Case]) -> Iterator[Case]:
    """Yield the cases that can be asked, and count what they are about, or why they cannot."""
    for case in cases:
        if case.operation not in found.implementation.functions:
            continue
        reason = found.implementation.declines(case)
        if reason:
            found.declined[reason] += 1
        elif not model.declines(case):
            found.asked.update(find_properties(case))
            yield case


def load_installed(names: Collection[str] = ()) -> tuple[list[Implementation], dict[str, str]]:
    """Return the references that are installed, the model aside, and why the others are not there."""
    there, missing = [], {}
    for name in names or references.FILES:
        if name == "model":
            continue
        try:
            there.append(references.load(name))
        except MissingError as error:
            missing[name] = str(error)
    return there, missing


def main(arguments: Sequence[str] | None = None) -> int:
    """Survey what is installed and write the document; return 1 if something is unexplained or stale."""
    parser = argparse.ArgumentParser(prog="python -m segmax.oracle.conformance", description=__doc__)
    parser.add_argument(
        "--cases", type=int, default=CASES, metavar="N", help="random cases for each (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help="seed of the cases (default: %(default)s)")
    parser.add_argument(
        "--output", type=Path, default=Path("docs/conformance.md"), metavar="FILE", help="(default: %(default)s)"
    )
    parser.add_argument("--only", default="", metavar="NAMES", help="names of implementations, comma-separated")
    given = parser.parse_args(arguments)
    installed, missing = load_installed([name for name in given.only.split(",") if name])
    model = references.load("model")
    surveys = []
    for subject in installed:
        print(f"{subject.name} {subject.version} ...", end=" ", file=sys.stderr, flush=True)
        try:
            found = survey(subject, model, given.cases, given.seed)
        finally:
            subject.close()
        surveys.append(found)
        print(f"{found.tally.comparisons} comparisons in {found.tally.seconds:.0f} s", file=sys.stderr)
        for _, difference in found.tally.differences[:5]:
            print(f"  unexplained: {difference}", file=sys.stderr)
        for entry in found.stale:
            print(f"  stale: {entry.title}", file=sys.stderr)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(write_document(surveys, missing, given.cases, given.seed), encoding="utf-8")
    return 0 if all(found.passed for found in surveys) else 1


if __name__ == "__main__":
    sys.exit(main())
