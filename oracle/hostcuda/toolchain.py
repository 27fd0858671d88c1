"""The C++ compiler and the folder that keeps what it made."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .versions import UnsupportedError

SOURCE = Path(__file__).parent / "source"
INCLUDE = SOURCE / "include"
#: Calls out before each access to memory, and for pointers that are not aligned as their types are.
INSTRUMENTATION = "-fsanitize=thread,alignment"
#: Names the cache folder, instead of segmax/hostcuda in the user's cache.
CACHE_VARIABLE = "SEGMAX_HOSTCUDA_CACHE"


def cache_folder() -> Path:
    """Return the folder of compiled libraries and kernels, made if need be; all of it may be deleted at any time."""
    chosen = os.environ.get(CACHE_VARIABLE)
    folder = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "segmax" / "hostcuda"
    folder = folder.expanduser().absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@functools.cache
def find_compiler() -> str:
    """Return the path of g++."""
    if (system := platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise UnsupportedError(f"hostcuda runs on Linux on x86_64, not on {system} on {platform.machine()}")
    compiler = shutil.which("g++")
    if compiler is None:
        raise UnsupportedError("hostcuda needs g++ to compile kernels, and there is none on PATH: apt-get install g++")
    return compiler


@functools.cache
def describe_toolchain() -> str:
    """Return what every compiled file depends on besides its own source: g++ and our C++ headers."""
    version = subprocess.run([find_compiler(), "--version"], capture_output=True, text=True, check=True).stdout
    return version + "".join(path.read_text() for path in sorted(SOURCE.rglob("*.h")))


def digest(*parts: str) -> str:
    """Return a name for what is compiled from these parts."""
    return hashlib.sha256("\0".join((describe_toolchain(), *parts)).encode()).hexdigest()[:20]


def compile_library(sources: Sequence[Path], target: Path, flags: Sequence[str], *, instrument: bool = False) -> None:
    """
    Compile C++ files into one shared object, which appears at once, whole, or not at all.

    With `instrument`, compiling and linking are two steps: linking with -fsanitize would add the sanitiser's runtime.
    """
    partial = target.with_suffix(f".{os.getpid()}.so")
    objects: list[Path] = []
    try:
        if instrument:
            objects = [target.with_suffix(f".{os.getpid()}.o")]
            _run([*flags, INSTRUMENTATION, "-c", *map(str, sources), "-o", str(objects[0])])
            _run(["-shared", *map(str, objects), "-o", str(partial)])
        else:
            _run([*flags, "-shared", *map(str, sources), "-o", str(partial), "-ldl"])
        partial.replace(target)
    finally:
        for leftover in (*objects, partial):
            leftover.unlink(missing_ok=True)


def _run(arguments: Sequence[str]) -> None:
    command = [find_compiler(), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"g++ failed:\n{' '.join(command)}\n{done.stderr[:4000]}")
