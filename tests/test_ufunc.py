"""maximum, minimum, fmax and fmin against NumPy's own: every dtype, method and layout, bit for bit.

Two listed differences are allowed for: the sign of a zero when +0 meets -0 in a real float, which is +0 for a maximum
and -0 for a minimum here, and the payload of a NaN that a reduction returns.
"""

from __future__ import annotations

import contextlib
import copy
import operator
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import segmax
from segmax import _dispatch
from segmax._dtypes import BY_NAME, DTYPES

OPS = ("maximum", "minimum", "fmax", "fmin")
LENGTHS = (*range(0, 131, 7), 1, 2, 3, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 255, 257, 1023, 1025, 4097)
ROWS = [row for row in DTYPES if row.name not in ("object", "StringDType")]
FAST = [row for row in ROWS if not (row.used and row.order in ("signed", "unsigned"))]


def dtype_of(row):
    if row.package == "ml_dtypes":
        return np.dtype(getattr(pytest.importorskip("ml_dtypes"), row.name))
    return np.dtype({"datetime64": "M8[ms]", "timedelta64": "m8[us]"}.get(row.name, row.name))


def special(row):
    """Return the interesting elements of a dtype: zeros, NaNs with payloads, infinities, subnormals, extremes."""
    dtype = dtype_of(row)
    if row.name in ("longdouble", "clongdouble"):
        part = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -2.5, 1e-320], np.longdouble)
        if row.name == "longdouble":
            return part
        return make_complex(part, dtype)
    part = BY_NAME[row.part] if row.part else row
    words = np.dtype(f"u{part.bits // 8}")
    used = part.used or part.bits
    bits = {0, 1, part.lowest, part.highest, 1 << (used - 1), (1 << used) - 1, 1 << (used - 1) | 1, 3}
    if part.order == "sign" and part.nan is not None:
        top = 1 << (part.bits - 1)
        bits |= {part.largest, part.largest | top, part.nan, part.nan | top}
        if part.largest + 2 < top:
            bits |= {part.nan | 1, part.nan | 1 | top, part.largest + 1, (part.largest + 1) | top}
    elif part.nan is not None:
        bits.add(part.nan)
    if row.name == "bool":
        bits = {0, 1}
    elements = np.array(sorted(bits), words)
    if row.part:
        pairs = np.array([(a, b) for a in elements for b in elements], words)
        return pairs.view(dtype)[:, 0]
    return elements.view(dtype)


def make_complex(part, dtype):
    grid = np.empty((len(part), len(part)), dtype)
    grid.real, grid.imag = part[:, None], part
    return grid.ravel()


def words_of(array, row):
    """Return the bits as integers (of long doubles: without their padding)."""
    array = np.ascontiguousarray(array)
    if row.name in ("longdouble", "clongdouble"):
        return array.view(np.uint8).reshape(*array.shape, array.itemsize // 16, 16)[..., :10]
    return array.view(f"u{(BY_NAME[row.part] if row.part else row).bits // 8}")


def settle_zeros(array, row, op):
    """Return a real float's elements with the sign of every zero made equal: it is compared by `test_zeros` alone."""
    if row.order in ("sign", "longdouble") and array.dtype.kind != "b":
        array = np.array(array)
        with np.errstate(invalid="ignore"):  # signalling NaNs
            zero = array == np.zeros((), array.dtype)
        array[zero] = np.zeros((), array.dtype)
    return array


def assert_same(got, want, row, op, message=""):
    assert type(got) is type(want), message
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape), message
    got, want = settle_zeros(got, row, op), settle_zeros(want, row, op)
    np.testing.assert_array_equal(words_of(got, row), words_of(want, row), message)


def assert_equal_value(got, want, row, message=""):
    """As `assert_same`, but any NaN equals any NaN of a real dtype: a reduction's payload."""
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape), message
    if row.order in ("sign", "negzero", "longdouble") or row.nan is not None:
        with np.errstate(invalid="ignore"):
            nan = np.isnat(want) if want.dtype.kind in "mM" else want != want
            assert ((np.isnat(got) if got.dtype.kind in "mM" else got != got) == nan).all(), message
        got, want = got[~nan], want[~nan]
    got, want = settle_zeros(got, row, ""), settle_zeros(want, row, "")
    np.testing.assert_array_equal(words_of(got, row), words_of(want, row), message)


@contextlib.contextmanager
def numpy_may_warn():
    """Let NumPy's side warn of NaNs as it likes; ours is checked apart."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def both(op, method, *arguments, **options):
    """Return our result (no warning allowed) and NumPy's."""
    ours, theirs = getattr(segmax, op), getattr(np, op)
    if method != "__call__":
        ours, theirs = getattr(ours, method), getattr(theirs, method)
    with numpy_may_warn():
        want = theirs(*arguments, **options)
    return ours(*arguments, **options), want


def is_signalling(array, row):
    """Return where a float32 or float64 is a signalling NaN."""
    words = np.ascontiguousarray(array).view(f"u{row.bits // 8}").reshape(np.shape(array))
    quiet = np.array(row.nan ^ row.largest, words.dtype)
    return ((words & ((1 << (row.bits - 1)) - 1)) > row.largest) & (words & quiet == 0)


def find_accidents(op, a, b, row):
    """Return where NumPy's fmax and fmin depend on the loop that they take: payload of two NaNs, signalling NaNs."""
    if op in ("fmax", "fmin") and row.name in ("float32", "float64", "longdouble"):
        with np.errstate(invalid="ignore"):
            accidents = (a != a) & (b != b)
        if row.name != "longdouble":
            accidents |= is_signalling(a, row) | is_signalling(b, row)
        return accidents
    return np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b)), bool)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_pairs_of_special_values(op, row):
    """Every pair, long enough for every vector loop, as arrays and one at a time."""
    values = special(row)
    a, b = (np.tile(grid.ravel(), 3) for grid in np.meshgrid(values, values))
    got, want = both(op, "__call__", a, b)
    keep = ~find_accidents(op, a, b, row)
    if got.dtype != row.name and row.used and row.order in ("signed", "unsigned"):
        np.testing.assert_array_equal(got, want)
        return
    assert_same(got[keep], want[keep], row, op)
    for k in range(0, min(len(a), 400), 7):
        if keep[k]:
            assert_same(*both(op, "__call__", a[k], b[k]), row, op)


@pytest.mark.parametrize("row", [row for row in ROWS if row.order in ("sign", "longdouble")], ids=lambda row: row.name)
def test_zeros(row):
    """+0 and -0 give +0 as a maximum, -0 as a minimum, whichever comes first and however many there are."""
    plus = np.zeros(1, dtype_of(row))
    minus = special(row)[:1].copy()
    minus[:] = (
        -plus
        if row.order == "longdouble"
        else np.array([1 << ((row.used or row.bits) - 1)], f"u{row.bits // 8}").view(plus.dtype)
    )
    for n in (1, 5, 64, 1000):
        p, m = np.repeat(plus, n), np.repeat(minus, n)
        for op in OPS:
            want = p if op in ("maximum", "fmax") else m
            for a, b in ((p, m), (m, p)):
                result = getattr(segmax, op)(a, b)
                np.testing.assert_array_equal(words_of(result, row), words_of(want, row))
            mixed = np.concatenate([p, m, p])
            reduced = getattr(segmax, op).reduce(mixed)
            np.testing.assert_array_equal(words_of(np.array([reduced]), row), words_of(want[:1], row))


@pytest.mark.parametrize("row", [row for row in ROWS if row.order == "sign" and row.nan], ids=lambda row: row.name)
@pytest.mark.parametrize("n", [1, 5, 64, 1000])
def test_signalling_nan(row, n):
    """It is a NaN like any other: kept as it is by maximum and minimum, passed over by fmax and fmin, in every loop."""
    words = f"u{row.bits // 8}"
    signalling = np.full(n, row.largest + 1, words).view(dtype_of(row))
    numbers = np.arange(n).astype(np.int8).astype(dtype_of(row))
    for op in ("maximum", "minimum"):
        for a, b in ((signalling, numbers), (numbers, signalling), (signalling[::-1], numbers)):
            np.testing.assert_array_equal(getattr(segmax, op)(a, b).view(words), signalling.view(words))
    for op in ("fmax", "fmin"):
        for a, b in ((signalling, numbers), (numbers, signalling), (signalling[::-1], numbers)):
            np.testing.assert_array_equal(getattr(segmax, op)(a, b).view(words), numbers.view(words))
        mixed = np.concatenate([signalling, numbers, signalling])
        assert np.asarray(getattr(segmax, op).reduce(mixed)) == (numbers.max() if op == "fmax" else numbers.min())


def make_elements(row, n, rng):
    """Return special elements, without those that NumPy's methods answer by accident."""
    values = special(row)
    if row.name in ("float32", "float64"):
        values = values[~is_signalling(values, row)]
    return values[rng.integers(0, len(values), n)]


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("row", FAST, ids=lambda row: row.name)
def test_lengths_and_layouts(op, row):
    """Contiguous, strided, reversed, broadcast on either side, in place, and overlapping outputs."""
    rng = np.random.default_rng(7)
    for n in LENGTHS:
        a, b = make_elements(row, 2 * n + 2, rng), make_elements(row, 2 * n + 2, rng)
        cases = [
            (a[:n], b[:n]),
            (a[: 2 * n : 2], b[1 : 2 * n + 1 : 2]),
            (a[:n][::-1], b[:n]),
            (a[:n], b[:1]),
            (a[:1], b[:n]),
            (a[: 2 * n : 2][::-1], b[:1]),
        ]
        for x, y in cases:
            keep = ~find_accidents(op, x, y, row)
            got, want = both(op, "__call__", x, y)
            assert_same(got[keep], want[keep], row, op, f"n = {n}")
    for shift in (-3, -1, 0, 1, 2):
        base, other = make_elements(row, 300, rng), make_elements(row, 300, rng)
        results = []
        for function in (getattr(segmax, op), getattr(np, op)):
            memory = base.copy()
            with numpy_may_warn():
                function(memory[10:210], other[:200], out=memory[10 + shift : 210 + shift])
            results.append(memory)
        keep = np.ones(300, bool)
        keep[10 + shift : 210 + shift] = ~find_accidents(op, base[10:210], other[:200], row)
        assert_same(results[0][keep], results[1][keep], row, op, f"shift {shift}")


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("row", FAST, ids=lambda row: row.name)
def test_methods(op, row):
    """reduce, accumulate, reduceat, at, outer and where= on one and two dimensions."""
    rng = np.random.default_rng(11)
    for n in (1, 2, 17, 64, 300, 2500):
        a = make_elements(row, n, rng)
        assert_equal_value(*both(op, "reduce", a), row, f"reduce {n}")
        assert_equal_value(*both(op, "reduce", a[::-2]), row, f"reduce strided {n}")
        assert_equal_value(*both(op, "accumulate", a), row, f"accumulate {n}")
        cuts = np.sort(rng.integers(0, n, 5))
        assert_equal_value(*both(op, "reduceat", a, cuts), row, f"reduceat {n}")
    grid = make_elements(row, 24 * 37, rng).reshape(24, 37)
    for axis in (0, 1, (0, 1)):
        for layout in (grid, np.asfortranarray(grid), grid[::-1, ::2]):
            assert_equal_value(*both(op, "reduce", layout, axis=axis), row, f"axis {axis}")
    with np.errstate(invalid="ignore"):
        where = grid == grid
    assert_equal_value(*both(op, "reduce", grid, axis=1, keepdims=True, initial=grid[0, 0], where=where), row)
    assert_equal_value(*both(op, "outer", grid[0], grid[1]), row)
    for indices in (rng.integers(-20, 20, 200), rng.integers(0, 20, 200).astype(np.int8)):
        results = []
        values = make_elements(row, 200, rng)
        for function in (getattr(segmax, op), getattr(np, op)):
            memory = grid[0, :20].copy()
            with numpy_may_warn() if function is getattr(np, op) else contextlib.nullcontext():
                function.at(memory, indices, values)
            results.append(memory)
        assert_equal_value(*results, row, "at")


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("op", OPS)
def test_threads(op, threads):
    """Large operands, aligned to nothing, with one of them a scalar, in place."""
    rng = np.random.default_rng(threads)
    for dtype in (np.float32, np.float16, np.int8, np.complex128):
        a, b = (rng.standard_normal(700_003).astype(dtype) for _ in range(2))
        with segmax.num_threads(threads):
            for x, y in ((a, b), (a, b[:1]), (a[:1], b)):
                np.testing.assert_array_equal(getattr(segmax, op)(x, y), getattr(np, op)(x, y))
            memory = a.copy()
            getattr(segmax, op)(memory[1:], b[1:], out=memory[1:])
        np.testing.assert_array_equal(memory[1:], getattr(np, op)(a[1:], b[1:]))


@pytest.mark.parametrize("level", _dispatch.available_levels())
def test_every_level(level):
    """The same bits from the kernels of every CPU level."""
    code = (
        "import numpy as np, segmax, hashlib\n"
        "rng = np.random.default_rng(5); h = hashlib.sha256()\n"
        "for t in 'bhilqefdFD':\n"
        "    x, y = ((rng.standard_normal(999) * 50).astype(t) for _ in range(2))\n"
        "    for op in (segmax.maximum, segmax.minimum, segmax.fmax, segmax.fmin):\n"
        "        for r in (op(x, y), op(x[::3], y[::3]), op.reduce(x), op.accumulate(x)):\n"
        "            h.update(np.asarray(r).tobytes())\n"
        "print(h.hexdigest())"
    )
    run = [sys.executable, "-c", code]
    digests = {
        subprocess.run(
            run, env={"SEGMAX_CPU_LEVEL": name, "PATH": ""}, capture_output=True, text=True, check=True
        ).stdout
        for name in {level, "baseline"}
    }
    assert len(digests) == 1


@pytest.mark.parametrize("op", OPS)
def test_what_a_ufunc_is(op):
    """Attributes, type resolution, promotion, pickling and copies are NumPy's."""
    ours, theirs = getattr(segmax, op), getattr(np, op)
    assert isinstance(ours, np.ufunc)
    for name in ("nin", "nout", "nargs", "ntypes", "types", "identity", "signature", "__name__"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert copy.copy(ours) is ours
    assert copy.deepcopy(ours) is ours
    kinds = [np.dtype(c) for c in "?bBhHiIlLqQefdgFDG"] + [
        np.dtype("M8[s]"),
        np.dtype("M8[D]"),
        np.dtype("m8[ms]"),
        np.dtype("O"),
    ]
    for a in kinds:
        for b in [*kinds, int, float, complex]:
            answers = []
            for ufunc in (ours, theirs):
                try:
                    answers.append(ufunc.resolve_dtypes((a, b, None)))
                except (TypeError, ValueError) as error:
                    answers.append(type(error))
            assert answers[0] == answers[1], (a, b)
    for a, b in (
        (np.float32(1), 2.5),
        (np.int8(1), 200),
        (np.uint8(3), -1),
        (True, 2),
        (1, 2.0),
        (np.float16(1), np.int64(2)),
    ):
        outcomes = []
        for ufunc in (ours, theirs):
            try:
                result = ufunc(a, b)
                outcomes.append((result, result.dtype))
            except (OverflowError, TypeError) as error:
                outcomes.append(type(error))
        assert outcomes[0] == outcomes[1]


def test_options():
    """out, where, casting, dtype, order, subok and signature."""
    a, b = np.arange(6.0).reshape(2, 3), np.full((2, 3), 2.5)
    out = np.zeros((2, 3))
    assert segmax.maximum(a, b, out=out, where=a > 1) is out
    np.testing.assert_array_equal(out, np.where(a > 1, np.maximum(a, b), 0))
    assert segmax.maximum(a, b, dtype="f4").dtype == "f4"
    assert segmax.maximum(a, b, order="F").flags.f_contiguous
    assert segmax.maximum(1, 2, signature="dd->d").dtype == "f8"
    with pytest.raises(TypeError):
        segmax.maximum(a, b, out=np.zeros((2, 3), int))
    segmax.maximum(a, b, out=np.zeros((2, 3), int), casting="unsafe")
    with pytest.raises(ValueError, match="broadcast"):
        segmax.maximum(a, np.zeros(5))
    with pytest.raises(ValueError, match="identity"):
        segmax.maximum.reduce(np.array([]))
    with pytest.raises(DeprecationWarning, match="positional"):
        segmax.maximum(1.0, 2.0, np.zeros(()))

    class Mine(np.ndarray):
        pass

    assert type(segmax.maximum(a.view(Mine), b)) is Mine
    assert type(segmax.maximum(a.view(Mine), b, subok=False)) is np.ndarray


def test_overrides_and_other_libraries():
    """__array_ufunc__, masked arrays, pandas, xarray and Dask get what NumPy's ufunc gives them."""

    class Greedy:
        def __array_ufunc__(self, ufunc, method, *inputs, **options):
            return ufunc, method

    assert segmax.fmax(Greedy(), 1) == (segmax.fmax, "__call__")
    assert segmax.fmax.reduce(Greedy()) == (segmax.fmax, "reduce")
    masked = np.ma.array([1.0, 9.0, 3.0], mask=[0, 1, 0])
    got, want = segmax.maximum(masked, 2.0), np.maximum(masked, 2.0)
    assert type(got) is type(want)
    assert got.tolist() == want.tolist()
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1.0, np.nan, 3.0], index=list("abc"))
    pandas.testing.assert_series_equal(segmax.maximum(series, 2.0), np.maximum(series, 2.0))
    xarray = pytest.importorskip("xarray")
    array = xarray.DataArray([[1.0, np.nan], [3.0, 4.0]], dims=("x", "y"), coords={"x": [10, 20]}, attrs={"unit": "m"})
    xarray.testing.assert_identical(segmax.fmax(array, 2.0), np.fmax(array, 2.0))
    dask = pytest.importorskip("dask.array")
    lazy = dask.from_array(np.array([1.0, np.nan, 3.0]), chunks=2)
    result = segmax.maximum(lazy, 2.0)
    assert isinstance(result, dask.Array)
    np.testing.assert_array_equal(result.compute(), [2.0, np.nan, 3.0])
    np.testing.assert_array_equal(segmax.maximum.outer(lazy, [1.0, 5.0]).compute()[0], [1.0, 5.0])


def test_datetimes():
    """Units are promoted, NaT spreads or is skipped, an overflow of units is an error."""
    days, moments = np.array(["2020-01-02", "NaT"], "M8[D]"), np.array(["2020-01-01T12", "2021-01-01T00"], "M8[h]")
    for op in OPS:
        assert_same(*both(op, "__call__", days, moments), BY_NAME["datetime64"], op)
        assert_same(*both(op, "accumulate", moments), BY_NAME["datetime64"], op)
    with pytest.raises(TypeError):
        segmax.maximum(days, np.timedelta64(1, "D"))
    with pytest.raises(OverflowError):
        segmax.maximum(np.array(["3000"], "M8[Y]"), np.array([0], "M8[fs]"))


def test_strings_and_objects():
    text = np.dtypes.StringDType(na_object=np.nan)
    a, b = np.array(["b", "q", "long enough to be elsewhere", np.nan], text), np.array(["b", "a", "z", "x"], text)
    for op in ("maximum", "minimum"):
        got, want = both(op, "__call__", a, b)
        assert str(got.tolist()) == str(want.tolist())
    with pytest.raises(TypeError):
        segmax.fmax(a, b)
    mixed = np.array([1, 2.5, 10**30, True], object)
    for op in OPS:
        got, want = both(op, "__call__", mixed, mixed[::-1])
        assert got.tolist() == want.tolist()
        assert both(op, "reduce", mixed)[0] == both(op, "reduce", mixed)[1]
    with pytest.raises(TypeError):
        segmax.maximum(np.array([1, "a"], object), np.array(["b", 2], object))
    with pytest.raises(TypeError):
        segmax.maximum(np.array([b"a"]), np.array([1]))


@pytest.mark.parametrize("name", ["amax", "amin", "nanmax", "nanmin"])
def test_reductions_with_numpy_signatures(name):
    ours, theirs = getattr(segmax, name), getattr(np, name)
    data = np.array([[1.0, np.nan, 3.0], [4.0, -5.0, np.nan]])
    for options in ({}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"axis": (0, 1)}, {"initial": 2.0, "axis": 0}):
        np.testing.assert_array_equal(ours(data, **options), theirs(data, **options))
    chosen = data == data
    np.testing.assert_array_equal(ours(data, where=chosen, initial=0.0), theirs(data, where=chosen, initial=0.0))
    out = np.zeros(3)
    assert ours(data, axis=0, out=out) is out
    with pytest.raises(ValueError, match="identity"):
        ours(np.array([]))
    if name.startswith("nan"):
        with pytest.warns(RuntimeWarning, match="All-NaN"):
            assert np.isnan(ours(np.array([np.nan, np.nan])))


def test_failures_that_users_of_others_reported():
    """Spurious warnings, empty slices, records, many small index types, and a lost tail of 8192."""
    nan = np.array([np.nan, 1.0, 2.0])
    segmax.maximum(nan, nan[::-1])
    segmax.maximum.reduce(nan)
    segmax.maximum.accumulate(nan)
    segmax.maximum.at(nan.copy(), [0, 1], [1.0, np.nan])
    assert segmax.maximum.reduceat(np.array([1, 5, 2, 8, 3]), [0, 2, 2, 4]).tolist() == [5, 2, 8, 3]
    record = np.zeros(64, [("p", "i1"), ("v", "f4")])
    record["v"] = np.arange(64) - 30
    np.testing.assert_array_equal(
        segmax.maximum(record["v"], np.float32(0)), np.clip(np.arange(64) - 30, 0, None).astype("f4")
    )
    values = np.zeros(8193)
    values[8192] = 7
    for index in ("i1", "i2", "i4", "i8", "u1", "u4"):
        one = np.zeros(1)
        segmax.maximum.at(one, np.zeros(8193, index), values)
        assert one.tolist() == [7.0]
    assert segmax.maximum.reduce(np.array([-np.inf, -np.inf])) == -np.inf
    with pytest.raises(ValueError, match="initial"):
        segmax.maximum.reduce(np.arange(3.0), where=[True, False, True])
    pairs = np.array([complex(2, 1), complex(1, np.nan), complex(np.nan, 1), complex(1, np.nan)])
    others = np.array([complex(1, np.nan), complex(2, 1), complex(1, np.nan), complex(np.nan, 2)])
    assert list(map(str, segmax.maximum(pairs, others))) == list(map(str, np.maximum(pairs, others)))
    assert operator.index(segmax.maximum(np.int64(2**53), np.int64(2**53 + 1))) == 2**53 + 1
