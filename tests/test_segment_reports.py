"""Kinds of failure that users of other libraries have reported in public, each as a test of ours."""

from __future__ import annotations

import itertools
import threading
import warnings

import numpy as np
import pytest

import segmax
from segmax import segment_max

from .arrays import dtype_of

NAN, INF = np.nan, np.inf
LOW4, LOW8 = np.finfo("f4").min, np.finfo("f8").min


def equal(got, expected):
    expected = np.asarray(expected)
    assert got.shape == expected.shape
    assert np.array_equal(got, expected, equal_nan=got.dtype.kind in "fcmM"), (got, expected)


@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
def test_a_nan_wins_wherever_it_stands(kind):
    """tensorflow#117862: the result depended on where in the segment the NaN was."""
    for order in itertools.permutations([1.0, NAN, 3.0]):
        assert np.isnan(segment_max(np.array(order, kind), [0, 0, 0])[0])


def test_a_segment_of_only_nan_is_not_an_empty_one():
    """tensorflow#118197, #106602, #122207: the sentinel of empty segments came out for segments that hold only NaN."""
    got = segment_max(np.array([7, NAN, -2], "f4"), [0, 4, 5], 9)
    equal(got, np.array([7, LOW4, LOW4, LOW4, NAN, -2, LOW4, LOW4, LOW4], "f4"))


@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
def test_one_nan_alone(kind):
    """datafusion#13415, pandas#59106: a group of one NaN gave the lowest value or minus infinity."""
    assert np.isnan(segment_max(np.array([NAN], kind), [0])[0])


def test_nan_first_and_last_in_neighbouring_segments():
    """awkward_reduce_max: NaN was lost, lists of only NaN gave minus infinity."""
    equal(segment_max(np.array([NAN, 1.0, 1.0, NAN, NAN]), [0, 0, 1, 1, 2]), [NAN, NAN, NAN])


def test_minus_infinity_starts_below_the_lowest_finite_value():
    """numpy-groupies#40, mxnet#16226; here it is SegmentMaxV2's answer, and `initial` gives the other one."""
    data, ids = np.array([-INF, -INF, 0.0, 0.0, -INF, 0.0]), [0, 0, 1, 1, 2, 2]
    equal(segment_max(data, ids), [LOW8, 0.0, 0.0])
    equal(segment_max(data, ids, initial=-INF), [-INF, 0.0, 0.0])


def test_negative_maxima_are_not_zero():
    """pytorch_scatter#24, #42, #472: an output of zeros took part in the maximum."""
    data, ids = np.array([-0.1, -0.3, -0.2]), [0, 0, 1]
    equal(segment_max(data, ids), [-0.1, -0.2])
    equal(segment_max(data, ids, out=np.zeros(2)), [-0.1, -0.2])


def test_a_float8_without_infinity():
    """jax's scatter: minus infinity as the start became NaN in float8_e4m3fn and spoilt everything."""
    pytest.importorskip("ml_dtypes")
    got = segment_max(np.array([1, 2, 3]).astype(dtype_of("float8_e4m3fn")), [0, 0, 2], 4)
    equal(got.astype("f4"), np.array([2, -448, 3, -448], "f4"))


def test_a_huge_id():
    """tensorflow#46888: an id near 2**60 ended the process."""
    data, ids = np.ones((1, 10, 1)), [1676240524292489355]
    equal(segment_max(data, ids, 3), np.full((3, 10, 1), LOW8))
    with pytest.raises((ValueError, MemoryError)):
        segment_max(data, ids)


@pytest.mark.parametrize("count", [-1, -67794891775896])
def test_negative_num_segments(count):
    """tensorflow#59355, #55305: crashed, or wrapped to a positive size."""
    with pytest.raises(ValueError, match=str(count)):
        segment_max(np.ones(1), [0], count)


def test_a_negative_id_does_not_wrap():
    """numpy#24147: a fast path read before the array's start."""
    equal(segment_max(np.array([1.0]), np.array([-1]), 1), [LOW8])


@pytest.mark.parametrize(("kind", "last", "count"), [("i1", 127, 128), ("u1", 255, 256), ("i2", 32767, 32768)])
def test_the_greatest_id_of_a_small_type(kind, last, count):
    """jax: the number of segments, computed in the ids' dtype, overflowed."""
    assert segment_max(np.arange(3.0), np.array([0, 5, last], kind)).shape == (count,)


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u4", ">i4"])
def test_more_rows_than_a_buffer_of_casts(kind):
    """numpy#23457: with ids of another dtype and more than 8192 items, values were read from the start again."""
    data = np.zeros(8193)
    data[8192] = 7
    equal(segment_max(data, np.zeros(8193, kind)), [7.0])
    equal(segment_max(data, np.zeros(8193, kind), indices_are_sorted=False), [7.0])


def test_ids_of_rank_two_and_zero():
    """jax: the result had a wrong shape, without a word."""
    data = np.arange(8.0).reshape(2, 2, 2)
    equal(segment_max(data, [[0, 1], [1, 2]], 3), [[0, 1], [4, 5], [6, 7]])
    equal(segment_max(data[0], [[0, 1], [1, 1]], 2), [0.0, 3.0])
    equal(segment_max(np.arange(3.0), np.array(1), 3), [[LOW8] * 3, [0.0, 1.0, 2.0], [LOW8] * 3])


def test_no_rows_and_no_columns():
    """pytorch_scatter#39, jax: inputs without elements crashed."""
    assert segment_max(np.zeros((4, 5, 0)), np.zeros(4, int), 6).shape == (6, 5, 0)
    equal(segment_max(np.zeros((0, 3)), np.zeros(0, int), 2), np.full((2, 3), LOW8))
    assert segment_max(np.zeros((0, 3)), np.zeros(0, int)).shape == (0, 3)
    assert segment_max(np.zeros((0, 3)), []).shape == (0, 3)


def test_boundaries_out_of_order():
    """awkward#3062: they corrupted memory."""
    with pytest.raises(ValueError, match="decrease"):
        segment_max(np.array([1.0, 2.0, 3.0]), [2, 0, 1], 3)
    with pytest.raises(ValueError, match="decrease"):
        segment_max(np.array([1.0, 2.0, 3.0]), indptr=[0, 3, 1])
    equal(segmax.unsorted_segment_max(np.array([1.0, 2.0, 3.0]), [2, 0, 1], 3), [2.0, 3.0, 1.0])


def test_a_transposed_source():
    """pytorch#175191: it was read in the order of memory."""
    equal(segment_max(np.array([[1.0, 2, 3], [4, 5, 6]]).T, [0, 0, 0]), [[3.0, 6.0]])
    data = np.arange(24.0).reshape(4, 6)
    equal(segment_max(np.asfortranarray(data), [0, 0, 1, 1]), data[1::2])


def test_read_only_buffers():
    """cython#1605, silx#2717, freud#244: they were refused."""
    data, ids = np.arange(3.0), np.array([0, 0, 1])
    data.flags.writeable = ids.flags.writeable = False
    equal(segment_max(data, ids), [1.0, 2.0])
    equal(segment_max(np.frombuffer(data.tobytes()), ids), [1.0, 2.0])


def test_a_field_of_records():
    """numpy#13317: elements off their alignment crashed."""
    records = np.zeros(10, [("a", "i4"), ("b", "i4"), ("c", "i1")])
    records["b"] = np.arange(10)
    equal(segment_max(records["b"], records["a"]), np.array([9], "i4"))
    equal(segment_max(np.ones(10), records["b"]), np.ones(10))


def test_integers_beyond_two_to_the_53():
    """pandas#41743, #26310, #30859, #6620: 64-bit integers went through float64."""
    equal(segment_max(np.array([2**53, 2**53 + 1]), [0, 0]), np.array([2**53 + 1]))
    equal(segment_max(np.array([2**63 + 1, 2**63 + 3], "u8"), [0, 0]), np.array([2**63 + 3], "u8"))


def test_float64_is_not_rounded():
    """cupy's atomicMax: doubles were compared as floats."""
    value = 1 + 2.0**-40
    equal(segment_max(np.array([value, 1.0]), [0, 0]), [value])


def test_nat_and_nanoseconds():
    """numpy#5222, #12797, pandas#36907, #60646: NaT was ignored, or nanoseconds rounded beside it."""
    moment = "2024-04-16T09:20:00.123456789"
    times = np.array(["NaT", moment, moment], "M8[ns]")
    got = segment_max(times, [0, 0, 1])
    assert got.dtype == times.dtype
    assert np.isnat(got[0])
    assert got[1] == times[1]


def test_what_is_under_a_mask():
    """numpy#15077, #25677: a value under the mask won."""
    equal(segment_max(np.ma.array([1.0, 99.0], mask=[0, 1]), [0, 0]), [1.0])
    equal(segment_max(np.ma.array([1.0, 99.0], mask=[0, 1]), [0, 1]), [1.0, LOW8])
    equal(segmax.segment_argmax(np.ma.array([1.0, 99.0], mask=[0, 1]), [0, 0]), [0])


def test_nan_gives_no_warning():
    """numpy#12038, #12574, #11029: "invalid value encountered"."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in ("f2", "f4", "f8", "g", "c8", "c16"):
            segment_max(np.array([NAN, 1.0, 2.0], kind), [0, 0, 1])
            segment_max(np.array([NAN, 1.0, 2.0], kind), [0, 0, 1], nan="omit")
        segment_max(np.array([0x7FA00001, 0], "u4").view("f4"), [0, 0])  # a signalling NaN


def test_an_output_that_overlaps_its_input():
    """numpy#26972, #8043, #22841: results were read back as input."""
    for offset in range(-9, 10):
        base = np.arange(80.0)
        base[::3] *= -1
        data, ids = base[20:50], np.repeat(np.arange(10), 3)
        expected = segment_max(data.copy(), ids)
        out = base[30 + offset : 40 + offset]
        equal(segment_max(data, ids, out=out), expected)
    base = np.arange(40)
    expected = segment_max(base[::-1].copy(), np.arange(40))
    equal(segment_max(base[::-1], np.arange(40), out=base), expected)
    ids = np.array([0, 0, 1, 2, 2, 3])
    expected = segment_max(np.arange(6), ids)
    equal(segment_max(np.arange(6), ids, out=ids[:4]), expected)


def test_a_stride_that_is_no_multiple_of_the_item():
    """numpy#27027."""
    records = np.zeros(64, [("p", "i1"), ("v", "f4")])
    records["v"] = np.arange(64) - 30
    equal(segment_max(records["v"], np.arange(64) // 4), np.arange(3, 64, 4, dtype="f4") - 30)


def test_an_empty_segment_is_not_the_element_at_its_start():
    """numpy's reduceat, #25476; awkward-0.x#144."""
    low = np.iinfo(int).min
    equal(segment_max(np.array([1, 5, 2, 8, 3]), [0, 0, 2, 2, 3]), [5, low, 8, 3])
    equal(segment_max(np.array([1, 5, 2, 8, 3]), indptr=[0, 2, 2, 4, 5]), [5, low, 8, 3])


def test_a_complex_nan_is_returned_whole():
    """numpy's complex maximum, cupy#4097: the first element with a NaN in a part."""
    data = np.array([complex(2, 1), complex(1, NAN), complex(NAN, 1), complex(3, 3)])
    assert str(segment_max(data, [0, 0, 0, 0])[0]) == str(np.complex128(complex(1, NAN)))
    assert str(segment_max(data[::-1], [0, 0, 0, 0])[0]) == str(np.complex128(complex(NAN, 1)))
    assert segment_max(data, [0, 0, 0, 0], nan="omit")[0] == 3 + 3j


def test_equal_strings():
    """numpy#26071: a loop over strings stopped after a pair of equal ones."""
    data = np.array(["b", "b", "q", "c", "c"], np.dtypes.StringDType())
    assert segment_max(data, [0, 0, 1, 1, 1]).tolist() == ["b", "q"]


def test_threads_share_their_inputs():
    """numpy#27786, #30494: threads must agree and not crash."""
    data = np.random.default_rng(1).standard_normal(300)
    ids = np.sort(np.random.default_rng(2).integers(0, 50, 300))
    results = []
    threads = [threading.Thread(target=lambda: results.append(segment_max(data, ids, 50).tobytes())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    assert len(set(results)) == 1
