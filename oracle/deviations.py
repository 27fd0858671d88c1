"""Known differences of implementations from the contract, as data.

An entry says of which cases it speaks and what the implementation does instead, precisely enough to predict its answer:
another question that it answers (`question`), differences that it does not see (`erase`), an error that it raises
(`raises`). Only where an answer depends on things outside of the case is it left open (`anything`). Each entry has a
minimal case, its proof. A difference that no entry predicts fails a run, and an entry that predicts nothing fails a
full run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from itertools import combinations

import numpy as np

from .arrays import Array, row_of
from .case import Case
from .compare import equal
from .elements import find_nan
from .outcome import Outcome

Ask = Callable[[Case], Outcome]


@dataclass(frozen=True)
class Deviation:
    """One entry."""

    implementation: str  #: pattern of names, with `*`
    operation: str  #: pattern of operations
    does: str  #: what it does instead, for the reader
    reason: str  #: why
    source: str  #: where that is documented or can be seen
    proof: Case  #: minimal case
    when: Callable[[Case], bool]
    question: Callable[[Case], Case] | None = None
    erase: Collection[str] = ()
    raises: str = ""
    anything: bool = False

    @property
    def title(self) -> str:
        """Name of the entry in reports."""
        return f"{self.implementation}: {self.does}"

    def applies(self, implementation: str, case: Case) -> bool:
        """Return whether the entry speaks of this case."""
        operations = (fnmatch(case.operation, item) for item in self.operation.split(","))
        return self.applies_to(implementation) and any(operations) and self.when(case)

    def applies_to(self, implementation: str) -> bool:
        """Return whether the entry speaks of this implementation."""
        return any(fnmatch(implementation, item) for item in self.implementation.split(","))


def predicts(chosen: Iterable[Deviation], case: Case, outcome: Outcome, ask: Ask, erase: Collection[str]) -> bool:
    """Return whether an outcome is what entries together predict, given someone who answers by the contract."""
    erased = set(erase)
    for entry in chosen:
        if entry.anything:
            return True
        if entry.raises:
            return outcome.error == entry.raises
        case = entry.question(case) if entry.question else case
        erased |= set(entry.erase)
    return equal(outcome, ask(case), erased)


def explain(
    implementation: str, case: Case, outcome: Outcome, ask: Ask, erase: Collection[str], entries: Collection[Deviation]
) -> tuple[Deviation, ...] | None:
    """Return the fewest entries that predict an outcome (none at all if it follows the contract), None if none do."""
    speaking = [entry for entry in entries if entry.applies(implementation, case)]
    for number in range(len(speaking) + 1):
        for chosen in combinations(speaking, number):
            if predicts(chosen, case, outcome, ask, erase):
                return chosen
    return None


# What cases entries speak of.


def _main_arrays(case: Case) -> Iterator[Array]:
    return (
        value for name, value in case.arguments if name in ("data", "x1", "x2", "array", "a", "b", "initial", "out")
    )


def _is_float(case: Case) -> bool:
    row = row_of(case.main.dtype)
    return row.order in ("sign", "longdouble") or row.part is not None


def _has_nan(case: Case) -> bool:
    return any(
        isinstance(array, Array) and array.plain.dtype.kind not in "OTUS" and bool(find_nan(array.plain).any())
        for array in _main_arrays(case)
    )


def _has_subnormal_dtype(case: Case) -> bool:
    return case.dtype in ("float32", "float64", "bfloat16")


def _is_real_float(case: Case) -> bool:
    dtypes = [row_of(array.dtype) for array in _main_arrays(case) if isinstance(array, Array)]
    return any(row.order in ("sign", "longdouble") for row in dtypes)


def _has_signalling_nan(case: Case) -> bool:
    for array in _main_arrays(case):
        row = row_of(array.dtype) if isinstance(array, Array) else None
        part = row and row_of(row.part or row.name)
        if part is not None and part.order == "sign" and part.nan is not None and isinstance(array.content, bytes):
            words = np.frombuffer(array.content, f"u{part.bits // 8}")
            top = 1 << (part.bits - 1)
            infinity, quiet = int(part.largest or 0), part.nan ^ int(part.largest or 0)
            if (((words & (top - 1)) > infinity) & (words & quiet == 0)).any():
                return True
    return False


def _omits(case: Case) -> bool:
    return case.get("nan") == "omit" or case.operation.startswith(("fm", "nan"))


def _is_empty_count(case: Case) -> bool:
    return bool(case.get("num_segments") == 0 and case["data"].shape[:1] != (0,))


def _is_unsorted(case: Case) -> bool:
    ids = case["segment_ids"].plain.reshape(-1).astype(object)
    return bool((ids[1:] < ids[:-1]).any())


def _has_id_above(case: Case) -> bool:
    count = case.get("num_segments")
    return isinstance(count, int) and bool((case["segment_ids"].plain.astype(object) >= count).any())


def _has_id_below(case: Case) -> bool:
    return bool((case["segment_ids"].plain.astype(object) < 0).any())


def _lacks_elements(case: Case) -> bool:
    """Return whether a reduction of objects has a result without any element of its own."""
    if case.dtype != "object":
        return False
    counted, where = np.ones(case.main.shape, bool), case.get("where")
    if isinstance(where, Array):
        counted &= where.plain
    return not np.all(np.any(counted, axis=case.get("axis")))


def _gives_scalar(case: Case) -> bool:
    ndim = len(case.main.shape)
    return ndim == 0 or (not case.get("keepdims") and (case.get("axis") is None or ndim == 1))


def _change(**arguments: object) -> Callable[[Case], Case]:
    return lambda case: case.change(**{name: value for name, value in arguments.items() if case.get(name) is None})


def _keep_first(case: Case) -> Case:
    """Ask for a second operand that is the first one where it is NaN."""
    x1, x2 = np.broadcast_arrays(case["x1"].plain, case["x2"].plain)
    return case.change(x2=np.where(find_nan(x2), x1, x2).astype(x1.dtype))


def _to_unsorted(case: Case) -> Case:
    return replace(case, operation=f"unsorted_{case.operation}")


def _segments(
    data: object, ids: object, count: int = 1, operation: str = "segment_max", dtype: str = "float32", **more: object
) -> Case:
    """Return a proof."""
    return Case.of(
        operation,
        "proof",
        data=Array.of(data, dtype=dtype),
        segment_ids=Array.of(ids, dtype="int32"),
        num_segments=count,
        **more,
    )


def _pair(operation: str, x1: object, x2: object, dtype: str = "float32") -> Case:
    return Case.of(operation, "proof", x1=Array.of(x1, dtype=dtype), x2=Array.of(x2, dtype=dtype))


_NAN = float("nan")
_INFINITY = float("inf")
#: Of a float32: the quiet bit is not set.
_SIGNALLING = np.array([0x7F800001] * 4, np.uint32).view(np.float32)
_SEMANTICS = "seen with TensorFlow 2.21 on a CPU"

#: Every known deviation.
DEVIATIONS: tuple[Deviation, ...] = (
    Deviation(
        "tensorflow",
        "segment_max,segment_min",
        "drops NaN; a segment of NaN only gives the lowest value",
        "XLA's CPU compiler uses a fast minimum and maximum unless --xla_cpu_enable_fast_min_max=false",
        _SEMANTICS,
        _segments([_NAN, 1], [0, 0]),
        _has_nan,
        question=_change(nan="omit"),
    ),
    Deviation(
        "tensorflow",
        "maximum,minimum",
        "gives the first operand where the second is NaN",
        "the fast minimum and maximum again",
        _SEMANTICS,
        _pair("maximum", [1], [_NAN]),
        _has_nan,
        question=_keep_first,
    ),
    Deviation(
        "tensorflow,tf.math.unsorted_segment_max",
        "unsorted_segment_max,unsorted_segment_min",
        "keeps or drops NaN by its position",
        "the uncompiled kernel takes the processor's maximum, which returns its second operand if either is NaN",
        _SEMANTICS,
        _segments([_NAN, 1], [0, 0], operation="unsorted_segment_max"),
        _has_nan,
        anything=True,
    ),
    Deviation(
        "tensorflow*,tf.math.unsorted_segment_max,tf.math.segment_max",
        "*",
        "gives either zero where +0 meets -0",
        "its comparison holds the two equal",
        _SEMANTICS,
        _segments([-0.0, 0.0], [0, 0]),
        _is_float,
        erase=("zeros",),
    ),
    Deviation(
        "tensorflow*,tf.math.*",
        "segment_max,segment_min,unsorted_*",
        "flushes subnormal numbers to zero",
        "XLA's CPU compiler sets flush-to-zero; float16 is computed in float32, where it has none",
        _SEMANTICS,
        _segments([1e-40], [0]),
        _has_subnormal_dtype,
        erase=("subnormals",),
    ),
    Deviation(
        "tensorflow*",
        "maximum,minimum",
        "flushes subnormal numbers to zero",
        "XLA's CPU compiler sets flush-to-zero",
        _SEMANTICS,
        _pair("maximum", [1e-40], [0]),
        _has_subnormal_dtype,
        erase=("subnormals",),
    ),
    Deviation(
        "tensorflow*",
        "segment_max,segment_min",
        "raises for num_segments=0 with data",
        "XLA's scatter wants a dimension to scatter into",
        _SEMANTICS,
        _segments([1], [0], 0),
        _is_empty_count,
        raises="InvalidArgumentError",
    ),
    Deviation(
        "tensorflow*",
        "segment_max,segment_min",
        "answers for ids out of order as if they were in order",
        "the documented error is not raised by compiled code",
        _SEMANTICS,
        _segments([3, 1, 2], [1, 0, 1], 2),
        _is_unsorted,
        question=_to_unsorted,
    ),
    Deviation(
        "tensorflow",
        "unsorted_segment_max,unsorted_segment_min",
        "raises for ids of num_segments or more",
        "only negative ids are documented to be dropped",
        "https://www.tensorflow.org/api_docs/python/tf/math/unsorted_segment_max",
        _segments([1, 2], [0, 1], 1, "unsorted_segment_max"),
        lambda case: case.family in ("proof", "catalogue") and _has_id_above(case),
        raises="InvalidArgumentError",
    ),
    Deviation(
        "numpy*",
        "*",
        "gives either zero where +0 meets -0",
        "which one depends on dtype, platform and length",
        "numpy.maximum compares with >=; IEEE 754-2019 orders -0 below +0",
        _segments([-0.0, 0.0], [0, 0]),
        lambda case: _is_real_float(case) or ("segment" in case.operation and _is_float(case)),
        erase=("zeros",),
    ),
    Deviation(
        "numpy",
        "fmax*,fmin*,nanmax,nanmin,*segment_*",
        "depends on the position for signalling NaN",
        "vector and scalar loops of fmax and fmin differ",
        "IEEE 754-2008 maxNum against maximumNumber",
        _pair("fmax", _SIGNALLING, [1.0] * 4),
        lambda case: _omits(case) and _has_signalling_nan(case),
        anything=True,
    ),
    Deviation(
        "numpy",
        "nanmax,nanmin",
        "fails for objects where nothing but initial is left, if the result is no array",
        "it takes that for NaN only, and asks the result for a dtype to make NaN of",
        "numpy/lib/_nanfunctions_impl.py: nanmin, _copyto",
        Case.of("nanmin", "proof", a=np.empty(0, object), initial=5),
        lambda case: _lacks_elements(case) and _gives_scalar(case),
        raises="AttributeError",
    ),
    Deviation(
        "numpy",
        "nanmax,nanmin",
        "warns of NaN for objects where nothing but initial is left",
        "it takes that for NaN only, and forgets initial",
        "numpy/lib/_nanfunctions_impl.py: nanmin",
        Case.of("nanmin", "proof", a=np.empty((0, 2), object), axis=0, initial=5),
        lambda case: _lacks_elements(case) and not _gives_scalar(case),
        raises="RuntimeWarning",
    ),
)
