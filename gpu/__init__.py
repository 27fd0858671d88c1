"""segmax.gpu: segment reductions and elementwise maxima of CuPy arrays, with the bits of segmax's own.

Nothing is copied between host and device: arrays of the host are refused. Importing this needs no CuPy; calling does.
"""

from ._elementwise import fmax, fmin, maximum, minimum
from ._segment import (
    segment_argmax,
    segment_argmin,
    segment_max,
    segment_min,
    unsorted_segment_max,
    unsorted_segment_min,
)

__all__ = [
    "fmax",
    "fmin",
    "maximum",
    "minimum",
    "segment_argmax",
    "segment_argmin",
    "segment_max",
    "segment_min",
    "unsorted_segment_max",
    "unsorted_segment_min",
]
