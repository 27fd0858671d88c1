"""Subjects: what is judged. segmax by its public names, its CPU levels and threads, the references, and any callable.

cpu                      segmax as it is imported
level:NAME               the kernels of one CPU level, in a process of its own (baseline, v3, v4)
threads:N                N threads
raw_ops                  segmax.raw_ops, TensorFlow's calls
stream                   segmax's streams, over random cuts, orders and merges
gpu                      segmax.gpu (needs CuPy)
mutant:NAME              segmax with a planted fault of mutants.py, to see what finding one looks like
model, jax, ...          a reference by its name
package.module:function  any callable, called as ``function(data, segment_ids, num_segments, **options)``
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from importlib import metadata
from typing import Any

from . import references
from .case import SEGMENT_OPERATIONS, Case
from .functions import find_functions
from .implementation import Implementation, MissingError, Remote, import_optional
from .streamed import decline_streams, find_streams

#: Names of TensorFlow's calls by operation.
_RAW_OPS = {
    "segment_max": "SegmentMaxV2",
    "segment_min": "SegmentMinV2",
    "unsorted_segment_max": "UnsortedSegmentMax",
    "unsorted_segment_min": "UnsortedSegmentMin",
}


def load(name: str, operation: str = "segment_max") -> Implementation:
    """Return a subject by name; a callable is judged as `operation`.

    Raises
    ------
    MissingError
        Its package is not installed, or this machine cannot run it.
    """
    kind, _, argument = name.partition(":")
    if kind in _SUBJECTS:
        return _SUBJECTS[kind](argument)
    if name in references.FILES:
        return references.load(name)
    if argument:
        return _load_callable(kind, argument, operation)
    raise ValueError(
        f"{name} is no subject; give {', '.join(_SUBJECTS)}, {', '.join(references.FILES)}, or package.module:function."
    )


def load_cpu(name: str) -> Implementation:
    """Return segmax as it is imported here."""
    return Implementation(
        name or "cpu", find_functions(importlib.import_module("..", __package__)), metadata.version("segmax")
    )


def _load_level(level: str) -> Implementation:
    """Return the kernels of one CPU level."""
    subject = Remote(
        f"level:{level}",
        load_cpu("").functions,
        metadata.version("segmax"),
        factory=f"{__name__}:load_cpu:level:{level}",
        environment={"SEGMAX_CPU_LEVEL": level},
    )
    try:
        subject.submit([]).result()
    except Exception as error:
        raise MissingError(f"CPU level {level} cannot be run here: this build or this CPU lacks it.") from error
    return subject


def _load_threads(number: str) -> Implementation:
    """Return segmax with a number of threads."""
    segmax = importlib.import_module("..", __package__)

    def limit(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(**arguments: Any) -> Any:
            with segmax.num_threads(int(number)):
                return function(**arguments)

        return call

    functions = {key: limit(function) for key, function in find_functions(segmax).items()}
    return Implementation(f"threads:{number}", functions, metadata.version("segmax"))


def _load_raw_ops(_: str) -> Implementation:
    """Return TensorFlow's calls."""
    module = importlib.import_module("..raw_ops", __package__)
    functions = {operation: getattr(module, name) for operation, name in _RAW_OPS.items()}
    return Implementation("raw_ops", functions, metadata.version("segmax"), decline_options)


def _load_stream(_: str) -> Implementation:
    """Return segmax's streams."""
    return Implementation("stream", find_streams(), metadata.version("segmax"), decline_streams)


def _load_gpu(_: str) -> Implementation:
    """Return segmax.gpu, with arrays taken there and back."""
    cupy = import_optional("cupy")
    module = importlib.import_module("..gpu", __package__)

    def move(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(**arguments: Any) -> Any:
            there = {
                name: cupy.asarray(value) if hasattr(value, "__array_interface__") else value
                for name, value in arguments.items()
            }
            return cupy.asnumpy(function(**there))

        return call

    def decline(case: Case) -> str:
        if case.get("mask") is not None or case.get("out") is not None:
            return "masked arrays and out live on the CPU"
        return "unsorted ids are not checked on the GPU" if case.family == "errors" else ""

    functions = {key: move(function) for key, function in find_functions(module).items()}
    return Implementation("gpu", functions, f"{metadata.version('segmax')}, CuPy {cupy.__version__}", decline)


def _load_mutant(name: str) -> Implementation:
    """Return segmax with a planted fault."""
    mutants = importlib.import_module(".mutants", __package__)  # which imports nearly all there is
    for mutant in mutants.MUTANTS:
        if mutant.name == name.strip():
            made: Implementation = mutants.make(mutant)
            return made
    raise ValueError(f"there is no planted fault {name.strip()!r}; oracle/mutants.py names them.")


_SUBJECTS: dict[str, Callable[[str], Implementation]] = {
    "cpu": load_cpu,
    "level": _load_level,
    "threads": _load_threads,
    "raw_ops": _load_raw_ops,
    "stream": _load_stream,
    "gpu": _load_gpu,
    "mutant": _load_mutant,
}


def decline_options(case: Case, known: frozenset[str] = frozenset()) -> str:
    """Decline cases with other arguments than data, ids, their number and those known."""
    extra = [name for name, _ in case.arguments if name not in {"data", "segment_ids", "num_segments", *known}]
    if extra:
        return f"takes no {', '.join(extra)}"
    missing = [name for name in ("segment_ids", "num_segments") if case.get(name) is None]
    if missing:
        return f"needs {' and '.join(missing)}"
    return ""


def _load_callable(module: str, path: str, operation: str) -> Implementation:
    """Return any callable as a subject: what the oracle can say of code that is not its own.

    It is called as ``function(data=..., segment_ids=..., num_segments=...)`` with further options only if its signature
    names them. It may carry a function `declines(case)`, which says why a case is outside of its domain.
    """
    function: Any = import_optional(module)
    for part in path.split("."):
        function = getattr(function, part)
    if operation not in SEGMENT_OPERATIONS:
        functions = find_functions(type("One", (), {operation.partition(".")[0]: staticmethod(function)}))
        return Implementation(f"{module}:{path}", functions)
    parameters = inspect.signature(function).parameters.values()
    anything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    known = frozenset(parameter.name for parameter in parameters)

    def decline(case: Case) -> str:
        reason = "" if anything else decline_options(case, known)
        return reason or getattr(function, "declines", lambda _: "")(case)

    return Implementation(f"{module}:{path}", {operation: function}, decline=decline)
