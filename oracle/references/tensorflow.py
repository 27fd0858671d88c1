"""TensorFlow, in processes of its own: SegmentMaxV2 compiled by XLA under both flag settings, and its other maxima.

Compiling must not eat the run: cases that share operation, dtypes and a width (rounded up) are joined into one call of
a fixed size. Each case gets a range of segments of its own; rows that its ids drop, and rows that fill up, get ids that
the call drops. Only proofs and the catalogue are called one by one with their true shapes and ids.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from typing import Any

import numpy as np

from ..._dtypes import names
from ..arrays import dtype_of
from ..case import Case
from ..implementation import Implementation, MissingError, Remote
from ..outcome import Outcome, perform
from ..subjects import decline_options
from .domain import decline_call

#: Rows and segments of a joined call, doubled until the largest case fits.
_SIZE = 1024

_ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": ""}
_FLAGS = {"tensorflow-ieee": "--xla_cpu_enable_fast_min_max=false"}

#: The greatest id of which tf.math.segment_max is asked.
_COUNTABLE = 10**6

#: Families that are called one by one.
_SINGLE = ("proof", "catalogue")


def load(name: str) -> Remote:
    """Return a Remote that speaks to TensorFlow; the package itself is imported in its process only."""
    try:
        version = metadata.version("tensorflow")
    except metadata.PackageNotFoundError:
        try:
            version = metadata.version("tensorflow-cpu")
        except metadata.PackageNotFoundError:
            raise MissingError("tensorflow is not installed; `pip install 'segmax[oracle]'` or leave it out.") from None
    flags = f"{os.environ.get('XLA_FLAGS', '')} {_FLAGS.get(name, '')}".strip()
    return Remote(
        name,
        dict.fromkeys(_OPERATIONS[name], perform),
        version,
        _DECLINES[name],
        factory=f"{__name__}:make:{name}",
        environment=_ENVIRONMENT | {"XLA_FLAGS": flags},
    )


def _decline_segments(case: Case) -> str:
    """Decline what the kernels have no name for."""
    if case.dtype not in names(tensorflow=True):
        return f"{case.dtype} is none of the twelve dtypes"
    options = decline_options(case.change(num_segments=case.get("num_segments") or 0))
    if options:
        return options
    if case["segment_ids"].dtype not in ("int32", "int64"):
        return "segment_ids must be int32 or int64"
    if case.family == "errors":
        return "errors are TensorFlow's own"
    if case.get("num_segments") is None and case.family in _SINGLE:
        return "needs num_segments"
    if case.get("num_segments") == 0 and case.family not in _SINGLE:
        return "num_segments=0 raises where there are data"
    ids = case["segment_ids"].plain
    if (
        not case.operation.startswith("unsorted")
        and (ids.reshape(-1)[1:] < ids.reshape(-1)[:-1]).any()
        and case.family not in _SINGLE
    ):
        return "ids out of order are not checked"
    return ""


def _decline(case: Case) -> str:
    """Decline for the references themselves: SegmentMaxV2 and its kin, and tf.math.maximum."""
    if "segment" in case.operation:
        return _decline_segments(case)
    if case.dtype not in names(tensorflow=True) or case["x1"].dtype != case["x2"].dtype:
        return "two operands of one of the twelve dtypes"
    extra = [name for name, _ in case.arguments if name not in ("x1", "x2")]
    return f"takes no {', '.join(extra)}" if extra else ""


def _decline_eager(case: Case) -> str:
    """Decline for the functions that are not compiled, which are called one by one."""
    if case.dtype not in names(tensorflow=True):
        return f"{case.dtype} is none of the twelve dtypes"
    reason = decline_call(case, "TensorFlow's")
    return reason or ("" if case["segment_ids"].dtype in ("int32", "int64") else "segment_ids must be int32 or int64")


def _decline_first_version(case: Case) -> str:
    """Decline for tf.math.segment_max, which makes as many segments as the greatest id wants."""
    reason = _decline_eager(case)
    if not reason and len(case["segment_ids"].shape) != 1:
        return "ids must have one dimension"
    if not reason and max(case["segment_ids"].plain.reshape(-1).tolist(), default=0) > _COUNTABLE:
        return f"ids above {_COUNTABLE} take too much memory, as it counts segments itself"
    return reason


_DECLINES: dict[str, Callable[[Case], str]] = {
    "tensorflow": _decline,
    "tensorflow-ieee": _decline,
    "tf.math.segment_max": _decline_first_version,
    "tf.math.unsorted_segment_max": _decline_eager,
}
_COMPILED = {"segment_max": "SegmentMaxV2", "segment_min": "SegmentMinV2"}
_EAGER = {"unsorted_segment_max": "UnsortedSegmentMax", "unsorted_segment_min": "UnsortedSegmentMin"}
_OPERATIONS: dict[str, tuple[str, ...]] = {
    "tensorflow": (*_COMPILED, *_EAGER, "maximum", "minimum"),
    "tensorflow-ieee": (*_COMPILED, "maximum", "minimum"),
    "tf.math.segment_max": ("segment_max",),
    "tf.math.unsorted_segment_max": ("unsorted_segment_max",),
}


# In the other process.


def make(name: str) -> Implementation:
    """Import TensorFlow and return what answers there."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)

    def compile_segments(operation: str) -> Callable[..., Any]:
        function = getattr(tf.raw_ops, _COMPILED[operation])
        compiled: dict[Any, Callable[..., Any]] = {}

        def call(data: Any, segment_ids: Any, num_segments: int) -> Any:
            key = (data.dtype, data.shape, segment_ids.dtype, segment_ids.shape, num_segments)
            if key not in compiled:

                def reduce(values: Any, ids: Any) -> Any:
                    return function(data=values, segment_ids=ids, num_segments=num_segments)

                compiled[key] = tf.function(reduce, jit_compile=True)
            return compiled[key](tf.constant(data), tf.constant(segment_ids)).numpy()

        return call

    def call_eagerly(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda data, segment_ids, num_segments: function(
            data=tf.constant(data), segment_ids=tf.constant(segment_ids), num_segments=num_segments
        ).numpy()

    def compile_elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
        compiled = tf.function(function, jit_compile=True, reduce_retracing=True)
        return lambda x1, x2: compiled(tf.constant(x1), tf.constant(x2)).numpy()

    if name == "tf.math.segment_max":
        return Implementation(name, {"segment_max": _call_first_version(tf)})
    if name == "tf.math.unsorted_segment_max":
        return Implementation(name, {"unsorted_segment_max": call_eagerly(tf.math.unsorted_segment_max)})
    functions: dict[str, Callable[..., Any]] = {key: compile_segments(key) for key in _COMPILED}
    functions |= {key: call_eagerly(getattr(tf.raw_ops, value)) for key, value in _EAGER.items()}
    functions |= {key: compile_elementwise(getattr(tf.math, key)) for key in ("maximum", "minimum")}
    return _Joined(name, functions)


def _call_first_version(tf: Any) -> Callable[..., Any]:
    """Return tf.math.segment_max, which counts segments itself, cut or filled up to the number asked for."""

    def call(data: Any, segment_ids: Any, num_segments: int) -> Any:
        found = tf.math.segment_max(tf.constant(data), tf.constant(segment_ids)).numpy()[:num_segments]
        rest = np.zeros((num_segments - len(found), *found.shape[1:]), found.dtype)
        return np.concatenate([found, rest])

    return call


class _Joined(Implementation):
    """TensorFlow answering many cases in one call."""

    def answer(self, cases: Sequence[Case]) -> list[Outcome]:
        """Return the outcomes of cases in order."""
        outcomes: dict[int, Outcome] = {}
        groups: dict[Any, list[int]] = defaultdict(list)
        for k, case in enumerate(cases):
            if case.family in _SINGLE:
                outcomes[k] = self.ask(case)
            elif "segment" in case.operation:
                width = int(np.prod(case["data"].shape[len(case["segment_ids"].shape) :]))
                wide = next(size for size in (1, 4, 32, 256, 2048, 1 << 16) if size >= width)
                groups[case.operation, case.dtype, case["segment_ids"].dtype, wide].append(k)
            else:
                groups[case.operation, case.dtype].append(k)
        for (operation, dtype, *rest), members in groups.items():
            join = _join_segments if rest else _join_elements
            for part, values in join(self.functions[operation], [cases[k] for k in members], dtype_of(dtype), *rest):
                outcomes[members[part]] = Outcome(values)
        return [outcomes[k] for k in range(len(cases))]


def _join_elements(
    function: Callable[..., Any], cases: list[Case], dtype: np.dtype
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the results of elementwise cases, end to end in one call of a rounded length."""
    pairs = [np.broadcast_arrays(case["x1"].plain, case["x2"].plain) for case in cases]
    ends = np.cumsum([0, *(pair[0].size for pair in pairs)])
    length = 1 << int(ends[-1]).bit_length()
    x1, x2 = (np.zeros(length, dtype) for _ in range(2))
    for pair, start, end in zip(pairs, ends, ends[1:], strict=False):
        x1[start:end], x2[start:end] = (item.reshape(-1) for item in pair)
    result = function(x1, x2)
    for k, pair in enumerate(pairs):
        yield k, result[ends[k] : ends[k + 1]].reshape(pair[0].shape).copy()


def _join_segments(
    function: Callable[..., Any], cases: list[Case], dtype: np.dtype, id_dtype: str, width: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the results of segment cases, one below the other in calls of a fixed size."""
    waiting: list[tuple[int, np.ndarray, np.ndarray, int, tuple[int, ...]]] = []
    rows = segments = 0
    for k, case in enumerate(cases):
        data, ids = case["data"].plain, case["segment_ids"].plain
        inner = data.shape[ids.ndim :]
        ids = ids.reshape(-1)
        count = case.get("num_segments")
        if count is None:
            count = max(int(ids.max()) + 1, 0) if ids.size else 0
        elif not isinstance(count, int):
            count = int(count.plain)
        if waiting and max(rows + len(ids), segments + count) > _SIZE:
            yield from _call_joined(function, waiting, dtype, id_dtype, width)
            waiting, rows, segments = [], 0, 0
        waiting.append((k, data.reshape(len(ids), int(np.prod(inner))), ids, count, inner))
        rows, segments = rows + len(ids), segments + count
    if waiting:
        yield from _call_joined(function, waiting, dtype, id_dtype, width)


def _call_joined(
    function: Callable[..., Any], waiting: list[Any], dtype: np.dtype, id_dtype: str, width: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Make one call for cases that fit together."""
    size = _SIZE
    while size < max(sum(len(ids) for _, _, ids, _, _ in waiting), sum(count for *_, count, _ in waiting)):
        size *= 2
    data, segment_ids = np.zeros((size, width), dtype), np.full(size, -1, id_dtype)
    row = segment = 0
    for _, values, ids, count, _ in waiting:
        inside = (ids >= 0) & (ids < count)
        data[row : row + len(ids), : values.shape[1]] = values
        # A dropped row keeps an id that is out of range for the joined call too, so that dropping is TensorFlow's work.
        above = np.where(ids >= size, ids, size)
        segment_ids[row : row + len(ids)] = np.where(
            inside, np.where(inside, ids, 0) + segment, np.where(ids < 0, ids, above)
        )
        row, segment = row + len(ids), segment + count
    if function.__name__ == "<lambda>":
        # The uncompiled kernels drop negative ids only; ids above the range raise.
        segment_ids[segment_ids >= size] = -1
    result = function(data, segment_ids, size)
    segment = 0
    for k, values, _, count, inner in waiting:
        yield k, result[segment : segment + count, : values.shape[1]].reshape(count, *inner).copy()
        segment += count
