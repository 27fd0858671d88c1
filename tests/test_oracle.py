"""The oracle: cases are values that JSON carries, every path of segmax agrees with every reference.

TensorFlow's share is required where SEGMAX_REQUIRE_TENSORFLOW is 1 and skipped, visibly, where it is not installed.
"""

from __future__ import annotations

import json
import os
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pytest
from segmax.oracle import references, strategies, subjects
from segmax.oracle.case import OPERATIONS, Case
from segmax.oracle.catalogue import CATALOGUE
from segmax.oracle.compare import describe, equal, make_comparable
from segmax.oracle.deviations import DEVIATIONS
from segmax.oracle.implementation import MissingError
from segmax.oracle.outcome import Outcome
from segmax.oracle.run import Judge

from segmax import _dispatch
from segmax._dtypes import DTYPES

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.json"))


def load_tensorflow(name):
    try:
        return references.load(name)
    except MissingError as error:
        if os.environ.get("SEGMAX_REQUIRE_TENSORFLOW") == "1":
            pytest.fail(str(error))
        pytest.skip(str(error))


def show(tally):
    return "\n".join(f"{reference}: {difference}" for reference, difference in tally.differences[:5])


def test_a_case_is_a_value_that_json_carries():
    """Every operation and family: the line gives the same case, and the case the same arrays, layout included."""
    seen = set()
    for case in islice(strategies.generate(strategies.find_cells(), 5), 2000):
        again = Case.from_json(case.to_json())
        assert again == case
        seen.add(case.operation)
        for name, array in case.build().items():
            other = again.build()[name]
            if isinstance(array, np.ndarray):
                assert (other.dtype, other.shape, other.strides) == (array.dtype, array.shape, array.strides)
                assert other.flags.writeable == array.flags.writeable
    assert seen == set(OPERATIONS)


def test_the_same_seed_gives_the_same_cases():
    few = strategies.find_cells(families="values,pairs")
    first, again, other = (list(islice(strategies.generate(few, seed), 50)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    alone = strategies.find_cells("segment_max", "float32", "values")
    assert next(iter(strategies.generate(alone, 1))) == strategies.make_case(alone[0], 1, 0)


def test_equality_is_of_bits():
    """NaNs are equal, zeros are not, dtypes and shapes and promises count."""
    zero, minus = np.zeros(1, np.float32), -np.zeros(1, np.float32)
    nan, payload = (np.array([bits], np.uint32).view(np.float32) for bits in (0x7FC00000, 0x7FC00001))
    assert equal(Outcome(zero), Outcome(zero.copy()))
    assert not equal(Outcome(zero), Outcome(minus))
    assert equal(Outcome(zero), Outcome(minus), {"zeros"})
    assert not equal(Outcome(nan), Outcome(payload))
    assert equal(Outcome(nan), Outcome(payload), {"payloads"})
    assert not equal(Outcome(zero), Outcome(zero.astype(np.float64)))
    assert not equal(Outcome(zero), Outcome(zero.reshape(1, 1)))
    assert not equal(Outcome(zero, broken=("data was modified",)), Outcome(zero))
    assert not equal(Outcome(zero), Outcome(None, "ValueError"))
    assert equal(Outcome(None, "ValueError", "one"), Outcome(None, "ValueError", "another"))
    assert not equal(Outcome(None, "ValueError"), Outcome(None, "TypeError"))
    subnormal = np.array([1], np.uint32).view(np.float32)
    assert not equal(Outcome(subnormal), Outcome(zero))
    assert equal(Outcome(subnormal), Outcome(zero), {"subnormals"})
    assert len(make_comparable(np.zeros(3, np.complex64))) == 6


def test_a_difference_is_located_and_replays():
    case = CATALOGUE["NaN last"]
    right = subjects.load("cpu").ask(case)
    wrong = Outcome(np.array([2], np.float32))
    text = str(describe(case, wrong, right))
    assert "index (0,)" in text
    assert "rows of segment 0: 0, 1, 2" in text
    assert "0000c07f" in text
    line = text.partition("--case '")[2].removesuffix("'")
    assert Case.from_json(line) == case


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_corpus(path):
    """What once failed does not fail again: every level, against the model and NumPy."""
    case = Case.from_json(json.dumps(json.loads(path.read_text())["case"]))
    asked = [item for name in ("model", "numpy") if not (item := references.load(name)).declines(case)]
    assert asked
    tally = Judge(subjects.load("cpu"), asked).run([case])
    assert tally.cases == 1
    assert tally.passed, show(tally)


def test_against_model_and_numpy():
    """Every operation, family and dtype: more than 50,000 comparisons, nothing unexplained."""
    judges = [references.load("model"), references.load("numpy")]
    cases = chain(CATALOGUE.values(), islice(strategies.generate(strategies.find_cells(), 1), 40_000))
    tally = Judge(subjects.load("cpu"), judges).run(cases)
    assert tally.passed, show(tally)
    assert tally.comparisons > 50_000
    assert {dtype for dtype, _ in tally.cells} >= {row.name for row in DTYPES if row.package == "numpy"}


def test_against_tensorflow():
    """SegmentMaxV2 and SegmentMinV2, 12 dtypes, two id dtypes, both XLA settings: more than 50,000 comparisons."""
    judges = [load_tensorflow(name) for name in ("tensorflow", "tensorflow-ieee")]
    for judge in judges:
        judge.start()
    dtypes = ",".join(row.name for row in DTYPES if row.tensorflow)
    cells = strategies.find_cells("segment_max,segment_min", dtypes, "values,identity,ids,num_segments")
    single = [
        case for case in (*CATALOGUE.values(), *(entry.proof for entry in DEVIATIONS)) if "arg" not in case.operation
    ]
    try:
        tally = Judge(subjects.load("cpu"), judges).run(chain(single, islice(strategies.generate(cells, 2), 42_000)))
    finally:
        for judge in judges:
            judge.close()
    assert tally.passed, show(tally)
    for judge in judges:
        assert tally.compared[judge.name] > 25_000
        seen = {(operation, dtype) for name, operation, dtype in tally.by_operation if name == judge.name}
        assert seen >= {(name, dtype) for name in ("segment_max", "segment_min") for dtype in dtypes.split(",")}


@pytest.mark.parametrize(
    "name",
    [*(f"level:{level}" for level in _dispatch.available_levels()), "threads:1", "threads:2", "threads:3", "raw_ops"],
)
def test_every_subject(name):
    """Levels, numbers of threads and TensorFlow's calls answer as the model does."""
    subject = subjects.load(name)
    operations = ",".join(subject.functions)
    judges = [references.load("model"), references.load("numpy")]
    cases = chain(CATALOGUE.values(), islice(strategies.generate(strategies.find_cells(operations), 3), 1500))
    try:
        tally = Judge(subject, judges).run(cases)
    finally:
        subject.close()
    assert tally.passed, show(tally)
    assert tally.comparisons > 500


def test_a_dead_process_is_said():
    subject = subjects.load(f"level:{_dispatch.available_levels()[0]}")
    subject.submit([]).result()
    subject._process.kill()
    with pytest.raises(RuntimeError, match=r"The process of level:\w+ has ended with status -9"):
        subject.ask(CATALOGUE["bool"])
    subject.close()


def segment_max(data, segment_ids, num_segments):
    """A stranger's code: right, but for segments without rows."""
    result = np.zeros((num_segments, *data.shape[segment_ids.ndim :]), data.dtype)
    for row, segment in zip(data, segment_ids, strict=True):
        result[segment] = max(result[segment], row)
    return result


def test_a_strangers_callable(monkeypatch, tmp_path):
    """package.module:function is judged within its signature, and its fault is found."""
    (tmp_path / "stranger.py").write_text(f"import numpy as np\n\n\n{__import__('inspect').getsource(segment_max)}")
    monkeypatch.syspath_prepend(tmp_path)
    subject = subjects.load("stranger:segment_max")
    cells = strategies.find_cells("segment_max", "int32", "values,identity,where")
    tally = Judge(subject, [references.load("model")]).run(islice(strategies.generate(cells), 100))
    assert tally.failed[("int32", "identity")]
    assert not tally.cells[("int32", "where")]
    with pytest.raises(ValueError, match="nobody is no subject"):
        subjects.load("nobody")
