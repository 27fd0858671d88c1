"""References, one file each; a reference's package is imported only when it is asked for.

A file makes its implementations by `load(name)`; the table below says which names are whose.
"""

from __future__ import annotations

import importlib

from ..implementation import Implementation

#: Names of the implementations, and the file here that makes them.
FILES = {
    "model": "model",
    "numpy": "numpy",
    "numpy.maximum.at": "numpy",
    "numpy.maximum.reduceat": "numpy",
    "tensorflow": "tensorflow",
    "tensorflow-ieee": "tensorflow",
    "tf.math.segment_max": "tensorflow",
    "tf.math.unsorted_segment_max": "tensorflow",
    "jax": "jax",
    "torch.segment_reduce": "torch",
    "torch.scatter_reduce": "torch",
    "numpy_groupies": "numpy_groupies",
    "pandas": "pandas",
    "polars": "polars",
    "cupyx.scatter_max": "cupy",
}

#: References of a plain `segmax verify`, as far as they are installed.
USUAL = ("model", "numpy", "tensorflow", "tensorflow-ieee")


def load(name: str) -> Implementation:
    """Return a reference by name; raise MissingError if its package is not installed."""
    if name not in FILES:
        raise ValueError(f"{name} is no reference; there are {', '.join(FILES)}.")
    implementation: Implementation = importlib.import_module(f".{FILES[name]}", __name__).load(name)
    return implementation
