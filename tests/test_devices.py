"""Arguments on a GPU: every public function hands the call to segmax.gpu, and only then is that imported."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import types

import numpy as np
import pytest

import segmax
from segmax import _devices


class OnGpu:
    """What CuPy, PyTorch and Numba arrays have in common."""

    @property
    def __cuda_array_interface__(self):
        return {"version": 3}


class OnCpu:
    """Like a PyTorch tensor on the CPU: its type has the attribute, it itself has not."""

    def __array__(self, dtype=None, copy=None):
        return np.array([1.0, 7.0])

    @property
    def __cuda_array_interface__(self):
        raise AttributeError("not on a GPU")


@pytest.fixture
def calls(monkeypatch):
    """Record calls of segmax.gpu instead of making them."""
    made = []

    def record(name):
        return lambda *arguments, **options: made.append((name, arguments, options)) or "answer"

    names = [*segmax.__all__]
    fake = types.SimpleNamespace(**{name: record(name) for name in names})
    monkeypatch.setattr(_devices.importlib, "import_module", lambda name, package: fake)
    return made


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_ufuncs(calls, name):
    ufunc, there, here = getattr(segmax, name), OnGpu(), np.ones(2)
    for arguments, options in (
        ((there, there), {}),
        ((there, 1), {}),
        ((2.0, there), {"dtype": "f4"}),
        ((here, there), {"where": True, "casting": "no"}),
        ((here, here), {"out": there}),
        ((here, here), {"out": (there,)}),
    ):
        assert ufunc(*arguments, **options) == "answer"
        assert calls.pop() == (name, arguments, options)
    np.testing.assert_array_equal(ufunc(OnCpu(), [3.0, 3.0]), getattr(np, name)([1.0, 7.0], 3.0))
    assert ufunc(here, here, out=here) is here
    assert not calls


@pytest.mark.parametrize("name", [name for name in segmax.__all__ if "segment_" in name])
def test_segment_functions(calls, name):
    function, ids, there = getattr(segmax, name), np.array([0, 1]), OnGpu()
    assert function(there, ids, 2) == "answer"
    called, arguments, options = calls.pop()
    assert called.removeprefix("unsorted_") == name.removeprefix("unsorted_")
    assert arguments == (there, ids, 2)
    assert options.get("indices_are_sorted", True) is (not name.startswith("unsorted"))
    assert function(np.ones(2), there, 2) == "answer"
    calls.pop()
    np.testing.assert_array_equal(function(OnCpu(), ids, 2), function(np.array([1.0, 7.0]), ids, 2))
    assert not calls


def test_without_cupy_the_way_out_is_named():
    if importlib.util.find_spec("cupy"):
        pytest.skip("CuPy is installed")
    with pytest.raises(ImportError, match="cupy"):
        segmax.maximum(OnGpu(), 1)
    with pytest.raises(ImportError, match="cupy"):
        segmax.segment_max(OnGpu(), np.array([0]), 1)


def test_usual_calls_import_nothing():
    program = (
        "import numpy, segmax, sys; segmax.maximum([1], 2.0); segmax.segment_max(numpy.ones(2), numpy.arange(2), 2)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", f"{program}; print('segmax.gpu' in sys.modules)"], capture_output=True, text=True
    )
    assert ended.stdout == "False\n", ended.stderr
