"""The choice of kernels for this CPU, made once at import."""

from __future__ import annotations

import importlib
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType

from . import _threads

try:
    from ._cpu import detect_level
except ImportError as error:
    raise ImportError(
        "segmax's compiled part is missing: this looks like the bare source tree. Install it with `pip install .` (or "
        "`pip install -e .` to work on it), or start Python from another folder to use the installed package."
    ) from error

#: Level names by their number in the x86-64 psABI; `_cpu` answers with the number.
LEVELS = {1: "baseline", 3: "v3", 4: "v4"}


def available_levels() -> list[str]:
    """Return the names of the levels that this CPU can run and this build holds, lowest first."""
    highest = detect_level()
    folder = Path(__file__).parent / "_kernels"
    built = {
        name.partition(".")[0].removeprefix("segment_") for name in os.listdir(folder) if name.startswith("segment_")
    }
    return [name for number, name in LEVELS.items() if number <= highest and name in built]


def _choose_level() -> tuple[str, str]:
    """Return the level to use and the reason in words."""
    levels = available_levels()
    asked = os.environ.get("SEGMAX_CPU_LEVEL")
    if not asked:
        return levels[-1], "the highest that this CPU has"
    asked = {"v1": "baseline", "1": "baseline"}.get(asked, asked)
    if asked not in levels:
        raise ImportError(
            f"SEGMAX_CPU_LEVEL={asked} cannot be used: this CPU and this build have {', '.join(levels)}. "
            "Unset the variable to let segmax choose."
        )
    return asked, "SEGMAX_CPU_LEVEL"


LEVEL, REASON = _choose_level()


def load(name: str) -> ModuleType:
    """Import the kernels `name` compiled for the chosen level."""
    return importlib.import_module(f"segmax._kernels.{name}_{LEVEL}")


def show_config() -> None:
    """Print versions, CPU level and why, OpenMP, threads and optional packages.

    Examples
    --------
    >>> import segmax
    >>> segmax.show_config()  # doctest: +ELLIPSIS
    segmax ...
    """
    optional = {}
    for name in ("ml_dtypes", "pyarrow", "matplotlib", "tqdm", "cupy", "dask", "tensorflow", "hypothesis"):
        try:
            optional[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            optional[name] = "not installed"
    kernels = load("segment")
    lines = {
        "segmax": metadata.version("segmax"),
        "Python": f"{platform.python_version()} ({sys.platform}, {platform.machine()})",
        "NumPy": metadata.version("numpy"),
        "CPU level": f"{LEVEL} ({REASON}; here: {', '.join(available_levels())})",
        "OpenMP": "yes" if kernels.HAS_OPENMP else "no: everything runs on one thread",
        "threads": f"{_threads.get_num_threads()} ({_threads.reason()})",
    }
    for key, value in (lines | optional).items():
        print(f"{key:12} {value}")
