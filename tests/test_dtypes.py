"""The table of dtypes: three descriptions of each order agree, by exhaustion where the bits are few."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from segmax._dtypes import BY_NAME, DTYPES, lookup, names

from .arrays import ROWS, dtype_of

KEYS = [row for row in DTYPES if row.kernel == "keys"]


def elements_of(row):
    """Return every bit pattern of a small dtype, a sample with all edges of a large one."""
    if row.name == "bool":
        return range(2)
    if row.bits <= 16:
        return range(1 << row.bits)
    top = 1 << (row.bits - 1)
    edges = {0, 1, top, top - 1, top + 1, 2 * top - 1, row.lowest, row.highest}
    edges |= {value for value in (row.nan, row.largest) if value is not None}
    edges |= {edge ^ top for edge in edges}
    edges |= {(edge + step) % (2 * top) for edge in edges for step in (-1, 1)}
    return sorted(edges | {int.from_bytes(np.random.default_rng(k).bytes(row.bits // 8), "little") for k in range(500)})


@pytest.mark.parametrize("omit", [False, True])
@pytest.mark.parametrize("minimum", [False, True])
@pytest.mark.parametrize("row", KEYS, ids=lambda row: row.name)
def test_keys_have_the_order_of_ranks(row, minimum, omit):
    """Keys ascend as ranks do (a minimum: descend), NaNs above all (omit: below all); decode inverts encode."""
    key = row.key(minimum, omit)
    ranks, keys, back = {}, {}, {}
    for bits in elements_of(row):
        seen = row.recode()[bits] if row.recoded else bits
        ranks[bits], keys[bits] = row.rank(bits), key.encode(seen)
        back[bits] = key.decode(keys[bits])
        assert 0 <= keys[bits] < 1 << row.bits
    numbers = sorted((bits for bits in ranks if ranks[bits] is not None), key=ranks.__getitem__, reverse=minimum)
    for one, other in itertools.pairwise(numbers):
        if ranks[one] == ranks[other]:
            assert keys[one] == keys[other]
        else:
            assert keys[one] < keys[other]
    for bits, rank in ranks.items():
        if rank is not None:
            assert (keys[bits] - key.first) % (1 << row.bits) <= key.span
            seen = row.recode()[bits] if row.recoded else bits
            assert back[bits] == seen
            continue
        assert back[bits] == (0x80 if row.recoded else row.nan)
        assert (keys[bits] - key.first) % (1 << row.bits) > key.span
        if numbers:
            assert keys[bits] < keys[numbers[0]] if omit else keys[bits] > keys[numbers[-1]]


@pytest.mark.parametrize("row", [row for row in KEYS if row.recoded], ids=lambda row: row.name)
def test_recoding_keeps_the_order(row):
    table = np.frombuffer(row.recode(), np.int8)
    for bits in range(256):
        rank = row.rank(bits)
        assert table[bits] == (-128 if rank is None else rank)
        assert rank is None or table[bits] > -128
        assert row.rank(bits & ((1 << (row.used or 8)) - 1)) == rank


@pytest.mark.parametrize("row", [row for row in ROWS if row.kernel == "keys"], ids=lambda row: row.name)
def test_ranks_have_the_order_of_values(row):
    """NumPy's and ml_dtypes' own comparisons know the same order, NaNs and equals (save the zeros)."""
    dtype, patterns = dtype_of(row.name), list(elements_of(row))
    array = np.array(patterns, f"u{row.bits // 8}").view(dtype)
    if row.used is not None:
        array = (array.view(np.uint8) & ((1 << row.used) - 1)).view(dtype)
    # Wide enough for every value of the narrow types; the wide ones are compared as they are.
    values = array.astype(np.float32) if row.package == "ml_dtypes" or row.name == "float16" else array
    ranks = [row.rank(bits) for bits in patterns]
    missing = np.array([rank is None for rank in ranks])
    assert np.array_equal(missing, values != values)
    order = sorted((k for k, rank in enumerate(ranks) if rank is not None), key=ranks.__getitem__)
    below, above = values[order[:-1]], values[order[1:]]
    steps = np.diff(np.array([ranks[k] for k in order], object)) > 0 if len(order) > 1 else np.zeros(0, bool)
    zeros = (below == above) & steps.astype(bool)
    assert np.array_equal(np.where(zeros, True, below < above), steps)
    if row.order == "sign":
        assert all(row.rank(patterns[order[k]]) == -1 for k in np.flatnonzero(zeros))
        assert zeros.any()
    else:
        assert not zeros.any()


def limits_of(dtype):
    """Return the lowest and highest finite value by NumPy or ml_dtypes."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).min, np.iinfo(dtype).max
    if dtype.name in ("float16", "float32", "float64"):
        return np.finfo(dtype).min, np.finfo(dtype).max
    ml_dtypes = pytest.importorskip("ml_dtypes")
    info = ml_dtypes.iinfo if "int" in dtype.name else ml_dtypes.finfo
    return info(dtype).min, info(dtype).max


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row.kernel == "keys" and row.name not in ("bool", "datetime64", "timedelta64")],
    ids=lambda row: row.name,
)
def test_limits_are_those_of_the_library(row):
    dtype = dtype_of(row.name)
    low, high = np.array([row.lowest, row.highest], f"u{row.bits // 8}").view(dtype)
    expected = limits_of(dtype)
    if row.name == "float8_e8m0fnu":  # ml_dtypes gives the negative of the highest as the lowest; this type has no sign
        expected = (dtype.type(2.0**-127), expected[1])
    assert (float(low), float(high)) == tuple(float(limit) for limit in expected)


@pytest.mark.parametrize("row", [row for row in ROWS if row.nan is not None], ids=lambda row: row.name)
def test_the_canonical_nan_is_the_library_s(row):
    dtype = dtype_of(row.name)
    nan = np.array("NaT", dtype) if dtype.kind in "mM" else np.array(np.nan).astype(dtype)
    assert int.from_bytes(nan.tobytes(), "little") == row.nan
    assert row.rank(row.nan) is None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_lookup_finds_a_row_whatever_byte_order_and_unit(row):
    dtype = dtype_of(row.name)
    assert lookup(dtype) is row
    if row.package == "numpy" and row.name not in ("object", "StringDType"):
        assert lookup(dtype.newbyteorder("S")) is row
    if row.name in ("datetime64", "timedelta64"):
        assert lookup(np.dtype(f"{row.name}[7ns]")) is row
        assert lookup(np.dtype(row.name)) is row
    size = np.dtype(np.longdouble).itemsize if row.part == "longdouble" or row.name == "longdouble" else None
    if size is None:
        assert dtype.itemsize * 8 == row.bits or row.kernel == "numpy"


def test_lookup_refuses_the_rest():
    for kind in ("S3", "U3", "V4", "i4,f4"):
        assert lookup(np.dtype(kind)) is None


def test_names_are_unique_and_filtered():
    assert len({row.name for row in DTYPES}) == len(DTYPES) == len(BY_NAME)
    assert len(names(tensorflow=True)) == 12
    assert names(kernel="longdouble") == ["longdouble"]
    assert set(names(package="ml_dtypes")) | set(names(package="numpy")) == set(BY_NAME)
    for row in DTYPES:
        if row.part is not None:
            assert BY_NAME[row.part].bits * 2 == row.bits
        if row.kernel != "keys":
            with pytest.raises(ValueError, match=row.name):
                row.key()
