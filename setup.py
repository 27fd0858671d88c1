"""The build recipe: expand the kernel templates over the dtype table, compile each once per CPU level.

What stands in pyproject.toml is not repeated here. Two environment variables steer a build:

SEGMAX_LEVELS
    Comma-separated CPU levels to compile, by default all that this architecture has.
SEGMAX_OPENMP
    `0` builds without OpenMP even where the compiler has it (everything then works on one thread).
"""

import importlib.util
import os
import platform
import sys
import tempfile
from pathlib import Path

import numpy
from Cython import Tempita
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

ROOT = Path(__file__).parent
KERNELS = Path("segmax/_kernels")
GENERATED = Path("build/generated")

# -O3 must be explicit: at -O2 gcc 12 does not vectorise these loops. Never -ffast-math, -ffinite-math-only (they would
# drop NaN) or -march=native (the wheel must run on the machine that installs it). -Wno-psabi: vectors wider than the
# level's registers stay inside inlined functions. -Wno-stringop-overflow: gcc 12
# believes that a block of 256 rows could be padded beyond 256.
CFLAGS = ["-O3", "-std=c17", "-fwrapv", "-fno-strict-aliasing", "-Wno-psabi", "-Wno-stringop-overflow"]
MACROS = [
    ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
    ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION"),
]
#: CPU levels by name, with the flags that allow their instructions. Named as in the x86-64 psABI.
LEVELS = {"baseline": []}
if platform.machine().lower() in ("x86_64", "amd64"):
    LEVELS |= {"v3": ["-march=x86-64-v3"], "v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"]}
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "embedsignature": False,
    "autotestdict": False,
    "freethreading_compatible": True,
}


def load_table():
    """Import segmax/_dtypes.py by itself: the package cannot be imported before its kernels are built."""
    spec = importlib.util.spec_from_file_location("_dtypes", ROOT / "segmax/_dtypes.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def chosen_levels():
    """Return the levels to compile; the baseline is always among them."""
    asked = [name for name in os.environ.get("SEGMAX_LEVELS", "").split(",") if name]
    unknown = set(asked) - set(LEVELS)
    if unknown:
        raise SystemExit(
            f"SEGMAX_LEVELS names {', '.join(sorted(unknown))}; this machine can build {', '.join(LEVELS)}"
        )
    return [name for name in LEVELS if not asked or name in asked or name == "baseline"]


def expand(template, level):
    """Write one template for one level into build/, unless it is there already, and return its path."""
    source = GENERATED / f"{template.name.removesuffix('.pyx.tp')}_{level}.pyx"
    text = Tempita.Template.from_filename(str(template), encoding="utf-8").substitute(dtypes=load_table(), level=level)
    if not source.exists() or source.read_text() != text:
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)
    return source


def extensions():
    """Return every compiled module: one per plain .pyx, and one per template and level."""
    found = [Extension(f"segmax.{path.stem}", [str(path)]) for path in sorted(Path("segmax").glob("*.pyx"))]
    for template in sorted(KERNELS.glob("*.pyx.tp")):
        for level in chosen_levels():
            source = expand(template, level)
            found.append(
                Extension(
                    f"segmax._kernels.{source.stem}",
                    [str(source)],
                    extra_compile_args=LEVELS[level],
                    depends=[str(path) for path in sorted(KERNELS.glob("*.h"))],
                )
            )
    for extension in found:
        extension.define_macros = MACROS
        extension.include_dirs = [numpy.get_include(), str(KERNELS)]
        extension.extra_compile_args = CFLAGS + extension.extra_compile_args
    return found


class Build(build_ext):
    """build_ext that translates with Cython first and asks the compiler whether it has OpenMP."""

    def finalize_options(self):
        """Translate to C when a build is asked for, not for every command that reads this file."""
        self.distribution.ext_modules[:] = cythonize(
            self.distribution.ext_modules,
            compiler_directives=DIRECTIVES,
            include_path=["."],
            build_dir=str(GENERATED),
            quiet=True,
        )
        super().finalize_options()
        self.parallel = self.parallel or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None

    def build_extensions(self):
        """Add OpenMP's flag to the kernels if a small program that uses it compiles and links."""
        if os.environ.get("SEGMAX_OPENMP") != "0" and self.has_openmp():
            for extension in self.extensions:
                extension.extra_compile_args.append("-fopenmp")
                extension.extra_link_args.append("-fopenmp")
        super().build_extensions()

    def has_openmp(self):
        """Return whether the compiler builds and links a program that calls OpenMP."""
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "probe.c"
            program.write_text("#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n")
            try:
                objects = self.compiler.compile([str(program)], folder, extra_postargs=["-fopenmp"])
                self.compiler.link_executable(objects, "probe", folder, extra_postargs=["-fopenmp"])
            except Exception as error:  # whatever a compiler does, it means "no OpenMP"
                if not isinstance(error, CompileError):
                    print(f"OpenMP probe: {error}")
                return False
        return True


os.chdir(ROOT)
setup(ext_modules=extensions(), cmdclass={"build_ext": Build})
