"""Who may import whom, read from the source, and what `import segmax` brings in."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = {"segmax": "segmax", "gpu": "segmax.gpu", "oracle": "segmax.oracle"}
OPTIONAL = {
    "cupy",
    "dask",
    "hypothesis",
    "jax",
    "matplotlib",
    "numba",
    "numpy_groupies",
    "polars",
    "ml_dtypes",
    "pandas",
    "pyarrow",
    "tensorflow",
    "torch",
    "tqdm",
}

pytestmark = pytest.mark.skipif(not (ROOT / "segmax").is_dir(), reason="needs the source tree")


def find_modules():
    """Return the module name and path of every Python file of the distribution."""
    found = {}
    for folder, package in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join([package, *(part for part in parts if part != "__init__")])] = path
    return found


MODULES = find_modules()


def find_imports(name, path):
    """Return (module, whether the import runs when the module is imported, whether it is relative) of each import."""
    tree = ast.parse(path.read_text())
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    later = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for node in ast.walk(function)
    }
    found = []
    for node in ast.walk(tree):
        now = id(node) not in later
        if isinstance(node, ast.Import):
            found += [(alias.name, now, False) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            parts = package.split(".")
            base = ".".join(parts[: len(parts) - node.level + 1])
            for alias in node.names:
                whole = ".".join(part for part in (base, node.module, alias.name) if part)
                found.append((whole if whole in MODULES else whole.rpartition(".")[0], now, True))
        elif isinstance(node, ast.ImportFrom):
            found.append((node.module, now, False))
    return found


IMPORTS = {name: find_imports(name, path) for name, path in MODULES.items()}


def within(module, *allowed):
    """Return whether a module is, or is inside of, one of those allowed; `pkg$` means the package itself alone."""
    return any(
        module == item.rstrip("$") or (not item.endswith("$") and module.startswith(f"{item}.")) for item in allowed
    )


def own_imports(name):
    return [module for module, _, _ in IMPORTS[name] if within(module, "segmax")]


def outside_imports(name):
    return {module.partition(".")[0] for module, _, relative in IMPORTS[name] if not relative} - sys.stdlib_module_names


@pytest.mark.parametrize("name", MODULES)
def test_imports_inside_the_distribution_are_relative(name):
    """A stray `import gpu` or `import oracle` from the root would be another module, or none."""
    for module, _, relative in IMPORTS[name]:
        if not relative:
            assert not within(module, "segmax", "gpu", "oracle"), f"{name} imports {module} absolutely"


def test_the_table_needs_only_the_standard_library():
    assert outside_imports("segmax._dtypes") == set()
    assert own_imports("segmax._dtypes") == []


def test_the_model_needs_only_numpy_and_the_table():
    assert outside_imports("segmax._reference") == {"numpy"}
    assert set(own_imports("segmax._reference")) == {"segmax._dtypes"}


@pytest.mark.parametrize("name", [name for name in MODULES if within(name, "segmax.gpu")])
def test_the_gpu_room_knows_no_cpu_kernels(name):
    """It may read the table and how scalars become elements, and nothing that loads a kernel of the CPU."""
    for module in own_imports(name):
        assert within(module, "segmax._dtypes", "segmax._storage", "segmax.gpu"), f"{name} imports {module}"
    assert set(own_imports("segmax._storage")) == {"segmax._dtypes"}


@pytest.mark.parametrize("name", [name for name in MODULES if within(name, "segmax.oracle")])
def test_the_oracle_sees_what_users_see(name):
    for module in own_imports(name):
        allowed = ("segmax$", "segmax.gpu", "segmax.oracle", "segmax.raw_ops", "segmax._dtypes", "segmax._reference")
        assert within(module, *allowed), f"{name} imports {module}"


def test_tensorflow_is_imported_in_one_file_at_most():
    users = [name for name in MODULES if "tensorflow" in outside_imports(name)]
    assert len(users) <= 1
    assert all(within(name, "segmax.oracle") for name in users)


@pytest.mark.parametrize(
    "name", [name for name in MODULES if within(name, "segmax") and not within(name, "segmax.oracle")]
)
def test_the_library_imports_nothing_optional_at_its_top(name):
    for module, now, _ in IMPORTS[name]:
        assert not (now and within(module, *OPTIONAL)), f"{name} imports {module} when it is imported"
    if not within(name, "segmax.oracle"):
        for module in own_imports(name):
            assert not within(module, "segmax.oracle") or name == "segmax.cli", f"{name} imports {module}"


@pytest.mark.parametrize("name", MODULES)
def test_nothing_imports_tests_or_benchmarks(name):
    assert not {"tests", "benchmarks"} & outside_imports(name)


def test_kernels_cimport_no_generated_module():
    for path in (ROOT / "segmax/_kernels").glob("*.pyx.tp"):
        for line in path.read_text().splitlines():
            words = line.split()
            if words[:1] == ["from"] and "cimport" in words:
                assert words[1].partition(".")[0] in ("cpython", "cython", "libc", "numpy") or words[1].endswith(
                    "_openmp"
                ), line
            elif words[:1] == ["cimport"]:
                assert words[1].partition(".")[0] in ("cython", "numpy"), line


def test_import_brings_in_nothing_optional():
    # ml_dtypes comes in where it is installed: the ufuncs give its types their loops.
    program = f"import sys, segmax; print(sorted({OPTIONAL - {'ml_dtypes'}!r} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_files_are_for_those_who_read_them():
    program = "import sys, segmax; before = 'segmax._files' in sys.modules; segmax.reduce_file; print(before)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "False\n"
