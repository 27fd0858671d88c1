"""A case: one call of one operation, as an immutable value that JSON can carry and replay exactly."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import Array

#: Operations on segments, by the names of segmax's functions.
SEGMENT_OPERATIONS = (
    "segment_max",
    "segment_min",
    "segment_argmax",
    "segment_argmin",
    "unsorted_segment_max",
    "unsorted_segment_min",
)
UFUNCS = ("maximum", "minimum", "fmax", "fmin")
METHODS = ("", ".reduce", ".accumulate", ".reduceat", ".at", ".outer")
REDUCTIONS = ("amax", "amin", "nanmax", "nanmin")

#: Every operation of the contract.
OPERATIONS = SEGMENT_OPERATIONS + tuple(name + method for name in UFUNCS for method in METHODS) + REDUCTIONS


@dataclass(frozen=True)
class Case:
    """One call: the operation, its arguments by name (arrays and JSON scalars), and the family it was made for.

    Three arguments are no plain keyword: `mask` makes `data` a masked array; `out` may be "data" or "data reversed", a
    view of the memory of `data`; and `a` of a ufunc's `.at` is changed in place.
    """

    operation: str
    family: str
    arguments: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, operation: str, family: str, **arguments: Any) -> Case:
        """Return a case; NumPy arrays and scalars become `Array`."""
        given = {
            name: Array.of(value) if isinstance(value, (np.ndarray, np.generic)) else value
            for name, value in arguments.items()
        }
        return cls(operation, family, tuple(given.items()))

    def __getitem__(self, name: str) -> Any:
        return dict(self.arguments)[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return an argument, or `default` where it is not given."""
        return next((value for key, value in self.arguments if key == name), default)

    def change(self, **arguments: Any) -> Case:
        """Return a case with other arguments."""
        return Case.of(self.operation, self.family, **(dict(self.arguments) | arguments))

    def without(self, *names: str) -> Case:
        """Return a case that lacks some arguments."""
        return Case(self.operation, self.family, tuple(item for item in self.arguments if item[0] not in names))

    @property
    def main(self) -> Array:
        """The array whose dtype and values the case is about: the first one."""
        return next(value for _, value in self.arguments if isinstance(value, Array))

    @property
    def dtype(self) -> str:
        """Name in the table of the dtype that the case is about."""
        return self.main.dtype.partition("[")[0]

    def build(self) -> dict[str, Any]:
        """Return new arguments for a call."""
        made = {name: value.make() if isinstance(value, Array) else value for name, value in self.arguments}
        out = made.get("out")
        if isinstance(out, str):
            made["out"] = made["data"][: made["num_segments"]][:: -1 if out == "data reversed" else 1]
        if "mask" in made:
            made["data"] = np.ma.array(made["data"], mask=made.pop("mask"), copy=False)
        return made

    def to_json(self) -> str:
        """Return the case as one line."""
        arguments = {name: value.to_json() if isinstance(value, Array) else value for name, value in self.arguments}
        form = {"operation": self.operation, "family": self.family, "arguments": arguments}
        return json.dumps(form, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> Case:
        """Return the case that `to_json` wrote."""
        form = json.loads(line)
        arguments = {
            name: Array.from_json(value) if isinstance(value, dict) else value
            for name, value in form["arguments"].items()
        }
        return cls(form["operation"], form["family"], tuple(arguments.items()))
