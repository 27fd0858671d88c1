"""Inputs that must just work, and what a result is like."""

from __future__ import annotations

import array

import numpy as np
import pytest

import segmax
from segmax import _reference

from .arrays import NAMES, PLAIN, assert_same, dtype_of, make_elements

FUNCTIONS = ["segment_max", "segment_min", "segment_argmax", "segment_argmin"]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_zero_dimensions(name, function):
    """Data and ids of rank 0: one row, of one element or of many."""
    rng = np.random.default_rng(1)
    fill = {"fill_value": 3 if "arg" in function else make_elements(rng, name, (1,), nans=False)[0]}
    for data in (make_elements(rng, name, ()), make_elements(rng, name, (3,)), make_elements(rng, name, (2, 0))):
        for ids in (0, np.int8(2), np.array(1, ">u8"), np.array(-1), 7):
            expected = getattr(_reference, function)(data, ids, 3, **fill)
            assert_same(getattr(segmax, function)(data, ids, 3, **fill), expected)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_zero_sizes(name, function):
    rng = np.random.default_rng(1)
    fill = {"fill_value": 3 if "arg" in function else make_elements(rng, name, (1,), nans=False)[0]}
    for shape, ids in [
        ((0,), (0,)),
        ((0, 3), (0,)),
        ((4, 0), (4,)),
        ((4, 5, 0), (4,)),
        ((0, 2, 3), (0, 2)),
        ((2, 0), (2, 0)),
    ]:
        data = make_elements(rng, name, shape)
        for count in (None, 0, 2):
            expected = getattr(_reference, function)(data, np.zeros(ids, "i4"), count, **fill)
            assert_same(getattr(segmax, function)(data, np.zeros(ids, "i4"), count, **fill), expected)
            unsorted = {"indices_are_sorted": False, **fill}
            assert_same(getattr(segmax, function)(data, np.zeros(ids, "u8"), count, **unsorted), expected)
    data = make_elements(rng, name, (0, 3))
    for offsets in ([0], [0, 0], [0, 0, 0]):
        expected = getattr(_reference, function)(data, indptr=offsets, **fill)
        assert_same(getattr(segmax, function)(data, indptr=offsets, **fill), expected)


@pytest.mark.parametrize("ids", [[], (), np.zeros(0, "u1"), range(0)])
def test_no_ids(ids):
    assert segmax.segment_max([], ids).shape == (0,)
    assert segmax.segment_max([], ids, 2).tolist() == [np.finfo(float).min] * 2


@pytest.mark.parametrize("count", [4, np.int8(4), np.uint64(4), np.array(4), np.array(4, ">i2")])
def test_forms_of_num_segments(count):
    assert segmax.segment_max([1, 2, 3], [0, 0, 1], count).tolist() == [2, 3, *[np.iinfo(int).min] * 2]


@pytest.mark.parametrize("ids", [[0, 0, 1], (0, 0, 1), range(3), array.array("B", [0, 0, 1]), memoryview(b"\0\0\1")])
def test_forms_of_ids(ids):
    expected = _reference.segment_max(np.arange(3.0), np.asarray(ids))
    assert_same(segmax.segment_max(np.arange(3.0), ids), expected)
    assert_same(
        segmax.segment_max(np.arange(3.0), indptr=ids), _reference.segment_max(np.arange(3.0), indptr=np.asarray(ids))
    )


@pytest.mark.parametrize(
    "data", [[1, 5, 2], [True, False, True], [1.5, np.nan, 2], [1j, 2, 3], range(3), array.array("h", [3, 1, 2])]
)
def test_python_data(data):
    assert_same(segmax.segment_max(data, [0, 0, 2]), _reference.segment_max(data, [0, 0, 2]))
    assert_same(segmax.segment_argmin(data, [0, 0, 2]), _reference.segment_argmin(data, [0, 0, 2]))


@pytest.mark.parametrize("dtype", ["float32", "int8", "bfloat16", "bool"])
@pytest.mark.parametrize("library", ["tensorflow", "jax.numpy", "torch"])
def test_tensors_of_other_libraries(library, dtype):
    """Data and ids as tensors on the CPU."""
    other = pytest.importorskip(library)
    data = make_elements(np.random.default_rng(3), dtype, (6, 2))
    make = {"tensorflow": "constant", "jax.numpy": "asarray", "torch": "from_numpy"}[library]
    if library == "torch" and dtype == "bfloat16":
        tensor = other.from_numpy(data.view(np.int16)).view(other.bfloat16)
        with pytest.raises(TypeError, match=r"data|bfloat16|BFloat16"):
            segmax.segment_max(tensor, [0, 0, 1, 1, 2, 2])
        return
    tensor, ids = getattr(other, make)(data), getattr(other, make)(np.array([0, 0, 1, 1, 3, 3], np.int32))
    assert_same(segmax.segment_max(tensor, ids), _reference.segment_max(data, [0, 0, 1, 1, 3, 3]))


def test_data_frames_and_series():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [0, 0, 1], "value": [1.0, 3.0, 2.0]})
    assert segmax.segment_max(frame["value"], frame["id"]).tolist() == [3.0, 2.0]


@pytest.mark.parametrize("name", PLAIN)
def test_out_may_overlap_data(name, built_as, settings):
    """The result is as if `data` had been copied first, whichever way the two overlap."""
    rng = np.random.default_rng(5)
    for setting in settings:
        with built_as(*setting):
            for shift in (0, 1, 37, 100, 299):
                base = make_elements(rng, name, (600,))
                ids = np.sort(rng.integers(0, 300, 300))
                for given, out in (
                    (base[shift : shift + 300], base[:300]),
                    (base[300:], base[600 - shift - 300 : 600 - shift]),
                ):
                    expected = _reference.segment_max(given, ids, 300)
                    assert segmax.segment_max(given, ids, 300, out=out) is out
                    assert_same(np.ascontiguousarray(out), expected, f"{setting} {shift}")


def test_out_may_overlap_ids_and_where():
    ids = np.array([0, 0, 1, 1, 2, 3])
    expected = _reference.segment_max(np.arange(6), ids.copy(), 6)
    assert_same(segmax.segment_max(np.arange(6), ids, 6, out=ids), expected)
    where = np.array([True, False, True, False, True, False])
    data = np.array([False, True, True, True, False, True])
    expected = _reference.segment_max(data, [0, 0, 1, 1, 2, 3], 6, where=where.copy())
    assert_same(segmax.segment_max(data, [0, 0, 1, 1, 2, 3], 6, where=where, out=where), expected)
    offsets = np.array([0, 2, 2, 6, 6])
    expected = _reference.segment_max(np.arange(6), indptr=offsets.copy())
    assert_same(segmax.segment_max(np.arange(6), indptr=offsets, out=offsets[:4]), expected)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_axis(function, axis):
    """The result has its segments where data has its rows."""
    rng = np.random.default_rng(axis + 3)
    data = rng.standard_normal((5, 6, 7)).astype("f4")
    length = data.shape[axis]
    ids, where = np.sort(rng.integers(0, 4, length)), rng.random((5, 6, 7)) < 0.7
    moved, condition = np.moveaxis(data, axis, 0), np.moveaxis(where, axis, 0)
    expected = np.moveaxis(getattr(_reference, function)(moved, ids, 4, where=condition), 0, axis)
    got = getattr(segmax, function)(data, ids, 4, axis=axis, where=where)
    assert got.flags.c_contiguous
    assert_same(got, np.ascontiguousarray(expected))
    assert_same(getattr(_reference, function)(data, ids, 4, axis=axis, where=where), got)
    out = np.empty(expected.shape, expected.dtype, order="F")
    assert getattr(segmax, function)(data, ids, 4, axis=axis, where=where, out=out) is out
    assert_same(np.ascontiguousarray(out), got)
    got = getattr(segmax, function)(data, indptr=[0, 2, 2, length], axis=axis)
    assert_same(
        got, np.ascontiguousarray(np.moveaxis(getattr(_reference, function)(moved, indptr=[0, 2, 2, length]), 0, axis))
    )


def test_masked_arrays_in_every_function():
    data = np.ma.array(np.arange(12.0).reshape(6, 2), mask=[[0, 1], [1, 0], [0, 0], [1, 1], [1, 1], [1, 1]])
    data.data[data.mask] = np.nan
    for function in FUNCTIONS:
        for options in ({}, {"nan": "omit"}, {"fill_value": -7}, {"where": np.arange(12).reshape(6, 2) % 5 > 0}):
            keep = ~data.mask & options.get("where", True)
            expected = getattr(_reference, function)(data.data, [0, 0, 1, 1, 2, 2], **options | {"where": keep})
            assert_same(
                getattr(segmax, function)(data, [0, 0, 1, 1, 2, 2], **options), expected, f"{function} {options}"
            )
    unmasked = np.ma.array([1.0, 2.0])
    assert_same(segmax.segment_max(unmasked, [0, 0]), np.array([2.0]))


def test_padding_bits_mean_nothing():
    """A bool of any byte but 0 is True; the bits above a 4-bit element are no part of it."""
    flags = np.array([0, 2, 255, 0, 1, 0, 128], np.uint8).view(bool)
    for function in FUNCTIONS:
        expected = getattr(_reference, function)(flags.astype(np.uint8).astype(bool), [0, 0, 0, 1, 1, 2, 2])
        assert_same(getattr(segmax, function)(flags, [0, 0, 0, 1, 1, 2, 2]), expected, function)
        unsorted = getattr(segmax, function)(flags, [0, 0, 0, 1, 1, 2, 2], indices_are_sorted=False)
        assert_same(unsorted, expected, function)


@pytest.mark.parametrize(
    "name", [name for name in ("int4", "uint2", "float4_e2m1fn", "float6_e2m3fn") if name in NAMES]
)
def test_unused_bits_mean_nothing(name):
    every = np.arange(256, dtype=np.uint8).view(dtype_of(name))
    for function in FUNCTIONS:
        expected = getattr(_reference, function)(every, np.arange(256) // 3)
        assert_same(getattr(segmax, function)(every, np.arange(256) // 3), expected, function)


@pytest.mark.parametrize(
    "value", [2**70, -(2**70), np.float64(0.5), True, np.uint8(3), 1 + 0j, np.longdouble(2) ** 100]
)
def test_exact_scalars_are_converted(value):
    """Any scalar whose value the dtype has is one of it."""
    for name in ("float32", "float64", "longdouble", "complex64", "complex128", "clongdouble"):
        data = np.array([1], dtype_of(name))
        for option in ("initial", "fill_value"):
            expected = _reference.segment_max(data, [0], 2, **{option: value})
            assert_same(segmax.segment_max(data, [0], 2, **{option: value}), expected, f"{name} {option}")


def test_raw_ops_take_tensorflow_keywords():
    data, ids = np.array([3.0, np.nan, -np.inf, 5.0], "f4"), [0, 1, 2, 4]
    for name, function in [
        ("SegmentMaxV2", segmax.segment_max),
        ("SegmentMinV2", segmax.segment_min),
        ("UnsortedSegmentMax", segmax.unsorted_segment_max),
        ("UnsortedSegmentMin", segmax.unsorted_segment_min),
    ]:
        operation = getattr(segmax.raw_ops, name)
        expected = getattr(_reference, function.__name__)(data, ids, 6)
        assert_same(operation(data=data, segment_ids=ids, num_segments=6, name="a label"), expected)
        assert_same(operation(data, ids, 6), expected)
        with pytest.raises(TypeError):
            operation(data, ids)
    with pytest.raises(ValueError, match="decrease"):
        segmax.raw_ops.SegmentMaxV2(data, ids[::-1], 6)
    unsorted = segmax.raw_ops.UnsortedSegmentMax(data, ids[::-1], 6)
    assert_same(unsorted, _reference.unsorted_segment_max(data, ids[::-1], 6))


def test_objects_and_their_nans():
    """A NaN among objects propagates or is omitted as among floats, wherever it stands."""
    for order in ([1.0, np.nan, 3.0], [np.nan, 1.0, 3.0], [1.0, 3.0, np.nan]):
        data = np.array(order, object)
        for function in FUNCTIONS:
            for nan in ("propagate", "omit"):
                expected = getattr(_reference, function)(data, [0, 0, 0], nan=nan)
                got = getattr(segmax, function)(data, [0, 0, 0], nan=nan)
                assert repr(got) == repr(expected), (function, nan, order)


def test_strings_with_a_missing_value():
    dtype = np.dtypes.StringDType(na_object=np.nan)
    data = np.array(["b", np.nan, "c", np.nan], dtype)
    for function in FUNCTIONS:
        for nan in ("propagate", "omit"):
            expected = getattr(_reference, function)(data, [0, 0, 1, 2], nan=nan)
            got = getattr(segmax, function)(data, [0, 0, 1, 2], nan=nan)
            assert repr(got.tolist()) == repr(expected.tolist()), (function, nan)
