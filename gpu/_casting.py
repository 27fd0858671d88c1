"""Casts between dtypes, exact where CuPy's own are not."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._dtypes import Dtype, lookup
from . import _arrays, _kernels


def cast(array: Any, dtype: np.dtype) -> Any:
    """Return an array in another dtype, itself if it has that one.

    A wider float gets exactly the value; CuPy's own cast would flush subnormals to zero. (The casts to a narrower float
    are CuPy's, which flush subnormal results.)
    """
    if array.dtype == dtype:
        return array
    source, target = lookup(array.dtype), lookup(dtype)
    if source is None or target is None:
        raise TypeError(f"There is no cast from {array.dtype} to {dtype} on a GPU.")
    if source.part and target.part:
        parts = _split(array, np.dtype(source.part))
        return _join([cast(parts[..., k], np.dtype(target.part)) for k in (0, 1)], dtype)
    if target.part:
        real = cast(array, np.dtype(target.part))
        return _join([real, _kernels.load_cupy().zeros_like(real)], dtype)
    if source.used and source.order != "sign":
        bits = _kernels.load_cupy().empty(array.shape, np.uint8)
        _kernels.recode(source)(_arrays.as_bits(array), bits)
        return cast(bits.view(np.int8 if source.order == "signed" else np.uint8), dtype)
    if _is_ieee(source) and _is_ieee(target) and source.bits < target.bits >= 32:
        bits = _kernels.load_cupy().empty(array.shape, _arrays.bits_dtype(dtype))
        _kernels.widen(source, target)(_arrays.as_bits(array), bits)
        return bits.view(dtype)
    if not (_is_known(array.dtype, source) and _is_known(dtype, target)):
        raise TypeError(f"CuPy casts no {array.dtype} to {dtype}; give arrays of one dtype.")
    return array.astype(dtype)


def _is_ieee(row: Dtype) -> bool:
    """Return whether a dtype is a float with infinities and NaNs where IEEE 754 has them."""
    return row.order == "sign" and row.highest is not None and row.largest == row.highest + 1


def _is_known(dtype: np.dtype, row: Dtype) -> bool:
    """Return whether CuPy casts to and from a dtype."""
    return dtype.kind not in "mM" and (row.package == "numpy" or row.name == "bfloat16")


def _split(array: Any, part: np.dtype) -> Any:
    """Return the parts of complex elements along a further axis."""
    return _kernels.load_cupy().ascontiguousarray(array).reshape(-1).view(part).reshape(*array.shape, 2)


def _join(parts: list[Any], dtype: np.dtype) -> Any:
    """Return complex elements from their real and imaginary parts."""
    joined = _kernels.load_cupy().empty((*parts[0].shape, 2), _arrays.bits_dtype(parts[0].dtype))
    for k, part in enumerate(parts):
        joined[..., k] = _arrays.as_bits(part)
    return joined.reshape(-1).view(dtype).reshape(parts[0].shape)
