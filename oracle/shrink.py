"""Shrinking: a failing case with rows, columns, options and layouts taken away for as long as it fails.

Hypothesis decides what to try. For each thing that can go it draws a number from 0 to 9, 0 meaning that it goes: so
most things stay in a random draw, which then probably still fails, and Hypothesis, which makes numbers small, makes
them go.
Where there are more things than pieces they are taken in runs, and the runs get finer from round to round.
"""

from __future__ import annotations

import contextlib
import math
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import Array
from .case import REDUCTIONS, Case

#: Runs that the things of one kind are taken in.
_PIECES = 24
_ROUNDS = 8

#: Arguments without which there is no call.
_NEEDED = ("data", "segment_ids", "indptr", "x1", "x2", "array", "a", "b", "indices")


@dataclass(frozen=True)
class Dimension:
    """Some axes of arguments that go together, and arguments whose values are positions along them."""

    size: int
    axes: tuple[tuple[str, int], ...]
    pointers: tuple[str, ...] = ()


def find_dimensions(case: Case) -> list[Dimension]:
    """Return what a case has for rows and columns."""
    operation = case.operation
    if "segment" in operation:
        return _find_of_segments(case)
    if operation.endswith(".outer"):
        return [dimension for name in ("x1", "x2") for dimension in _align(case, name)]
    if operation.endswith(".at"):
        number = case["indices"].shape[0]
        return [
            Dimension(number, (("indices", 0), *_matching(case, "b", 0, number))),
            Dimension(case["a"].shape[0], (("a", 0),), ("indices",)),
        ]
    if operation.endswith(".reduceat"):
        length = case["array"].shape[0]
        return [
            Dimension(case["indices"].shape[0], (("indices", 0),)),
            Dimension(length, (("array", 0),), ("indices",)),
        ]
    if operation in REDUCTIONS or "." in operation:
        return _align(case, "a" if operation in REDUCTIONS else "array", "where")
    return _align(case, "x1", "x2", "out", "where")


def _find_of_segments(case: Case) -> list[Dimension]:
    data, ids, axis = case["data"], case.get("segment_ids"), case.get("axis", 0)
    lead = len(ids.shape) if isinstance(ids, Array) else 1
    axis = axis % len(data.shape) if isinstance(axis, int) and data.shape else 0
    found = []
    for k, size in enumerate(data.shape):
        axes = [("data", k)]
        if axis <= k < axis + lead:
            axes += _matching(case, "segment_ids", k - axis, size)
        else:
            axes += _matching(case, "out", k if k < axis else k - lead + 1, size)
        for name in ("where", "mask"):
            axes += _matching(case, name, k - len(data.shape), size)
        found.append(Dimension(size, tuple(axes), ("indptr",) if k == axis else ()))
    if isinstance(case.get("indptr"), Array):
        found.insert(0, Dimension(case["indptr"].shape[0], (("indptr", 0),)))
    return found


def _align(case: Case, *names: str) -> list[Dimension]:
    """Return the dimensions of arguments that are broadcast."""
    shapes = {name: case[name].shape for name in names if isinstance(case.get(name), Array)}
    found = []
    for k in range(-max(map(len, shapes.values())), 0):
        size = max(shape[k] for shape in shapes.values() if len(shape) >= -k)
        axes = [pair for name in shapes for pair in _matching(case, name, k, size)]
        found.append(Dimension(size, tuple(axes)))
    return found


def _matching(case: Case, name: str, axis: int, size: int) -> list[tuple[str, int]]:
    """Return an axis of an argument, unless that is missing, or broadcast, or of a wrong size on purpose."""
    array = case.get(name)
    shape = array.shape if isinstance(array, Array) else ()
    return [(name, axis)] if -len(shape) <= axis < len(shape) and shape[axis] == size else []


def take(case: Case, dimension: Dimension, kept: np.ndarray) -> Case:
    """Return the case with some positions of a dimension, a flag for each."""
    changed = {}
    for name, axis in dimension.axes:
        array = case[name]
        changed[name] = Array.of(np.compress(kept, array.plain, axis), array.layout)
    # Offsets and indices count what is left before the place where they point; those from the end count from there.
    before = np.cumsum([0, *kept])
    for name in dimension.pointers:
        array = changed.get(name, case.get(name))
        if isinstance(array, Array) and array.plain.dtype.kind in "iu" and array.plain.size:
            points = array.plain.astype(object)
            inside = (points >= -dimension.size) & (points <= dimension.size)
            moved = [before[p] if p >= 0 else before[p + dimension.size] - before[-1] for p in points[inside].tolist()]
            points[inside] = moved
            changed[name] = Array.of(points.astype(array.plain.dtype), array.layout)
    return case.change(**changed)


def clear(case: Case, name: str, cleared: np.ndarray) -> Case:
    """Return the case with zeros for some elements of an argument, a flag for each."""
    array = case[name]
    if not cleared.any() or "constant" in array.layout:
        return case  # whose elements must stay equal
    plain = array.plain.reshape(-1).copy()
    plain[cleared] = np.zeros((), plain.dtype)[()]
    return case.change(**{name: Array.of(plain.reshape(array.shape), array.layout)})


def measure(case: Case) -> tuple[int, int, int]:
    """Return how large a case is: elements, options and layouts, elements that are not zero."""
    arrays = {name: value for name, value in case.arguments if isinstance(value, Array)}
    options = sum(name not in _NEEDED for name, _ in case.arguments) + sum(bool(a.layout) for a in arrays.values())
    filled = sum(
        np.count_nonzero(np.frombuffer(a.content, np.uint8)) if isinstance(a.content, bytes) else len(a.content)
        for a in arrays.values()
    )
    return sum(math.prod(a.shape) for a in arrays.values()), options, int(filled)


@dataclass(frozen=True)
class Part:
    """Things of one kind, in pieces, and what is left of a case when a flag for each thing says what goes."""

    things: int
    remove: Callable[[Case, np.ndarray], Case]

    @property
    def pieces(self) -> int:
        """How many flags are drawn."""
        return min(self.things, _PIECES)

    def apply(self, case: Case, numbers: Sequence[int]) -> Case:
        """Return the case without the pieces whose number is 0."""
        gone = np.array(numbers) == 0
        return self.remove(case, gone[np.arange(self.things) * self.pieces // self.things]) if gone.any() else case


def find_parts(case: Case) -> list[Part]:
    """Return all that can go, what says most about a failure first."""

    def drop_option(name: str) -> Part:
        return Part(1, lambda case, _: case if name == "num_segments" and _asks_much(case) else case.without(name))

    def drop_layout(name: str) -> Part:
        return Part(1, lambda case, _: case.change(**{name: case[name].with_layout("")}))

    def drop_places(dimension: Dimension) -> Part:
        return Part(dimension.size, lambda case, gone: take(case, dimension, ~gone))

    def drop_values(name: str, size: int) -> Part:
        return Part(size, lambda case, gone: clear(case, name, gone))

    arrays = {name: value for name, value in case.arguments if isinstance(value, Array)}
    # Without a number of segments there is no telling which part of `data` is `out`.
    needed = (*_NEEDED, "num_segments") if isinstance(case.get("out"), str) else _NEEDED
    parts = [drop_option(name) for name, _ in case.arguments if name not in needed]
    parts += [drop_layout(name) for name, array in arrays.items() if array.layout and name in _NEEDED]
    parts += [drop_places(dimension) for dimension in find_dimensions(case) if dimension.size]
    parts += [drop_values(name, math.prod(a.shape)) for name, a in arrays.items() if name in _NEEDED and a.content]
    return parts


def _asks_much(case: Case) -> bool:
    """Return whether there would be very many segments if their number were left to the ids."""
    ids = case.get("segment_ids")
    return isinstance(ids, Array) and bool(ids.plain.size) and bool((ids.plain > 1000).any())


def apply(case: Case, parts: Sequence[Part], numbers: Sequence[int]) -> Case:
    """Return the case without all that the numbers take away, the last part first: it speaks of the whole case."""
    place = len(numbers)
    for part in reversed(parts):
        place -= part.pieces
        case = part.apply(case, numbers[place : place + part.pieces])
    return case


def shrink(case: Case, fails: Callable[[Case], bool], examples: int = 150, seconds: float = 5.0) -> Case:
    """Return a smaller case that fails, or the same where there is none, no time, or no Hypothesis.

    Parameters
    ----------
    case : Case
        A case that fails.
    fails : callable
        Says whether a case fails.
    examples : int
        Random cases of each round.
    seconds : float
        Time after which nothing new is tried.
    """
    try:
        import hypothesis
    except ImportError:
        return case
    end = time.perf_counter() + seconds
    settings = hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    known: dict[str, bool] = {}  # Hypothesis asks again, and must hear the same when time is up

    def is_failing(smaller: Case) -> bool:
        line = smaller.to_json()
        if line not in known:
            known[line] = time.perf_counter() < end and fails(smaller)
        return known[line]

    with _put_files_away():
        for _ in range(_ROUNDS):
            found = min(_find(case, is_failing, settings), case, key=measure)
            if measure(found) == measure(case):
                break
            case = found
    return case


@contextlib.contextmanager
def _put_files_away() -> Iterator[None]:
    """Keep Hypothesis from making a folder of its own where the user stands."""
    from hypothesis.configuration import set_hypothesis_home_dir

    with tempfile.TemporaryDirectory() as folder:
        set_hypothesis_home_dir(folder)
        try:
            yield
        finally:
            set_hypothesis_home_dir(None)


def _find(case: Case, fails: Callable[[Case], bool], settings: Any) -> Case:
    """Return what one round comes to."""
    import hypothesis
    from hypothesis import strategies

    parts = find_parts(case)
    number = sum(part.pieces for part in parts)
    smaller = strategies.tuples(*[strategies.integers(0, 9)] * number).map(lambda drawn: apply(case, parts, drawn))
    try:
        return hypothesis.find(smaller, fails, settings=settings, random=random.Random(0))
    except hypothesis.errors.NoSuchExample:
        return case
