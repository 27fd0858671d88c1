"""The slow model itself: held to NumPy's reductions, which the contract's one sentence is made of."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from segmax import _reference

from .arrays import NAMES, assert_same, bits_of, dtype_of, make_elements

OPERATIONS = {
    ("segment_max", "propagate"): np.maximum,
    ("segment_max", "omit"): np.fmax,
    ("segment_min", "propagate"): np.minimum,
    ("segment_min", "omit"): np.fmin,
}


def forget_what_numpy_does_not_promise(array, name):
    """Return an array with its zeros of one sign and its NaNs of one kind, but complex numbers as they are."""
    if name in ("complex32", "bcomplex32"):  # ml_dtypes keeps the second of equals, here it is the first
        parts = array.view("u2")
        return np.where(parts == 0x8000, 0, parts).astype("u2").view(array.dtype)
    if array.dtype.kind not in "fV":
        return array
    array = (
        np.where(array == 0, np.zeros((), array.dtype), array) if array.dtype.kind == "f" else array.astype("f4") + 0
    )
    return np.where(np.isnan(array), np.array(np.nan, array.dtype), array)


@pytest.mark.parametrize(("function", "nan"), OPERATIONS)
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("int1", "uint1")])
def test_the_one_sentence(name, function, nan):
    """out[s] = op.reduce(data[segment_ids == s], axis=0, initial=initial)."""
    operation, rng = OPERATIONS[function, nan], np.random.default_rng(len(name))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            operation.reduce(make_elements(rng, name, (2,)))
    except TypeError:
        assert name in ("StringDType", "complex32", "bcomplex32") or "float" in name or "int" in name
        return
    for _ in range(10):
        data = make_elements(rng, name, (30, 2))
        ids = rng.integers(-1, 6, 30)
        initial = make_elements(rng, name, (1,))[0]
        got = getattr(_reference, function)(data, ids, 7, initial=initial, nan=nan, indices_are_sorted=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = [operation.reduce(data[ids == s], axis=0, initial=initial) for s in range(7)]
        expected = np.array(expected, dtype_of(name))
        got, expected = (forget_what_numpy_does_not_promise(item, name) for item in (got, expected))
        assert_same(got, expected, f"{function} {nan} {initial!r}")


@pytest.mark.parametrize(
    "name", ["float16", "float32", "float64", "longdouble", "complex64", "int8", "bool", "datetime64"]
)
def test_positions_are_those_of_numpy(name):
    rng = np.random.default_rng(1)
    for _ in range(20):
        data, ids = make_elements(rng, name, (40,)), np.sort(rng.integers(0, 5, 40))
        for function, operation in ((_reference.segment_argmax, np.argmax), (_reference.segment_argmin, np.argmin)):
            starts = [np.flatnonzero(ids == s) for s in range(6)]
            expected = [int(rows[operation(data[rows])]) if len(rows) else -1 for rows in starts]
            assert function(data, ids, 6).tolist() == expected


def test_zeros_nans_and_infinities():
    zeros = np.array([-0.0, 0.0, -0.0])
    assert not np.signbit(_reference.segment_max(zeros, [0, 0, 0])[0])
    assert np.signbit(_reference.segment_min(zeros, [0, 0, 0])[0])
    assert _reference.segment_argmax(zeros, [0, 0, 0])[0] == 0
    odd = np.array([0xFFC12345], "u4").view("f4")
    assert _reference.segment_max(odd, [0]).tobytes() == np.float32(np.nan).tobytes()
    assert _reference.segment_max([-np.inf], [0])[0] == np.finfo(float).min
    assert _reference.segment_max([np.nan], [0], nan="omit")[0] == np.finfo(float).min
    assert _reference.segment_max([np.nan], [0], nan="omit", fill_value=7)[0] == np.finfo(float).min
    assert _reference.segment_max([np.nan], [1], nan="omit", fill_value=7).tolist() == [7, np.finfo(float).min]


def test_times():
    times = np.array([5, "NaT", "NaT", 3], "m8[s]")
    assert bits_of(_reference.segment_max(times, [0, 0, 1, 3], nan="omit")) == bits_of(
        np.array([5, "NaT", "NaT", 3], "m8[s]")
    )
    assert bits_of(_reference.segment_max(times, [0, 0, 1, 3])) == bits_of(np.array(["NaT", "NaT", "NaT", 3], "m8[s]"))
    got = _reference.segment_max(times, [0, 0, 1, 3], nan="omit", initial=np.timedelta64(4, "s"))
    assert bits_of(got) == bits_of(np.array([5, 4, 4, 4], "m8[s]"))


def test_emptiness_is_decided_per_element():
    data, where = np.array([[1, 2], [3, 4]]), [[True, False], [False, False]]
    assert _reference.segment_max(data, [0, 1], where=where, fill_value=-1).tolist() == [[1, -1], [-1, -1]]
    assert _reference.segment_argmax(data, [0, 1], where=where, fill_value=-9).tolist() == [[0, -9], [-9, -9]]
