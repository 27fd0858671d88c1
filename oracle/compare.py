"""Equality, written down: shape, dtype, kind of exception, then bits. There is no tolerance anywhere."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from .._dtypes import BY_NAME, Dtype, lookup
from .arrays import Array
from .case import Case
from .outcome import Outcome

#: Exceptions that the contract leaves to choose between, and TensorFlow's own name for a ValueError.
_SAME_ERRORS = {"OverflowError": "TypeError", "MemoryError": "ValueError", "InvalidArgumentError": "ValueError"}


def make_comparable(array: np.ndarray, erase: Collection[str] = ()) -> np.ndarray:
    """Return one entry for each part of each element such that elements are the same if their entries are equal.

    `erase` names what an implementation is known not to tell apart: `payloads` of NaNs, signs of `zeros`, `subnormals`
    and zero.
    """
    row = lookup(array.dtype)
    if row is None or row.name in ("object", "StringDType"):
        return np.array([f"{type(item).__name__} {item!r}" for item in array.reshape(-1).tolist()], object)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if row.name in ("longdouble", "clongdouble"):
        return _split_long(array, erase)
    part = row if row.part is None else BY_NAME[row.part]
    words = np.frombuffer(array.tobytes(), f"u{part.bits // 8}")
    if part.used is not None:
        words = words & ((1 << part.used) - 1)
    if part.order == "sign" and erase:
        words = _erase(words, part, erase)
    return words


def _erase(words: np.ndarray, row: Dtype, erase: Collection[str]) -> np.ndarray:
    """Return the bits of floats without the differences that do not count."""
    top = 1 << ((row.used or row.bits) - 1)
    magnitude = words & (top - 1)
    words = words.copy()
    if "subnormals" in erase:
        # Of an IEEE type: infinity is an exponent of ones; what is missing to the top bit is one step of the exponent.
        words[magnitude < top - int(row.largest or top)] &= top
        magnitude = words & (top - 1)
    if "zeros" in erase:
        words[magnitude == 0] = 0
    if "payloads" in erase and row.largest is not None and row.nan is not None:
        words[magnitude > row.largest] = row.nan
    return words


def _split_long(array: np.ndarray, erase: Collection[str]) -> np.ndarray:
    """Return long doubles as bytes."""
    parts = np.ascontiguousarray(array).view(np.longdouble).reshape(-1)
    if "payloads" in erase:
        parts = np.where(np.isnan(parts), np.longdouble("nan"), parts)
    if "zeros" in erase:
        parts = np.where(parts == 0, np.longdouble(0), parts)
    size = parts.itemsize
    used = 10 if np.finfo(np.longdouble).nmant == 63 else size
    octets = np.frombuffer(parts.tobytes(), np.uint8).reshape(-1, size)[:, :used]
    return np.array([octet.tobytes() for octet in octets], f"V{used}") if len(octets) else octets


@dataclass(frozen=True)
class Difference:
    """Where and how two outcomes of a case differ."""

    case: Case
    got: str
    expected: str
    where: str = ""

    def __str__(self) -> str:
        lines = [f"{self.case.operation} ({self.case.dtype}, {self.case.family}): got {self.got}, not {self.expected}"]
        if self.where:
            lines.append(f"  {self.where}")
        return "\n".join([*lines, f"  segmax verify --case {shlex.quote(self.case.to_json())}"])


def equal(got: Outcome, expected: Outcome, erase: Collection[str] = ()) -> bool:
    """Return whether two outcomes are the same, broken promises of the first included."""
    if got.broken:
        return False
    if got.value is None or expected.value is None:
        same = _SAME_ERRORS.get(got.error, got.error) == _SAME_ERRORS.get(expected.error, expected.error)
        return got.value is None and expected.value is None and same
    if got.value.shape != expected.value.shape or got.value.dtype != expected.value.dtype:
        return False
    a, b = got.value, expected.value
    if a.dtype.kind not in "OT" and not erase and a.tobytes() == b.tobytes():
        return True
    return bool(np.array_equal(make_comparable(a, erase), make_comparable(b, erase)))


def describe(case: Case, got: Outcome, expected: Outcome, erase: Collection[str] = ()) -> Difference:
    """Return the difference of two outcomes in words: the first index, both values with their bits, the rows behind."""
    if got.broken:
        return Difference(case, "; ".join(got.broken), "a call that keeps to its promises")
    if got.value is None or expected.value is None:
        texts = [item.message or item.error if item.value is None else _name(item.value) for item in (got, expected)]
        return Difference(case, *texts)
    a, b = got.value, expected.value
    if a.shape != b.shape or a.dtype != b.dtype:
        return Difference(case, f"{a.dtype} of shape {a.shape}", f"{b.dtype} of shape {b.shape}")
    left, right = make_comparable(a, erase), make_comparable(b, erase)
    per_element = max(len(left) // max(a.size, 1), 1)
    unequal = np.flatnonzero(left != right) // per_element
    first = int(unequal[0])
    index = tuple(int(k) for k in np.unravel_index(first, a.shape))
    where = f"first of {len(set(unequal.tolist()))} differences at index {index}{_find_rows(case, index)}"
    return Difference(case, _name(a.reshape(-1)[first : first + 1]), _name(b.reshape(-1)[first : first + 1]), where)


def _name(array: np.ndarray) -> str:
    """Return elements with their bits."""
    texts = [repr(item) for item in array.reshape(-1)[:8].tolist()]
    bits = f" (bytes {array.tobytes()[:64].hex()})" if array.dtype.kind not in "OT" else ""
    return (texts[0] if array.size == 1 else f"[{', '.join(texts)}{', ...' if array.size > 8 else ''}]") + bits


def _find_rows(case: Case, index: tuple[int, ...]) -> str:
    """Return which rows belong to the segment of an output element, in words."""
    ids, axis = case.get("segment_ids"), case.get("axis", 0)
    if not isinstance(ids, Array) or not index or not isinstance(axis, int) or not -len(index) <= axis < len(index):
        return ""
    rows = np.flatnonzero(ids.plain.reshape(-1) == index[axis])
    shown = ", ".join(str(row) for row in rows[:12].tolist())
    return f"; rows of segment {index[axis]}: {shown or 'none'}{', ...' if len(rows) > 12 else ''}"
