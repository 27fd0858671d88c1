"""An entry, and how entries together predict what an implementation answers.

There are five ways to predict: another question that the implementation answers (`question`), what it makes of the
right answer (`answer`), differences that it does not see (`erase`), an error that it raises (`raises`). Only where an
answer depends on things outside of the case is it left open (`anything`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from itertools import combinations

import numpy as np

from ..case import Case
from ..compare import equal
from ..outcome import Outcome
from .predicates import has_rows

Ask = Callable[[Case], Outcome]


@dataclass(frozen=True)
class Deviation:
    """One entry."""

    implementation: str  #: patterns of names, with `*`
    operation: str  #: patterns of operations
    does: str  #: what it does instead, for the reader
    reason: str  #: why
    source: str  #: where that is documented or can be seen
    proof: Case  #: minimal case
    when: Callable[[Case], bool]
    about: str = ""  #: which of PROPERTIES it is about
    question: Callable[[Case], Case] | None = None
    answer: Callable[[Case, np.ndarray], np.ndarray] | None = None
    erase: Collection[str] = ()
    raises: str = ""
    anything: bool = False

    @property
    def title(self) -> str:
        """Name of the entry in reports."""
        return f"{self.implementation}: {self.does}"

    def applies(self, implementation: str, case: Case) -> bool:
        """Return whether the entry speaks of this case."""
        operations = (fnmatch(case.operation, item) for item in self.operation.split(","))
        # What is none of the table's dtypes is outside of every domain but ours.
        if not self.applies_to(implementation) or not any(operations) or not has_rows(case):
            return False
        with np.errstate(all="ignore"):
            return self.when(case)

    def applies_to(self, implementation: str) -> bool:
        """Return whether the entry speaks of this implementation."""
        return any(fnmatch(implementation, item) for item in self.implementation.split(","))


def predicts(chosen: Iterable[Deviation], case: Case, outcome: Outcome, ask: Ask, erase: Collection[str]) -> bool:
    """Return whether an outcome is what entries together predict, given someone who answers by the contract."""
    erased, asked, answers = set(erase), case, []
    for entry in chosen:
        if entry.anything:
            return True
        if entry.raises:
            return outcome.error == entry.raises
        asked = entry.question(asked) if entry.question else asked
        answers += [entry.answer] if entry.answer else []
        erased |= set(entry.erase)
    expected = ask(asked)
    for change in answers:
        if expected.value is not None:
            expected = replace(expected, value=change(asked, expected.value))
    return equal(outcome, expected, erased)


def explain(
    implementation: str, case: Case, outcome: Outcome, ask: Ask, erase: Collection[str], entries: Collection[Deviation]
) -> tuple[Deviation, ...] | None:
    """Return the fewest entries that predict an outcome (none at all if it follows the contract), None if none do."""
    speaking = [entry for entry in entries if entry.applies(implementation, case)]
    for number in range(len(speaking) + 1):
        for chosen in combinations(speaking, number):
            if predicts(chosen, case, outcome, ask, erase):
                return chosen
    return None
