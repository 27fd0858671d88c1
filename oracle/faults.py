"""Faults: each takes a correct function, called by keyword as a case is, and gives one that is wrong in one way.

They are the mistakes that kernels, wrappers and other libraries make or have made; `mutants` says which family of cases
has to notice which.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .._dtypes import Dtype, lookup
from .elements import find_nan
from .functions import find_functions

Function = Callable[..., Any]
Arguments = dict[str, Any]
Fault = Callable[[Function], Function]

#: The correct functions, by operation.
CORRECT = find_functions(importlib.import_module("..", __package__))


def silently(change: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose own arithmetic does not warn: that would be another difference than the one meant."""

    def call(*given: Any) -> Any:
        with np.errstate(all="ignore"):
            return change(*given)

    return call


def before(change: Callable[[Arguments], Arguments]) -> Fault:
    """Give the function other arguments: those that `change` returns."""
    return lambda function: lambda **given: function(**(given | silently(change)(given)))


def after(change: Callable[[Any, Arguments], Any]) -> Fault:
    """Return something else than the function's result."""
    return lambda function: lambda **given: silently(change)(function(**given), given)


def without(*names: str, when: Callable[[Arguments], bool] = lambda _: True) -> Fault:
    """Ignore arguments."""
    return lambda function: (
        lambda **given: function(**{k: v for k, v in given.items() if k not in names or not when(given)})
    )


def default(**options: Any) -> Fault:
    """Take other defaults than the contract's."""
    return lambda function: lambda **given: function(**(options | given))


def instead(operation: str) -> Fault:
    """Answer as another operation does."""
    return lambda _: CORRECT[operation]


def of_data(change: Callable[[Any], Any]) -> Fault:
    """Read other elements than those that are there."""
    return before(lambda given: {"data": change(given["data"])})


def of_ids(change: Callable[[Any, Any], Any]) -> Fault:
    """Read other ids than those that are there; `change` gets them and num_segments."""
    return before(lambda given: {"segment_ids": change(given["segment_ids"], given["num_segments"])})


def of_result(change: Callable[[Any], Any]) -> Fault:
    """Return the result changed."""
    return after(lambda result, _: change(result))


# What elements are.


def row_of(array: Any) -> Dtype:
    """Return the row of an array's dtype in the table."""
    row = lookup(array.dtype)
    assert row is not None
    return row


def element(bits: int, row: Dtype, dtype: Any) -> Any:
    """Return the element that has these bits."""
    return np.array([bits], f"u{row.bits // 8}").view(dtype)[0]


def through(*dtypes: Any) -> Callable[[Any], Any]:
    """Return a detour of elements through other dtypes."""

    def convert(array: Any) -> Any:
        changed = array
        for dtype in dtypes:
            changed = changed.astype(dtype)
        return changed.astype(array.dtype)

    return convert


def flush(array: Any) -> Any:
    """Return floats without subnormal ones."""
    return np.where(np.abs(array) < np.finfo(array.dtype).smallest_normal, array * 0, array)


def turn_zeros(array: Any) -> Any:
    """Return floats with zeros of the other sign."""
    return np.where(array == 0, -array, array)


def negate_nan(array: Any) -> Any:
    """Return floats with NaNs of the other sign."""
    return np.where(find_nan(array), -array, array)


def split_zeros(array: Any) -> Any:
    """Return float32 with something greater than -0 for +0."""
    return np.where((array == 0) & ~np.signbit(array), np.float32(1e-45), array)


def bits(array: Any) -> Any:
    """Return elements as unsigned integers."""
    return array.view(f"u{array.itemsize}")


def swap(array: Any) -> Any:
    """Return an array in the other byte order, where its dtype has one."""
    try:
        return array.astype(array.dtype.newbyteorder("S"))
    except (TypeError, ValueError, SystemError):
        return array


def beside_lowest(given: Arguments) -> Arguments:
    """Return the neighbour of the lowest value as what empty segments hold."""
    row = row_of(given["data"])
    if row.kernel != "keys" or row.lowest is None or "initial" in given or "fill_value" in given:
        return {}
    bits = row.lowest - 1 if row.order in ("sign", "negzero") else row.lowest + 1
    return {"fill_value": element(bits & ((1 << (row.used or row.bits)) - 1), row, given["data"].dtype)}


def infinite(name: str) -> Callable[[Arguments], Arguments]:
    """Return -inf as an argument unless `initial` or `fill_value` is given; empty segments stay right otherwise."""

    def change(given: Arguments) -> Arguments:
        data, row = given["data"], row_of(given["data"])
        if "initial" in given or "fill_value" in given:
            return {}
        return {"fill_value": element(int(row.lowest or 0), row, data.dtype), name: np.array(-np.inf, data.dtype)}

    return change


def initial_as_fill(given: Arguments) -> Arguments:
    """Let `initial` count where nothing else does only."""
    if given.get("initial") is None or "fill_value" in given:
        return {}
    return {"initial": None, "fill_value": given["initial"]}


def cut_fill(given: Arguments) -> Arguments:
    """Cut fill_value to 32 bits."""
    return {"fill_value": (given["fill_value"] + 2**31) % 2**32 - 2**31} if "fill_value" in given else {}


# How elements lie in memory.


def read_forward(array: Any) -> Any:
    """Return the elements as they are met from the lowest address upwards along each axis."""
    return array[tuple(slice(None, None, -1 if stride < 0 else 1) for stride in array.strides)]


def read_packed(array: Any) -> Any:
    """Return the elements that are met if gaps between rows or elements are not skipped."""
    if array.dtype.kind in "OT" or array.size == 0:
        return array
    plain = np.empty(array.shape, f"V{array.itemsize}")
    if any(own < least for own, least in zip(array.strides, plain.strides, strict=True)):
        return array
    return np.lib.stride_tricks.as_strided(array.view(plain.dtype), array.shape, plain.strides).view(array.dtype)


def read_transposed(array: Any) -> Any:
    """Return the elements of a Fortran-ordered array as if it were C-ordered."""
    if array.ndim < 2 or not array.flags.f_contiguous:
        return array
    return array.ravel(order="K").reshape(array.shape)


def read_native(array: Any) -> Any:
    """Return the elements of a byte-swapped array as if it were none."""
    return array if array.dtype.isnative else array.view(array.dtype.newbyteorder("="))


# Which rows are in which segment.


def shift_ends(ids: Any, _: Any) -> Any:
    """Put the last row of each segment into the next."""
    return np.concatenate([np.maximum(ids[:-1], ids[1:]), ids[-1:]])


def clip_above(ids: Any, count: Any) -> Any:
    """Put ids of num_segments and more into the last segment."""
    return ids if count is None else np.minimum(ids, max(count - 1, 0))


def wrap_negative(ids: Any, count: int) -> Any:
    """Count negative ids from the end."""
    return np.where((ids < 0) & (ids >= -count), ids + ids.dtype.type(count), ids)


def drop_last_row(given: Arguments) -> Arguments:
    """Leave out the last row."""
    return {"data": given["data"][:-1], "segment_ids": given["segment_ids"][:-1]}


def forget_last_pair(given: Arguments) -> Arguments:
    """Accept ids that decrease at their end only."""
    ids = np.asarray(given.get("segment_ids", ()))
    ordered = ids.ndim == 1 and ids.dtype.kind in "iu" and bool((ids[1:-1] >= ids[:-2]).all())
    return {"indices_are_sorted": False} if ordered else {}


def down(flags: Any, data: Any) -> Any:
    """Return one flag for each row such that it broadcasts to the elements."""
    return flags.reshape(-1, *[1] * (data.ndim - 1))


def keeping(choose: Callable[[Any, Any], Any]) -> Fault:
    """Leave out elements: `choose` gets data and ids and says which count."""
    return before(lambda given: {"where": choose(given["data"], given["segment_ids"])})


def omit_early(data: Any, ids: Any) -> Any:
    """Say that NaN counts only as the last of its segment, as for a processor's maximum(new, old)."""
    return ~find_nan(data) | down(np.append(ids[1:] != ids[:-1], True)[: len(ids)], data)


def omit_late(data: Any, _: Any) -> Any:
    """Say that NaN counts in the first 64 rows only."""
    return ~find_nan(data) | down(np.arange(len(data)) < 64, data)


def lose_carry(data: Any, ids: Any) -> Any:
    """Say that a segment ends with a block of 64 rows."""
    rows = np.arange(len(ids))
    return down((rows < 64) | (ids != ids[min(63, len(ids) - 1)]), data)


def omit_as_empty(given: Arguments) -> Arguments:
    """Treat omitted NaNs as if their rows were not there."""
    if given.get("nan") != "omit" or "fill_value" not in given:
        return {}
    return {"where": given.get("where", True) & ~find_nan(np.ma.getdata(given["data"]))}


def ignore_where_late(given: Arguments) -> Arguments:
    """Heed `where` in the first 16 rows only."""
    if "where" not in given:
        return {}
    where = np.broadcast_to(given["where"], given["data"].shape).copy()
    where[16:] = True
    return {"where": where}


def count_in_own_dtype(given: Arguments) -> Arguments:
    """Work out the number of segments in the dtype of the ids, with overflow."""
    ids = given["segment_ids"]
    if given["num_segments"] is not None or not ids.size:
        return {}
    return {"num_segments": max(int((ids.max(keepdims=True) + ids.dtype.type(1)).reshape(-1)[0]), 0)}


def count_too_few(given: Arguments) -> Arguments:
    """Take the greatest id for the number of segments."""
    if given["num_segments"] is not None:
        return {}
    return {"num_segments": max([0, *given["segment_ids"].reshape(-1).tolist()])}


def refuse(wrong: Callable[[Any], bool]) -> Fault:
    """Raise for some values of num_segments that are right."""

    def change(given: Arguments) -> Arguments:
        if wrong(given.get("num_segments")):
            raise ValueError("num_segments is not to my taste.")
        return {}

    return before(change)


def widen_offsets(given: Arguments) -> Arguments:
    """Let the first segment begin with the first row and the last end with the last."""
    if "indptr" not in given:
        return {}
    indptr = given["indptr"].astype(np.int64)
    if len(indptr) > 1:
        indptr[0], indptr[-1] = 0, given["data"].shape[given.get("axis", 0)]
    return {"indptr": indptr}


def cut_first_axis(given: Arguments) -> Arguments:
    """Segment axis 0 if it is as long as the offsets need."""
    return {"axis": 0} if int(given["indptr"][-1]) <= len(given["data"]) else {}


def include_ends(function: Function) -> Function:
    """Count the row at a segment's end in."""
    larger = CORRECT["maximum"]

    def call(**given: Any) -> Any:
        result, data, indptr = function(**given), given["data"], given.get("indptr", np.zeros(0)).tolist()
        for s, end in enumerate(indptr[1:]):
            if end < len(data) and not given.get("axis"):
                result[s] = larger(x1=result[s], x2=data[end])
        return result

    return call


# What an extreme is.


def greatest_by(key: Callable[[Any], Any]) -> Fault:
    """Choose the element with the greatest key; empty segments and NaN stay right."""

    def choose(right: Any, given: Arguments) -> Any:
        data, ids = given["data"], given["segment_ids"]
        if not len(data):
            return right
        options = {"num_segments": len(right), "indices_are_sorted": False}
        rows = CORRECT["segment_argmax"](data=key(data), segment_ids=ids, **options)
        chosen = np.take_along_axis(data, np.maximum(rows, 0), 0)
        return np.where((rows < 0) | (right != right), right, chosen)

    return after(choose)


def order_zeros_wrong(function: Function) -> Function:
    """Hold -0 greater than +0."""
    turn = silently(turn_zeros)
    return lambda **given: turn(function(**(given | {"data": turn(given["data"])})))


def last_tie(function: Function) -> Function:
    """Return the last row of those that attain the extreme."""

    def call(**given: Any) -> Any:
        data, ids = given["data"], given["segment_ids"]
        function(**given)
        rows = function(**(given | {"data": data[::-1], "segment_ids": ids[::-1], "indices_are_sorted": False}))
        return np.where(rows < 0, rows, len(data) - 1 - rows)

    return call


def from_offset(result: Any, given: Arguments) -> Any:
    """Return positions counted from where the first segment begins."""
    return np.where(result < 0, result, result - int(given["indptr"][0])) if "indptr" in given else result


def from_segment(result: Any, given: Arguments) -> Any:
    """Return positions counted from the first row of their segment."""
    ids = given["segment_ids"]
    starts = np.searchsorted(ids, np.arange(len(result)))
    return np.where(result < 0, result, result - down(starts, result))


def empty_if_lowest(result: Any, given: Arguments) -> Any:
    """Take a segment for empty if its maximum is the lowest value."""
    row = row_of(result)
    if "fill_value" not in given or row.kernel != "keys" or row.lowest is None:
        return result
    return np.where(result == element(row.lowest, row, result.dtype), given["fill_value"], result)


def nowhere_if_infinite(result: Any, given: Arguments) -> Any:
    """Take the position of -inf for that of nothing."""
    if not len(given["data"]):
        return result
    chosen = np.take_along_axis(given["data"], np.maximum(result, 0), 0)
    return np.where(chosen == -np.inf, -1, result)


def empty_by_row(function: Function) -> Function:
    """Fill a segment only where all of its elements are left out."""

    def call(**given: Any) -> Any:
        right = function(**given)
        if "fill_value" not in given or right.ndim != 2 or right.dtype.kind in "OT":
            return right
        plain = function(**{name: value for name, value in given.items() if name != "fill_value"})
        sizes = (*right.shape, right.itemsize)
        filled = np.frombuffer(right.tobytes(), np.uint8).reshape(sizes) != np.frombuffer(
            plain.tobytes(), np.uint8
        ).reshape(sizes)
        return np.where(filled.any(axis=2).all(axis=1, keepdims=True), right, plain)

    return call


# Results and their arrays.


def spoil_tail(width: int) -> Callable[[Any], Any]:
    """Return a function that gives the columns beyond a multiple of `width` what the first column holds."""

    def spoil(result: Any) -> Any:
        columns = result.shape[-1] if result.ndim > 1 else 0
        if columns > width:
            result[..., columns - columns % width :] = result[..., :1]
        return result

    return spoil


def write_on_error(function: Function) -> Function:
    """Leave zeros in `out` if the call fails."""

    def call(**given: Any) -> Any:
        try:
            return function(**given)
        except Exception:
            if isinstance(given.get("out"), np.ndarray):
                given["out"][...] = np.zeros((), given["out"].dtype)
            raise

    return call


def write_while_reading(function: Function) -> Function:
    """Write what `out` starts from before `data` is read, even if they overlap."""

    def call(**given: Any) -> Any:
        out, data = given.get("out"), given["data"]
        if out is None or not np.may_share_memory(out, data):
            return function(**given)
        options = {name: value for name, value in given.items() if name != "out"}
        result = function(**options)
        out[...] = result[:1]
        out[...] = function(**options)
        return out

    return call


def leave_out(function: Function) -> Function:
    """Return `out` as it was."""

    def call(**given: Any) -> Any:
        out = given.pop("out", None)
        result = function(**given)
        return result if out is None else out

    return call


def cast_into_out(function: Function) -> Function:
    """Convert the result to whatever dtype `out` has."""

    def call(**given: Any) -> Any:
        out = given.pop("out", None)
        result = function(**given)
        if out is None or out.shape != result.shape:
            return result if out is None else function(**given, out=out)
        with np.errstate(all="ignore"):
            np.copyto(out, result, casting="unsafe")
        return out

    return call


def modify(name: str) -> Fault:
    """Leave an argument changed: its first row is its last."""

    def change(result: Any, given: Arguments) -> Any:
        array = given[name]
        if array.ndim and array.flags.writeable:
            array[:1] = array[-1:]
        return result

    return after(change)


def raise_wrong(function: Function) -> Function:
    """Raise IndexError for ValueError."""

    def call(**given: Any) -> Any:
        try:
            return function(**given)
        except ValueError as error:
            raise IndexError(str(error)) from error

    return call


# Elementwise.


def step_only(name: str) -> Fault:
    """Accumulate over two elements at a time, as a loop without its dependence would."""

    def fault(_: Function) -> Function:
        def call(array: Any, axis: int) -> Any:
            rows = np.moveaxis(array, axis, 0)
            result = rows.copy()
            result[1:] = CORRECT[name](x1=rows[:-1], x2=rows[1:])
            return np.moveaxis(result, 0, axis).astype(array.dtype.newbyteorder("="))

        return call

    return fault


def start_anew(function: Function) -> Function:
    """Accumulate blocks of 16 elements, each by itself."""

    def call(array: Any, axis: int) -> Any:
        blocks = [
            function(array=np.moveaxis(array, axis, 0)[k : k + 16], axis=0) for k in range(0, array.shape[axis], 16)
        ]
        return np.moveaxis(np.concatenate(blocks), 0, axis) if blocks else function(array=array, axis=axis)

    return call


def empty_if_backwards(result: Any, given: Arguments) -> Any:
    """Give zero for a slice whose end is not above its start."""
    indices = given["indices"]
    result[:-1][indices[:-1] >= indices[1:]] = np.zeros((), result.dtype)
    return result


def lose_last(given: Arguments) -> Arguments:
    """End before the last element if no slice begins there."""
    length = len(given["array"]) - 1
    return {"array": given["array"][:length]} if length and (given["indices"] < length).all() else {}


def exchange(given: Arguments) -> Arguments:
    """Exchange the operands if the shape of an outer product does not tell."""
    return {"x1": given["x2"], "x2": given["x1"]} if given["x1"].shape == given["x2"].shape else {}


def buffered(name: str) -> Fault:
    """Combine repeated indices once only, as ``a[indices] = maximum(a[indices], b)`` does."""

    def fault(_: Function) -> Function:
        def call(a: Any, indices: Any, b: Any) -> Any:
            a[indices] = CORRECT[name](x1=a[indices], x2=b)
            return a

        return call

    return fault


def skip_negative(given: Arguments) -> Arguments:
    """Skip negative indices."""
    chosen = given["indices"] >= 0
    return {"indices": given["indices"][chosen], "b": given["b"][chosen]}


def cast_to_first(given: Arguments) -> Arguments:
    """Convert the second operand to the dtype of the first where that is possible at all."""
    try:
        return {"x2": given["x2"].astype(given["x1"].dtype)}
    except (TypeError, ValueError, OverflowError):
        return {}


def repeat_first(given: Arguments) -> Arguments:
    """Broadcast a second operand of fewer elements by its first."""
    x1, x2 = given["x1"], given["x2"]
    return (
        {"x2": np.broadcast_to(x2.reshape(-1)[:1].reshape((1,) * x2.ndim), x2.shape)} if 0 < x2.size < x1.size else {}
    )


def first_zero(function: Function) -> Function:
    """Hold zeros of both signs equal, so that the first stays."""

    def choose(result: Any, given: Arguments) -> Any:
        zeros = (given["x1"] == 0) & (given["x2"] == 0) & given.get("where", True)
        result[...] = np.where(zeros, given["x1"], result)
        return result

    return after(lambda result, given: choose(result, given) if np.ndim(result) else result)(function)


def tail_of_first(result: Any, given: Arguments) -> Any:
    """Return the first operand beyond a multiple of 8 elements."""
    done = result.size - result.size % 8 if np.ndim(result) == 1 else 0
    if done and np.ndim(given["x1"]) == 1 and len(given["x1"]) == len(result):
        result[done:] = given["x1"][done:]
    return result


def as_signed(function: Function) -> Function:
    """Compare unsigned integers as signed ones."""

    def call(**given: Any) -> Any:
        views = {name: array.view(array.dtype.str.replace("u", "i")) for name, array in given.items()}
        result = function(**views)
        return np.asarray(result).view(given["x1"].dtype)

    return call
