"""Put the CPU where CuPy expects a GPU."""

from __future__ import annotations

import sys
from typing import Any

from .events import RAW
from .kernels import compile_module, find_kernel
from .runtime import load_cupy_api, load_runtime
from .settings import current_settings
from .toolchain import find_compiler
from .versions import check_cupy

_installed = False


def install() -> None:
    """
    Make CuPy, as it will be imported in this process, run on the CPU; repeated calls do nothing.

    Raises
    ------
    UnsupportedError
        If g++ is missing or CuPy is not of a supported version.
    RuntimeError
        If CuPy has been imported already: it has looked for a GPU by then.
    """
    global _installed
    if _installed:
        return
    if "cupy" in sys.modules:
        raise RuntimeError("hostcuda.install() must come before the first `import cupy`, which looks for a GPU")
    check_cupy()
    find_compiler()
    _replace_cuda()
    _replace_compiler()
    current_settings().apply()
    _installed = True


def _replace_cuda() -> None:
    """Replace CUDA's functions, both those that CuPy's Cython code calls and the few that Python code looks up."""
    from cupy_backends.cuda.api import driver, runtime

    device = load_runtime().hc_is_device

    def describe_pointer(address: int) -> Any:
        on_device = bool(device(address))
        return runtime.PointerAttributes(
            0, address if on_device else 0, 0 if on_device else address, 2 if on_device else 0
        )

    load_cupy_api().hc_replace(runtime.__pyx_capi__, driver.__pyx_capi__, RAW, describe_pointer, find_kernel)
    properties = {
        "name": b"hostcuda (CPU)",
        "warpSize": 32,
        "multiProcessorCount": 4,
        "major": 9,
        "minor": 0,
        "maxThreadsPerBlock": 1024,
    }
    runtime.pointerGetAttributes = describe_pointer
    runtime.getDeviceCount = lambda: 1
    runtime.getDevice = lambda: 0
    runtime.setDevice = lambda _: None
    runtime.driverGetVersion = runtime.runtimeGetVersion = lambda: 12090
    runtime.deviceSynchronize = lambda: RAW.append(("synchronization", "device", 0))
    runtime.getDeviceProperties = lambda _: dict(properties)
    runtime.streamIsCapturing = lambda _: 0


def _replace_compiler() -> None:
    """Replace NVRTC and the memory pool, which would round sizes up and so hide an access one byte too far."""
    import cupy
    from cupy.cuda import compiler

    compiler._compile_module_with_cache = compile_module
    cupy._core.set_routine_accelerators([])  # CUB's kernels come compiled for GPUs
    cupy._core.set_reduction_accelerators([])
    cupy.cuda.set_allocator(lambda size: cupy.cuda.MemoryPointer(cupy.cuda.Memory(size), 0))
