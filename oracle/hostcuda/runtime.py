"""The two compiled libraries as Python sees them: loading, and the structs that they share with Python."""

from __future__ import annotations

import ctypes
import functools
import sysconfig
from pathlib import Path

from .toolchain import SOURCE, cache_folder, compile_library, digest

#: Checker and scheduler; kernels find its functions when they are loaded, so its names are global.
RUNTIME_SOURCES = ("memory.cpp", "checker.cpp", "faults.cpp", "scheduler.cpp", "traffic.cpp")
_FLAGS = ("-std=c++17", "-O2", "-g", "-fPIC")


class SettingsRecord(ctypes.Structure):
    """`Settings` of runtime.h."""

    _fields_ = (
        ("seed", ctypes.c_uint64),
        ("preemption", ctypes.c_double),
        ("shuffled", ctypes.c_int),
        ("memory", ctypes.c_int),
        ("initialisation", ctypes.c_int),
        ("races", ctypes.c_int),
        ("flush_subnormals", ctypes.c_int),
        ("first_blocks", ctypes.c_uint64),
        ("last_blocks", ctypes.c_uint64),
        ("random_blocks", ctypes.c_uint64),
    )


class FaultRecord(ctypes.Structure):
    """`hc_fault` of faults.cpp."""

    _fields_ = (
        *((name, ctypes.c_char_p) for name in ("kind", "kernel", "detail", "array", "module")),
        *((name, ctypes.c_uint64) for name in ("block", "thread", "address")),
        ("element", ctypes.c_int64),
        *((name, ctypes.c_uint64) for name in ("bytes", "offset", "count")),
    )


def build_library(name: str, sources: tuple[str, ...], flags: tuple[str, ...]) -> Path:
    """Return the library made of these files of source/, compiled unless the cache has it."""
    paths = [SOURCE / source for source in sources]
    library = cache_folder() / f"{name}_{digest(*flags, *(path.read_text() for path in paths))}.so"
    if not library.exists():
        compile_library(paths, library, flags)
    return library


@functools.cache
def load_runtime() -> ctypes.CDLL:
    """Return the library of checker and scheduler, compiled on first use."""
    library = ctypes.CDLL(str(build_library("runtime", RUNTIME_SOURCES, _FLAGS)), mode=ctypes.RTLD_GLOBAL)
    library.hc_fault_count.restype = ctypes.c_size_t
    library.hc_get_fault.argtypes = [ctypes.c_size_t, ctypes.POINTER(FaultRecord)]
    library.hc_configure.argtypes = [ctypes.POINTER(SettingsRecord)]
    library.hc_load_module.argtypes = [ctypes.c_char_p]
    library.hc_load_module.restype = ctypes.c_void_p
    library.hc_find_kernel.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    library.hc_find_kernel.restype = ctypes.c_void_p
    library.hc_is_device.argtypes = [ctypes.c_void_p]
    return library


@functools.cache
def load_cupy_api() -> ctypes.PyDLL:
    """Return the library of the functions that take the place of CUDA's."""
    load_runtime()
    include = sysconfig.get_paths()["include"]
    if not (Path(include) / "Python.h").exists():
        raise RuntimeError(
            f"hostcuda needs Python's C headers, and {include} has no Python.h: apt-get install python3-dev"
        )
    library = ctypes.PyDLL(str(build_library("cupy_api", ("cupy_api.cpp",), (*_FLAGS, f"-I{include}"))))
    library.hc_replace.argtypes = [ctypes.py_object] * 5
    library.hc_replace.restype = ctypes.py_object
    return library
