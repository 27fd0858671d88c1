"""Every dtype, shape, order, layout and option of the segment functions against the slow model, bit for bit.

A test is one dtype, shape and mode; it goes through every memory layout and draws the rest with a fixed seed: options,
ids, sizes around the kernels' blocks, function. Each case runs on every CPU level that this machine has, with one, two
and three threads.
"""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import segmax
from segmax import _reference
from segmax._dtypes import BY_NAME

from .arrays import (
    ID_DTYPES,
    LAYOUTS,
    MODES,
    NAMES,
    as_plain,
    assert_same,
    make_elements,
    make_ids,
    make_indptr,
)

FUNCTIONS = ["segment_max", "segment_min", "segment_argmax", "segment_argmin"]
SHAPES = ["one-dimensional", "narrow", "wide", "rank-2 ids"]
ROWS = [0, 1, 2, 15, 16, 17, 31, 32, 33, 100, 255, 256, 257, 511, 512, 513, 1000, 2000]
MEANS = [0.05, 0.5, 1, 2, 4, 8, 20, 33, 100, 5000]
GUARD = 0xA5


def draw_shape(rng, shape):
    """Return the shape of data and how many of its dimensions the ids have."""
    rows = int(rng.choice(ROWS))
    if shape == "one-dimensional":
        return (rows,), 1
    if shape == "narrow":
        return (min(rows, 1000), int(rng.integers(1, 6))), 1
    if shape == "wide":
        width = int(rng.choice([7, 8, 9, 16, 17, 33, 64, 130]))
        return (min(rows, 2000 // width), width), 1
    tail = [(), (3,), (2, 2), (17,)][rng.integers(4)]
    first = int(rng.choice([1, 2, 3, 16]))
    return (first, min(rows, 600) // first, *tail), 2


def draw_scalar(rng, name):
    """Return an element of a dtype as NumPy's scalar."""
    return make_elements(rng, name, (1,))[0]


def draw_where(rng, shape):
    """Return a condition that broadcasts to a shape."""
    kept = rng.choice([0.1, 0.5, 0.95])
    kind = rng.integers(5)
    if kind == 0:
        return bool(rng.integers(2))
    if kind == 1 and len(shape) > 1:
        return rng.random((shape[0],) + (1,) * (len(shape) - 1)) < kept
    if kind == 2:
        return (rng.random(shape[-1:]) < kept).tolist()
    if kind == 3:
        return np.asfortranarray(rng.random(shape) < kept)
    return rng.random(shape) < kept


def draw_out(rng, shape, dtype):
    """Return how many bytes a buffer needs and how to see an array for a result in it, amid guard words."""
    kind, size = rng.integers(4), dtype.itemsize
    if kind == 0 or not shape:
        return int(np.prod(shape)) * size + 128, lambda buffer: np.ndarray(shape, dtype, buffer, 64)
    if kind == 1:
        return int(np.prod(shape)) * size + 129, lambda buffer: np.ndarray(shape, dtype, buffer, 65, order="F")
    wide, step = (*shape[:-1], 2 * shape[-1] + 1), -1 if kind == 2 else 1
    return int(np.prod(wide)) * size, lambda buffer: np.ndarray(wide, dtype, buffer)[::step][..., 1::2]


def draw_case(rng, name, shape, mode, layout):
    """Return the data in its layout, the same data plain, and keyword arguments for both, or None."""
    dims, lead = draw_shape(rng, shape)
    given = LAYOUTS[layout](make_elements(rng, name, dims, nans=bool(rng.integers(4)))) if 0 not in dims else None
    if given is None:
        if layout != "plain":
            return None
        given = make_elements(rng, name, dims)
    plain, mask = as_plain(given)
    options = {"nan": str(rng.choice(["propagate", "omit"]))}
    mean = max(float(rng.choice(MEANS)), int(np.prod(dims)) / 3000)  # the model is slow for many output elements
    axis = 0
    if mode == "indptr":
        options["indptr"] = make_indptr(rng, dims[0], mean)
    else:
        kind = str(rng.choice(ID_DTYPES))
        ids = make_ids(rng, dims[:lead], mean, kind, mode == "sorted")
        options["segment_ids"] = np.repeat(ids, 2, axis=-1)[..., ::2] if rng.random() < 0.2 else ids
        options["indices_are_sorted"] = mode == "sorted"
        small = ids.size == 0 or int(ids.max()) * int(np.prod(dims[lead:])) < 6000
        if not small or rng.random() < 0.7:
            options["num_segments"] = int(rng.choice([0, 1, max(1, round(ids.size / mean)), ids.size + 3]))
    arg = bool(rng.integers(2))
    function = FUNCTIONS[2 * arg + rng.integers(2)]
    if not arg and (rng.random() < 0.3 or (name in ("object", "StringDType") and rng.random() < 0.7)):
        options["initial"] = draw_scalar(rng, name)
    if rng.random() < 0.4:
        options["fill_value"] = int(rng.integers(-9, 9)) if arg else draw_scalar(rng, name)
    where = draw_where(rng, dims) if rng.random() < 0.3 else None
    if lead == 1 and len(dims) == 2 and mask is None and hasattr(given, "swapaxes") and rng.random() < 0.2:
        given, axis = given.swapaxes(0, 1), int(rng.choice([1, -1]))
        plain, _ = as_plain(given)
        where = np.swapaxes(np.broadcast_to(where, dims), 0, 1) if where is not None else None
    if where is not None:
        options["where"] = where
    if axis:
        options["axis"] = axis
    return function, given, plain, mask, options


def outcome(function, *arguments, **options):
    """Return a function's result, or the type of its error."""
    try:
        return function(*arguments, **options)
    except (TypeError, ValueError, OverflowError) as error:
        return type(error)


def describe(options):
    """Return options in a line."""
    return ", ".join(
        f"{key}={f'{value.dtype}{value.shape}' if isinstance(value, np.ndarray) else repr(value)[:40]}"
        for key, value in options.items()
    )


def check(case, settings, built_as, rng):
    """Compare one case with the model in every setting."""
    function, given, plain, mask, options = case
    expected = options
    if mask is not None:
        expected = options | {"where": ~mask & np.asarray(options.get("where", True))}
    expected = outcome(getattr(_reference, function), plain, **expected)
    before = plain.tobytes() if not isinstance(given, (list, tuple)) else None
    for setting in settings:
        what = f"in {function}, {setting}, data {plain.dtype}{plain.shape}, {describe(options)}"
        with built_as(*setting):
            got = outcome(getattr(segmax, function), given, **options)
            if isinstance(expected, type):
                assert got is expected, f"got {got!r}, but should be {expected} {what}"
                continue
            assert not isinstance(got, type), f"got {got}, but should be a result {what}"
            assert_same(got, expected, what)
            assert got.flags.carray, f"the result has {got.flags} {what}"
            check_out(rng, expected, lambda out: getattr(segmax, function)(given, **options, out=out), what)
    if before is not None:
        assert as_plain(given)[0].tobytes() == before, "the input was modified"


def check_out(rng, expected, call, what):
    """Compare what a call writes into an array it is given, and see that it writes nothing else."""
    if expected.dtype.hasobject or expected.dtype.kind == "T":
        out = np.empty_like(expected)
        assert call(out) is out
        assert_same(out, expected, f"out {what}")
        return
    size, see = draw_out(rng, expected.shape, expected.dtype)
    buffer, clean = (np.full(size, GUARD, np.uint8) for _ in range(2))
    out = see(buffer)
    assert call(out) is out
    assert_same(out, expected, f"out {what}")
    see(clean)[...] = out
    assert clean.tobytes() == buffer.tobytes(), f"written outside of out {what}"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", NAMES)
def test_table(name, shape, mode, settings, built_as):
    rng = np.random.default_rng(zlib.crc32(f"{name} {shape} {mode}".encode()))
    if shape == "rank-2 ids" and mode == "indptr":
        shape = "narrow"  # indptr has no such form: another sample of narrow rows
    for layout in LAYOUTS:
        case = draw_case(rng, name, shape, mode, layout)
        if case is not None:
            check(case, settings if BY_NAME[name].kernel != "numpy" else settings[:2], built_as, rng)
