"""The packages that pyproject.toml names are the folders that there are."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(not (ROOT / "segmax").is_dir(), reason="needs the source tree")


def read_setuptools():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def test_packages_match_the_folders():
    """A new folder works from the source tree, but is missing from the wheel until it is listed."""
    table = read_setuptools()
    found = set()
    for top in ("segmax", "gpu", "oracle"):
        package = next((name for name, folder in table["package-dir"].items() if folder == top), top)
        for path in (ROOT / top).rglob("*.py"):
            inner = path.parent.relative_to(ROOT / top).parts
            found.add(".".join([package, *inner]))
    assert found == set(table["packages"])


@pytest.mark.parametrize("package", read_setuptools()["packages"] if (ROOT / "segmax").is_dir() else [])
def test_every_package_imports_and_says_what_it_is(package):
    module = importlib.import_module(package)
    assert module.__doc__, f"{package} has no docstring"
    assert module.__file__, f"{package} has no __init__.py"


def test_the_optional_packages_of_an_extra_are_known():
    """`ml_dtypes` is needed by name in two extras: the small floats and what verifies them."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert any(item.startswith("ml_dtypes") for item in extras["small-floats"])


def test_the_pinned_cupy_is_one_that_hostcuda_supports():
    from segmax.oracle.hostcuda import SUPPORTED

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert f"cupy-cuda12x=={SUPPORTED[-1]}" in extras["gpu-check"]


def test_the_sources_of_hostcuda_are_package_data():
    patterns = read_setuptools()["package-data"]["segmax.oracle.hostcuda"]
    folder = ROOT / "oracle/hostcuda"
    packed = {path for pattern in patterns for path in folder.glob(pattern)}
    assert packed == {path for path in (folder / "source").rglob("*") if path.is_file()}
