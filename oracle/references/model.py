"""The contract in code: always there, and the arbiter where references disagree.

Of the elementwise operations NumPy is the model; but which zero and which NaN two floats give NumPy leaves open, the
contract does not, so that is answered here, by the ranks of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import _reference
from ..._dtypes import lookup
from ..arrays import row_of
from ..case import UFUNCS, Case
from ..functions import find_functions
from ..implementation import Implementation


def load(name: str) -> Implementation:
    """Return the slow model."""
    functions = find_functions(_reference) | {operation: _combine(operation) for operation in UFUNCS}
    return Implementation(name, functions, "segmax._reference", _decline, payloads=True)


def _decline(case: Case) -> str:
    """Leave to NumPy what it does not leave open."""
    if case.operation not in UFUNCS:
        return ""
    if row_of(case.dtype).order != "sign" or case["x2"].dtype != case.dtype:
        return "NumPy is the model of elementwise operations but for two floats of one dtype"
    return "has no out and no where" if case.get("out") is not None else ""


def _combine(operation: str) -> Callable[..., np.ndarray]:
    """Return a loop over pairs of floats."""
    minimum, omit = operation in ("minimum", "fmin"), operation in ("fmax", "fmin")

    def choose(first: int | None, second: int | None) -> bool:
        """Return whether the second of two ranks wins; None is that of NaN."""
        if first is None or second is None:
            return second is not None if omit else first is not None
        return second < first if minimum else second > first

    def combine(x1: np.ndarray, x2: np.ndarray) -> np.ndarray:
        row = lookup(x1.dtype)
        assert row is not None
        pair = [array.astype(array.dtype.newbyteorder("="), order="C") for array in np.broadcast_arrays(x1, x2)]
        ranks: list[Any] = [
            list(map(row.rank, np.frombuffer(array.tobytes(), f"u{row.bits // 8}").tolist())) for array in pair
        ]
        second = np.array(list(map(choose, *ranks)), bool).reshape(pair[0].shape)
        return np.where(second, pair[1], pair[0])

    return combine
