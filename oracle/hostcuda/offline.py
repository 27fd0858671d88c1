"""The exact CUDA source that CuPy would compile for a kernel, with no device and no `install`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Array:
    """An array argument. `small`: an index of 32 bits reaches all of it."""

    dtype: Any
    ndim: int = 1
    contiguous: bool = True
    small: bool = True


@dataclasses.dataclass(frozen=True)
class Scalar:
    """A scalar argument."""

    dtype: Any


def elementwise_source(kernel: Any, arguments: Sequence[Array | Scalar], *, ndim: int = 1, small: bool = True) -> str:
    """
    Return the source of an ElementwiseKernel for these arguments, inputs first.

    Parameters
    ----------
    ndim, small
        Of the indices that the kernel runs over. CuPy passes contiguous operands as one-dimensional.
    """
    from cupy._core import _carray, _kernel

    given, made = _dtypes(arguments, kernel.nin)
    _, _, types = kernel._decide_params_type(given, made)
    infos = (*map(_describe, arguments), _kernel._ArgInfo(_INDEXER, _carray.Indexer, None, ndim, True, small))
    return _complete(
        _kernel._get_elementwise_kernel_code(
            infos, types, kernel.params, kernel.operation, kernel.name, kernel.preamble, **kernel.kwargs
        )
    )


def reduction_source(
    kernel: Any,
    arguments: Sequence[Array | Scalar],
    *,
    ndim: int = 1,
    out_ndim: int = 0,
    small: bool = True,
    block_size: int = 512,
) -> str:
    """
    Return the source of a ReductionKernel for these arguments, inputs first.

    Parameters
    ----------
    ndim, out_ndim, small
        Of the indices that it runs over: those of the inputs, and those of the outputs.
    """
    from cupy._core import _carray, _kernel, _reduction, _scalar

    # CuPy keeps the types that it decided on to itself; for kernels without casts they are those of the arguments.
    parameters = (*kernel.in_params, *kernel.out_params)
    types = {
        parameter.ctype: np.dtype(argument.dtype).type
        for parameter, argument in zip(parameters, arguments, strict=True)
        if parameter.dtype is None
    }
    infos = (
        *map(_describe, arguments),
        _kernel._ArgInfo(_INDEXER, _carray.Indexer, None, ndim, True, small),
        _kernel._ArgInfo(_INDEXER, _carray.Indexer, None, out_ndim, True, small),
        _kernel._ArgInfo(_SCALAR, _scalar.CScalar, np.dtype("int32"), 0, True, True),
    )
    return _complete(
        _reduction._ReductionKernel_get_cached_function_code(
            kernel.nin,
            kernel.nout,
            kernel._params,
            infos,
            _kernel._TypeMap((*sorted(types.items()), ("IndexT", "int32"))),
            kernel.name,
            block_size,
            kernel.reduce_type,
            kernel.identity,
            kernel.map_expr,
            kernel.reduce_expr,
            kernel.post_map_expr,
            kernel.preamble,
            kernel.options,
        )
    )


def compiler_options() -> tuple[str, ...]:
    """Return the options, include folders above all, with which CuPy compiles its kernels."""
    from cupy._core import core

    options: tuple[str, ...] = core.assemble_cupy_compiler_options(())
    return options


# cupy._core._kernel numbers the kinds of arguments so.
_NDARRAY, _INDEXER, _SCALAR = 1, 2, 3


def _describe(argument: Array | Scalar) -> Any:
    import cupy
    from cupy._core import _kernel, _scalar

    dtype = np.dtype(argument.dtype)
    if isinstance(argument, Scalar):
        return _kernel._ArgInfo(_SCALAR, _scalar.CScalar, dtype, 0, True, True)
    return _kernel._ArgInfo(_NDARRAY, cupy.ndarray, dtype, argument.ndim, argument.contiguous, argument.small)


def _dtypes(arguments: Sequence[Array | Scalar], inputs: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    given = tuple(np.dtype(a.dtype) if isinstance(a, Array) else None for a in arguments[:inputs])
    return given, tuple(np.dtype(a.dtype) for a in arguments[inputs:])


def _complete(source: str) -> str:
    from cupy._core import core

    return "".join(f"#include <{header}>\n" for header in core._cupy_header_list) + source
