"""TensorFlow's calls, keyword for keyword: replace ``tf.raw_ops`` by ``segmax.raw_ops``."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _segment

__all__ = ["SegmentMaxV2", "SegmentMinV2", "UnsortedSegmentMax", "UnsortedSegmentMin"]


def SegmentMaxV2(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> np.ndarray:  # noqa: ARG001
    """Compute ``tf.raw_ops.SegmentMaxV2``: the maximum of each segment, ids sorted.

    Parameters
    ----------
    data : array_like
        Rows.
    segment_ids : array_like of int
        The segment of each row, not decreasing.
    num_segments : int
        Number of segments.
    name : str, optional
        Ignored: a label in TensorFlow's graphs.

    Returns
    -------
    ndarray
        Of shape ``(num_segments,) + data.shape[segment_ids.ndim:]``; empty segments give the lowest finite value.

    See Also
    --------
    segmax.segment_max : the same with more options.

    Examples
    --------
    >>> import numpy as np, segmax
    >>> segmax.raw_ops.SegmentMaxV2(data=np.array([1, 3, 2]), segment_ids=[0, 0, 1], num_segments=2)
    array([3, 2])
    """
    return _segment.segment_max(data, segment_ids, num_segments)


def SegmentMinV2(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> np.ndarray:  # noqa: ARG001
    """Compute ``tf.raw_ops.SegmentMinV2``: the minimum of each segment, ids sorted.

    Parameters and result are those of `SegmentMaxV2`; empty segments give the highest finite value.

    Examples
    --------
    >>> import numpy as np, segmax
    >>> segmax.raw_ops.SegmentMinV2(data=np.array([1, 3, 2]), segment_ids=[0, 0, 1], num_segments=2)
    array([1, 2])
    """
    return _segment.segment_min(data, segment_ids, num_segments)


def UnsortedSegmentMax(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> np.ndarray:  # noqa: ARG001
    """Compute ``tf.raw_ops.UnsortedSegmentMax``: the maximum of each segment, ids in any order.

    Parameters and result are those of `SegmentMaxV2`.

    Examples
    --------
    >>> import numpy as np, segmax
    >>> segmax.raw_ops.UnsortedSegmentMax(data=np.array([1, 3, 2]), segment_ids=[1, 0, 1], num_segments=2)
    array([3, 2])
    """
    return _segment.unsorted_segment_max(data, segment_ids, num_segments)


def UnsortedSegmentMin(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> np.ndarray:  # noqa: ARG001
    """Compute ``tf.raw_ops.UnsortedSegmentMin``: the minimum of each segment, ids in any order.

    Parameters and result are those of `SegmentMaxV2`; empty segments give the highest finite value.

    Examples
    --------
    >>> import numpy as np, segmax
    >>> segmax.raw_ops.UnsortedSegmentMin(data=np.array([1, 3, 2]), segment_ids=[1, 0, 1], num_segments=2)
    array([3, 1])
    """
    return _segment.unsorted_segment_min(data, segment_ids, num_segments)
