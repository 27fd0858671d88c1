"""Device arrays in, words out; never a copy from the host."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _storage
from .._dtypes import Dtype, lookup
from ._kernels import load_cupy

_CUDA_DEVICES = (2, 13)  #: DLPack's numbers of CUDA memory and managed CUDA memory


def as_device(value: Any, name: str) -> Any:
    """Return an array of the device as CuPy's; refuse one of the host, which would have to be copied."""
    cupy = load_cupy()
    if isinstance(value, cupy.ndarray):
        return value
    if hasattr(value, "__cuda_array_interface__"):
        return cupy.asarray(value)
    if hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] in _CUDA_DEVICES:
        return cupy.from_dlpack(value)
    raise TypeError(
        f"{name} is a {type(value).__module__}.{type(value).__name__} on the host, but segmax.gpu copies nothing to "
        f"the device by itself; move it there with cupy.asarray({name}), or bring the other arrays to the host with "
        "cupy.asnumpy and use segmax without .gpu."
    )


def find_row(dtype: np.dtype, function: str) -> Dtype:
    """Return the table's row of a dtype that the kernels reduce."""
    row = lookup(dtype)
    if row is None or row.kernel not in ("keys", "complex"):
        raise TypeError(f"{function} has no kernel for dtype {dtype} on a GPU.")
    return row


def bits_dtype(dtype: np.dtype) -> np.dtype:
    """Return the unsigned integers as which arrays of a dtype are copied and filled (complex128: itself).

    CuPy copies no array of a dtype that it does not know, and with floats it could flush subnormals.
    """
    return np.dtype(f"u{dtype.itemsize}") if dtype.itemsize <= 8 else dtype


def as_bits(array: Any) -> Any:
    """Return an array as unsigned integers, in place, whatever its strides."""
    return array.view(bits_dtype(array.dtype))


def as_words(bits: Any, row: Dtype) -> Any:
    """Return the words of an array of bits in C order, in place if they stand so and aligned."""
    flat = load_cupy().ascontiguousarray(bits).reshape(-1)
    if flat.data.ptr % (row.bits // 8):
        flat = flat.copy()
    return flat.view(_storage.words_of(row))


def as_ids(segment_ids: Any, name: str) -> Any:
    """Return ids or offsets as a device array of integers."""
    ids = as_device(segment_ids, name)
    if ids.dtype.kind not in "iu":
        raise TypeError(f"{name} has dtype {ids.dtype}; give integers (of any size, signed or not).")
    return ids


def as_where(where: Any, shape: tuple[int, ...]) -> Any:
    """Return `where`, a device array or a bool, broadcast to data's shape."""
    cupy = load_cupy()
    given = cupy.full((), where) if isinstance(where, (bool, np.bool_)) else as_device(where, "where")
    if given.dtype != bool:
        raise TypeError(f"where has dtype {given.dtype}; give booleans.")
    try:
        return cupy.broadcast_to(given, shape)
    except ValueError:
        raise ValueError(f"where has shape {given.shape}, which does not broadcast to data's shape {shape}.") from None


def allocate(shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Return uninitialised bits for a result, or raise an error that says why there are none."""
    cause = None
    if math.prod(shape) * dtype.itemsize < 1 << 62:
        try:
            return load_cupy().empty(shape, bits_dtype(dtype))
        except MemoryError as error:
            cause = error
    raise MemoryError(
        f"num_segments = {shape[0]} asks for a result of shape {shape} and dtype {dtype}: too large to allocate."
    ) from cause


def check_out(out: Any, shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Raise unless `out` can take the result."""
    if not isinstance(out, load_cupy().ndarray):
        raise TypeError(f"out is a {type(out).__name__}; give a cupy.ndarray of shape {shape} and dtype {dtype}.")
    if out.dtype != dtype:
        raise TypeError(f"out has dtype {out.dtype}; the result has dtype {dtype}.")
    if out.shape != shape:
        raise ValueError(f"out has shape {out.shape}; the result has shape {shape}.")


def overlaps(out: Any, *inputs: Any) -> bool:
    """Return whether any input may share memory with `out`."""
    return any(item is not None and load_cupy().may_share_memory(item, out) for item in inputs)


@dataclass(slots=True)
class Rows:
    """What is to be reduced: words of rows, which elements count, and the segment of each row."""

    words: Any
    row: Dtype
    ids: Any  #: one dimension; None with offsets
    offsets: Any
    where: Any  #: of data's shape, any strides; None if all count
    count: int  #: number of rows
    width: int  #: number of elements in a row

    @property
    def mask(self) -> tuple[Any, ...]:
        """The kernels' argument for `where`, if there is one."""
        return () if self.where is None else (self.where,)
