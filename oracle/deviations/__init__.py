"""Known differences of implementations from the contract, as data: one file for each family of implementations.

An entry says of which cases it speaks and what the implementation does instead, precisely enough to predict its answer
(see `deviation`). A difference that no entry predicts fails a run, and an entry that predicts nothing fails a full run.
"""

from __future__ import annotations

from .deviation import Ask, Deviation, explain, predicts
from .jax import JAX
from .numpy import NUMPY
from .numpy_groupies import NUMPY_GROUPIES
from .tables import TABLES
from .tensorflow import TENSORFLOW
from .torch import TORCH

__all__ = ["DEVIATIONS", "Ask", "Deviation", "explain", "predicts"]

#: Every known deviation.
DEVIATIONS: tuple[Deviation, ...] = (*TENSORFLOW, *NUMPY, *JAX, *TORCH, *NUMPY_GROUPIES, *TABLES)
