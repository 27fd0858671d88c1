"""NVRTC without a GPU: compile CUDA source for any architecture, as CuPy would."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

#: What the releases of NVRTC for CUDA 12 and 13 have in common.
ARCHITECTURES = ("75", "80", "86", "89", "90", "100", "120")


def compile_source(
    source: str, architecture: str, options: Sequence[str] = (), target: Literal["cubin", "ptx"] = "cubin"
) -> bytes:
    """
    Return what NVRTC makes of a source that includes all it needs.

    Raises
    ------
    cupy.cuda.compiler.CompileException
        With NVRTC's messages, if it refuses the source.
    """
    from cupy.cuda import compiler

    prefix = {"cubin": "sm", "ptx": "compute"}[target]
    options = (*options, "-ftz=true", f"-arch={prefix}_{architecture}", "--device-as-default-execution-space")
    program = compiler._NVRTCProgram(source, "kernel.cu", method=target)
    code = program.compile(tuple(dict.fromkeys(options)))[0]
    return code if isinstance(code, bytes) else code.encode()
