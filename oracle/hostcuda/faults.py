"""The faults that kernels committed, told in words."""

from __future__ import annotations

import ctypes
import dataclasses
import enum
import functools
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .runtime import FaultRecord, load_runtime
from .toolchain import cache_folder


class Kind(enum.StrEnum):
    """What can be wrong with a kernel."""

    OUT_OF_BOUNDS_READ = "out-of-bounds read"
    OUT_OF_BOUNDS_WRITE = "out-of-bounds write"
    OUT_OF_BOUNDS_ATOMIC = "out-of-bounds atomic"
    USE_AFTER_FREE = "use after free"
    MISALIGNED_ACCESS = "misaligned access"
    UNINITIALISED_READ = "uninitialised read"
    WRITE_WRITE_RACE = "write/write race"
    READ_WRITE_RACE = "read/write race"
    ATOMIC_PLAIN_RACE = "atomic/plain race"
    WARP_DIVERGENCE = "warp divergence"
    BARRIER_DIVERGENCE = "barrier divergence"
    ILLEGAL_ADDRESS = "illegal address"
    DIVISION_BY_ZERO = "division by zero"
    TRAP = "trap"
    INVALID_LAUNCH = "invalid launch"


@dataclasses.dataclass(frozen=True)
class Fault:
    """
    One fault, as the first thread committed it.

    `array` is the kernel's parameter that was meant, if that is known, and `element` counts accesses of `bytes` bytes
    from its start, so it is the flat index of an element unless the access was of several at once. `file`, `line` and
    `text` are where the compiled code, or the PTX, has it. `count`: how often it happened.
    """

    kind: Kind
    kernel: str
    block: int
    thread: int
    detail: str
    address: int
    array: str
    element: int
    bytes: int
    file: str
    line: int
    text: str
    count: int

    def __str__(self) -> str:
        array = f" ({self.array}[{self.element}], {self.bytes} bytes each)" if self.array else ""
        address = f" at {self.address:#x}" if self.address else ""
        again = f"; {self.count} times" if self.count > 1 else ""
        told = f"{self.kind} in {self.kernel}, block {self.block}, thread {self.thread}: {self.detail}{array}{address}"
        return f"{told}{again}" + (f"\n    {self.file}:{self.line}: {self.text}" if self.file else "")


def report(*, clear: bool = True) -> list[Fault]:
    """Return the faults since the last report, one per kind, kernel and line of source, and forget them if `clear`."""
    runtime = load_runtime()
    found: dict[tuple[str, str, str, int], Fault] = {}
    for index in range(runtime.hc_fault_count()):
        record = FaultRecord()
        runtime.hc_get_fault(index, ctypes.byref(record))
        fault = _read(record)
        key = (fault.kind, fault.kernel, fault.file, fault.line)
        if key in found:
            fault = dataclasses.replace(found[key], count=found[key].count + fault.count)
        found[key] = fault
    if clear:
        runtime.hc_clear_faults()
    return list(found.values())


def render(faults: Sequence[Fault]) -> str:
    """Return the faults as lines for a terminal."""
    return "\n".join(map(str, faults)) if faults else "hostcuda: no faults"


def _read(record: FaultRecord) -> Fault:
    file, line = _locate(record.module.decode(), record.offset)
    return Fault(
        kind=Kind(record.kind.decode()),
        kernel=record.kernel.decode(),
        block=record.block,
        thread=record.thread,
        detail=record.detail.decode(),
        address=record.address,
        array=record.array.decode(),
        element=record.element,
        bytes=record.bytes,
        file=file,
        line=line,
        text=_read_line(file, line),
        count=record.count,
    )


@functools.cache
def _locate(module: str, offset: int) -> tuple[str, int]:
    """Return file and line of a place in a compiled kernel: the innermost of its own, not in a header that it uses."""
    if not module or not shutil.which("addr2line"):
        return "", 0
    command = ["addr2line", "-i", "-e", module, hex(offset)]
    frames = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split("\n")
    known = [frame for frame in frames if frame and not frame.startswith("?")]
    own = [frame for frame in known if Path(frame).parent == cache_folder()]
    if not known:
        return "", 0
    file, _, line = (own or known)[0].split(" ")[0].rpartition(":")  # "... (discriminator 2)"
    return file, int(line) if line.isdigit() else 0


def _read_line(file: str, line: int) -> str:
    if not file or not Path(file).exists():
        return ""
    lines = Path(file).read_text().split("\n")
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""
