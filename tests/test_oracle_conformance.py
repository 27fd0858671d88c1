"""What is known of other implementations is still true of those installed, and the document says all of it.

TensorFlow's share is required where SEGMAX_REQUIRE_TENSORFLOW is 1 and skipped, visibly, where it is not installed.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from segmax.oracle import conformance, references
from segmax.oracle.case import Case
from segmax.oracle.deviations import DEVIATIONS, Deviation, explain
from segmax.oracle.deviations.predicates import has_empty_segment
from segmax.oracle.deviations.questions import INFINITY, change, segments
from segmax.oracle.document import write_document
from segmax.oracle.implementation import Implementation, MissingError
from segmax.oracle.properties import PROPERTIES
from segmax.oracle.subjects import decline_options

MODEL = references.load("model")
#: Those that answer here; CuPy wants a GPU.
OTHERS = [name for name in references.FILES if name not in ("model", "cupyx.scatter_max")]
DOCUMENT = Path(__file__).parent.parent / "docs" / "conformance.md"


def load(name):
    try:
        return references.load(name)
    except MissingError as error:
        if references.FILES[name] == "tensorflow" and os.environ.get("SEGMAX_REQUIRE_TENSORFLOW") == "1":
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.mark.parametrize("name", OTHERS)
def test_proofs_deviate_as_predicted(name):
    """Each entry alone explains what its proof gives, so the proof neither conforms nor deviates otherwise."""
    subject = load(name)
    try:
        shown = {entry: conformance.show(entry, subject, MODEL) for entry in DEVIATIONS if entry.applies_to(name)}
    finally:
        subject.close()
    wrong = [entry.title for entry, there in shown.items() if there is False]
    assert not wrong
    assert any(shown.values())


@pytest.mark.parametrize("entry", DEVIATIONS, ids=lambda entry: entry.title)
def test_entries_are_well_made(entry):
    assert entry.about in PROPERTIES
    assert PROPERTIES[entry.about](entry.proof), "the proof is not about what the entry is about"
    names = [name for name in references.FILES if entry.applies(name, entry.proof)]
    assert names, "the entry does not speak of its own proof"
    assert sum([bool(entry.question), bool(entry.answer), bool(entry.erase), bool(entry.raises), entry.anything]) == 1
    for pattern in entry.implementation.split(","):
        assert any(entry.applies_to(name) for name in references.FILES), f"{pattern} is no implementation"
    assert all([entry.does, entry.reason, entry.source])


def test_titles_are_unique():
    """Reports tell entries apart by their titles and what they are about."""
    assert len({(entry.title, entry.operation, entry.about) for entry in DEVIATIONS}) == len(DEVIATIONS)


def test_the_document_is_complete():
    """The committed file names every implementation that is installed, and every entry."""
    text = DOCUMENT.read_text(encoding="utf-8")
    assert "Do not edit" in text.partition("\n")[0]
    assert "unexplained" not in text
    assert "better than its entry" not in text
    sections = {part.partition("\n")[0]: part for part in text.split("\n## ")}
    for name in OTHERS:
        try:
            references.load(name).close()
        except MissingError:
            continue
        assert name in sections, f"`make conformance` has not been run with {name}"
    for entry in DEVIATIONS:
        named = [part for name, part in sections.items() if entry.applies_to(name)]
        assert named
        assert all(f"### {entry.does}\n" in part for part in named), f"{entry.title} is not in the document"


def test_a_small_run_writes_the_document(tmp_path, capsys):
    path = tmp_path / "new" / "conformance.md"
    names = "numpy,numpy.maximum.at,numpy.maximum.reduceat"
    assert conformance.main(["--cases", "60", "--only", names, "--output", str(path)]) == 0
    text = path.read_text(encoding="utf-8")
    for name in names.split(","):
        assert f"\n## {name}\n" in text
        for entry in DEVIATIONS:
            if entry.applies_to(name):
                assert f"### {entry.does}\n" in text
                assert entry.proof.to_json() in text
    row = next(line for line in text.splitlines() if line.startswith("| empty segments |"))
    assert row.split("|")[2:5] == [" conforms ", " conforms ", " **differs** "]
    assert "comparisons in" in capsys.readouterr().err


# Implementations made up.


def start_from_infinity(data, segment_ids, num_segments):
    """Be right, but for what empty segments hold."""
    return MODEL.functions["segment_max"](data, segment_ids, num_segments, fill_value=-np.inf)


def decline(case):
    plain = not decline_options(case) and case.family != "errors"
    return "" if plain and case.dtype == "float32" else "not its domain"


def make(function):
    return Implementation("fake", {"segment_max": function}, "1.0", decline)


ENTRY = Deviation(
    "fake",
    "segment_max",
    "gives -inf for empty segments",
    "made up",
    "nowhere",
    segments([1], [0], 2),
    has_empty_segment,
    about="empty segments",
    question=change(fill_value=-INFINITY),
)


def test_a_known_deviation_passes():
    found = conformance.survey(make(start_from_infinity), MODEL, 40, entries=[ENTRY])
    assert found.passed
    assert found.tally.explained[ENTRY] > 3
    assert found.judge_property("empty segments") == "differs"
    assert found.judge_property("NaN") == "conforms"
    assert found.judge_property("bool") == ""
    assert found.declined["not its domain"]


def test_an_unknown_deviation_fails():
    subject = make(start_from_infinity)
    found = conformance.survey(subject, MODEL, 40, entries=[])
    assert not found.passed
    assert "**fake is unexplained:**" in write_document([found], {}, 40, 1)


def test_a_stale_entry_fails():
    """Who no longer deviates has an entry too many."""
    right = make(MODEL.functions["segment_max"])
    found = conformance.survey(right, MODEL, 40, entries=[ENTRY])
    assert found.stale == [ENTRY]
    assert not found.tally.failed
    assert not found.passed
    assert "**fake is better than its entry:** gives -inf for empty segments" in write_document([found], {}, 40, 1)


def test_an_entry_that_predicts_something_else_is_stale():
    def fail(data, segment_ids, num_segments):
        raise IndexError("no")

    assert conformance.show(ENTRY, make(fail), MODEL, [ENTRY]) is False
    assert conformance.show(ENTRY, make(start_from_infinity), MODEL, [ENTRY]) is True


def test_an_error_that_is_predicted_counts_only_as_that_error():
    predicted = Deviation(
        *("fake", "*", "raises", "made up", "nowhere", ENTRY.proof, has_empty_segment),
        about="empty segments",
        raises="IndexError",
    )

    def fail(error):
        def call(data, segment_ids, num_segments):
            raise error("no")

        return make(call)

    assert conformance.show(predicted, fail(IndexError), MODEL, [predicted]) is True
    assert conformance.show(predicted, fail(KeyError), MODEL, [predicted]) is False


def test_dtypes_outside_of_the_table_reach_no_entry():
    case = Case.of("segment_max", "errors", data=np.array(["a"]), segment_ids=np.array([0]), num_segments=1)
    outcome = MODEL.ask(case)
    assert outcome.error == "TypeError"
    for name in OTHERS:
        assert explain(name, case, outcome, MODEL.ask, (), DEVIATIONS) == ()
        assert not any(entry.applies(name, case) for entry in DEVIATIONS)
