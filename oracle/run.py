"""A run: cases go to a subject and to references, every difference is explained or kept, everything is counted."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from . import references
from .case import Case
from .compare import Difference, describe, equal
from .deviations import DEVIATIONS, Ask, Deviation, explain
from .implementation import Implementation, Promise
from .outcome import Outcome

#: Cases that are asked together, so that references can answer many in one call.
_BLOCK = 4096


@dataclass
class Tally:
    """What a run has found."""

    subject: str
    references: tuple[str, ...]
    cases: int = 0
    seconds: float = 0.0
    compared: Counter[str] = field(default_factory=Counter)  #: comparisons by reference
    spent: defaultdict[str, float] = field(
        default_factory=lambda: defaultdict(float)
    )  #: seconds of answering by implementation
    explained: Counter[Deviation] = field(default_factory=Counter)  #: differences by the entries that explain them
    examples: dict[Deviation, Case] = field(default_factory=dict)  #: the first case of each entry
    declined: Counter[tuple[str, str]] = field(
        default_factory=Counter
    )  #: cases not asked, by implementation and reason
    cells: Counter[tuple[str, str]] = field(default_factory=Counter)  #: comparisons by dtype and family
    by_operation: Counter[tuple[str, str, str]] = field(default_factory=Counter)  #: by reference, operation and dtype
    failed: Counter[tuple[str, str]] = field(default_factory=Counter)  #: unexplained differences by dtype and family
    differences: list[tuple[str, Difference]] = field(
        default_factory=list
    )  #: the first unexplained, with the reference
    stale: list[Deviation] = field(default_factory=list)  #: entries that explained nothing in a full run

    @property
    def comparisons(self) -> int:
        """Number of comparisons."""
        return sum(self.compared.values())

    @property
    def passed(self) -> bool:
        """Whether nothing is unexplained and nothing stale."""
        return not self.failed and not self.stale


class Judge:
    """One subject against references."""

    def __init__(
        self,
        subject: Implementation,
        judges: Sequence[Implementation],
        entries: Collection[Deviation] = DEVIATIONS,
        keep: int = 200,
    ) -> None:
        self.subject, self.references, self.entries, self.keep = subject, judges, entries, keep
        self.tally = Tally(subject.name, tuple(item.name for item in judges))
        self._model = next((item for item in judges if item.name == "model"), None) or references.load("model")
        self._clean = not any(entry.applies_to(subject.name) for entry in entries)

    def run(self, cases: Iterable[Case], watch: Callable[[Tally], None] = lambda _: None) -> Tally:
        """Compare the subject with every reference on every case."""
        start = time.perf_counter()
        for block, promises in self._ask_ahead(cases):
            taken = [case for case in block if not self.subject.declines(case)]
            own = self.subject.submit(taken).result()
            self.tally.spent[self.subject.name] += own.seconds
            # By identity: cases of the objects 0, False and -0.0 are equal, their outcomes are not.
            got = dict(zip(map(id, taken), own.outcomes, strict=True))
            self.tally.cases += len(taken)
            for reference, (asked, promise) in zip(self.references, promises, strict=True):
                answers = promise.result()
                self.tally.spent[reference.name] += answers.seconds
                for case, outcome in zip(asked, answers.outcomes, strict=True):
                    if id(case) in got:
                        self._compare(case, got[id(case)], reference, replace(outcome, broken=()))
            self.tally.seconds = time.perf_counter() - start
            watch(self.tally)
        return self.tally

    def _ask_ahead(self, cases: Iterable[Case]) -> Iterator[tuple[list[Case], list[tuple[list[Case], Promise]]]]:
        """Yield blocks of cases with the references' promises, one block ahead of what is compared."""
        waiting = None
        stream = iter(cases)
        while block := list(islice(stream, _BLOCK)):
            promises = []
            for reference in self.references:
                asked = []
                for case in block:
                    reason = self.subject.declines(case) or reference.declines(case)
                    if reason:
                        self.tally.declined[reference.name, reason] += 1
                    else:
                        asked.append(case)
                promises.append((asked, reference.submit(asked)))
            if waiting:
                yield waiting
            waiting = block, promises
        if waiting:
            yield waiting

    def _compare(self, case: Case, got: Outcome, reference: Implementation, expected: Outcome) -> None:
        """Count one comparison and keep its difference unless entries explain it."""
        tally, cell = self.tally, (case.dtype, case.family)
        tally.compared[reference.name] += 1
        tally.cells[cell] += 1
        tally.by_operation[reference.name, case.operation, case.dtype] += 1
        # Nobody but us promises which NaN it is.
        erase = () if reference.payloads and self._clean else ("payloads",)
        if equal(got, expected, erase):
            return
        explained = self._explain(case, got, reference.name, expected, erase)
        if explained is not None:
            for entry in explained:
                tally.explained[entry] += 1
                tally.examples.setdefault(entry, case)
            return
        tally.failed[cell] += 1
        if len(tally.differences) < self.keep:
            tally.differences.append((reference.name, describe(case, got, expected, erase)))

    def _explain(
        self, case: Case, got: Outcome, reference: str, expected: Outcome, erase: Collection[str]
    ) -> tuple[Deviation, ...] | None:
        """Return the entries that explain a difference, None if none do."""
        if got.broken:
            return None
        if self._clean:
            # Who follows the contract can be asked what the reference is known to answer instead.
            return explain(reference, case, expected, self.subject.ask, erase, self.entries) or None
        ask: Ask = self._model.ask
        both = [
            explain(name, case, outcome, ask, erase, self.entries)
            for name, outcome in ((self.subject.name, got), (reference, expected))
        ]
        return None if None in both else tuple(entry for part in both if part for entry in part)


def find_stale(tally: Tally, entries: Collection[Deviation] = DEVIATIONS) -> list[Deviation]:
    """Return the entries on the implementations of a run that explained nothing in it."""
    names = (tally.subject, *tally.references)
    return [entry for entry in entries if any(map(entry.applies_to, names)) and entry not in tally.explained]
