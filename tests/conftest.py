"""Fixtures: the CPU levels, numbers of threads and block sizes with which the same call must give the same bits."""

from __future__ import annotations

import contextlib
import importlib

import pytest

import segmax
from segmax import _dispatch, _segment, _storage

#: Threads, bytes below which a call stays on one thread, bytes of a gathered block.
SETTINGS = [(1, 80_000, 1 << 19), (1, 0, 1 << 10), (2, 0, 1 << 19), (3, 0, 1 << 10)]


@contextlib.contextmanager
def _built_as(level, threads=1, small=80_000, block=1 << 19):
    """Run the body with the kernels of one CPU level, a number of threads even for small inputs, a block size."""
    before = _segment._kernels, _segment._SMALL, _storage.BLOCK_BYTES
    _segment._plan.cache_clear()
    _segment._kernels = importlib.import_module(f"segmax._kernels.segment_{level}")
    _segment._SMALL, _storage.BLOCK_BYTES = small, block
    try:
        with segmax.num_threads(threads):
            yield
    finally:
        _segment._kernels, _segment._SMALL, _storage.BLOCK_BYTES = before
        _segment._plan.cache_clear()


@pytest.fixture(scope="session")
def built_as():
    return _built_as


@pytest.fixture(scope="session")
def settings():
    """Every way to run: level, threads, bytes that stay on one thread, bytes of a block."""
    return [(level, *setting) for level in _dispatch.available_levels() for setting in SETTINGS]
