"""
hostcuda: unmodified CuPy on the CPU, with every kernel checked. No GPU, no driver.

    from segmax.oracle import hostcuda
    hostcuda.install()  # before the first `import cupy`
    import cupy
    ...
    for fault in hostcuda.report():
        print(fault)

or `python -m segmax.oracle.hostcuda script.py`. docs/hostcuda.md tells what is seen and what is not.

The map. CuPy decides on dtypes, packs arguments and chooses the launch as ever; the rest is ours:

installation    put our functions where CuPy expects CUDA's and NVRTC      source/cupy_api.cpp
kernels         CUDA source to a shared object, by g++                     source/include/device.h
ptx             or by NVRTC, and its PTX to C++                            source/include/ptx.h
runtime         load the scheduler and the checker:
                  threads take turns, barriers, launches                   source/scheduler.cpp
                  bounds, alignment, initialisation, races per access      source/checker.cpp
                  device memory                                            source/memory.cpp
                  the records of what was found                            source/faults.cpp
                  bytes, and how they coalesce                             source/traffic.cpp
settings        seed, schedule, which checks, which blocks
faults, events, traffic    what was found, what was asked of the device, how many bytes
offline, nvrtc  the exact source of a CuPy kernel, compiled for GPUs that are not here (needs no install)
toolchain, versions        g++ and the cache; the CuPy versions that this works with
"""

from .events import (
    Allocation,
    Copy,
    Fill,
    Launch,
    Synchronization,
    clear_events,
    events,
    events_of,
    launches,
)
from .faults import Fault, Kind, render, report
from .installation import install
from .kernels import sources
from .nvrtc import ARCHITECTURES, compile_source
from .offline import Array, Scalar, compiler_options, elementwise_source, reduction_source
from .settings import SCHEDULES, Blocks, Settings, configure, configured, current_settings, sparse
from .traffic import counts, profiled
from .versions import SUPPORTED, UnsupportedError

__all__ = [
    "ARCHITECTURES",
    "SCHEDULES",
    "SUPPORTED",
    "Allocation",
    "Array",
    "Blocks",
    "Copy",
    "Fault",
    "Fill",
    "Kind",
    "Launch",
    "Scalar",
    "Settings",
    "Synchronization",
    "UnsupportedError",
    "clear_events",
    "compile_source",
    "compiler_options",
    "configure",
    "configured",
    "counts",
    "current_settings",
    "elementwise_source",
    "events",
    "events_of",
    "install",
    "launches",
    "profiled",
    "reduction_source",
    "render",
    "report",
    "sources",
    "sparse",
]
