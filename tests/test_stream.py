"""Streams: any cut, order, sharing-out and merging of the rows gives the bits of the call on all of them."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest

import segmax
from segmax import _partials, _reference

from .arrays import NAMES, assert_same, make_elements, make_ids

CLASSES = {
    "segment_max": segmax.SegmentMax,
    "segment_min": segmax.SegmentMin,
    "segment_argmax": segmax.SegmentArgmax,
    "segment_argmin": segmax.SegmentArgmin,
}
BARE = ("object", "StringDType")


def stream(rng, kind, data, ids, count, where=None, states=1, blocks=5, **options):
    """Return the result by way of several states, each of some blocks, in any order."""
    held = [kind(count, **options) for _ in range(states)]
    cuts = [0, *np.sort(rng.integers(0, len(ids) + 1, blocks - 1)), len(ids)]
    for k in rng.permutation(blocks):
        part = slice(cuts[k], cuts[k + 1])
        held[rng.integers(states)].update(
            data[part], ids[part], None if where is None else where[part], start=int(cuts[k])
        )
    while len(held) > 1:
        other = held.pop(rng.integers(len(held)))
        into = held[rng.integers(len(held))]
        into.merge(pickle.loads(pickle.dumps(other)))
    return held[0].result()


def call_once(name, data, ids, count, **options):
    return getattr(segmax, name)(data, ids, count, indices_are_sorted=False, **options)


def make_options(rng, name, dtype):
    """Return options that a reduction of a dtype may have."""
    options = {}
    if rng.random() < 0.5:
        options["nan"] = "omit"
    if "arg" in name:
        return options | ({"fill_value": 7} if rng.random() < 0.5 else {})
    if rng.random() < 0.5:
        options["initial"] = make_elements(rng, dtype, (1,))[0]
    if rng.random() < 0.5 or dtype in BARE:
        options["fill_value"] = make_elements(rng, dtype, (1,))[0]
    return options


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("name", CLASSES)
def test_any_way_of_cutting(name, dtype):
    rng = np.random.default_rng([len(name), NAMES.index(dtype)])
    for trial in range(4):
        rows, inner = int(rng.integers(0, 60)), [(), (3,), (2, 2)][trial % 3]
        data = make_elements(rng, dtype, (rows, *inner))
        ids = make_ids(rng, (rows,), float(rng.choice([0.05, 0.5, 4])), str(rng.choice(["i2", "i4", "i8"])), False)
        ids = np.minimum(ids, 2000)
        where = rng.random(data.shape) < 0.7 if trial % 2 else None
        count = None if trial == 0 else int(rng.integers(0, 30))
        options = make_options(rng, name, dtype)
        states = int(rng.integers(1, 4))
        got = stream(rng, CLASSES[name], data, ids, count, where, states, **options)
        assert_same(got, call_once(name, data, ids, count, where=where, **options), f"{options}, {count} segments")


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("dtype", ["float16", "complex64", "datetime64", "int8"])
@pytest.mark.parametrize("spread", [1, 50, 10**6])
def test_many_blocks(name, dtype, spread):
    """Sorted, walking and scattered ids, over states that hold ranges, lists and several parts."""
    rng = np.random.default_rng(spread)
    rows = 4000
    data = make_elements(rng, dtype, (rows,))
    walk = np.arange(rows) // 3
    for ids in (walk * min(spread, 50), rng.permutation(walk), rng.integers(0, 20 * min(spread, 500), rows)):
        for options in ({}, {"nan": "omit"} | ({} if "arg" in name else {"fill_value": data[0]})):
            got = stream(rng, CLASSES[name], data, ids, None, states=2, blocks=60, **options)
            assert_same(got, call_once(name, data, ids, None, **options), str(options))


@pytest.mark.parametrize("name", CLASSES)
def test_rows_are_numbered_through(name):
    rng = np.random.default_rng(5)
    data, ids = make_elements(rng, "float32", (500,)), rng.integers(0, 9, 500)
    state = CLASSES[name]()
    for first in range(0, 500, 77):
        state.update(data[first : first + 77], ids[first : first + 77])
    assert_same(state.result(), call_once(name, data, ids, None))
    assert_same(state.result(), _reference.__dict__[name](data, ids, indices_are_sorted=False))


def test_nothing_seen_is_not_the_lowest_seen():
    state = segmax.SegmentMax(4, fill_value=5, dtype=np.int8, row_shape=())
    assert state.result().tolist() == [5, 5, 5, 5]
    state.update(np.array([-128, -128], np.int8), [0, 1], where=[True, False])
    assert state.result().tolist() == [-128, 5, 5, 5]
    state.update(np.array([-128], np.int8), [1])
    state.update(np.array([-128], np.int8), [3], where=[False])
    assert state.result().tolist() == [-128, -128, 5, 5]


def test_first_of_equals_wins_in_any_order():
    """Equal complex zeros and NaNs of other payloads are told apart by their rows alone."""
    data = np.array([complex(0.0, -0.0), complex(-0.0, 0.0), complex(np.nan, 1), complex(2, np.nan)])
    ids = np.array([0, 0, 1, 1])
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        state = segmax.SegmentMax()
        for k in order:
            state.update(data[k : k + 1], ids[k : k + 1], start=k)
        assert_same(state.result(), segmax.segment_max(data, ids))


def test_partials_of_machines_merge_by_row():
    one, two = segmax.SegmentArgmax(2), segmax.SegmentArgmax(2)
    one.update(np.array([5, 5]), [0, 1], start=2**40)
    two.update(np.array([5, 4]), [0, 1], start=10)
    for first, second in ((one, two), (two, one)):
        state = first.copy()
        state.merge(second)
        assert state.result().tolist() == [10, 2**40 + 1]
    assert two.result().tolist() == [10, 11]  # as it was


def test_copies_share_nothing():
    state = segmax.SegmentMax(3)
    state.update(np.array([1, 2, 3]), [0, 1, 2])
    twins = [state.copy(), copy.copy(state), copy.deepcopy(state), pickle.loads(pickle.dumps(state))]
    given = state.result()
    given[:] = 99
    state.update(np.array([9]), [0])
    assert [twin.result().tolist() for twin in twins] == [[1, 2, 3]] * 4
    assert state.result().tolist() == [9, 2, 3]
    other = segmax.SegmentMax(3)
    other.merge(state)
    other.update(np.array([50]), [1])
    assert state.result().tolist() == [9, 2, 3]


def test_few_of_many_segments_are_few_bytes():
    """A thousand blocks in a billion segments, of which each touches a few."""
    rng = np.random.default_rng(0)
    state = segmax.SegmentMax(10**9)
    ids = rng.integers(0, 10**9, (300, 50))
    values = rng.integers(0, 1000, (300, 50))
    for k in range(300):
        state.update(values[k], ids[k])
    assert state.nbytes < 8 * ids.size * 8
    twin = segmax.SegmentMax(10**9)
    twin.merge(state)
    places = np.unique(ids)
    small = segmax.segment_max(values.reshape(-1), np.searchsorted(places, ids.reshape(-1)), indices_are_sorted=False)
    # The billion is more than a test should allocate: look inside.
    whole = _partials.unite(twin._rules, *[*twin._parts, *twin._parts][:2], twin._num_segments)
    assert_same(whole.values[whole.locate(places)], small)


def test_growth_is_amortised():
    """Sorted blocks to the right of all before: what is copied stays a small multiple of what there is."""
    state, copied = segmax.SegmentMax(), []
    unite = _partials.unite

    def count(rules, first, second, segments):
        copied.append(len(first) + len(second))
        return unite(rules, first, second, segments)

    _partials.unite = count
    try:
        for k in range(200):
            state.update(np.arange(100), np.arange(100) + 100 * k)
    finally:
        _partials.unite = unite
    assert sum(copied) < 20_000 * 10
    assert state.nbytes < 2 * 8 * 20_000
    assert state.result().tolist() == list(range(100)) * 200


@pytest.mark.parametrize(
    ("data", "ids", "options", "kind", "message"),
    [
        (np.array([1.5]), [0], {}, TypeError, "data has dtype float64; this SegmentMax takes int64"),
        (np.array([[1]]), [0], {}, ValueError, "data has rows of shape (1,); this SegmentMax takes ()"),
        (np.array([1]), [0.5], {}, TypeError, "segment_ids has dtype float64"),
        (np.array([1]), [0, 1], {}, ValueError, "segment_ids has shape (2,), data has shape (1,)"),
        (np.array(["a"]), [0], {}, TypeError, "has no maximum"),
        (np.array([1]), [0], {"where": [1]}, TypeError, "where has dtype int64"),
        (np.array([1]), [0], {"start": -1}, ValueError, "start is -1"),
        (np.array([1]), [0], {"start": 2**63 - 1}, ValueError, "row numbers go from 0 to 2**63 - 1"),
        (np.array([1]), [0], {"start": 0.5}, TypeError, "start is 0.5"),
    ],
)
def test_bad_update_leaves_the_state(data, ids, options, kind, message):
    state = segmax.SegmentMax()
    state.update(np.array([3, 4]), [1, 0])
    before = pickle.dumps(state)
    with pytest.raises(kind) as caught:
        state.update(data, ids, **options)
    assert message in str(caught.value)
    assert pickle.dumps(state) == before


def test_interrupted_write_is_finished(monkeypatch):
    """An interrupt between two arrays of the state: the next call finds both written."""
    state = segmax.SegmentArgmax()
    state.update(np.array([1, 5]), [0, 1])

    class Interrupting(np.ndarray):
        def __setitem__(self, index, value):
            if state._parts[0].places is self and armed.pop(0):
                raise KeyboardInterrupt
            super().__setitem__(index, value)

    armed = [True, False, False]
    state._parts[0].places = state._parts[0].places.view(Interrupting)
    with pytest.raises(KeyboardInterrupt):
        state.update(np.array([7]), [0])
    assert state.result().tolist() == [2, 1]
    state.update(np.array([9]), [1])
    assert state.result().tolist() == [2, 3]


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: segmax.SegmentMin(3), TypeError, "other is a SegmentMin; give a SegmentMax"),
        (lambda: segmax.SegmentMax(4), ValueError, "other has num_segments 4, this SegmentMax has 3"),
        (lambda: segmax.SegmentMax(3, nan="omit"), ValueError, "other has nan 'omit'"),
        (lambda: segmax.SegmentMax(3, fill_value=1), ValueError, "other has fill_value 1"),
        (lambda: segmax.SegmentMax(3, (), "f4"), TypeError, "data has dtype float32"),
        (lambda: 5, TypeError, "other is a int"),
    ],
)
def test_what_does_not_merge(make, kind, message):
    state = segmax.SegmentMax(3)
    state.update(np.array([1]), [0])
    with pytest.raises(kind) as caught:
        state.merge(make())
    assert message in str(caught.value)
    assert state.result()[0] == 1


def test_bad_beginnings():
    for arguments, options, kind in [
        ((-1,), {}, ValueError),
        ((2.5,), {}, TypeError),
        ((None, -1), {}, ValueError),
        ((None, None, "S3"), {}, TypeError),
        ((None, (), "i1"), {"initial": 300}, OverflowError),
        ((), {"nan": "ignore"}, ValueError),
    ]:
        with pytest.raises(kind):
            segmax.SegmentMax(*arguments, **options)
    with pytest.raises(ValueError, match="there are no rows yet"):
        segmax.SegmentMax().result()
    with pytest.raises(TypeError):
        segmax.SegmentArgmax(initial=3)
    state = segmax.SegmentMax(2, (), object)
    state.update(np.array([3], object), [0])
    with pytest.raises(ValueError, match="segment 1 is empty, and dtype object has no lowest value"):
        state.result()
    state = segmax.SegmentMax()
    state.update(np.array([1]), [2**62])
    with pytest.raises(MemoryError):
        state.result()


def test_masked_and_swapped_and_deep_ids():
    data = np.ma.array(np.arange(24, dtype=">i4").reshape(2, 3, 4), mask=np.arange(24).reshape(2, 3, 4) % 5 == 0)
    ids = np.array([[0, 1, 0], [2, 2, -1]])
    state = segmax.SegmentMax(4)
    state.update(data[:1], ids[:1])
    state.update(data[1:], ids[1:])
    assert_same(state.result(), segmax.unsorted_segment_max(data, ids, 4))


hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies


@hypothesis.settings(max_examples=150, deadline=None, derandomize=True)
@hypothesis.given(
    st.lists(st.lists(st.tuples(st.integers(-2, 40), st.floats(width=16)), max_size=12), max_size=6),
    st.sampled_from(sorted(CLASSES)),
    st.sampled_from(["propagate", "omit"]),
    st.sampled_from([None, 0, 5, 45]),
    st.randoms(use_true_random=False),
)
def test_any_blocks_in_any_order(blocks, name, nan, count, random):
    rows = [row for block in blocks for row in block]
    data, ids = np.array([x for _, x in rows], np.float16), np.array([k for k, _ in rows], np.int64)
    states = [CLASSES[name](count, (), np.float16, nan=nan) for _ in range(2)]
    starts = np.cumsum([0, *map(len, blocks)]).tolist()
    for k in random.sample(range(len(blocks)), len(blocks)):
        part = slice(starts[k], starts[k + 1])
        random.choice(states).update(data[part], ids[part], start=starts[k])
    states[0].merge(states[1])
    assert_same(states[0].result(), call_once(name, data, ids, count, nan=nan))


def test_the_oracle_finds_no_difference():
    oracle = pytest.importorskip("segmax.oracle.run")
    from segmax.oracle import references, strategies, subjects

    subject = subjects.load("stream")
    cells = strategies.find_cells("segment_*,unsorted_*")
    cases = (case for case in strategies.generate(cells, 1) if not subject.declines(case))
    tally = oracle.Judge(subject, [references.load("model")]).run(itertools.islice(cases, 1500))
    assert tally.comparisons == 1500
    assert tally.passed, [str(difference) for _, difference in tally.differences[:3]]
