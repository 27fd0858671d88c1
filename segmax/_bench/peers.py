"""Who is compared: one small adapter per contender.

An adapter is given the arrays, does once what a user would do once (move them into tensors or frames, compile), and
returns the call that is timed. What a peer is spared stands in its docstring; where it cannot do a problem it raises,
and what it says is reported.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .problem import Arrays

Run = Callable[[], Any]


def _ours() -> Any:
    """Return segmax, of which only what is public is used: it may be of another revision (benchmarks/graft.py)."""
    return importlib.import_module("..", __package__)


def read(arrays: Arrays) -> Run:
    """Read the same bytes once: NumPy's max over data and ids as integers, on one thread."""
    size = min(arrays.values.dtype.itemsize, 8)
    words, ids = arrays.values.view(f"u{size}"), arrays.ids
    return lambda: (words.max(), ids.max())


def segmax(arrays: Arrays) -> Run:
    """Call ourselves, with nothing prepared."""
    ours, name = _ours(), arrays.problem.operation
    if "segment" not in name:
        ufunc, values, others = getattr(ours, name), arrays.values, arrays.values[::-1].copy()
        return lambda: ufunc(values, others)
    if arrays.problem.order == "shuffled":
        name = f"unsorted_{name}"
    function, values, ids, count = getattr(ours, name), arrays.values, arrays.ids, arrays.count
    return lambda: function(values, ids, count)


def segmax_indptr(arrays: Arrays) -> Run:
    """Call ourselves with offsets instead of ids: what those peers are to be compared with that know them, too."""
    function, values = getattr(_ours(), arrays.problem.operation), arrays.values
    indptr = np.concatenate(([0], np.cumsum(np.bincount(arrays.ids, minlength=arrays.count))))
    return lambda: function(values, indptr=indptr)


def tf_xla(arrays: Arrays) -> Run:
    """SegmentMaxV2, compiled by XLA; the tensors are there."""
    tf = importlib.import_module("tensorflow")
    compiled = tf.function(
        lambda x, i: tf.raw_ops.SegmentMaxV2(data=x, segment_ids=i, num_segments=arrays.count), jit_compile=True
    )
    values, ids = tf.constant(arrays.values), tf.constant(arrays.ids)
    return lambda: compiled(values, ids).numpy()


def tf_sorted(arrays: Arrays) -> Run:
    """tf.math.segment_max; the tensors are there."""
    tf = importlib.import_module("tensorflow")
    values, ids = tf.constant(arrays.values), tf.constant(arrays.ids)
    return lambda: tf.math.segment_max(values, ids).numpy()


def tf_unsorted(arrays: Arrays) -> Run:
    """tf.math.unsorted_segment_max; the tensors are there."""
    tf = importlib.import_module("tensorflow")
    values, ids = tf.constant(arrays.values), tf.constant(arrays.ids)
    return lambda: tf.math.unsorted_segment_max(values, ids, arrays.count).numpy()


def _jax(arrays: Arrays, in_order: bool) -> Run:
    """jax.ops.segment_max, compiled; the arrays are on the device."""
    jax = importlib.import_module("jax")
    compiled = jax.jit(
        functools.partial(jax.ops.segment_max, num_segments=arrays.count, indices_are_sorted=in_order),
    )
    values, ids = jax.numpy.asarray(arrays.values), jax.numpy.asarray(arrays.ids)
    return lambda: compiled(values, ids).block_until_ready()


def jax_sorted(arrays: Arrays) -> Run:
    """jax.ops.segment_max, compiled, told that the ids are in order."""
    return _jax(arrays, True)


def jax_unsorted(arrays: Arrays) -> Run:
    """jax.ops.segment_max, compiled."""
    return _jax(arrays, False)


def _as_tensor(values: np.ndarray) -> Any:
    """Return a torch tensor over the same memory; bfloat16, which NumPy has from elsewhere, goes in as bits."""
    torch = importlib.import_module("torch")
    if values.dtype.name == "bfloat16":
        return torch.from_numpy(values.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(values)


def torch_segment_reduce(arrays: Arrays) -> Run:
    """torch.segment_reduce; the length of each segment is known."""
    torch = importlib.import_module("torch")
    values, lengths = _as_tensor(arrays.values), torch.from_numpy(np.bincount(arrays.ids, minlength=arrays.count))
    return lambda: torch.segment_reduce(values, "max", lengths=lengths, axis=0, unsafe=True)


def torch_scatter_reduce(arrays: Arrays) -> Run:
    """Tensor.scatter_reduce_ into a tensor of the lowest value; the ids are int64 and as wide as the data."""
    torch = importlib.import_module("torch")
    values, ids = _as_tensor(arrays.values), torch.from_numpy(arrays.ids.astype(np.int64))
    ids = ids if values.ndim == 1 else ids[:, None].expand(values.shape)
    # An integer as it is: bfloat16, which `full` would be given as a NumPy scalar, only as a float.
    lowest = float(arrays.lowest) if values.dtype.is_floating_point else int(arrays.lowest)
    shape = (arrays.count, *values.shape[1:])
    return lambda: torch.full(shape, lowest, dtype=values.dtype).scatter_reduce_(0, ids, values, "amax")


def from_tensor(tensor: Any) -> np.ndarray:
    """Return a torch tensor as an array."""
    torch = importlib.import_module("torch")
    if tensor.dtype is torch.bfloat16:
        bfloat16 = importlib.import_module("ml_dtypes").bfloat16
        return np.asarray(tensor.view(torch.int16)).view(bfloat16)
    return np.asarray(tensor)


@functools.cache
def _compile_loops() -> dict[int, Callable[..., None]]:
    """Return loops for one and two dimensions, as one writes them by hand.

    Every thread takes a range of rows, moved to where segments begin.
    """
    numba = importlib.import_module("numba")

    def wide(values: Any, ids: Any, out: Any, lowest: Any, threads: int) -> None:
        rows, width = values.shape
        for thread in numba.prange(threads):
            first, last = rows * thread // threads, rows * (thread + 1) // threads
            while 0 < first < rows and ids[first] == ids[first - 1]:
                first += 1
            while 0 < last < rows and ids[last] == ids[last - 1]:
                last += 1
            if first >= last:
                continue
            empty = 0 if thread == 0 or first == 0 else ids[first - 1] + 1  # gaps belong to whoever comes after them
            row = first
            while row < last:
                segment = ids[row]
                for k in range(empty, segment):
                    out[k, :] = lowest
                empty = segment + 1
                out[segment, :] = values[row, :]
                row += 1
                while row < last and ids[row] == segment:
                    for j in range(width):
                        if values[row, j] > out[segment, j]:
                            out[segment, j] = values[row, j]
                    row += 1
        for k in range(ids[rows - 1] + 1, len(out)):
            out[k, :] = lowest

    def narrow(values: Any, ids: Any, out: Any, lowest: Any, threads: int) -> None:
        rows = len(values)
        for thread in numba.prange(threads):
            first, last = rows * thread // threads, rows * (thread + 1) // threads
            while 0 < first < rows and ids[first] == ids[first - 1]:
                first += 1
            while 0 < last < rows and ids[last] == ids[last - 1]:
                last += 1
            if first >= last:
                continue
            empty = 0 if thread == 0 or first == 0 else ids[first - 1] + 1
            row = first
            while row < last:
                segment = ids[row]
                for k in range(empty, segment):
                    out[k] = lowest
                empty = segment + 1
                greatest = values[row]
                row += 1
                while row < last and ids[row] == segment:
                    greatest = max(greatest, values[row])
                    row += 1
                out[segment] = greatest
        for k in range(ids[rows - 1] + 1, len(out)):
            out[k] = lowest

    return {1: numba.njit(narrow, parallel=True), 2: numba.njit(wide, parallel=True)}


def numba_loops(arrays: Arrays) -> Run:
    """Loops by hand over the rows of each thread, compiled by numba; no NaN is looked for, no order checked."""
    values, ids = arrays.values, arrays.ids
    loop, threads = _compile_loops()[values.ndim], _ours().get_num_threads()

    def run() -> np.ndarray:
        out = np.empty((arrays.count, *values.shape[1:]), values.dtype)
        loop(values, ids, out, arrays.lowest, threads)
        return out

    return run


def numpy_reduceat(arrays: Arrays) -> Run:
    """numpy.maximum.reduceat, boundaries included."""
    values, ids = arrays.values, arrays.ids
    first = [0]
    return lambda: np.maximum.reduceat(values, np.concatenate((first, np.flatnonzero(ids[1:] != ids[:-1]) + 1)))


def numpy_reduceat_alone(arrays: Arrays) -> Run:
    """numpy.maximum.reduceat with the boundaries for free."""
    values, starts = arrays.values, np.flatnonzero(np.diff(arrays.ids, prepend=-1))
    return lambda: np.maximum.reduceat(values, starts)


def numpy_at(arrays: Arrays) -> Run:
    """numpy.maximum.at into an array of the lowest value."""
    values, ids, shape = arrays.values, arrays.ids, (arrays.count, *arrays.values.shape[1:])
    lowest = arrays.lowest

    def run() -> np.ndarray:
        out = np.full(shape, lowest)
        np.maximum.at(out, ids, values)
        return out

    return run


def groupies(arrays: Arrays) -> Run:
    """numpy_groupies.aggregate."""
    aggregate = importlib.import_module("numpy_groupies").aggregate
    options = {"func": "max", "size": arrays.count, "fill_value": arrays.lowest, "axis": None}
    if arrays.values.ndim > 1:
        options["axis"] = 0
    return lambda: aggregate(arrays.ids, arrays.values, **options)


def pandas_groupby(arrays: Arrays) -> Run:
    """Series.groupby(ids).max(); the series, or a frame with a column per element of a row, is there."""
    pandas = importlib.import_module("pandas")
    frame = (pandas.Series if arrays.values.ndim == 1 else pandas.DataFrame)(arrays.values)
    return lambda: frame.groupby(arrays.ids).max()


def polars_group_by(arrays: Arrays) -> Run:
    """DataFrame.group_by(ids).max(), in order; the frame is there and, where it is, marked as sorted."""
    polars = importlib.import_module("polars")
    columns = arrays.values.reshape(len(arrays.values), -1).T
    frame = polars.DataFrame({"id": arrays.ids} | {f"{k}": np.ascontiguousarray(c) for k, c in enumerate(columns)})
    if arrays.problem.order == "shuffled":
        return lambda: frame.group_by("id").agg(polars.all().max()).sort("id")
    frame = frame.with_columns(polars.col("id").set_sorted())
    return lambda: frame.group_by("id", maintain_order=True).agg(polars.all().max())


def from_polars(frame: Any) -> np.ndarray:
    """Return the maxima of a frame as an array."""
    result: np.ndarray = frame.drop("id").to_numpy()
    return result[:, 0] if result.shape[1] == 1 else result


@dataclass(frozen=True)
class Peer:
    """A contender."""

    name: str
    package: str  #: what it needs, and whose process it runs in
    prepare: Callable[[Arrays], Run]  #: do what is done once, return what is timed
    fetch: Callable[[Any], np.ndarray] = np.asarray  #: make an array of what was timed, for the comparison
    any_order: bool = True  #: whether the ids may stand in any order
    offsets: bool = False  #: whether it is told where segments begin, and need not read the ids
    compact: bool = False  #: whether it gives the segments that have rows only

    @property
    def installed(self) -> bool:
        """Whether its package is there."""
        return importlib.util.find_spec(self.package) is not None


#: In the order of the table's columns. `read` computes nothing: it is the yardstick.
PEERS = (
    Peer("read", "numpy", read),
    Peer("segmax", "segmax", segmax),
    Peer("segmax-indptr", "segmax", segmax_indptr, any_order=False, offsets=True),
    Peer("tf-xla", "tensorflow", tf_xla, any_order=False),
    Peer("tf", "tensorflow", tf_sorted, any_order=False),
    Peer("tf-unsorted", "tensorflow", tf_unsorted),
    Peer("jax", "jax", jax_sorted, any_order=False),
    Peer("jax-unsorted", "jax", jax_unsorted),
    Peer("torch-segment", "torch", torch_segment_reduce, from_tensor, any_order=False, offsets=True),
    Peer("torch-scatter", "torch", torch_scatter_reduce, from_tensor),
    Peer("numba", "numba", numba_loops, any_order=False),
    Peer("reduceat", "numpy", numpy_reduceat, any_order=False, compact=True),
    Peer("reduceat-alone", "numpy", numpy_reduceat_alone, any_order=False, offsets=True, compact=True),
    Peer("maximum.at", "numpy", numpy_at),
    Peer("groupies", "numpy_groupies", groupies),
    Peer("pandas", "pandas", pandas_groupby, compact=True),
    Peer("polars", "polars", polars_group_by, from_polars, compact=True),
)
BY_NAME = {peer.name: peer for peer in PEERS}
