"""segmax's streams as a subject: rows cut, shuffled, shared out to states, pickled and merged, seeded by the case."""

from __future__ import annotations

import importlib
import pickle
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .case import Case

#: What a stream has an option for.
_KNOWN = {"data", "mask", "segment_ids", "num_segments", "initial", "fill_value", "nan", "where"}

_CLASSES = {
    "segment_max": "SegmentMax",
    "segment_min": "SegmentMin",
    "segment_argmax": "SegmentArgmax",
    "segment_argmin": "SegmentArgmin",
    "unsorted_segment_max": "SegmentMax",
    "unsorted_segment_min": "SegmentMin",
}


def find_streams() -> dict[str, Callable[..., Any]]:
    """Return a function for each operation that a stream computes."""
    segmax = importlib.import_module("..", __package__)
    return {operation: _stream_with(getattr(segmax, name)) for operation, name in _CLASSES.items()}


def decline_streams(case: Case) -> str:
    """Decline what a stream has no option for, and ids out of order where they would be an error."""
    extra = [name for name, _ in case.arguments if name not in _KNOWN]
    if extra:
        return f"takes no {', '.join(extra)}"
    ids = case.get("segment_ids")
    if not case.operation.startswith("unsorted") and ids is not None and ids.plain.dtype.kind in "iu":
        flat = ids.plain.reshape(-1)
        if (flat[1:] < flat[:-1]).any():
            return "takes ids in any order"
    return ""


def _stream_with(kind: Any) -> Callable[..., Any]:
    """Return the reduction of all rows by way of a tree of states."""

    def call(data: Any, segment_ids: Any, num_segments: Any = None, *, where: Any = None, **options: Any) -> Any:
        ids = np.asarray(segment_ids)
        rng = np.random.default_rng(zlib.crc32(ids.tobytes() + str((data.shape, data.dtype, options)).encode()))
        if where is not None and where.dtype == bool:  # else it goes where it is refused
            where = np.broadcast_to(where, data.shape)
        states = [kind(num_segments, **options) for _ in range(int(rng.integers(1, 4)))]
        if ids.ndim == 0 or data.ndim == 0:
            states[0].update(data, segment_ids, where)
        else:
            cuts = [0, *np.sort(rng.integers(0, len(ids) + 1, int(rng.integers(0, 6)))).tolist()]
            blocks = [slice(first, last) for first, last in zip(cuts, [*cuts[1:], None], strict=True)]
            for k in rng.permutation(len(blocks)):
                part = blocks[k]
                start = part.start * int(np.prod(ids.shape[1:]))
                state = states[int(rng.integers(len(states)))]
                state.update(data[part], ids[part], None if where is None else where[part], start=start)
        while len(states) > 1:
            other = pickle.loads(pickle.dumps(states.pop(int(rng.integers(len(states))))))
            states[int(rng.integers(len(states)))].merge(other)
        return states[0].result()

    return call
