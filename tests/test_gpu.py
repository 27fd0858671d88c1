"""segmax.gpu against segmax, bit for bit, on a GPU or with hostcuda in its place."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from segmax.gpu import _reduction

import segmax
from segmax import gpu
from segmax._dtypes import BY_NAME

from . import device
from .arrays import ID_DTYPES, NAMES, assert_same, dtype_of, make_elements, make_ids, make_indptr
from .device import to_device, to_host

pytestmark = pytest.mark.skipif(bool(device.missing), reason=device.missing)

KEYED = [name for name in NAMES if BY_NAME[name].kernel in ("keys", "complex")]
FUNCTIONS = ["segment_max", "segment_min", "segment_argmax", "segment_argmin"]


@pytest.fixture(autouse=True)
def no_faults():
    """Fail a test in which hostcuda saw a fault, whatever the values were."""
    yield
    assert device.find_faults() == []


@pytest.fixture
def many_rows(monkeypatch):
    """Let few rows go the way of many: chunks, warps and several levels of merging."""
    monkeypatch.setattr(_reduction, "SMALL_ROWS", 0)
    monkeypatch.setattr(_reduction, "CHUNK_ROWS", 5)
    monkeypatch.setattr(_reduction, "WARP_ROWS", 32)
    monkeypatch.setattr(_reduction, "MERGE_ROWS", 4)


def check(function, data, ids=None, count=None, **options):
    """Compare one call on the device with the same call on the host."""
    expected = getattr(segmax, function)(data, ids, count, **options)
    moved = {key: to_device(value) if isinstance(value, np.ndarray) else value for key, value in options.items()}
    got = getattr(gpu, function)(to_device(data), None if ids is None else to_device(ids), count, **moved)
    assert isinstance(got, device.cupy.ndarray)
    assert_same(to_host(got), expected, f"in {function} of {data.dtype}{data.shape}, {options}")


def draw_options(rng, name, function, shape):
    """Return a random choice of options."""
    options = {"nan": str(rng.choice(["propagate", "omit"]))}
    if rng.random() < 0.3:
        few = [rng.random(shape) < 0.6, rng.random(shape[-1:]) < 0.6, bool(rng.integers(2))]
        options["where"] = few[rng.integers(3)]
    if "arg" in function:
        return options | ({"fill_value": -7} if rng.random() < 0.4 else {})
    for key in ("initial", "fill_value"):
        if rng.random() < 0.3:
            options[key] = make_elements(rng, name, (1,))[0]
    return options


def draw_case(rng, name, mode):
    """Return data, ids or offsets, number of segments and options of one call."""
    rows, width = [(1, 1), (31, 1), (70, 3), (130, 8), (90, 5), (64, 16), (0, 3), (9, 0)][rng.integers(8)]
    shape = (rows,) if width == 1 and rng.random() < 0.5 else (rows, width)
    function = str(rng.choice(FUNCTIONS))
    data, mean = make_elements(rng, name, shape), float(rng.choice([0.5, 2, 8, 40, 1000]))
    options = draw_options(rng, name, function, shape)
    if mode == "indptr":
        offsets = make_indptr(rng, rows, mean)
        return function, data, None, None, options | {"indptr": offsets.astype(offsets.dtype.newbyteorder("="))}
    ids = make_ids(
        rng, (rows,), mean, str(rng.choice([item for item in ID_DTYPES if item[0] != ">"])), mode == "sorted"
    )
    count = int(rng.integers(0, round(rows / mean) + 3))
    return function, data, ids, count, options | {"indices_are_sorted": mode == "sorted"}


@pytest.mark.parametrize("mode", ["sorted", "unsorted", "indptr"])
@pytest.mark.parametrize("name", KEYED)
def test_every_dtype(name, mode):
    rng = np.random.default_rng(zlib.crc32(f"{name} {mode}".encode()))
    for _ in range(4):
        function, data, ids, count, options = draw_case(rng, name, mode)
        check(function, data, ids, count, **options)


@pytest.mark.parametrize("mode", ["sorted", "indptr"])
@pytest.mark.parametrize("name", KEYED)
def test_every_dtype_in_chunks(name, mode, many_rows):
    rng = np.random.default_rng(zlib.crc32(f"{name} {mode} in chunks".encode()))
    for _ in range(6):
        function, data, ids, count, options = draw_case(rng, name, mode)
        check(function, data, ids, count, **options)


def has_loop(name):
    """Return whether segmax.maximum takes a dtype."""
    try:
        return bool(segmax.maximum.resolve_dtypes((dtype_of(name), dtype_of(name), None)))
    except TypeError:
        return False


OPS = ["maximum", "minimum", "fmax", "fmin"]


def compare(op, x, y, **options):
    """Compare one elementwise call on the device with the same call on the host."""
    expected = np.asarray(getattr(segmax, op)(x, y, **options))
    moved = [to_device(item) if isinstance(item, np.ndarray) else item for item in (x, y)]
    got = getattr(gpu, op)(*moved, **options)
    assert_same(to_host(got), expected, f"in {op} of {x!r} and {y!r}")


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("name", [name for name in KEYED if has_loop(name)])
def test_elementwise(name, op):
    rng = np.random.default_rng(zlib.crc32(f"{name} {op}".encode()))
    special = make_elements(rng, name, (24,))
    compare(op, special[:, None], special)
    compare(op, make_elements(rng, name, (3, 40)), make_elements(rng, name, (40,)))


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(
    "name", ["float32", "float16", "complex64", "int8", "uint64", "bool", "timedelta64", "float8_e4m3fnuz"]
)
def test_reduce(name, op):
    if not has_loop(name):
        pytest.skip("needs ml_dtypes")
    rng = np.random.default_rng(zlib.crc32(f"{name} {op} reduce".encode()))
    data = make_elements(rng, name, (3, 5, 4))
    first, where = make_elements(rng, name, (1,), nans=False)[0], rng.random((5, 1)) < 0.5
    for options in (
        {},
        {"axis": -1},
        {"axis": (0, 2), "keepdims": True},
        {"axis": None},
        {"axis": 1, "initial": first},
    ):
        for given in ({}, {"where": where, "initial": first}):
            expected = np.asarray(getattr(np, op).reduce(data, **options | given))
            moved = {key: to_device(value) if key == "where" else value for key, value in (options | given).items()}
            got = to_host(getattr(gpu, op).reduce(to_device(data), **moved))
            assert got.dtype == expected.dtype
            assert got.shape == expected.shape
            # NumPy's zeros and NaNs have whatever sign and payload come first.
            same = (got == expected) | ((got != got) & (expected != expected))
            assert same.all(), (options, given)
    assert getattr(gpu, op).reduce(to_device(data[:, :0]), axis=1, initial=first).shape == (3, 4)
    with pytest.raises(ValueError, match="no identity"):
        getattr(gpu, op).reduce(to_device(data[:0]))
    with pytest.raises(ValueError, match="identity"):
        getattr(gpu, op).reduce(to_device(data), where=to_device(where))


def test_operands_of_two_dtypes_lose_nothing():
    """Casts between floats keep subnormals, which CuPy's own casts flush."""
    tiny = np.array([1e-45, -1e-45, 0.0, -0.0, 1.5, np.inf, -np.inf, np.nan, 3e-39], "f4")
    half = np.array([6e-8, -6e-8, 65504, -0.0, 1e-5, np.inf, -np.inf, np.nan, 1], "f2")
    for x, y in ((tiny, tiny.astype("f8")), (half, tiny), (half, tiny.astype("f8")), (tiny, np.array([1], "i2"))):
        compare("maximum", x, y)
        compare("fmin", y, x)
    brain = tiny.astype(pytest.importorskip("ml_dtypes").bfloat16)
    compare("maximum", brain, np.full(9, -np.inf, "f4"))
    compare("maximum", brain, np.full(9, -np.inf, "f8"))
    compare("minimum", tiny, tiny.astype("c16") + 1j)
    compare("minimum", tiny.astype("c8"), np.array([1e-310j], "c16"))


def test_scalars_have_the_meaning_that_numpy_gives_them():
    data = np.array([1, 200, 3], "u1")
    for scalar in (7, True, 2.5, 1j, np.int16(-4), np.float32(9), np.uint8(7)):
        compare("maximum", data, scalar)
        compare("minimum", scalar, data)
    compare("maximum", np.array([np.nan, 1, -0.0], "f4"), 0.0)
    with pytest.raises(OverflowError):
        gpu.maximum(to_device(data), 300)


def test_out_where_dtype_casting():
    x, y = np.arange(12.0).reshape(3, 4), np.full(4, 5.5)
    out = to_device(np.zeros((3, 4)))
    assert gpu.maximum(to_device(x), to_device(y), out) is out
    assert_same(to_host(out), segmax.maximum(x, y))
    where = x % 2 == 0
    for dtype in ("f8", "f4"):
        out = to_device(np.ones((3, 4), dtype))
        gpu.minimum(to_device(x), to_device(y), out=out, where=to_device(where))
        assert_same(to_host(out), segmax.minimum(x, y, out=np.ones((3, 4), dtype), where=where))
    compare("maximum", x, y, dtype="f4")
    with pytest.raises(TypeError, match="same_kind"):
        gpu.maximum(to_device(x), to_device(y), out=to_device(np.zeros((3, 4), "i4")))
    gpu.maximum(to_device(x), to_device(y), out=to_device(np.zeros((3, 4), "i4")), casting="unsafe")
    with pytest.raises(ValueError, match="out has shape"):
        gpu.maximum(to_device(x), to_device(y), out=to_device(np.zeros((2, 4))))
    with pytest.raises(ValueError, match="broadcast"):
        gpu.maximum(to_device(x), to_device(np.zeros(5)))


@pytest.mark.parametrize("view", [np.s_[1:], np.s_[:-1], np.s_[:0:-1], np.s_[:99]])
def test_out_may_overlap(view):
    host, zeros = np.random.default_rng(5).standard_normal(100).astype("f4"), np.zeros(99, "f4")
    shared = to_device(host)
    gpu.maximum(shared[view], to_device(zeros), out=shared[:99])
    assert_same(to_host(shared[:99]), segmax.maximum(host[view], zeros))


def test_segment_out():
    rng = np.random.default_rng(6)
    data, ids = rng.standard_normal((60, 4)), np.sort(rng.integers(0, 9, 60))
    expected = segmax.segment_max(data, ids, 10)
    for out in (np.zeros((10, 4)), np.zeros((10, 8))[:, ::2], np.zeros((4, 10)).T):
        moved = device.cupy.zeros((10, 8))[:, ::2] if out.strides[1] == 16 else to_device(out)
        moved = device.cupy.zeros((4, 10)).T if out.strides[1] == 80 else moved
        assert gpu.segment_max(to_device(data), to_device(ids), 10, out=moved) is moved
        assert_same(np.ascontiguousarray(device.cupy.asnumpy(moved)), expected)
    shared = to_device(data)
    gpu.segment_max(shared, to_device(ids), 10, out=shared[20:30])
    assert_same(to_host(shared[20:30]), expected)
    with pytest.raises(TypeError, match="dtype"):
        gpu.segment_max(to_device(data), to_device(ids), 10, out=to_device(np.zeros((10, 4), "f4")))
    with pytest.raises(ValueError, match="shape"):
        gpu.segment_max(to_device(data), to_device(ids), 10, out=to_device(np.zeros((9, 4))))
    with pytest.raises(TypeError, match=r"cupy\.ndarray"):
        gpu.segment_max(to_device(data), to_device(ids), 10, out=np.zeros((10, 4)))


def test_shapes_and_axes(many_rows):
    rng = np.random.default_rng(7)
    data = rng.standard_normal((6, 7, 5)).astype("f4")
    ids = np.sort(rng.integers(-1, 9, 42)).reshape(6, 7)
    check("segment_max", data, ids, 8)
    check("segment_argmin", data, ids, None)
    check("unsorted_segment_min", data, ids[::-1].copy(), None)
    check("unsorted_segment_max", data, rng.permutation(ids.reshape(-1)).reshape(6, 7), 8, fill_value=3)
    for axis in (1, -1):
        check("segment_max", data, np.sort(rng.integers(0, 3, data.shape[axis])), None, axis=axis)
        check("segment_argmax", data, None, None, axis=axis, indptr=np.array([0, 2, 2, 4]))
    check("segment_max", np.array(2.5), np.array(1), 3)
    check("segment_max", np.zeros((0, 3)), np.zeros(0, int), None)
    check("segment_max", np.zeros((3, 0)), np.zeros(3, int), 2)
    check("segment_max", np.ones(3), np.array([0, 1, 2**64 - 1], "u8"), 2)
    check("segment_max", np.ones(3), np.array([-1, 0, 127], "i1"), None)
    odd = to_device(data)[::2, :, ::-1]
    got = gpu.segment_max(odd, to_device(ids[::2].copy()), 8)
    assert_same(to_host(got), segmax.segment_max(data[::2, :, ::-1], ids[::2], 8))


def test_arrays_of_the_host_are_refused():
    x, ids = np.ones(3), np.zeros(3, int)
    for data, segment_ids in ((x, ids), (x, to_device(ids)), (to_device(x), ids)):
        with pytest.raises(TypeError, match=r"on the host.*cupy\.asarray"):
            gpu.segment_max(data, segment_ids, 1)
    with pytest.raises(TypeError, match=r"x2 is a numpy\.ndarray on the host"):
        gpu.maximum(to_device(x), x)
    with pytest.raises(TypeError, match=r"where is a builtins\.list"):
        gpu.segment_max(to_device(x), to_device(ids), 1, where=[True, False, True])


@pytest.mark.parametrize(
    ("error", "match", "options"),
    [
        (ValueError, "'propagate' or 'omit'", {"nan": "raise"}),
        (ValueError, "num_segments is -1", {"num_segments": -1}),
        (TypeError, "num_segments is 1.0", {"num_segments": 1.0}),
        (MemoryError, "too large to allocate", {"num_segments": 2**62}),
        (ValueError, "it must be 0|out of bounds", {"axis": 3}),
        (TypeError, "cannot hold exactly", {"initial": 0.1}),
        (OverflowError, "out of the range", {"fill_value": 1e300}),
    ],
)
def test_errors_are_those_of_the_host(error, match, options):
    data, ids = np.ones((4, 2), "f4"), np.array([0, 0, 1, 1])
    with pytest.raises(error):
        segmax.segment_max(data, ids, **options)
    with pytest.raises(error, match=match):
        gpu.segment_max(to_device(data), to_device(ids), **options)


def test_ids_out_of_order_are_safe(many_rows):
    """Values are unspecified then, but nothing is read or written out of bounds (which hostcuda would report)."""
    if device.hostcuda is None:
        pytest.skip("a GPU does not tell; run compute-sanitizer")
    rng = np.random.default_rng(8)
    limits = np.iinfo(np.int64)
    wild = [
        rng.integers(-5, 15, 200),
        np.arange(200)[::-1].copy(),
        rng.integers(limits.min, limits.max, 200),
        np.tile([limits.max, 0, limits.min, 9, -1], 40),
    ]
    device.hostcuda.configure(race=False)
    try:
        for ids in wild:
            for width in (1, 9):
                data = to_device(rng.standard_normal((200, width)))
                for function in ("segment_max", "segment_argmax"):
                    for small in (0, 4096):
                        _reduction.SMALL_ROWS = small
                        getattr(gpu, function)(data, to_device(ids), 10)
                        getattr(gpu, function)(data, None, indptr=to_device(ids[:11]))
    finally:
        device.hostcuda.configure()


def test_nothing_waits_for_the_device(many_rows):
    """Every launch is on the current stream, and only `num_segments=None` looks at a value."""
    if device.hostcuda is None:
        pytest.skip("hostcuda keeps the log")
    data, ids = to_device(np.ones((300, 12), "f4")), to_device(np.arange(300) // 7)
    stream = device.cupy.cuda.Stream(non_blocking=True)
    before = len(device.hostcuda.LOG)
    with stream:
        for function in ("segment_max", "segment_argmax", "unsorted_segment_max"):
            getattr(gpu, function)(data, ids, 50)
        gpu.maximum(data, 2)
        gpu.maximum.reduce(data, axis=1)
    log = device.hostcuda.LOG[before:]
    assert {entry[0] for entry in log} <= {"launch", "malloc", "memset"}
    assert {entry[4] for entry in log if entry[0] == "launch"} == {stream.ptr}
