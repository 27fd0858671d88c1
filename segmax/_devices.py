"""Arrays of a GPU, found among arguments: calls with one go to segmax.gpu, which is imported only then."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np


def is_on_gpu(value: Any) -> bool:
    """Return whether an object says that its elements are in a GPU's memory."""
    return type(value) is not np.ndarray and hasattr(value, "__cuda_array_interface__")


def call_gpu(function: str, /, *arguments: Any, **options: Any) -> Any:
    """Call segmax.gpu's function of a name."""
    return getattr(importlib.import_module(".gpu", __package__), function)(*arguments, **options)
