"""What is packed: the sdist builds, and the wheel holds what runs and no C."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """An sdist, and the wheel built from it (one CPU level: enough to see what is packed)."""
    if not (ROOT / "setup.py").exists():
        pytest.skip("needs the source tree")
    folder = tmp_path_factory.mktemp("dist")
    environment = os.environ | {"SEGMAX_LEVELS": "baseline", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return next(folder.glob("*.tar.gz")), next(folder.glob("*.whl"))


def test_sdist_holds_the_sources(packed):
    with tarfile.open(packed[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for needed in (
        "segmax/_kernels/segment.pyx.tp",
        "segmax/_kernels/scan.h",
        "segmax/_cpu.pyx",
        "setup.py",
        "LICENSE",
        "demo/flights.py",
        "tests/avx512/scan.c",
    ):
        assert needed in names
    assert not [name for name in names if name.endswith((".c", ".so")) and "tests" not in name]


def test_wheel_holds_what_runs(packed):
    names = zipfile.ZipFile(packed[1]).namelist()
    kinds = {Path(name).suffix for name in names if "dist-info" not in name and "hostcuda/source/" not in name}
    assert kinds == {".py", ".pyi", ".so", ".typed"}
    for needed in (
        "segmax/py.typed",
        "segmax/gpu/__init__.py",
        "segmax/oracle/__init__.py",
        "segmax/oracle/hostcuda/source/checker.cpp",
        "segmax/oracle/hostcuda/source/include/device.h",
        "segmax/_kernels/__init__.py",
    ):
        assert needed in names
    assert [name for name in names if name.startswith("segmax/_kernels/segment_baseline.")]
