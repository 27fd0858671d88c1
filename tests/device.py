"""The device of the GPU tests: a GPU, or this CPU in its place (hostcuda, where SEGMAX_HOSTCUDA is 1).

hostcuda runs CuPy's unmodified kernels on the CPU and reports what no comparison of values shows: data races, accesses
out of bounds or of uninitialised memory, wrong use of warps.
"""

from __future__ import annotations

import os

import numpy as np

cupy = hostcuda = None
missing = ""  #: why there is no device, if there is none


def _start():
    """Return CuPy, and hostcuda if it stands in for the device."""
    if os.environ.get("SEGMAX_HOSTCUDA") != "1":
        import cupy

        cupy.zeros(1)  # raises without a driver
        return cupy, None
    from segmax.oracle import hostcuda

    hostcuda.install()
    import cupy

    return cupy, hostcuda


try:
    cupy, hostcuda = _start()
except ImportError as error:
    missing = f"no CuPy: {error}"
except Exception as error:  # CuPy raises a CUDARuntimeError of its own
    missing = f"no GPU, and SEGMAX_HOSTCUDA is not set: {error}"


def find_faults():
    """Return what hostcuda has to report since the last call."""
    return [str(fault) for fault in hostcuda.report()] if hostcuda else []


def to_device(array: np.ndarray):
    """Return an array on the device with the same bits (contiguous; CuPy moves no float8 and no datetimes itself)."""
    array = np.asarray(array)
    bits = array.view(f"u{array.itemsize}") if array.itemsize <= 8 else array
    return cupy.asarray(np.ascontiguousarray(bits).reshape(array.shape)).view(array.dtype)


def to_host(array) -> np.ndarray:
    """Return an array on the host with the same bits."""
    bits = array.view(f"u{array.dtype.itemsize}") if array.dtype.itemsize <= 8 else array
    return cupy.asnumpy(bits).reshape(array.shape).view(array.dtype)
