"""How much memory traffic kernels cause, and how well it would coalesce: a model, not a measurement."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

from .runtime import load_runtime

# The fields of Counts and Profile in runtime.h and traffic.cpp, in their order.
_COUNTS = (
    "read_bytes",
    "written_bytes",
    "atomics",
    "reads",
    "writes",
    "preemptions",
    "threads",
    "read_sectors",
    "written_sectors",
)
_PROFILE = ("requests", "sectors", "lines", "read_bytes", "written_bytes", "atomic_bytes", "unique_sector_bytes")


def counts(*, clear: bool = True) -> dict[str, int]:
    """Return the accesses, bytes and sectors (of 32 bytes, once per launch) since counts were cleared."""
    values = (ctypes.c_uint64 * len(_COUNTS))()
    load_runtime().hc_get_counts(values)
    if clear:
        load_runtime().hc_clear_counts()
    return dict(zip(_COUNTS, values, strict=True))


@contextmanager
def profiled() -> Iterator[dict[str, int]]:
    """
    Fill the dictionary that it gives when the with statement ends.

    A request is what the lanes of one warp ask for in one execution of one instruction; it touches `sectors` of 32 and
    `lines` of 128 bytes. What is touched by any request, once: `unique_sector_bytes`.
    """
    profile: dict[str, int] = {}
    load_runtime().hc_profile(1)
    try:
        yield profile
    finally:
        values = (ctypes.c_uint64 * len(_PROFILE))()
        load_runtime().hc_get_profile(values)
        load_runtime().hc_profile(0)
        profile.update(zip(_PROFILE, values, strict=True))
