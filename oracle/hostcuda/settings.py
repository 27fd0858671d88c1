"""How kernels are run and what is checked."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from .runtime import SettingsRecord, load_runtime

#: Schedule: whether threads (and blocks with barriers) start in random order, and how likely an access hands over.
SCHEDULES = {"ordered": (False, 0.0), "shuffled": (True, 0.0), "preemptive": (True, 0.02)}
_ALL_BLOCKS = 2**64 - 1


@dataclasses.dataclass(frozen=True)
class Blocks:
    """Which blocks of each launch run: so many of the first, of the last, and of random ones between."""

    first: int
    last: int
    random: int


@dataclasses.dataclass(frozen=True)
class Settings:
    """
    How kernels are run and what is checked.

    Parameters
    ----------
    seed
        Of the order of threads; the same seed gives the same run.
    schedule
        One of `SCHEDULES`.
    memory, initialisation, races
        Whether to check bounds, freeing and alignment; reads of what was never written; data races.
    flush_subnormals
        Whether kernels with float32 parameters flush subnormals, as CuPy has NVRTC compile them.
    blocks
        Run only these blocks, for arrays too large to go through.
    code
        What to run: the kernels' "source", or NVRTC's "ptx" for `architecture`.
    architectures
        Also compile each new kernel with NVRTC for these, such as "90"; what it refuses is an error.
    """

    seed: int = 1
    schedule: str = "shuffled"
    memory: bool = True
    initialisation: bool = True
    races: bool = True
    flush_subnormals: bool = True
    blocks: Blocks | None = None
    code: Literal["source", "ptx"] = "source"
    architecture: str = "90"
    architectures: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.schedule not in SCHEDULES:
            raise ValueError(f"schedule is {self.schedule!r}; it must be one of {', '.join(SCHEDULES)}")
        if self.code not in ("source", "ptx"):
            raise ValueError(f"code is {self.code!r}; it must be source or ptx")

    def apply(self) -> None:
        """Hand over to the scheduler what it has to know."""
        shuffled, preemption = SCHEDULES[self.schedule]
        blocks = self.blocks or Blocks(_ALL_BLOCKS, 0, 0)
        record = SettingsRecord(
            seed=self.seed % 2**64,
            preemption=preemption,
            shuffled=shuffled,
            memory=self.memory,
            initialisation=self.initialisation,
            races=self.races,
            flush_subnormals=self.flush_subnormals,
            first_blocks=blocks.first,
            last_blocks=blocks.last,
            random_blocks=blocks.random,
        )
        load_runtime().hc_configure(ctypes.byref(record))


_current = Settings()


def current_settings() -> Settings:
    """Return the settings that hold now."""
    return _current


def configure(**changes: Any) -> Settings:
    """Change some of the fields of `Settings` from now on, and return all that held before."""
    global _current
    before = _current
    _current = dataclasses.replace(before, **changes)
    _current.apply()
    return before


@contextmanager
def configured(**changes: Any) -> Iterator[Settings]:
    """Change some of the fields of `Settings` inside of a with statement."""
    before = configure(**changes)
    try:
        yield _current
    finally:
        configure(**{field.name: getattr(before, field.name) for field in dataclasses.fields(before)})


@contextmanager
def sparse(first: int = 2, last: int = 2, random: int = 3) -> Iterator[Settings]:
    """
    Run only some blocks of each launch, for arrays beyond 2**31 elements.

    Such arrays take memory only where they are touched. What the other blocks would have written is missing, so only
    bounds, freeing and alignment are checked, and results mean nothing.
    """
    with configured(blocks=Blocks(first, last, random), initialisation=False, races=False) as settings:
        yield settings
