"""One PTX instruction to one C++ statement. An instruction that is not known here is an error, never a guess."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping

#: PTX type: C++ type.
TYPES = {
    **{
        f"{kind}{size}": f"{prefix}int{size}_t"
        for kind, prefix in (("s", ""), ("u", "u"), ("b", "u"))
        for size in (8, 16, 32, 64)
    },
    "f32": "float",
    "f64": "double",
    "pred": "bool",
}
SPECIAL_REGISTERS = {
    "%tid.x": "hc_threadIdx.x",
    "%ntid.x": "hc_blockDim.x",
    "%ctaid.x": "hc_blockIdx.x",
    "%nctaid.x": "hc_gridDim.x",
    "%laneid": "(hc_threadIdx.x & 31)",
    "%warpsize": "32u",
    **{f"%{name}.{axis}": "0u" for name in ("tid", "ctaid") for axis in "yz"},
    **{f"%{name}.{axis}": "1u" for name in ("ntid", "nctaid") for axis in "yz"},
}
_COMPARISONS = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "lo": "<",
    "ls": "<=",
    "hi": ">",
    "hs": ">=",
}
_WIDER = {"s16": "s32", "u16": "u32", "s32": "s64", "u32": "u64"}
_DOUBLED = {"s32": "int64_t", "u32": "uint64_t", "s64": "__int128", "u64": "unsigned __int128"}


class UnsupportedPTXError(NotImplementedError):
    """The PTX contains something that the translator does not know."""


def size_of(ptx_type: str) -> int:
    """Return the bytes of a PTX type."""
    return int(ptx_type[1:]) // 8


def is_float(ptx_type: str) -> bool:
    """Return whether a PTX type is f32 or f64."""
    return ptx_type[0] == "f"


def unsigned(ptx_type: str) -> str:
    """Return the C++ type of as many bits, unsigned: what wraps around in C++ as it does on a GPU."""
    return f"uint{size_of(ptx_type) * 8}_t"


def split_operands(text: str) -> list[str]:
    """Split at the commas that are not within brackets."""
    parts = [""]
    depth = 0
    for character in text:
        depth += (character in "{[(") - (character in "}])")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def mangle(name: str) -> str:
    """Return a PTX name as a C++ name."""
    return re.sub(r"\W", "_", name)


def label(name: str) -> str:
    """Return the C++ label of a PTX label."""
    return f"label{mangle(name)}"


@dataclasses.dataclass(frozen=True)
class Instruction:
    """An instruction without its guard; `parts` are the name and what follows it with dots, the last one the type."""

    parts: tuple[str, ...]
    operands: list[str]

    @property
    def name(self) -> str:
        """Return the instruction without modifiers and type."""
        return self.parts[0]

    @property
    def type(self) -> str:
        """Return the PTX type, where the instruction has one."""
        return self.parts[-1]

    def unknown(self) -> UnsupportedPTXError:
        """Return the exception that says that this is not known."""
        return UnsupportedPTXError(f"hostcuda does not know the PTX instruction {'.'.join(self.parts)}")


_Translation = Callable[["Body", Instruction], str]
_TRANSLATIONS: dict[str, _Translation] = {}
#: Threads run one after the other, so that a fence has nothing to order.
_FIXED = {
    "ret": "return;",
    "exit": "return;",
    "trap": 'hc_trap("executes trap", nullptr);',
    "membar": ";",
    "fence": ";",
}


def _opcode(*names: str) -> Callable[[_Translation], _Translation]:
    def register(function: _Translation) -> _Translation:
        _TRANSLATIONS.update(dict.fromkeys(names, function))
        return function

    return register


class Body:
    """
    The body of one kernel.

    Parameters
    ----------
    parameters
        Position of each parameter, by name.
    shared
        Names of the shared arrays.
    """

    def __init__(self, parameters: Mapping[str, int], shared: Mapping[str, object]) -> None:
        self.parameters = parameters
        self.shared = shared
        self.registers: dict[str, str] = {}  # prefix, such as "%rd": C++ type

    def translate(self, opcode: str, operands: list[str]) -> str:
        """Return the C++ statement for an instruction without its guard."""
        instruction = Instruction(tuple(opcode.split(".")), operands)
        if instruction.name in _FIXED:
            return _FIXED[instruction.name]
        if instruction.name not in _TRANSLATIONS:
            raise instruction.unknown()
        return _TRANSLATIONS[instruction.name](self, instruction)

    @staticmethod
    def jump(target: str) -> str:
        """Return the statement that goes on at a PTX label."""
        return f"goto {label(target)};"

    def register_type(self, register: str) -> str:
        """Return the C++ type of a register."""
        prefix = re.match(r"%[a-z]+", register)
        if prefix is None or prefix.group() not in self.registers:
            raise UnsupportedPTXError(f"hostcuda does not know the PTX register {register}")
        return self.registers[prefix.group()]

    def value(self, operand: str) -> str:
        """Return an operand as a C++ expression of its own type."""
        operand = operand.strip()
        if operand in SPECIAL_REGISTERS:
            return SPECIAL_REGISTERS[operand]
        if operand.startswith("!"):
            return f"!{self.value(operand[1:])}"
        if operand.startswith("%"):
            return "r" + mangle(operand[1:])
        if re.fullmatch(r"-?\d+", operand):
            number = int(operand)
            return operand + ("" if abs(number) < 2**31 else "LL" if number < 2**63 else "ULL")
        if re.fullmatch(r"-?0x[0-9a-fA-F]+U?", operand):
            return operand.rstrip("U") + "ULL"
        if re.fullmatch(r"0[fF][0-9a-fA-F]{8}", operand):
            return f"bits<float>(0x{operand[2:]}u)"
        if re.fullmatch(r"0[dD][0-9a-fA-F]{16}", operand):
            return f"bits<double>(0x{operand[2:]}ull)"
        if operand in self.shared:
            return f"(uint64_t)&{mangle(operand)}[0]"
        raise UnsupportedPTXError(f"hostcuda does not know the PTX operand {operand}")

    def read(self, operand: str, ptx_type: str) -> str:
        """Return an operand as a C++ expression of a PTX type: the same bits, whatever the register's class."""
        expression, wanted = self.value(operand), TYPES[ptx_type]
        if operand.startswith("%") and operand not in SPECIAL_REGISTERS:
            held = self.register_type(operand)
            if held in ("float", "double") and not is_float(ptx_type):
                return f"({wanted})bits<{'uint32_t' if held == 'float' else 'uint64_t'}>({expression})"
            if is_float(ptx_type) and held not in ("float", "double"):
                return f"bits<{wanted}>({expression})"
        return expression if ptx_type == "pred" else f"({wanted})({expression})"

    def write(self, register: str, expression: str, ptx_type: str) -> str:
        """Return the statement that puts an expression of a PTX type into a register."""
        register = register.strip()
        if register == "_":
            return f"(void)({expression});"
        held, name = self.register_type(register), self.value(register)
        if held in ("float", "double") and not is_float(ptx_type):
            return f"{name} = bits<{held}>(({unsigned(ptx_type)})({expression}));"
        if is_float(ptx_type) and held not in ("float", "double"):
            return f"{name} = bits<{held}>({expression});"
        if ptx_type[0] == "s":  # fills a wider register with the sign
            return f"{name} = ({held})({TYPES[ptx_type]})({expression});"
        return f"{name} = ({held})({expression});"

    def address(self, operand: str) -> tuple[str, bool]:
        """Return "[base + offset]" as a C++ expression, and whether it is a parameter's."""
        matched = re.fullmatch(r"\[\s*(.+?)\s*(?:\+\s*(-?\d+))?\s*\]", operand.strip())
        if matched is None:
            raise UnsupportedPTXError(f"hostcuda does not know the PTX address {operand}")
        base, offset = matched.group(1), matched.group(2) or "0"
        if base in self.parameters:
            return f"((uint64_t)arguments[{self.parameters[base]}] + {offset})", True
        return f"({self.value(base)} + ({offset}ll))", False


def _vector(operand: str, modifiers: tuple[str, ...]) -> list[str]:
    return split_operands(operand[1:-1]) if {"v2", "v4"} & set(modifiers) else [operand]


# ------------------------------------------------------------------------------------------------ moving data
@_opcode("mov")
def _mov(body: Body, op: Instruction) -> str:
    to, source = op.operands
    if to.startswith("{"):
        parts = split_operands(to[1:-1])
        width = size_of(op.type) * 8 // len(parts)
        whole = f"({unsigned(op.type)})({body.read(source, op.type)})"
        return " ".join(
            body.write(part, f"(uint{width}_t)({whole} >> {width * i})", f"b{width}")
            for i, part in enumerate(parts)
            if part != "_"
        )
    if source.startswith("{"):
        parts = split_operands(source[1:-1])
        width = size_of(op.type) * 8 // len(parts)
        pieces = (
            f"(({unsigned(op.type)})(uint{width}_t)({body.read(part, f'b{width}')}) << {width * i})"
            for i, part in enumerate(parts)
        )
        return body.write(to, " | ".join(pieces), op.type)
    return body.write(to, body.read(source, op.type), op.type)


@_opcode("cvta")
def _cvta(body: Body, op: Instruction) -> str:
    return body.write(op.operands[0], body.value(op.operands[1]), "u64")


@_opcode("ld")
def _ld(body: Body, op: Instruction) -> str:
    address, is_parameter = body.address(op.operands[1])
    targets = _vector(op.operands[0], op.parts)
    checked = not is_parameter and not {"param", "shared", "local"} & set(op.parts)
    check = f"check_read<{size_of(op.type) * len(targets)}>(at);" if checked else ""
    loads = (
        body.write(target, f"load<{TYPES[op.type]}>(at + {i * size_of(op.type)})", op.type)
        for i, target in enumerate(targets)
    )
    return f"{{ uint64_t at = {address}; {check} {' '.join(loads)} }}"


@_opcode("st")
def _st(body: Body, op: Instruction) -> str:
    address, _ = body.address(op.operands[0])
    values = _vector(op.operands[1], op.parts)
    checked = not {"shared", "local"} & set(op.parts)
    check = f"check_write<{size_of(op.type) * len(values)}>(at);" if checked else ""
    stores = (
        f"store<{TYPES[op.type]}>(at + {i * size_of(op.type)}, {body.read(value, op.type)});"
        for i, value in enumerate(values)
    )
    return f"{{ uint64_t at = {address}; {check} {' '.join(stores)} }}"


@_opcode("atom", "red")
def _atom(body: Body, op: Instruction) -> str:
    known = ("max", "min", "add", "and", "or", "xor", "exch", "cas")
    operation = next((m for m in op.parts if m in known), None)
    if operation is None or "shared" in op.parts:
        raise op.unknown()
    result = op.operands[0] if op.name == "atom" else "_"
    place, *values = op.operands[1:] if op.name == "atom" else op.operands
    address, _ = body.address(place)
    arguments = ", ".join([f"ATOMIC_{operation.upper()}", address, *(body.read(value, op.type) for value in values)])
    return body.write(result, f"atomic<{TYPES[op.type]}>({arguments})", op.type)


# ------------------------------------------------------------------------------------------------ arithmetic
@_opcode("add", "sub", "mul", "mad", "fma")
def _arithmetic(body: Body, op: Instruction) -> str:
    name = op.name
    if (not is_float(op.type) and "sat" in op.parts) or {"cc", "rm", "rp", "rz"} & set(op.parts):
        raise op.unknown()
    values = [_operand(body, operand, op.type, op.parts) for operand in op.operands[1:]]
    symbol = {"add": "+", "sub": "-", "mul": "*"}.get(name)
    if is_float(op.type):
        result = f"({values[0]} {symbol} {values[1]})" if symbol else f"std::fma({', '.join(values)})"
        return body.write(op.operands[0], _flushed(result, op.parts), op.type)
    if "wide" in op.parts:
        wide = _WIDER[op.type]
        result = f"({TYPES[wide]}){values[0]} * ({TYPES[wide]}){values[1]}"
        if name == "mad":
            result = f"({unsigned(wide)})({result}) + ({unsigned(wide)}){body.read(op.operands[3], wide)}"
        return body.write(op.operands[0], result, wide)
    if "hi" in op.parts:
        if name != "mul":
            raise op.unknown()
        double = _DOUBLED[op.type]
        return body.write(
            op.operands[0], f"(({double}){values[0]} * ({double}){values[1]}) >> {size_of(op.type) * 8}", op.type
        )
    a, b, *c = (f"({unsigned(op.type)}){value}" for value in values)
    result = f"{a} {symbol} {b}" if symbol else f"{a} * {b} + {c[0]}"
    return body.write(op.operands[0], f"({TYPES[op.type]})({result})", op.type)


def _flushed(expression: str, modifiers: tuple[str, ...]) -> str:
    return f"flush({expression})" if "ftz" in modifiers else expression


def _operand(body: Body, operand: str, type_: str, modifiers: tuple[str, ...]) -> str:
    """Return an operand, flushed if the instruction does that to its inputs."""
    expression = body.read(operand, type_)
    return _flushed(expression, modifiers) if is_float(type_) else expression


@_opcode("div", "rem", "and", "or", "xor")
def _infix(body: Body, op: Instruction) -> str:
    symbol = {"div": "/", "rem": "%", "and": "&", "or": "|", "xor": "^"}[op.name]
    a, b = (_operand(body, operand, op.type, op.parts) for operand in op.operands[1:])
    result = f"{a} {symbol} {b}"
    return body.write(op.operands[0], _flushed(result, op.parts) if is_float(op.type) else result, op.type)


@_opcode("min", "max")
def _extremum(body: Body, op: Instruction) -> str:
    name = op.name
    a, b = (_operand(body, operand, op.type, op.parts) for operand in op.operands[1:])
    if not is_float(op.type):
        return body.write(op.operands[0], f"std::{name}<{TYPES[op.type]}>({a}, {b})", op.type)
    result = f"float_{name}({a}, {b})"
    if "NaN" in op.parts:
        result = f"(std::isnan({a}) || std::isnan({b}) ? ({TYPES[op.type]})NAN : {result})"
    return body.write(op.operands[0], _flushed(result, op.parts), op.type)


@_opcode("not", "neg", "abs")
def _unary(body: Body, op: Instruction) -> str:
    x = _operand(body, op.operands[1], op.type, op.parts)
    if op.name == "not":
        result = f"!{x}" if op.type == "pred" else f"({TYPES[op.type]})~{x}"
    elif op.name == "neg":
        result = f"-{x}" if is_float(op.type) else f"({TYPES[op.type]})(0u - ({unsigned(op.type)}){x})"
    else:
        result = f"std::fabs({x})" if is_float(op.type) else f"({x} < 0 ? 0u - ({unsigned(op.type)}){x} : {x})"
    return body.write(op.operands[0], result, op.type)


@_opcode("shl", "shr")
def _shift(body: Body, op: Instruction) -> str:
    name, held = ("shift_left", unsigned(op.type)) if op.name == "shl" else ("shift_right", TYPES[op.type])
    by = f"(uint32_t){body.value(op.operands[2])}"
    return body.write(op.operands[0], f"{name}<{held}>({body.read(op.operands[1], op.type)}, {by})", op.type)


@_opcode("clz", "popc")
def _count(body: Body, op: Instruction) -> str:
    suffix = "ll" if size_of(op.type) == 8 else ""
    x = body.read(op.operands[1], op.type)
    if op.name == "popc":
        return body.write(op.operands[0], f"__builtin_popcount{suffix}({x})", "u32")
    return body.write(op.operands[0], f"({x} ? __builtin_clz{suffix}({x}) : {size_of(op.type) * 8})", "u32")


@_opcode("cvt")
def _cvt(body: Body, op: Instruction) -> str:
    to = op.parts[-2]
    if to not in TYPES or op.type not in TYPES or (is_float(op.type) and not is_float(to)) or "sat" in op.parts:
        raise op.unknown()
    result = f"({TYPES[to]})({_operand(body, op.operands[1], op.type, op.parts)})"
    return body.write(op.operands[0], _flushed(result, op.parts) if is_float(to) else result, to)


# ------------------------------------------------------------------------------------------------ choosing
@_opcode("setp")
def _setp(body: Body, op: Instruction) -> str:
    comparison = op.parts[1]
    x, y = (_operand(body, operand, op.type, op.parts) for operand in op.operands[1:3])
    unordered = f"(std::isnan({x}) || std::isnan({y}))"
    if comparison == "nan":
        result = unordered
    elif comparison == "num":
        result = f"!{unordered}"
    elif comparison not in _COMPARISONS and comparison[:2] not in _COMPARISONS:
        raise op.unknown()
    elif len(comparison) == 3:  # such as ltu: or unordered
        result = f"({unordered} || {x} {_COMPARISONS[comparison[:2]]} {y})"
    elif comparison == "ne" and is_float(op.type):
        result = f"({x} != {y} && !{unordered})"
    else:
        result = f"({x} {_COMPARISONS[comparison]} {y})"
    if op.parts[2] in ("and", "or", "xor"):
        result = f"({result} {({'and': '&&', 'or': '||', 'xor': '!='})[op.parts[2]]} {body.value(op.operands[3])})"
    if "|" in op.operands[0]:
        raise UnsupportedPTXError("hostcuda does not know setp with two results")
    return body.write(op.operands[0], result, "pred")


@_opcode("selp")
def _selp(body: Body, op: Instruction) -> str:
    to, a, b, predicate = op.operands
    return body.write(to, f"{body.value(predicate)} ? {body.read(a, op.type)} : {body.read(b, op.type)}", op.type)


@_opcode("bra")
def _bra(body: Body, op: Instruction) -> str:
    return body.jump(op.operands[0])


# ------------------------------------------------------------------------------------------------ threads together
@_opcode("shfl")
def _shfl(body: Body, op: Instruction) -> str:
    to, _, in_range = op.operands[0].partition("|")
    arguments = ", ".join(body.read(operand, "b32") for operand in op.operands[1:])
    told = f"&{body.value(in_range)}" if in_range else "nullptr"
    return body.write(to, f"shuffle(SHUFFLE_{op.parts[2].upper()}, {arguments}, {told})", "b32")


@_opcode("vote")
def _vote(body: Body, op: Instruction) -> str:
    to, predicate, mask = op.operands
    votes = f"ballot((uint32_t){body.value(mask)}, {body.value(predicate)})"
    if "ballot" in op.parts:
        return body.write(to, votes, "b32")
    if "all" in op.parts:
        return body.write(to, f"{votes} == (uint32_t){body.value(mask)}", "pred")
    if "any" in op.parts:
        return body.write(to, f"{votes} != 0", "pred")
    raise op.unknown()


@_opcode("redux")
def _redux(body: Body, op: Instruction) -> str:
    to, value, mask = op.operands
    if op.parts[2] not in ("max", "min"):
        raise op.unknown()
    arguments = f"REDUCE_{op.parts[2].upper()}, (uint32_t){body.value(mask)}, {body.read(value, op.type)}"
    return body.write(to, f"reduce<{TYPES[op.type]}>({arguments})", op.type)


@_opcode("bar", "barrier")
def _bar(body: Body, op: Instruction) -> str:
    if "warp" in op.parts:
        return f"hc_warp_barrier(HC_SYNC, (uint32_t){body.value(op.operands[0])}, nullptr);"
    return "hc_block_barrier(nullptr);"
