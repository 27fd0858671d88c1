"""segmax: maxima of NumPy arrays, fast and exact to the bit: segment reductions and ufuncs."""

from . import raw_ops
from ._dispatch import show_config
from ._elementwise import amax, amin, fmax, fmin, maximum, minimum, nanmax, nanmin
from ._files import reduce_file
from ._segment import (
    segment_argmax,
    segment_argmin,
    segment_max,
    segment_min,
    unsorted_segment_max,
    unsorted_segment_min,
)
from ._stream import SegmentArgmax, SegmentArgmin, SegmentMax, SegmentMin
from ._threads import get_num_threads, num_threads, set_num_threads

__all__ = [
    "SegmentArgmax",
    "SegmentArgmin",
    "SegmentMax",
    "SegmentMin",
    "amax",
    "amin",
    "fmax",
    "fmin",
    "get_num_threads",
    "maximum",
    "minimum",
    "nanmax",
    "nanmin",
    "num_threads",
    "raw_ops",
    "reduce_file",
    "segment_argmax",
    "segment_argmin",
    "segment_max",
    "segment_min",
    "set_num_threads",
    "show_config",
    "unsorted_segment_max",
    "unsorted_segment_min",
]
