"""CuPy's kernels from our texts: each is made once, compiled by CuPy when it is first launched."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from .. import _storage
from .._dtypes import Dtype
from . import _source

#: The first CuPy that knows bfloat16, and whose arrays can be viewed as the dtypes of ml_dtypes.
_OLDEST = (14, 0)


@functools.cache
def load_cupy() -> Any:
    """Import CuPy; raise an error that says what to install if it is missing or too old."""
    wanted = f"CuPy {_OLDEST[0]}.{_OLDEST[1]} or later"
    way = (
        "install it with `pip install cupy-cuda12x` or `pip install cupy-cuda13x`, after the CUDA version of the driver"
    )
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        raise ImportError(f"segmax.gpu needs {wanted}, which cannot be imported ({error}); {way}.") from error
    if tuple(int(part) for part in cupy.__version__.split(".")[:2]) < _OLDEST:
        raise ImportError(f"segmax.gpu needs {wanted}, but CuPy {cupy.__version__} is installed; {way}.")
    return cupy


def words_of(row: Dtype) -> str:
    """Return the name of the dtype of the words in which kernels see a row's elements."""
    return str(_storage.words_of(row))


def keys_of(row: Dtype) -> str:
    """Return the name of the dtype of keys in memory."""
    return f"uint{_source.key_bits(row)}"


def best_bytes(row: Dtype, positions: bool) -> int:
    """Return the size of what a carry holds: a key, or a rank and a row (see `_source.reduction`)."""
    return 8 + 8 * _source.words_in(row) if positions else _source.key_bits(row) // 8


def _make(name: str, inputs: str, outputs: str, body: str, preamble: str) -> Any:
    return load_cupy().ElementwiseKernel(
        inputs, outputs, body, f"segmax_{name}", preamble=preamble, no_return=True, reduce_dims=False
    )


_MASK = {False: "", True: ", raw bool where"}


@functools.cache
def small(row: Dtype, minimum: bool, omit: bool, positions: bool, masked: bool, bounds: str) -> Any:
    """Return the kernel for few rows: (x, ids or offsets, [where], N, D, start, empty, out)."""
    return _make(
        f"small_{bounds}",
        f"raw T x, raw I ids{_MASK[masked]}, int64 N, int64 D, uint64 start, uint64 empty",
        "raw O out",
        _source.SMALL,
        _source.reduction(row, minimum, omit, positions, masked)
        + f"#define WORDS {_source.words_in(row)}\n"
        + _source.BOUNDS[bounds],
    )


_WALK_OUTPUTS = "raw O out, raw uint64 carries, raw int64 carry_ids"


@functools.cache
def chunk(row: Dtype, minimum: bool, omit: bool, positions: bool, masked: bool, columns: int) -> Any:
    """Return the kernel for chunks of R rows: (x, ids, [where], N, D, S, R, start, out, carries, carry_ids)."""
    return _make(
        "chunk",
        f"raw T x, raw I ids{_MASK[masked]}, int64 N, int64 D, int64 S, int64 R, uint64 start",
        _WALK_OUTPUTS,
        _source.CHUNK,
        _source.reduction(row, minimum, omit, positions, masked) + _source.chunk_pack(row, columns),
    )


@functools.cache
def warp(row: Dtype, minimum: bool, omit: bool, masked: bool, width: int) -> Any:
    """Return the kernel for narrow rows: (x, ids, [where], N, S, R, start, out, carries, carry_ids)."""
    return _make(
        "warp",
        f"raw T x, raw I ids{_MASK[masked]}, int64 N, int64 S, int64 R, uint64 start",
        _WALK_OUTPUTS,
        _source.WARP,
        _source.reduction(row, minimum, omit, False, masked) + f"#define WIDTH {width}\n",
    )


@functools.cache
def merge(row: Dtype, minimum: bool, omit: bool, positions: bool) -> Any:
    """Return the kernel for carries: (x, carried, ids, N, D, S, R, start, out, carries, carry_ids)."""
    return _make(
        "merge",
        "raw T x, raw uint64 carried, raw int64 ids, int64 N, int64 D, int64 S, int64 R, uint64 start",
        _WALK_OUTPUTS,
        _source.MERGE,
        _source.reduction(row, minimum, omit, positions, False) + _source.MERGE_PACK,
    )


@functools.cache
def expand() -> Any:
    """Return the kernel that gives each row its segment from CSR offsets: (indptr, S, id)."""
    return _make("expand", "raw I indptr, int64 S", "J id", _source.EXPAND, _source.IDS)


@functools.cache
def scatter(row: Dtype, minimum: bool, omit: bool, masked: bool) -> Any:
    """Return the kernel for ids in any order: (x, ids, [where], D, S, keys)."""
    return _make(
        "scatter",
        f"raw T x, raw I ids{_MASK[masked]}, int64 D, int64 S",
        "raw K keys",
        _source.SCATTER,
        _source.reduction(row, minimum, omit, False, masked),
    )


@functools.cache
def decode(row: Dtype, minimum: bool, omit: bool) -> Any:
    """Return the kernel from keys to words: (key, word)."""
    return _make("decode", "K key", "T word", "word = sm_decode(key);", _source.value_order(row, minimum, omit))


@functools.cache
def scatter_positions(row: Dtype, minimum: bool, omit: bool, masked: bool, step: str) -> Any:
    """Return a step for positions and ids in any order: (x, ids, [where], D, S, keys, [seconds], [rows])."""
    outputs = {
        "key": "raw K keys",
        "second": "raw K keys, raw K seconds",
        "row": "raw K keys, raw int64 rows",
        "row of second": "raw K keys, raw K seconds, raw int64 rows",
    }
    return _make(
        f"scatter_{step.replace(' ', '_')}",
        f"raw T x, raw I ids{_MASK[masked]}, int64 D, int64 S",
        outputs[step],
        _source.scatter_step(step),
        _source.reduction(row, minimum, omit, True, masked) + f"#define WORDS {_source.words_in(row)}\n",
    )


@functools.cache
def gather(row: Dtype, minimum: bool, omit: bool) -> Any:
    """Return the kernel from positions to complex values: (x, rows, D, start and empty in two words each, out)."""
    return _make(
        "gather",
        "raw T x, raw int64 rows, int64 D, uint64 start, uint64 start_second, uint64 empty, uint64 empty_second",
        "raw T out",
        _source.GATHER,
        _source.reduction(row, minimum, omit, True, False),
    )


@functools.cache
def elementwise(row: Dtype, minimum: bool, omit: bool, masked: bool) -> Any:
    """Return the kernel of an elementwise function: (x, y, [where], z)."""
    return _make(
        "elementwise",
        f"T x, T y{', bool where' if masked else ''}",
        "T z",
        _source.elementwise_body(masked),
        _source.elementwise(row, minimum, omit),
    )


@functools.cache
def found() -> Any:
    """Return the kernel that turns the greatest int64, no row's position, into -1, in place: (row)."""
    return _make("found", "", "int64 row", "if (row == 0x7fffffffffffffffll) row = -1;", "")


@functools.cache
def fill() -> Any:
    """Return the kernel that fills elements that are not present: (present, value, out)."""
    return _make("fill", "bool present, T value", "T out", "if (!present) out = value;", "")


@functools.cache
def widen(source: Dtype, wider: Dtype) -> Any:
    """Return the kernel that casts bits of a float to those of a wider one: (x, z)."""
    return _make(f"widen_{source.name}_{wider.name}", "T x", "W z", _source.widen(source, wider), "")


@functools.cache
def recode(row: Dtype) -> Any:
    """Return the kernel from bytes of a recoded dtype to codes, for a small integer its value: (x, z)."""
    return _make("recode", "T x", "T z", "z = sm_there(x);", _source.value_order(row, False, False))
