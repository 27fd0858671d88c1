"""The elementwise functions maximum, minimum, fmax, fmin of device arrays, and their reductions along axes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from .. import _storage
from .._dtypes import Dtype
from . import _arrays, _casting, _kernels
from ._arrays import Rows
from ._reduction import Task, reduce_rows
from ._segment import split_words

_SCALARS = (bool, int, float, complex, np.generic)


class Elementwise:
    """A function of two arrays, called as NumPy calls its ufunc of that name; of its methods there is `reduce`."""

    def __init__(self, name: str, minimum: bool, omit: bool, rule: str, example: str) -> None:
        self.__name__ = self.__qualname__ = name
        self.__module__ = "segmax.gpu"
        self.__doc__ = _DOC.format(name=name, rule=rule, extreme="minimum" if minimum else "maximum", example=example)
        self._minimum, self._omit = minimum, omit
        self._model: np.ufunc = getattr(np, name)

    def __repr__(self) -> str:
        return f"<segmax.gpu.{self.__name__}>"

    def __reduce__(self) -> str:
        return self.__name__  # pickle finds it in segmax.gpu

    def __call__(
        self,
        x1: Any,
        x2: Any,
        /,
        out: Any = None,
        *,
        where: Any = True,
        casting: Any = "same_kind",
        dtype: Any = None,
    ) -> Any:
        """Compute the function; see the text of the object itself."""
        cupy = _kernels.load_cupy()
        if isinstance(out, tuple) and len(out) == 1:
            out = out[0]
        given = [x if isinstance(x, _SCALARS) else _arrays.as_device(x, f"x{k}") for k, x in ((1, x1), (2, x2))]
        if out is not None and not isinstance(out, cupy.ndarray):
            raise TypeError(f"out is a {type(out).__name__}; give a cupy.ndarray.")
        loop = self._resolve(given, out, casting, dtype)
        row = _arrays.find_row(loop, self.__name__)
        operands = [_cast_operand(x, loop) for x in given]

        shape = np.broadcast_shapes(*(np.shape(x) for x in operands))
        if out is not None:
            if not _fits(shape, out.shape):
                raise ValueError(f"out has shape {out.shape}; the result has shape {shape}.")
            shape = out.shape
        condition = None if where is True else _arrays.as_where(where, shape)
        direct = out is not None and out.dtype == loop
        # What is cast afterwards must be defined where the condition leaves it alone, too.
        make = cupy.empty if condition is None or out is None else cupy.zeros
        result = _arrays.as_bits(out) if direct else make(shape, _arrays.bits_dtype(loop))
        if direct:
            operands = [_protect(x, result) for x in operands]
            condition = _protect(condition, result)
        kernel = _kernels.elementwise(row, self._minimum, self._omit, condition is not None)
        kernel(*operands, *(() if condition is None else (condition,)), result)
        if out is None:
            return result.view(loop)
        if not direct:
            _deliver(_casting.cast(result.view(loop), out.dtype), out, condition)
        return out

    def _resolve(self, given: list[Any], out: Any, casting: Any, dtype: Any) -> np.dtype:
        """Return the dtype in which the elements are compared, by NumPy's own rules."""
        kinds = [np.dtype(bool) if isinstance(x, bool) else getattr(x, "dtype", type(x)) for x in given]
        kinds.append(None if out is None else out.dtype)
        wanted: dict[str, Any] = {} if dtype is None else {"signature": (None, None, np.dtype(dtype))}
        loop: np.dtype = self._model.resolve_dtypes(tuple(kinds), casting=casting, **wanted)[0]
        return loop

    def reduce(
        self,
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        """Reduce along one axis, several, or (None) all of them, as NumPy's ``reduce`` does.

        A NaN result has the dtype's canonical bits (of a complex dtype: those of the first one met).

        Examples
        --------
        >>> import cupy as cp
        >>> from segmax.gpu import maximum
        >>> maximum.reduce(cp.array([[1, 5], [7, 2]]))
        array([7, 5])
        """
        array = _arrays.as_device(array, "array")
        if dtype is not None:
            array = _casting.cast(array, np.dtype(dtype))
        row = _arrays.find_row(array.dtype, self.__name__)
        condition = None if where is True else _arrays.as_where(where, array.shape)
        if condition is not None and initial is None:
            raise ValueError(f"{self.__name__}.reduce has no identity; give `initial` to use it with `where`.")
        lead = sorted(normalize_axis_tuple(range(array.ndim) if axis is None else axis, array.ndim, "axis"))
        kept = [length for k, length in enumerate(array.shape) if k not in lead]
        shape = tuple(1 if k in lead else n for k, n in enumerate(array.shape)) if keepdims else tuple(kept)
        if out is not None:
            _arrays.check_out(out, shape, array.dtype)
        if array.size == 0 and math.prod(kept) and initial is None:
            raise ValueError(f"array has no element along axis {axis!r}, and {self.__name__}.reduce has no identity.")
        start = None if initial is None else np.array(initial, array.dtype)
        bits = self._reduce(array, row, lead, condition, start).reshape(shape)
        if out is None:
            return bits.view(array.dtype)
        _arrays.as_bits(out)[...] = bits
        return out

    def _reduce(self, array: Any, row: Dtype, lead: list[int], condition: Any, start: np.ndarray | None) -> Any:
        """Return the bits of the reduction along the axes `lead`, in any shape."""
        cupy = _kernels.load_cupy()
        count = math.prod(array.shape[k] for k in lead)
        width = math.prod(length for k, length in enumerate(array.shape) if k not in lead)
        bits, segments = _arrays.as_bits(array), 1
        if lead == list(range(array.ndim - len(lead), array.ndim)) and array.flags.c_contiguous:
            segments, width = width, 1  # each result from elements that stand together
        else:
            order = (*lead, *(k for k in range(array.ndim) if k not in lead))
            bits = bits.transpose(order)
            condition = None if condition is None else condition.transpose(order)
        offsets = cupy.arange(segments + 1, dtype=np.int64) * count
        rows = Rows(_arrays.as_words(bits, row), row, None, offsets, condition, segments * count, width)
        task = Task(self._minimum, self._omit, True, positions=row.part is not None)
        result = cupy.empty((segments, width), _arrays.bits_dtype(array.dtype))
        words = [0, 0] if start is None else split_words(start, row)
        if row.part is None:
            code = row.recode()[words[0]] if row.recoded else words[0]
            key = 0 if start is None else row.key(self._minimum, self._omit).encode(code)
            reduce_rows(rows, result.view(_storage.words_of(row)), replace(task, start=key, empty=words[0]))
            return result
        found = cupy.empty((segments, width), np.int64)
        reduce_rows(rows, found, task)
        if start is None:
            first = cupy.arange(segments)[:, None] * count
            at = cupy.where(found < 0, first, found) * width + cupy.arange(width)
            return cupy.ascontiguousarray(bits).reshape(-1)[at]
        constants = (np.uint64(word) for word in words * 2)
        flat = result.reshape(-1).view(_storage.words_of(row))
        _kernels.gather(row, self._minimum, self._omit)(rows.words, found, width, *constants, flat, size=found.size)
        return result


def _cast_operand(x: Any, dtype: np.dtype) -> Any:
    """Return the bits of an operand in another dtype: of an array, or of a scalar of the host."""
    if isinstance(x, _SCALARS):
        scalar = np.asarray(x).astype(dtype) if isinstance(x, np.generic) else np.array(x, dtype)
        return scalar.view(_arrays.bits_dtype(dtype))[()]
    return _arrays.as_bits(_casting.cast(x, dtype))


def _fits(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether a shape broadcasts to another one."""
    try:
        return np.broadcast_shapes(shape, other) == other
    except ValueError:
        return False


def _protect(x: Any, out: Any) -> Any:
    """Return an operand that a kernel may read while it writes `out`: itself, or a copy if it lies across `out`."""
    if not isinstance(x, type(out)) or not _arrays.overlaps(out, x):
        return x
    same = x.data.ptr == out.data.ptr and (x.shape, x.strides, x.itemsize) == (out.shape, out.strides, out.itemsize)
    return x if same else x.copy()


def _deliver(result: Any, out: Any, condition: Any) -> None:
    """Copy bits of a result of `out`'s dtype into `out`, where the condition holds."""
    target, bits = _arrays.as_bits(out), _arrays.as_bits(result)
    if condition is None:
        target[...] = bits
    else:
        _kernels.load_cupy().copyto(target, bits, where=_protect(condition, target))


_DOC = """Return the elementwise {extreme} of two device arrays, with the bits of `segmax.{name}`.

{rule} Of two elements that are equal, and of two NaNs, the first is returned; for floats -0 is less than +0; complex
numbers are compared as NumPy does. Nothing is copied between host and device, and nothing waits for the device.

Parameters
----------
x1, x2 : cupy.ndarray or scalar
    Operands; their shapes are broadcast together. Arrays of the host are refused; scalars have NumPy's meaning.
out : cupy.ndarray, optional
    Where to write the result; may overlap the operands.
where : cupy.ndarray of bool, optional
    Where to compute. Elsewhere `out` keeps what it holds; without `out`, the result is undefined there.
casting : str, optional
    Which casts are allowed, by default 'same_kind'.
dtype : dtype, optional
    The dtype in which to compute, by default what NumPy's ufunc would choose.

Returns
-------
cupy.ndarray
    `out` if it was given.

Examples
--------
>>> import cupy as cp
>>> from segmax.gpu import {name}
>>> {name}(cp.array([1.0, 5.0, cp.nan]), 2)
array({example})
"""

_PROPAGATE = "If one element is NaN, that is the result."
_OMIT = "If one element is NaN, the other is the result."

maximum = Elementwise("maximum", False, False, _PROPAGATE, "[ 2.,  5., nan]")
minimum = Elementwise("minimum", True, False, _PROPAGATE, "[ 1.,  2., nan]")
fmax = Elementwise("fmax", False, True, _OMIT, "[2., 5., 2.]")
fmin = Elementwise("fmin", True, True, _OMIT, "[1., 2., 2.]")
