"""The ufuncs maximum, minimum, fmax, fmin, and the reductions amax, amin, nanmax, nanmin on them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from . import _dispatch, _threads
from ._devices import call_gpu, is_on_gpu
from ._dtypes import DTYPES, lookup

_kernels = _dispatch.load("elementwise")


def _make(name: str) -> np.ufunc:
    """Return one ufunc with the loops of every dtype of the table."""
    model = getattr(np, name)
    dtypes = {character: np.dtype(character) for character in _kernels.TYPE_CHARACTERS}
    rows = {character: row.name for character, dtype in dtypes.items() if (row := lookup(dtype)) is not None}
    classes: dict[str, type] = {character: type(dtype) for character, dtype in dtypes.items()}
    numbers = {character: dtype.num for character, dtype in dtypes.items()}
    doc = (model.__doc__ or "").partition("\n\n")[2]
    version = tuple(int(part) for part in np.__version__.split(".")[:2])
    ufunc: np.ufunc = _kernels.make_ufunc(
        name, doc, model, rows, classes | {"T": np.dtypes.StringDType}, numbers, version >= (2, 5)
    )
    if hasattr(ufunc, "__dict__"):  # NumPy 2.2 and later: where pickle looks for it
        ufunc.__dict__.update(__module__="segmax", __qualname__=name)
    try:
        import ml_dtypes
    except ImportError:
        return ufunc
    for row in DTYPES:
        if row.package == "ml_dtypes" and _kernels.has_loop(row.name) and hasattr(ml_dtypes, row.name):
            _kernels.add_user_loop(ufunc, np.dtype(getattr(ml_dtypes, row.name)), row.name)
    return ufunc


maximum = _make("maximum")
minimum = _make("minimum")
fmax = _make("fmax")
fmin = _make("fmin")

_threads.watch(_kernels.set_num_threads)


def _call_elsewhere(ufunc: np.ufunc, *arguments: Any, **options: Any) -> Any:
    """Answer a call in which something may be on a GPU; NotImplemented if nothing is."""
    out = options.get("out")
    if any(is_on_gpu(value) for value in (*arguments, *(out if isinstance(out, tuple) else (out,)))):
        return call_gpu(ufunc.__name__, *arguments, **options)
    return NotImplemented


_kernels.set_elsewhere(_call_elsewhere)


def amax(
    a: Any,
    axis: Any = None,
    out: np.ndarray | None = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: Any = np._NoValue,
) -> Any:
    """Return the maximum of an array or along axes, as `numpy.amax` does.

    Parameters
    ----------
    a : array_like
        Elements of any dtype that has a maximum.
    axis : int or tuple of int, optional
        Axes to reduce, by default all.
    out : ndarray, optional
        Where to write the result.
    keepdims : bool, optional
        Whether reduced axes stay, with length one.
    initial : scalar, optional
        Where the maximum starts; needed for an empty array and with `where`.
    where : array_like of bool, optional
        Elements that count.

    Returns
    -------
    ndarray or scalar
        NaN where an element is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from segmax import amax
    >>> amax(np.array([[1, 5], [7, 2]]), axis=0)
    array([7, 5])
    """
    return _reduce(maximum, a, axis, out, keepdims, initial, where)


def amin(
    a: Any,
    axis: Any = None,
    out: np.ndarray | None = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: Any = np._NoValue,
) -> Any:
    """Return the minimum of an array or along axes, as `numpy.amin` does.

    Parameters and result are those of `amax`.

    Examples
    --------
    >>> import numpy as np
    >>> from segmax import amin
    >>> amin(np.array([[1, 5], [7, 2]]), axis=0)
    array([1, 2])
    """
    return _reduce(minimum, a, axis, out, keepdims, initial, where)


def nanmax(
    a: Any,
    axis: Any = None,
    out: np.ndarray | None = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: Any = np._NoValue,
) -> Any:
    """Return the maximum that skips NaN, as `numpy.nanmax` does.

    Parameters and result are those of `amax`; a slice of nothing but NaN gives NaN and a RuntimeWarning.

    Examples
    --------
    >>> import numpy as np
    >>> from segmax import nanmax
    >>> nanmax(np.array([1.0, np.nan, 3.0]))
    np.float64(3.0)
    """
    return _reduce_nan(fmax, a, axis, out, keepdims, initial, where)


def nanmin(
    a: Any,
    axis: Any = None,
    out: np.ndarray | None = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: Any = np._NoValue,
) -> Any:
    """Return the minimum that skips NaN, as `numpy.nanmin` does.

    Parameters and result are those of `amax`; a slice of nothing but NaN gives NaN and a RuntimeWarning.

    Examples
    --------
    >>> import numpy as np
    >>> from segmax import nanmin
    >>> nanmin(np.array([1.0, np.nan, 3.0]))
    np.float64(1.0)
    """
    return _reduce_nan(fmin, a, axis, out, keepdims, initial, where)


def _reduce(ufunc: np.ufunc, a: Any, axis: Any, out: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    """Reduce with the options that were given."""
    options = {name: value for name, value in (("initial", initial), ("where", where)) if value is not np._NoValue}
    return ufunc.reduce(a, axis=axis, out=out, keepdims=keepdims, **options)


def _reduce_nan(ufunc: np.ufunc, a: Any, axis: Any, out: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    """Reduce with fmax or fmin and warn of slices without a number."""
    result = _reduce(ufunc, a, axis, out, keepdims, initial, where)
    if np.asarray(result).dtype.kind not in "biuOSUT" and np.isnan(result).any():
        warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=3)
    return result
