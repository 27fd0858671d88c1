"""What the documentation says is true: examples run, the README's table is the table."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import numpy as np
import pytest

from segmax import _dtypes

ROOT = Path(__file__).parent.parent
MODULES = [
    "segmax._segment",
    "segmax._elementwise",
    "segmax._stream",
    "segmax._threads",
    "segmax._dispatch",
    "segmax.raw_ops",
    "segmax._bench.report",
    "segmax._files",
    "segmax._groups",
]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    module = importlib.import_module(name)
    with np.printoptions(legacy=False):
        result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed


def test_readme():
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert result.attempted
    assert not result.failed


def test_readme_names_every_dtype():
    """The README's table of dtypes, row by row."""
    lines = (ROOT / "README.md").read_text().splitlines()
    start = lines.index("| order | dtypes |")
    shown = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        order, names = (cell.strip() for cell in line.strip("|").split("|"))
        shown[order] = names.split(", ")
    expected = {}
    for row in _dtypes.DTYPES:
        expected.setdefault(row.order, []).append(row.name)
    assert {order: sorted(names) for order, names in shown.items()} == {k: sorted(v) for k, v in expected.items()}
