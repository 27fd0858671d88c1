"""The table: every dtype x shape x source of segments x layout x option, bit for bit what the slow model says."""

from __future__ import annotations

import importlib
import zlib

import numpy as np
import pytest

import segmax
from segmax import _dispatch, _reference, _segment
from segmax._dtypes import BY_NAME, DTYPES

FUNCTIONS = ("segment_max", "segment_min", "segment_argmax", "segment_argmin")
SHAPES = {"column": (), "narrow": (3,), "pair": (2,), "wide": (37,), "deep": (2, 2)}
LAYOUTS = ("plain", "strided", "reversed", "broadcast", "fortran", "swapped", "misaligned", "read-only", "memmap")


def dtype_of(row):
    if row.name == "StringDType":
        return np.dtypes.StringDType()
    if row.package == "ml_dtypes":
        ml_dtypes = pytest.importorskip("ml_dtypes")
        return np.dtype(getattr(ml_dtypes, row.name))
    return np.dtype({"datetime64": "M8[ms]", "timedelta64": "m8[us]"}.get(row.name, row.name))


def make_elements(row, shape, rng):
    """Return random bits of a dtype, thick with NaNs, infinities, zeros, extremes and equal elements."""
    dtype = dtype_of(row)
    if row.name == "object":
        return rng.integers(-9, 9, shape).astype(object)
    if row.name == "StringDType":
        return np.array([chr(97 + k) * (k % 3) for k in rng.integers(0, 20, int(np.prod(shape)))], dtype).reshape(shape)
    if row.name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if row.name in ("longdouble", "clongdouble"):
        special = np.array([0.0, -0.0, np.nan, -np.inf, np.inf, 1, 2, 5e-324, -3], np.longdouble)
        parts = special[rng.integers(0, len(special), (*shape, dtype.itemsize // 16))]
        return parts.view(dtype)[..., 0]
    part = BY_NAME[row.part] if row.part else row
    words = np.dtype(f"u{part.bits // 8}")
    count = row.bits // part.bits
    bits = rng.integers(0, 1 << part.bits, (*shape, count), dtype=np.uint64).astype(words)
    values = {0, part.lowest, part.highest, 1, 1 << (part.used or part.bits) - 1}
    values |= {part.largest, part.nan, (part.nan or 0) ^ 1 << (part.bits - 1)} - {None}
    special = np.array(sorted(v & ((1 << part.bits) - 1) for v in values), words)
    chosen = rng.random(bits.shape) < 0.3
    bits[chosen] = rng.choice(special, int(chosen.sum()))
    if row.used:
        bits &= (1 << row.used) - 1
    return bits.reshape(*shape, count).view(dtype)[..., 0]


def lay_out(array, layout, tmp_path):
    """Return the same elements in another layout."""
    if layout == "strided":
        wide = np.zeros((2 * len(array) + 1, *array.shape[1:]), array.dtype)
        wide[1::2] = array
        return wide[1::2]
    if layout == "reversed":
        return np.ascontiguousarray(array[::-1])[::-1]
    if layout == "broadcast":
        return np.broadcast_to(array[:1], array.shape)
    if layout == "fortran":
        return np.asfortranarray(array)
    if layout == "swapped":
        return array.astype(array.dtype.newbyteorder()) if array.dtype.kind in "iufcmM" else array
    if layout == "misaligned":
        if array.dtype.hasobject or array.dtype.kind == "T":
            return array
        raw = np.zeros(array.nbytes + 1, np.uint8)
        moved = raw[1:].view(array.dtype).reshape(array.shape)
        moved[...] = array
        return moved
    if layout == "memmap" and array.dtype.isbuiltin == 1 and not array.dtype.hasobject and array.size:
        path = tmp_path / "data.npy"
        np.save(path, array)
        return np.load(path, mmap_mode="r")
    if layout == "read-only":
        array = array.copy()
        array.flags.writeable = False
    return array


def assert_same(got, want, message):
    assert type(got) is np.ndarray, message
    assert got.shape == want.shape, message
    assert got.dtype == want.dtype, message
    assert got.dtype.isnative or got.dtype.kind in "OTV", message
    if got.dtype.kind in "OT":
        assert got.tolist() == want.tolist(), message
    elif got.dtype in (np.longdouble, np.clongdouble):  # padding bytes carry nothing
        np.testing.assert_array_equal(got, want, message)
        np.testing.assert_array_equal(np.signbit(got.real), np.signbit(want.real), message)
    else:
        assert got.tobytes() == want.tobytes(), f"{message}\n got {got!r}\nwant {want!r}"


def make_ids(rng, n, kind):
    """Return sorted ids of n rows and a number of segments."""
    if kind == "each":
        return np.arange(n), n
    if kind == "one":
        return np.full(n, 2), 4
    if kind == "dropped":
        return np.sort(rng.integers(-3, 9, n)), 5
    if kind == "sparse":
        return np.sort(rng.integers(0, 40 * n + 1, n)), 40 * n + 3
    return np.sort(rng.integers(0, n // 4 + 1, n)), n // 4 + 2


def run(function, *arguments, **options):
    """Return the result, or the exception's type: both must agree with the model's."""
    try:
        return function(*arguments, **options)
    except (TypeError, ValueError, OverflowError) as error:
        return type(error)


@pytest.fixture(params=_dispatch.available_levels())
def level(request, monkeypatch):
    """Each CPU level that this machine has."""
    monkeypatch.setattr(_segment, "_kernels", importlib.import_module(f"segmax._kernels.segment_{request.param}"))
    _segment._plan.cache_clear()
    yield request.param
    _segment._plan.cache_clear()


@pytest.fixture(params=[1, 2, 3])
def threads(request, monkeypatch):
    """Numbers of threads, with the bound below which one is used out of the way if there is more than one."""
    if request.param > 1:
        monkeypatch.setattr(_segment, "_SMALL", 0)
    with segmax.num_threads(request.param):
        yield request.param


@pytest.mark.parametrize("row", DTYPES, ids=lambda row: row.name)
def test_table(row, level, threads, tmp_path):
    """Seeded samples of the whole product; over all dtypes, levels and thread counts every pair of choices occurs."""
    rng = np.random.default_rng(zlib.crc32(f"{row.name} {level} {threads}".encode()))
    for case in range(110):
        n = int(rng.choice([0, 1, 2, 5, 17, 40]))
        inner = list(SHAPES.values())[case % len(SHAPES)]
        if row.kernel == "numpy" and inner == (37,):
            inner = (3,)
        ids, count = make_ids(rng, n, rng.choice(["each", "one", "dropped", "sparse", "even", "even"]))
        if count > 400:
            count, ids = 400, np.minimum(ids, 500)
        data = make_elements(row, (n, *inner), rng)
        layout = LAYOUTS[case % len(LAYOUTS)] if n else "plain"
        options = {"nan": ["propagate", "omit"][case % 2]}
        name = FUNCTIONS[case % 4]
        arg = "arg" in name
        source = ("sorted", "unsorted", "indptr", "rank-2")[int(rng.integers(4))]
        id_dtype = rng.choice(["i1", "i2", "i4", "i8", "u2", "u4", "u8", ">i4", ">i8"])
        ids = np.clip(ids, 0 if "u" in id_dtype else -3, 100 if id_dtype == "i1" else None)
        if rng.random() < 0.4:
            options["where"] = rng.random(data.shape if rng.random() < 0.6 else (n,) + (1,) * len(inner)) < 0.7
        if not arg and (rng.random() < 0.3 or row.name in ("object", "StringDType")):
            options["initial"] = make_elements(row, (1,), rng)[0]
        if rng.random() < 0.3:
            options["fill_value"] = -7 if arg else make_elements(row, (1,), rng)[0]
        if row.name == "object" and "initial" in options:
            options["initial"] = int(options["initial"])
        data = lay_out(data, layout, tmp_path)
        arguments = [ids.astype(id_dtype), count]
        if source == "unsorted":
            arguments[0] = rng.permutation(arguments[0])
            options["indices_are_sorted"] = False
        elif source == "indptr":
            arguments = []
            options["indptr"] = np.sort(rng.integers(0, n + 1, int(rng.integers(1, 30))))
        elif source == "rank-2" and n % 2 == 0:
            arguments[0] = arguments[0].reshape(2, n // 2)
            data = data.reshape(2, n // 2, *inner)
            if "where" in options:
                options["where"] = np.broadcast_to(options["where"], (n, *inner)).reshape(data.shape)
        if source in ("sorted", "indptr") and inner and rng.random() < 0.3:
            axis = int(rng.integers(1, data.ndim))
            data = np.moveaxis(data, 0, axis)
            options["axis"] = axis - data.ndim if rng.random() < 0.5 else axis
            if "where" in options:
                options["where"] = np.moveaxis(np.broadcast_to(options["where"], (n, *inner)), 0, axis)
        message = f"case {case}: {name}, {source}, {layout}, data {data.shape} {data.dtype}, {arguments}, {options}"
        want = run(getattr(_reference, name), data, *arguments, **options)
        got = run(getattr(segmax, name), data, *arguments, **options)
        if isinstance(want, type) or isinstance(got, type):
            assert got is want, f"{message}\n got {got}\nwant {want}"
            continue
        assert_same(got, want, message)
        if rng.random() < 0.4:
            out = np.full((want.size * 2 + 2,), want.ravel()[0] if want.size else 0, want.dtype)
            view = out[1:-1].reshape(*want.shape, 2)[..., int(rng.integers(2))] if want.size else np.empty_like(want)
            if rng.random() < 0.5:
                view = np.empty_like(want)
            assert getattr(segmax, name)(data, *arguments, out=view, **options) is view
            assert_same(np.ascontiguousarray(view), want, message + " (out)")
