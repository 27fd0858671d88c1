"""From the CUDA source that CuPy generates to a module that the scheduler can run."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from pathlib import Path
from typing import Any

from . import instructions, ptx
from .nvrtc import compile_source
from .runtime import load_runtime
from .settings import current_settings
from .toolchain import INCLUDE, INSTRUMENTATION, cache_folder, compile_library, digest


@dataclasses.dataclass(frozen=True)
class Module:
    """What CuPy asked to be compiled together."""

    source: str
    options: tuple[str, ...]


_modules: dict[str, Module] = {}
_KERNEL = re.compile(r'extern\s+"C"\s+__global__\s+void\s+(\w+)\s*\(([^{;]*)\)\s*\{')
_BARRIER = re.compile(r"__syncthreads|__shfl|__ballot|__all_sync|__any_sync|__syncwarp|__reduce_\w+_sync")
_FLUSHED = re.compile(r"\b(float|complex<float>)\b")
_FLAGS = ("-std=c++17", "-O1", "-g", "-w", "-fPIC", "-fno-strict-aliasing", "-ffp-contract=off")


def sources() -> dict[str, str]:
    """Return the CUDA sources that CuPy has compiled so far, by the names of their kernels."""
    return {name: module.source for module in _modules.values() for name in list_kernels(module.source)}


def compile_module(source: str, options: tuple[str, ...] = (), *_: Any, **__: Any) -> Any:
    """Take the place of CuPy's function that compiles with NVRTC, or finds it cached, and loads the module."""
    from cupy.cuda import function

    settings = current_settings()
    key = digest(source, *options)
    _modules[key] = Module(source, tuple(options))
    for architecture in settings.architectures:
        _accept(key, architecture)
    _load(key, settings.code, settings.architecture)  # now, as this is where CuPy expects errors
    module = function.Module()
    module.load(f"HOSTCUDA:{key}".encode())
    return module


def find_kernel(key: str, name: str) -> int:
    """Return the address of a kernel, in the form that the settings ask for; called at each launch."""
    settings = current_settings()
    module = _load(key, settings.code, settings.architecture)
    kernel: int | None = load_runtime().hc_find_kernel(module, name.encode())
    if kernel is None:
        raise RuntimeError(f"hostcuda finds no kernel {name} in the module that should have it")
    return kernel


@functools.cache
def _accept(key: str, architecture: str) -> None:
    """Have NVRTC compile a module, for its errors."""
    compile_source(_modules[key].source, architecture, _modules[key].options)


@functools.cache
def _load(key: str, code: str, architecture: str) -> int:
    """Return a handle for a module in one form, built if need be."""
    module = _modules[key]
    library = build_ptx(module, architecture) if code == "ptx" else build_source(module)
    handle: int | None = load_runtime().hc_load_module(str(library).encode())
    if handle is None:
        raise RuntimeError(f"hostcuda cannot load {library}; delete it, and it will be made anew")
    return handle


def list_kernels(source: str) -> dict[str, list[str]]:
    """Return the kernels that a source defines, each with the declarations of its parameters."""
    kernels = {name: _split(parameters) for name, parameters in _KERNEL.findall(source)}
    if not kernels:
        raise ValueError('hostcuda finds no extern "C" __global__ kernel in the source')
    return kernels


def _split(parameters: str) -> list[str]:
    """Split at the commas that are not within angle brackets."""
    parts = [""]
    depth = 0
    for character in parameters:
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def name_arrays(parameters: list[str]) -> str:
    """Return the names of array parameters, with commas between, and nothing for those that are no arrays."""
    return ",".join(
        re.split(r"\W", parameter)[-1].removeprefix("_raw_") if re.search(r"\bCArray\b|\*", parameter) else ""
        for parameter in parameters
    )


def build_source(module: Module) -> Path:
    """Compile the source itself with g++, every access to memory instrumented; return the shared object."""
    source, kernels = module.source, list_kernels(module.source)
    exports = [
        f"HC_EXPORT({name}, {int(bool(_BARRIER.search(source)))}, {int(any(map(_FLUSHED.search, parameters)))}, "
        f'"{name_arrays(parameters)}")'
        for name, parameters in kernels.items()
    ]
    text = "\n".join([source, *exports, ""])
    flags = (*_FLAGS, *_find_headers(), "-include", "device.h")
    library = cache_folder() / f"{_shorten(kernels)}_{digest(text, *flags, INSTRUMENTATION)}.so"
    if not library.exists():
        file = library.with_suffix(".cpp")
        file.write_text(text)
        compile_library([file], library, flags, instrument=True)
    return library


def build_ptx(module: Module, architecture: str) -> Path:
    """Compile the source with NVRTC, translate its PTX to C++ and compile that; return the shared object."""
    kernels = list_kernels(module.source)
    text = compile_source(module.source, architecture, module.options, "ptx").decode().rstrip("\0")
    arrays = {name: name_arrays(parameters) for name, parameters in kernels.items()}
    flags = (*_FLAGS, f"-I{INCLUDE}")
    translator = "".join(inspect.getsource(module) for module in (instructions, ptx))
    library = cache_folder() / f"{_shorten(kernels)}_ptx_{digest(text, translator, str(arrays), *flags)}.so"
    if not library.exists():
        listing, file = library.with_suffix(".ptx"), library.with_suffix(".cpp")
        listing.write_text(text)
        file.write_text(ptx.translate(text, str(listing), arrays))
        compile_library([file], library, flags)
    return library


def _shorten(kernels: dict[str, list[str]]) -> str:
    return next(iter(kernels))[:60]


@functools.cache
def _find_headers() -> tuple[str, ...]:
    """Return the flags for the headers that CuPy's sources include; ours come first."""
    import cupy
    from cuda.pathfinder import find_nvidia_header_directory

    include = Path(cupy.__file__).parent / "_core" / "include"
    bundled = include / "cupy" / "_cccl"
    runtime = find_nvidia_header_directory("cudart")
    if runtime is None:
        raise RuntimeError("hostcuda needs the headers of the CUDA runtime: pip install 'segmax[gpu-check]'")
    folders = (INCLUDE, bundled / "libcudacxx", bundled / "thrust", bundled / "cub", include, runtime)
    return tuple(f"-I{folder}" for folder in folders)
