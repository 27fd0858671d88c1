"""The operations as functions: what a module that has segmax's or NumPy's names offers, by the names of cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .case import METHODS, REDUCTIONS, SEGMENT_OPERATIONS, UFUNCS

Functions = Mapping[str, Callable[..., Any]]


def find_functions(module: Any) -> dict[str, Callable[..., Any]]:
    """Return those operations that a module has, by name."""
    names = [name for name in (*SEGMENT_OPERATIONS, *REDUCTIONS) if hasattr(module, name)]
    found = {name: getattr(module, name) for name in names}
    for name in UFUNCS:
        if hasattr(module, name):
            found |= {name + method: _call_ufunc(getattr(module, name), method) for method in METHODS}
    return found


def _call_ufunc(ufunc: Any, method: str) -> Callable[..., Any]:
    """Return a function that takes the arguments of a case by name, as ufuncs do not."""
    if method == ".at":

        def at(a: Any, indices: Any, b: Any) -> Any:
            ufunc.at(a, indices, b)
            return a

        return at
    function = getattr(ufunc, method[1:]) if method else ufunc
    if method in ("", ".outer"):
        return lambda x1, x2, **options: function(x1, x2, **options)
    return lambda array, **options: function(array, **options)
