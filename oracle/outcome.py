"""What a call gives: an array or an exception, and the promises that it broke on the way."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import LONG, Array
from .case import Case


@dataclass(frozen=True)
class Outcome:
    """The result of a call, or the kind of its exception, and broken promises in words."""

    value: np.ndarray | None = None
    error: str = ""
    message: str = ""
    broken: tuple[str, ...] = ()

    @classmethod
    def of_error(cls, error: BaseException, broken: tuple[str, ...] = ()) -> Outcome:
        """Return what an exception amounts to: the nearest built-in class above it, if that says anything."""
        kinds = [kind.__name__ for kind in type(error).__mro__ if getattr(builtins, kind.__name__, None) is kind]
        kind = type(error).__name__ if kinds[0] == "Exception" else kinds[0]
        return cls(None, kind, f"{type(error).__name__}: {error}"[:400], broken)


def perform(function: Callable[..., Any], case: Case) -> Outcome:
    """Call a function with the arguments of a case, warnings being errors, and watch what it does to its arguments."""
    arguments = case.build()
    out = arguments.get("out")
    outside = _snapshot(out)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = function(**arguments)
    except Exception as error:
        broken = _find_changes(case, arguments)
        if isinstance(out, np.ndarray) and outside != _snapshot(out):
            broken += ("out was written although the call failed",)
        return Outcome.of_error(error, broken)
    broken = _find_changes(case, arguments)
    if isinstance(out, np.ndarray) and result is not out:
        broken += ("the result is not out",)
    value = np.asarray(result)
    if "segment" in case.operation and out is None and not (value.flags.c_contiguous and value.dtype.isnative):
        broken += ("the result is not native and C-contiguous",)
    return Outcome(value, broken=broken)


def _snapshot(array: Any) -> bytes | None:
    return array.tobytes() if isinstance(array, np.ndarray) else None


def _find_changes(case: Case, arguments: dict[str, Any]) -> tuple[str, ...]:
    """Return a sentence for each input that no longer holds what it held."""
    broken = []
    for name, given in case.arguments:
        if not isinstance(given, Array) or name in ("out", "mask") or not isinstance(given.content, bytes):
            continue
        if (name == "a" and case.operation.endswith(".at")) or isinstance(case.get("out"), str):
            continue
        now = np.ma.getdata(arguments[name])
        before = given.make().tobytes() if "soiled" in given.layout else given.content
        now = now if now.dtype.isnative else now.astype(now.dtype.newbyteorder("="))
        if now.dtype.num not in LONG and now.tobytes() != before:
            broken.append(f"{name} was modified")
    return tuple(broken)
