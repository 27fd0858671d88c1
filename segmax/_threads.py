"""How many threads a call may use."""

from __future__ import annotations

import contextlib
import contextvars
import operator
import os
from collections.abc import Callable, Iterator
from pathlib import Path

#: Most threads that one call ever uses.
MAX_THREADS = 256

_in_this_context: contextvars.ContextVar[int | None] = contextvars.ContextVar("segmax_num_threads", default=None)


def _read_quota() -> float | None:
    """Return the CPU quota of this process's control group in CPUs, None if there is none."""
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return None if limit == "max" else int(limit) / int(period)
    except (OSError, ValueError):
        pass
    try:
        folder = Path("/sys/fs/cgroup/cpu")
        quota = int((folder / "cpu.cfs_quota_us").read_text())
        return None if quota <= 0 else quota / int((folder / "cpu.cfs_period_us").read_text())
    except (OSError, ValueError):
        return None


def _choose_default() -> tuple[int, str]:
    """Return the number of threads to start with and the reason in words."""
    for variable in ("SEGMAX_NUM_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(variable, "").split(",")[0].strip()
        if text:
            if not text.isdecimal() or int(text) < 1:
                if variable == "SEGMAX_NUM_THREADS":
                    raise ImportError(
                        f"SEGMAX_NUM_THREADS={text} is no positive number; unset it to let segmax choose."
                    )
                continue
            return min(int(text), MAX_THREADS), variable
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _read_quota()
    if quota is not None and quota < cores:
        return max(1, int(quota)), "the control group's CPU quota"
    return min(cores, MAX_THREADS), "the CPUs this process may run on"


_default, _reason = _choose_default()

#: Told of every change: kernels that NumPy calls cannot ask for the number of threads.
_watchers: list[Callable[[int, bool], None]] = []
_limit = MAX_THREADS


def _drop_to_one_thread() -> None:
    """Keep a forked child on one thread: libgomp hangs for ever when its team was started before the fork."""
    global _default, _reason, _limit
    _default, _reason, _limit = 1, "this process was forked", 1
    _tell(here=False)
    _tell(here=True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_to_one_thread)


def watch(watcher: Callable[[int, bool], None]) -> None:
    """Tell `watcher` the number of threads now and whenever it changes, as (number, whether for this thread alone)."""
    _watchers.append(watcher)
    watcher(min(_default, _limit), False)


def _tell(here: bool) -> None:
    """Tell all watchers."""
    for watcher in _watchers:
        watcher(get_num_threads() if here and _in_this_context.get() else 0 if here else min(_default, _limit), here)


def _check(n: object) -> int:
    """Return `n` as a number of threads."""
    if isinstance(n, bool):
        raise TypeError("num_threads is a bool; give a positive integer.")
    try:
        count = operator.index(n)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"num_threads is of type {type(n).__name__}; give a positive integer.") from None
    if count < 1:
        raise ValueError(f"num_threads is {count}; give a positive integer.")
    return min(count, MAX_THREADS)


def set_num_threads(n: int) -> None:
    """Set how many threads segmax may use in this process.

    Parameters
    ----------
    n : int
        Number of threads, at least 1. Small inputs stay on one thread whatever it is.

    See Also
    --------
    num_threads : for the body of a `with` statement only.

    Notes
    -----
    The number at the start is that of the environment variable SEGMAX_NUM_THREADS, else of OMP_NUM_THREADS, else the
    number of CPUs that this process may use (its affinity and its control group's quota). A forked child uses one
    thread, whatever is set, since GNU's OpenMP cannot start threads again after a fork.

    Examples
    --------
    >>> import segmax
    >>> before = segmax.get_num_threads()
    >>> segmax.set_num_threads(1)
    >>> segmax.get_num_threads()
    1
    >>> segmax.set_num_threads(before)
    """
    global _default, _reason
    _default, _reason = _check(n), "set_num_threads"
    _tell(here=False)


def get_num_threads() -> int:
    """Return how many threads a call here and now may use.

    Examples
    --------
    >>> import segmax
    >>> segmax.get_num_threads() >= 1
    True
    """
    here = _in_this_context.get()
    return min(_default if here is None else here, _limit)


@contextlib.contextmanager
def num_threads(n: int) -> Iterator[int]:
    """Use at most `n` threads in the body of a `with` statement.

    It holds for the thread (or task) that runs the body and leaves all others alone.

    Parameters
    ----------
    n : int
        Number of threads, at least 1.

    Examples
    --------
    >>> import segmax
    >>> with segmax.num_threads(1):
    ...     segmax.get_num_threads()
    1
    """
    token = _in_this_context.set(_check(n))
    try:
        _tell(here=True)
        yield get_num_threads()
    finally:
        _in_this_context.reset(token)
        _tell(here=True)


def reason() -> str:
    """Return in words where the number of threads comes from."""
    return _reason if _in_this_context.get() is None else "num_threads"
