"""segmax: maxima of NumPy arrays, fast and exact to the bit: segment reductions and ufuncs."""

from typing import TYPE_CHECKING, Any

from . import raw_ops
from ._dispatch import show_config
from ._elementwise import amax, amin, fmax, fmin, maximum, minimum, nanmax, nanmin
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

if TYPE_CHECKING:
    from ._files import reduce_file

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


def __getattr__(name: str) -> Any:
    """Import what reads files only for those who do: it is a tenth of the time that importing segmax takes."""
    if name == "reduce_file":
        from ._files import reduce_file

        return reduce_file
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
