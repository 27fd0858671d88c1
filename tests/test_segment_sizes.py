"""Larger inputs than the slow model can take, against a second, vectorised model (which is first held to the slow one).

Sizes stand around the kernels' superblocks of 256 rows and registers, segments from far below one row to 5000.
"""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import segmax
from segmax import _reference
from segmax._dtypes import BY_NAME

from .arrays import NAMES, assert_same, make_elements, make_ids, reduce_fast

FAST = [name for name in NAMES if BY_NAME[name].kernel in ("keys", "complex")]
FUNCTIONS = ["segment_max", "segment_min", "segment_argmax", "segment_argmin"]
MEANS = [0.05, 0.3, 1, 1.5, 2, 4, 7, 16, 32, 33, 100, 256, 1000, 5000]
ROWS = [255, 256, 257, 511, 512, 513, 767, 769, 1000, 1024, 4095, 5000, 8191, 20_000]
WIDTHS = {1: 20_000, 2: 9000, 3: 5000, 4: 5000, 7: 3000, 8: 3000, 15: 1025, 16: 1025, 31: 513, 65: 300, 200: 257}


def segments_of(ids, count):
    """Return ids as int64 with -1 for every row that is dropped."""
    ids = ids.reshape(-1)
    return np.where((ids >= 0) & (ids < count), ids, 0).astype(np.int64) - ~((ids >= 0) & (ids < count))


@pytest.mark.parametrize("name", FAST)
def test_the_two_models_agree(name):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    for case in range(24):
        rows, width = int(rng.integers(0, 80)), int(rng.integers(1, 4))
        data = make_elements(rng, name, (rows, width))
        ids = make_ids(rng, (rows,), float(rng.choice([0.3, 1, 4, 40])), "i8", False)
        where = rng.random((rows, width)) < 0.6 if case % 3 == 0 else None
        for function in FUNCTIONS:
            for omit in (False, True):
                options = {"nan": "omit" if omit else "propagate", "where": where, "indices_are_sorted": False}
                expected = getattr(_reference, function)(data, ids, 9, **options)
                minimum, arg = function.endswith("min"), "arg" in function
                got = reduce_fast(data, segments_of(ids, 9), 9, minimum=minimum, arg=arg, omit=omit, where=where)
                assert_same(got, expected, f"{function} {omit}")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", FAST)
def test_sizes(name, width, built_as, settings):
    rng = np.random.default_rng(zlib.crc32(f"{name} {width}".encode()))
    thin = BY_NAME[name].package == "ml_dtypes" and name not in ("bfloat16", "float8_e4m3fn", "int4", "bcomplex32")
    for _ in range(1 if thin else 3):
        rows = int(rng.choice([rows for rows in ROWS if rows <= WIDTHS[width]]))
        mean, function = float(rng.choice(MEANS)), str(rng.choice(FUNCTIONS))
        ids = make_ids(rng, (rows,), mean, str(rng.choice(["i4", "i8"])), bool(rng.integers(2)))
        in_order = bool((ids[1:] >= ids[:-1]).all())
        data = make_elements(rng, name, (rows, width))
        count = max(1, int(rows / mean) + int(rng.integers(-3, 300)))
        omit, minimum, arg = bool(rng.integers(2)), function.endswith("min"), "arg" in function
        expected = reduce_fast(data, segments_of(ids, count), count, minimum=minimum, arg=arg, omit=omit)
        options = {"nan": "omit" if omit else "propagate"}
        for setting in settings:
            with built_as(*setting):
                what = f"{function} {setting} {rows} {mean} {in_order} {options}"
                given = data[:, 0] if width == 1 else data
                wanted = expected[:, 0] if width == 1 else expected
                got = getattr(segmax, function)(given, ids, count, indices_are_sorted=in_order, **options)
                assert_same(got, np.ascontiguousarray(wanted), what)
                if in_order and not arg and (ids >= 0).all() and (ids < count).all():
                    offsets = np.searchsorted(ids, np.arange(count + 1))
                    assert_same(getattr(segmax, function)(given, indptr=offsets, **options), got, f"indptr {what}")


@pytest.mark.parametrize("width", range(1, 35))
@pytest.mark.parametrize("name", ["float8_e5m2", "bfloat16", "float32", "float64"])
def test_every_narrow_width(name, width, built_as, settings):
    """Rows that fit in a register have kernels of their own for each width; guards stand around the result."""
    rng = np.random.default_rng(width)
    for mean in (0.5, 3, 30, 3000):
        data = make_elements(rng, name, (600, width))
        ids = np.sort(rng.integers(0, max(1, round(600 / mean)), 600)).astype(rng.choice(["i4", "i8"]))
        count = int(ids[-1]) + 2
        omit = bool(rng.integers(2))
        expected = reduce_fast(data, ids.astype("i8"), count, omit=omit)
        given = np.concatenate([data, data[:, :1]], axis=1)[:, :width] if rng.integers(2) else data
        for setting in settings:
            guarded = np.zeros((count + 2, width), data.dtype)
            guarded.view(np.uint8)[...] = 0xA5
            guard = guarded[0].tobytes()
            with built_as(*setting):
                for in_order in (True, False):
                    options = {"nan": "omit" if omit else "propagate", "indices_are_sorted": in_order}
                    segmax.segment_max(given, ids, count, out=guarded[1:-1], **options)
                    assert_same(guarded[1:-1], expected, f"{setting} {mean} {options}")
                    assert guarded[0].tobytes() == guarded[-1].tobytes() == guard


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("name", ["int8", "float32", "float64", "bfloat16", "complex64"])
def test_segments_span_threads(name, threads, built_as):
    """One segment, a giant among small ones, boundaries at each thread's first row, every row dropped."""
    rng = np.random.default_rng(threads)
    rows = 4099
    data = make_elements(rng, name, (rows, 1))
    edges = [rows * t // threads + d for t in range(threads) for d in (-1, 0, 1)]
    giant = np.sort(np.concatenate([np.full(rows - 99, 5), np.arange(99) % 11]))
    cases = [np.zeros(rows, int), np.full(rows, -1), np.full(rows, 12), giant]
    cases += [(np.arange(rows) >= edge).astype(int) for edge in edges]
    cases += [np.arange(rows) // 2, np.arange(rows), np.arange(rows) * 3]
    for ids in cases:
        for count in (1, 12, 3 * rows):
            for omit in (False, True):
                expected = reduce_fast(data, segments_of(ids, count), count, omit=omit)
                with built_as("baseline", threads, 0):
                    got = segmax.segment_max(data, ids, count, nan="omit" if omit else "propagate")
                    assert_same(got, expected, f"{threads} {count} {omit}")
                    got = segmax.segment_max(
                        data, ids, count, nan="omit" if omit else "propagate", indices_are_sorted=False
                    )
                    assert_same(got, expected, f"unsorted {threads} {count} {omit}")


@pytest.mark.slow
def test_more_rows_than_int32():
    """2**31 + 1 rows of int8: row numbers beyond 32 bits; five gigabytes."""
    rows = 2**31 + 1
    data = np.zeros(rows, np.int8)
    data[[5, 2**31 - 1, 2**31]] = [3, -7, 9]
    assert segmax.segment_max(data, indptr=[0, 2**31 - 1, 2**31, rows]).tolist() == [3, -7, 9]
    assert segmax.segment_argmax(data, indptr=[0, 2**31 - 1, 2**31, rows]).tolist() == [5, 2**31 - 1, 2**31]
    ids = np.zeros(rows, np.int8)
    ids[-1] = 1
    assert segmax.segment_max(data, ids).tolist() == [3, 9]
    assert segmax.segment_min(data, ids).tolist() == [-7, 9]
    assert segmax.segment_argmax(data, ids).tolist() == [5, 2**31]
    assert segmax.unsorted_segment_max(data, ids).tolist() == [3, 9]
    assert segmax.segment_argmax(data, ids, indices_are_sorted=False).tolist() == [5, 2**31]
    assert segmax.segment_max(data, np.broadcast_to(np.int64(0), rows)).tolist() == [9]
    assert segmax.segment_max(data[::2], ids[::2]).tolist() == [0, 9]
    ids[-2] = 2
    with pytest.raises(ValueError, match=f"from 2 at position {rows - 2} to 1 at position {rows - 1}"):
        segmax.segment_max(data, ids)
