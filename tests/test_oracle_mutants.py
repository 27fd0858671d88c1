"""A judge must be judged: planted faults are found by the cases that are there to find them, and nothing else is."""

from __future__ import annotations

import re
from itertools import islice

import pytest
from segmax.oracle import strategies, subjects
from segmax.oracle.case import OPERATIONS
from segmax.oracle.mutants import MUTANTS, find_cases, kill, load_references
from segmax.oracle.run import Judge

#: Cases within which each family of a mutant kills it; most need a few dozen.
BUDGET = 1000

PAIRS = [(mutant, family) for mutant in MUTANTS for family in mutant.families.split(",")]


@pytest.fixture(scope="module")
def judges():
    return load_references()


@pytest.mark.parametrize(("mutant", "family"), [pytest.param(*pair, id=f"{pair[0].name}-{pair[1]}") for pair in PAIRS])
def test_each_family_kills_its_mutants(mutant, family, judges):
    verdict = kill(mutant, BUDGET, family)
    assert verdict.difference is not None, f"{verdict.cases} cases of {family} let it live"
    case = verdict.difference.case
    assert case.family == family
    assert mutant.concerns(case)
    # An exception is a kill only where it is the fault: elsewhere it would be a mistake in the mutant itself.
    raised = re.match(r"\w+(Error|Warning)\b", verdict.difference.got)
    assert bool(raised) == mutant.raises, verdict.difference.got

    cases = list(islice(find_cases(mutant, family), verdict.cases))
    assert cases[-1] == case
    tally = Judge(subjects.load("cpu"), judges).run(cases)
    assert tally.passed, [str(difference) for _, difference in tally.differences]
    assert tally.comparisons


def test_names_are_unique():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_every_column_of_the_report_has_a_mutant():
    columns = {family for families in strategies.FAMILIES.values() for family in families}
    assert {family for _, family in PAIRS} == columns | {"catalogue"}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_has_a_mutant(operation):
    assert any(mutant.spoils(operation) for mutant in MUTANTS)


def test_a_mutant_that_is_none_lives():
    """Without a fault there is no difference: a kill is due to the fault alone."""
    for mutant in MUTANTS[:: len(MUTANTS) // 8]:
        harmless = type(mutant)("harmless", mutant.operations, mutant.families, lambda function: function)
        verdict = kill(harmless, 100)
        assert verdict.difference is None
        assert verdict.cases >= 20
