"""A PTX listing, as NVRTC writes it, to C++ that the scheduler can run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from .instructions import TYPES, Body, UnsupportedPTXError, label, mangle, split_operands

_SHARED = re.compile(r"\.shared\s+\.align\s+(\d+)\s+\.b8\s+(\S+)\[(\d+)\];")
_ENTRY = re.compile(r"\s*\.visible\s+\.entry\s+(\w+)\(")
_FUNCTION = re.compile(r"\s*(\.visible\s+)?\.func\b")
_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(%[a-z]+)<(\d+)>;")
_LABEL = re.compile(r"(\$?[\w$]+):")
_INSTRUCTION = re.compile(r"(?:@(!?)(%p\d+)\s+)?([a-z][\w.:]*)\s*(.*?);")
_IGNORED = (".shared", ".pragma", ".loc", ".file", ".maxntid", ".minnctapersm")
_TOGETHER = re.compile(r"(shfl|vote|bar|barrier|redux)\b")


def translate(listing: str, file: str, arrays: Mapping[str, str]) -> str:
    """
    Return C++ for all kernels of a listing.

    Parameters
    ----------
    file
        Where the listing lies; compiled code refers to its lines.
    arrays
        Per kernel, the names of its array parameters as `hc_register` takes them.

    Raises
    ------
    UnsupportedPTXError
        If the listing contains something unknown.
    """
    shared = {name: (int(align), int(size)) for align, name, size in _SHARED.findall(listing)}
    parts = ['#include "ptx.h"']
    # One block runs at a time, so that shared memory can be static.
    parts += [f"alignas({max(align, 8)}) static char {mangle(name)}[{size}];" for name, (align, size) in shared.items()]
    lines = enumerate(listing.split("\n"), 1)
    found = False
    for _, line in lines:
        if _FUNCTION.match(line):
            raise UnsupportedPTXError("hostcuda does not know PTX functions that were not inlined")
        entry = _ENTRY.match(line)
        if entry:
            found = True
            name = entry.group(1)
            parts.append(_translate_kernel(name, lines, file, shared, arrays[name]))
    if not found:
        raise UnsupportedPTXError("hostcuda finds no kernel in the PTX")
    return "\n".join(parts)


def _translate_kernel(
    name: str, lines: Iterator[tuple[int, str]], file: str, shared: Mapping[str, object], arrays: str
) -> str:
    body = Body(_read_parameters(lines), shared)
    declarations, statements, together = [], [], False
    for number, line in _read_body(lines):
        registers, target, instruction = (p.fullmatch(line) for p in (_REGISTERS, _LABEL, _INSTRUCTION))
        if line.startswith(_IGNORED):
            continue
        if registers:
            type_, prefix, count = registers.groups()
            # Registers have no sign, and the smallest have 16 bits: instructions say how they see them.
            body.registers[prefix] = TYPES[type_.replace("s", "u")]
            names = ", ".join(f"r{prefix[1:]}{i} = 0" for i in range(int(count)))
            declarations.append(f"{body.registers[prefix]} {names};")
        elif target:
            statements.append(f"{label(target.group(1))}: ;")
        elif instruction:
            negated, guard, opcode, operands = instruction.groups()
            together = together or _TOGETHER.match(opcode) is not None
            statement = body.translate(opcode, split_operands(operands))
            guarded = f"if ({negated}{body.value(guard)}) {{ {statement} }}" if guard else statement
            statements += [f'#line {number} "{file}"', guarded]
        else:
            raise UnsupportedPTXError(f"hostcuda does not know the PTX line {line}")
    # Its 0: subnormals are flushed where an instruction says so.
    register = f'hc_register("{name}", enter_{name}, {int(together)}, 0, "{arrays}");'
    return "\n".join(
        [
            f"static void enter_{name}(void** arguments) {{",
            *declarations,
            *statements,
            "return;",
            "}",
            f"static struct registers_{name} {{ registers_{name}() {{ {register} }} }} registered_{name};",
            "",
        ]
    )


def _read_parameters(lines: Iterator[tuple[int, str]]) -> dict[str, int]:
    parameters: dict[str, int] = {}
    for _, line in lines:
        if ")" in line:
            break
        named = re.search(r"(\w+_param_\d+)", line)
        if named:
            parameters[named.group(1)] = len(parameters)
    return parameters


def _read_body(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the lines between the braces of a kernel, each with its number, without comments."""
    depth = 0
    for number, line in lines:
        text = re.sub(r"//.*", "", line).strip()
        depth += (text == "{") - (text == "}")
        if text == "}" and depth == 0:
            return
        if text and text not in "{}" and depth:
            yield number, text
