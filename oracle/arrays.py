"""An array as a value: dtype, shape, bits and layout, from which the same array in memory can be made again."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from .._dtypes import BY_NAME, DTYPES, Dtype, lookup

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None  # type: ignore[assignment]

#: Rows of the table whose dtypes can be made here (ml_dtypes is optional, and older releases lack some of its types).
ROWS = [row for row in DTYPES if row.package == "numpy" or hasattr(ml_dtypes, row.name)]

#: NumPy's type numbers of long doubles. (Its type characters will not do: ml_dtypes gives some to types of its own.)
LONG = (13, 16)

#: Bytes up to which the content stands in JSON as plain hexadecimal digits.
_SHORT = 64


@lru_cache
def dtype_of(name: str) -> np.dtype:
    """Return a dtype by its name in the table; a datetime may carry its unit, by default milliseconds."""
    if name == "StringDType":
        return np.dtypes.StringDType()
    if name in ("datetime64", "timedelta64"):
        return np.dtype(f"{name}[ms]")
    return np.dtype(getattr(ml_dtypes, name) if name in BY_NAME and BY_NAME[name].package == "ml_dtypes" else name)


def name_of(dtype: np.dtype) -> str:
    """Return the name from which `dtype_of` makes the native form of a dtype."""
    row = lookup(dtype)
    if row is None or row.name in ("datetime64", "timedelta64"):
        return str(dtype if dtype.isnative else dtype.newbyteorder("="))
    return row.name


def row_of(name: str) -> Dtype:
    """Return the row of a dtype that can be reduced."""
    row = lookup(dtype_of(name))
    if row is None:
        raise KeyError(f"{name} is not in the table of dtypes")
    return row


@dataclass(frozen=True)
class Array:
    """An immutable array: its content in C order and native bytes, and how it lies in memory."""

    dtype: str  #: name of the dtype
    shape: tuple[int, ...]
    content: bytes | tuple[Any, ...]  #: the bytes, or for Python objects and strings the items
    layout: str = ""  #: names of LAYOUTS, joined by "+", applied from the left

    @classmethod
    def of(cls, values: Any, layout: str = "", dtype: str | None = None) -> Array:
        """Return an array-like as a value."""
        array = np.asarray(values, None if dtype is None else dtype_of(dtype))
        name = name_of(array.dtype)
        array = array.astype(dtype_of(name))
        if array.dtype.kind in "OT":
            return cls(name, array.shape, tuple(array.reshape(-1).tolist()), layout)
        if array.dtype.num in LONG:
            array = _clear_padding(array)
        return cls(name, array.shape, array.tobytes(), layout)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the cached array out of pickles: it is made again, and may be made while another thread pickles."""
        return Array, (self.dtype, self.shape, self.content, self.layout)

    @cached_property
    def plain(self) -> np.ndarray:
        """Return the elements as a native, aligned, C-contiguous, read-only array."""
        dtype = dtype_of(self.dtype)
        if isinstance(self.content, bytes):
            return (
                np.frombuffer(self.content, dtype).reshape(self.shape) if self.content else np.empty(self.shape, dtype)
            )
        array = np.empty(len(self.content), dtype)
        for k, item in enumerate(self.content):
            array[k] = item
        array.flags.writeable = False
        return array.reshape(self.shape)

    def make(self) -> np.ndarray:
        """Return a new array in the layout."""
        array = self.plain.copy()
        for name in filter(None, self.layout.split("+")):
            array = LAYOUTS[name](array)
        return array

    def with_layout(self, layout: str) -> Array:
        """Return the same elements in another layout."""
        return Array(self.dtype, self.shape, self.content, layout)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        content: Any = self.content
        if isinstance(content, bytes):
            short = len(content) <= _SHORT
            content = content.hex() if short else "z" + base64.b64encode(zlib.compress(content, 9)).decode()
        form = {"dtype": self.dtype, "shape": list(self.shape), "content": content}
        return form | ({"layout": self.layout} if self.layout else {})

    @classmethod
    def from_json(cls, form: dict[str, Any]) -> Array:
        """Return the array that `to_json` described."""
        content = form["content"]
        if isinstance(content, list):
            content = tuple(content)
        elif content.startswith("z"):
            content = zlib.decompress(base64.b64decode(content[1:]))
        else:
            content = bytes.fromhex(content)
        return cls(form["dtype"], tuple(form["shape"]), content, form.get("layout", ""))


def _clear_padding(array: np.ndarray) -> np.ndarray:
    """Return long doubles with zeros in the bytes that they do not use, which may hold anything."""
    size = np.dtype(np.longdouble).itemsize
    used = 10 if np.finfo(np.longdouble).nmant == 63 else size
    octets = np.frombuffer(array.tobytes(), np.uint8).reshape(-1, size).copy()
    octets[:, used:] = 0
    return octets.reshape(-1).view(array.dtype).reshape(array.shape)


def _rows_apart(array: np.ndarray) -> np.ndarray:
    return np.repeat(array, 3, axis=0)[1::3] if array.ndim else array


def _elements_apart(array: np.ndarray) -> np.ndarray:
    return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array


def _slice(array: np.ndarray) -> np.ndarray:
    """Return rows of contiguous elements that are further apart than they are long."""
    return np.concatenate([array[:, :1], array, array], axis=1)[:, 1 : 1 + array.shape[1]] if array.ndim > 1 else array


def _reversed(array: np.ndarray) -> np.ndarray:
    return array[::-1].copy()[::-1] if array.ndim else array


def _all_reversed(array: np.ndarray) -> np.ndarray:
    flip = (slice(None, None, -1),) * array.ndim
    return array[flip].copy()[flip] if array.ndim else array


def _constant(array: np.ndarray) -> np.ndarray:
    """Return the first row seen again and again through a stride of 0; the rows must be equal."""
    return np.broadcast_to(array[:1], array.shape) if array.ndim else array


def _swapped(array: np.ndarray) -> np.ndarray:
    try:
        return array.astype(array.dtype.newbyteorder("S"))
    except (TypeError, ValueError, SystemError):  # dtypes that have one byte order only
        return array


def _misaligned(array: np.ndarray) -> np.ndarray:
    return _place(array, array.strides)


def _odd_stride(array: np.ndarray) -> np.ndarray:
    return _place(array, (array[:1].nbytes + 3, *array.strides[1:])) if array.ndim else array


def _place(array: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    """Return a copy with given strides that begins at an odd address."""
    if array.dtype.kind in "OT" or not array.flags.c_contiguous:
        return array
    room = bytearray(array.nbytes + 3 * (len(array) if array.ndim else 0) + 1)
    moved = np.ndarray(array.shape, array.dtype, room, 1, strides)
    moved[...] = array
    return moved


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _soil(array: np.ndarray) -> np.ndarray:
    """Set bits that mean nothing: in odd elements those above a small type's own, in true bools all but the lowest."""
    row = lookup(array.dtype)
    if row is None or (row.used is None and row.name != "bool"):
        return array
    octets = array.view(np.uint8)
    unused = 0xFF << row.used & 0xFF if row.used is not None else 0
    soiled = octets * 0xA6 if row.used is None else np.where(octets & 1, octets | unused, octets)
    return soiled.astype(np.uint8).view(array.dtype)


#: How the same elements may lie in memory.
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rows_apart": _rows_apart,
    "elements_apart": _elements_apart,
    "slice": _slice,
    "reversed": _reversed,
    "all_reversed": _all_reversed,
    "constant": _constant,
    "fortran": lambda array: np.asarray(array, order="F"),
    "swapped": _swapped,
    "misaligned": _misaligned,
    "odd_stride": _odd_stride,
    "read_only": _read_only,
    "soiled": _soil,
    "scalar": lambda array: array[()],
}
