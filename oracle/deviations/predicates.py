"""What cases are like: of which of them an entry speaks, and which property of the contract they touch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..._dtypes import BY_NAME, Dtype, lookup
from ..arrays import Array, dtype_of, row_of
from ..case import Case
from ..elements import find_nan

When = Callable[[Case], bool]

_MAIN = ("data", "x1", "x2", "array", "a", "b", "initial", "out")


def both(*conditions: When) -> When:
    """Return the condition that all of some hold."""
    return lambda case: all(condition(case) for condition in conditions)


def neither(*conditions: When) -> When:
    """Return the condition that none of some holds."""
    return lambda case: not any(condition(case) for condition in conditions)


def of_dtype(*names: str) -> When:
    """Return the condition that a case is about one of some dtypes."""
    return lambda case: case.dtype in names


def find_arrays(case: Case) -> Iterator[Array]:
    """Yield the arrays whose elements are compared."""
    return (value for name, value in case.arguments if name in _MAIN and isinstance(value, Array))


def has_rows(case: Case) -> bool:
    """Return whether the table has a row for every dtype, as predicates on elements need."""
    return all(lookup(dtype_of(array.dtype)) for array in find_arrays(case))


def _find_part(name: str) -> Dtype:
    """Return the row of a float, of a complex number that of its parts."""
    row = row_of(name)
    return row if row.part is None else BY_NAME[row.part]


# Dtypes and elements.


def is_float(case: Case) -> bool:
    """Floats, complex numbers of them too."""
    return _find_part(case.main.dtype).order in ("sign", "longdouble")


def is_complex(case: Case) -> bool:
    """Complex numbers."""
    return row_of(case.main.dtype).part is not None


def is_time(case: Case) -> bool:
    """Dates and durations."""
    return case.dtype in ("datetime64", "timedelta64")


def is_small(case: Case) -> bool:
    """Types of ml_dtypes of less than 16 bits."""
    row = row_of(case.main.dtype)
    return row.package == "ml_dtypes" and row.bits == 8


def is_integer(case: Case) -> bool:
    """NumPy's integers."""
    return case.dtype.startswith(("int", "uint")) and row_of(case.main.dtype).package == "numpy"


def has_real_float(case: Case) -> bool:
    """Floats, anywhere, that are no parts of complex numbers."""
    return any(row_of(array.dtype).order in ("sign", "longdouble") for array in find_arrays(case))


def has_nan(case: Case) -> bool:
    """NaN or NaT among the elements."""
    return any(
        array.plain.dtype.kind not in "OTUS" and bool(find_nan(array.plain).any()) for array in find_arrays(case)
    )


def has_signalling_nan(case: Case) -> bool:
    """NaN without its quiet bit."""
    for array in find_arrays(case):
        part = _find_part(array.dtype)
        if part.order == "sign" and part.nan is not None and isinstance(array.content, bytes):
            words = np.frombuffer(array.content, f"u{part.bits // 8}")
            top = 1 << (part.bits - 1)
            infinity, quiet = int(part.largest or 0), part.nan ^ int(part.largest or 0)
            if (((words & (top - 1)) > infinity) & (words & quiet == 0)).any():
                return True
    return False


def has_infinity(case: Case) -> bool:
    """Infinities of both signs, whichever loses."""
    values = case.main.plain
    return is_float(case) and bool((_split(values) == np.inf).any() or (_split(values) == -np.inf).any())


def has_both_zeros(case: Case) -> bool:
    """+0 and -0 among floats that have both."""
    values = np.concatenate([_split(array.plain).reshape(-1) for array in find_arrays(case)])
    signs = np.signbit(values[values == 0]) if is_float(case) and len(values) else np.empty(0, bool)
    return bool(signs.any() and not signs.all())


def has_subnormal(case: Case) -> bool:
    """Floats between zero and the least normal number."""
    part = _find_part(case.main.dtype)
    if part.order != "sign" or part.largest is None or part.bits < 16:
        return False
    words = np.frombuffer(case.main.plain.tobytes(), f"u{part.bits // 8}")
    top = 1 << (part.bits - 1)
    magnitude = words & (top - 1)
    return bool(((magnitude > 0) & (magnitude < top - part.largest)).any())


def _split(values: np.ndarray) -> np.ndarray:
    """Return complex numbers as their parts."""
    if values.dtype.kind == "c":
        return np.ascontiguousarray(values).view(values.real.dtype)
    row = lookup(values.dtype)
    return values if row is None or row.part is None else np.ascontiguousarray(values).view(dtype_of(row.part))


def omits(case: Case) -> bool:
    """NaN is left out."""
    return case.get("nan") == "omit" or case.operation.startswith(("fm", "nan"))


# Ids and their number.


def find_ids(case: Case) -> np.ndarray:
    """Return the ids as Python integers, flat; none where there are none."""
    ids = case.get("segment_ids")
    return ids.plain.reshape(-1).astype(object) if isinstance(ids, Array) else np.empty(0, object)


def find_count(case: Case) -> int | None:
    """Return the number of segments if it is given."""
    count = case.get("num_segments")
    return int(count.plain) if isinstance(count, Array) else count if isinstance(count, int) else None


def is_unsorted(case: Case) -> bool:
    """Ids out of order."""
    ids = find_ids(case)
    return bool((ids[1:] < ids[:-1]).any())


def has_id_above(case: Case) -> bool:
    """Ids of num_segments or more."""
    count = find_count(case)
    return count is not None and bool((find_ids(case) >= count).any())


def has_id_below(case: Case) -> bool:
    """Negative ids."""
    return bool((find_ids(case) < 0).any())


def has_long_id(case: Case) -> bool:
    """Ids that 32 bits do not hold."""
    return any(not -(2**31) <= k < 2**31 for k in find_ids(case).tolist())


def has_empty_segment(case: Case) -> bool:
    """Segments without rows."""
    count = find_count(case)
    return count is not None and len({k for k in find_ids(case).tolist() if 0 <= k < count}) < count


def has_no_segments(case: Case) -> bool:
    """No segments."""
    return find_count(case) == 0


def is_empty_count(case: Case) -> bool:
    """No segments, but rows."""
    return find_count(case) == 0 and case["data"].shape[:1] != (0,)


def has_no_rows(case: Case) -> bool:
    """No rows at all."""
    return isinstance(case.get("segment_ids"), Array) and not len(find_ids(case))


def has_deep_ids(case: Case) -> bool:
    """Ids of another rank than 1."""
    ids = case.get("segment_ids")
    return isinstance(ids, Array) and len(ids.shape) != 1


def has_wide_rows(case: Case) -> bool:
    """Rows that are no single elements."""
    ids = case.get("segment_ids")
    return isinstance(ids, Array) and len(case["data"].shape) > len(ids.shape)
