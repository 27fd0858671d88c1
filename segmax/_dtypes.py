"""The table of dtypes: one row each, read by everything.

The build, the dispatch, the CUDA text, the tests, the fuzzing, the benchmarks and the README take what they know of a
dtype from its row here. To add a dtype, add a row (CONTRIBUTING.md, "to add a dtype"). Standard library only: setup.py
reads this file before anything is installed.

How bits are ordered (`Dtype.order`)
    unsigned    the bits as an unsigned integer
    signed      the bits as a two's complement integer
    sign        sign and magnitude, as IEEE 754 floats: -0 < +0; a magnitude above `largest` is a NaN
    negzero     sign and magnitude, and the bits of -0 are the only NaN (the "fnuz" types)
    complex     two floats of type `part`, compared real part first; a NaN in either part is a NaN
    longdouble  C's long double: compared by the C compiler, not by its bits
    numpy       no kernel of ours: NumPy's own loops do the work
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["BY_NAME", "DTYPES", "Dtype", "Key", "lookup", "names"]


@dataclass(frozen=True, slots=True)
class Key:
    """Constants of an order-preserving map from the stored bits b to an unsigned integer key.

    With S(b) = all ones if the top bit of b is set, else 0, and everything modulo 2**bits:

        encode   key = (b ^ (S(b) & fold) ^ flip) - turn
        decode   t = (key + turn) ^ flip;  b = t ^ (S(t) & fold);  `nan` instead if key - first > span

    A greater key is a greater element under the wanted operation (`flip` reverses the order for a minimum). Floats have
    NaNs at both ends of the plain order; subtracting `turn` rotates all of them above the greatest number (they
    propagate) or below the least (they are omitted), so that no comparison with NaN is needed anywhere.
    """

    bits: int
    fold: int
    flip: int
    turn: int
    first: int
    span: int
    nan: int

    def encode(self, element: int) -> int:
        """Return the key of an element's bits."""
        mask = (1 << self.bits) - 1
        sign = mask if element >> (self.bits - 1) else 0
        return (element ^ sign & self.fold ^ self.flip) - self.turn & mask

    def decode(self, key: int) -> int:
        """Return the bits of the element that a key stands for."""
        mask = (1 << self.bits) - 1
        if (key - self.first) & mask > self.span:
            return self.nan
        turned = (key + self.turn & mask) ^ self.flip
        sign = mask if turned >> (self.bits - 1) else 0
        return turned ^ sign & self.fold


@dataclass(frozen=True, slots=True)
class Dtype:
    """One row: all that segmax knows about a dtype."""

    name: str  #: name in NumPy or ml_dtypes
    order: str  #: how its bits are ordered, see the module's text
    bits: int  #: size of a stored element
    lowest: int | None = None  #: bits of the lowest finite value
    highest: int | None = None  #: bits of the highest finite value
    largest: int | None = None  #: sign, negzero: greatest magnitude that is no NaN
    nan: int | None = None  #: bits of the canonical NaN (NaT), None if there is none
    used: int | None = None  #: value bits, at the low end, if fewer than stored
    part: str | None = None  #: complex: name of the float in it
    package: str = "numpy"  #: where the dtype comes from
    tensorflow: bool = False  #: one of SegmentMaxV2's twelve

    @property
    def kernel(self) -> str:
        """Which kernel reduces it: `keys` (by order-preserving integers), `complex`, `longdouble` or `numpy`."""
        return self.order if self.order in ("complex", "longdouble", "numpy") else "keys"

    @property
    def recoded(self) -> bool:
        """Whether the bits go through a table of 256 entries before the kernel sees them (see `recode`).

        These are the types whose order no `Key` describes: a NaN in the middle, or unused bits above the value's.
        """
        return self.order == "negzero" or self.used is not None

    @property
    def signed_zero(self) -> bool:
        """Whether -0 and +0 are two values."""
        return self.order in ("sign", "complex", "longdouble")

    def rank(self, bits: int) -> int | None:
        """Return the place of an element among the others as a signed integer, None for a NaN.

        This is the definition; `key` and `recode` are faster ways to the same order.
        """
        sign = 1 << ((self.used or self.bits) - 1)
        bits &= 2 * sign - 1
        if bits == self.nan and self.order != "sign":
            return None
        if self.order == "unsigned":
            return bits
        if self.order == "signed":
            return bits - 2 * sign if bits & sign else bits
        magnitude = bits & (sign - 1)
        if self.largest is not None and magnitude > self.largest:
            return None
        if self.order == "negzero":
            return -magnitude if bits & sign else magnitude
        return -magnitude - 1 if bits & sign else magnitude

    def recode(self) -> bytes:
        """Return the table from bits to int8 that keeps the order, -128 for a NaN (a recoded dtype behaves as int8)."""
        ranks = [self.rank(bits) for bits in range(256)]
        return bytes((-128 if rank is None else rank) & 0xFF for rank in ranks)

    def key(self, minimum: bool = False, omit: bool = False) -> Key:
        """Return the key constants for a maximum or minimum that propagates or omits NaN."""
        if self.kernel != "keys":
            raise ValueError(f"{self.name} is not reduced by integer keys")
        mask = (1 << self.bits) - 1
        top = 1 << (self.bits - 1)
        order = "signed" if self.recoded else self.order
        fold = top - 1 if order == "sign" else 0
        flip = 0 if order == "unsigned" else top
        # How many keys at the low and the high end of the plain order are NaNs.
        below = above = 0
        if order == "sign" and self.largest is not None:
            below = above = top - 1 - self.largest
        elif order == "signed" and (self.recoded or self.nan is not None):
            below = 1
        elif order == "unsigned" and self.nan is not None:
            above = 1
        if minimum:
            flip ^= mask
            below, above = above, below
        turn = -above if omit else below
        nan = self.nan or 0
        if self.recoded:
            nan = top
        span = mask - below - above
        return Key(self.bits, fold, flip, turn & mask, below + above if omit else 0, span, nan)


def _integer(bits: int, sign: bool, *, used: int | None = None, package: str = "numpy") -> Dtype:
    name = f"{'int' if sign else 'uint'}{used or bits}"
    value = used or bits
    lowest, highest = (-(1 << (value - 1)), (1 << (value - 1)) - 1) if sign else (0, (1 << value) - 1)
    mask = (1 << value) - 1
    order = "signed" if sign else "unsigned"
    return Dtype(name, order, bits, lowest & mask, highest, used=used, package=package, tensorflow=package == "numpy")


def _ieee(name: str, bits: int, mantissa: int, package: str = "numpy", tensorflow: bool = False) -> Dtype:
    """Return a float whose all-ones exponent means infinity (mantissa 0) and NaN (quiet: top mantissa bit)."""
    top = 1 << (bits - 1)
    infinity = top - (1 << mantissa)
    nan = infinity | 1 << (mantissa - 1)
    return Dtype(name, "sign", bits, top | infinity - 1, infinity - 1, infinity, nan, None, None, package, tensorflow)


def _small(name: str, order: str, largest: int, nan: int | None, used: int | None = None) -> Dtype:
    """Return an ml_dtypes float of one byte without infinities."""
    sign = 1 << ((used or 8) - 1)
    return Dtype(name, order, 8, sign | largest, largest, largest, nan, used, package="ml_dtypes")


#: Every dtype, in the order in which tables and reports show them.
DTYPES: tuple[Dtype, ...] = (
    Dtype("bool", "unsigned", 8, 0, 1),
    *(_integer(bits, True) for bits in (8, 16, 32, 64)),
    *(_integer(bits, False) for bits in (8, 16, 32, 64)),
    _ieee("float16", 16, 10, tensorflow=True),
    _ieee("bfloat16", 16, 7, "ml_dtypes", tensorflow=True),
    _ieee("float32", 32, 23, tensorflow=True),
    _ieee("float64", 64, 52, tensorflow=True),
    Dtype("longdouble", "longdouble", 128),
    Dtype("complex64", "complex", 64, part="float32"),
    Dtype("complex128", "complex", 128, part="float64"),
    Dtype("datetime64", "signed", 64, (1 << 63) + 1, (1 << 63) - 1, nan=1 << 63),
    Dtype("timedelta64", "signed", 64, (1 << 63) + 1, (1 << 63) - 1, nan=1 << 63),
    _ieee("float8_e3m4", 8, 4, "ml_dtypes"),
    _ieee("float8_e4m3", 8, 3, "ml_dtypes"),
    _ieee("float8_e5m2", 8, 2, "ml_dtypes"),
    _small("float8_e4m3fn", "sign", 0x7E, 0x7F),
    _small("float8_e4m3b11fnuz", "negzero", 0x7F, 0x80),
    _small("float8_e4m3fnuz", "negzero", 0x7F, 0x80),
    _small("float8_e5m2fnuz", "negzero", 0x7F, 0x80),
    Dtype("float8_e8m0fnu", "unsigned", 8, 0, 0xFE, nan=0xFF, package="ml_dtypes"),
    _small("float6_e2m3fn", "sign", 0x1F, None, 6),
    _small("float6_e3m2fn", "sign", 0x1F, None, 6),
    _small("float4_e2m1fn", "sign", 0x7, None, 4),
    _integer(8, True, used=4, package="ml_dtypes"),
    _integer(8, True, used=2, package="ml_dtypes"),
    _integer(8, False, used=4, package="ml_dtypes"),
    _integer(8, False, used=2, package="ml_dtypes"),
    _integer(8, True, used=1, package="ml_dtypes"),
    _integer(8, False, used=1, package="ml_dtypes"),
    Dtype("complex32", "complex", 32, part="float16", package="ml_dtypes"),
    Dtype("bcomplex32", "complex", 32, part="bfloat16", package="ml_dtypes"),
    Dtype("clongdouble", "numpy", 256, part="longdouble"),
    Dtype("object", "numpy", 64),
    Dtype("StringDType", "numpy", 128),
)

BY_NAME = {row.name: row for row in DTYPES}

#: NumPy's type numbers whose dtype names carry a unit or depend on the platform. (Not its type characters: ml_dtypes
#: gives some of them to types of its own.)
_BY_NUMBER = {13: "longdouble", 16: "clongdouble", 21: "datetime64", 22: "timedelta64", 2056: "StringDType"}


def lookup(dtype: Any) -> Dtype | None:
    """Return the row of a NumPy dtype, whatever its byte order and unit, or None.

    Where C's long double is a double, `numpy.longdouble` and `numpy.clongdouble` have float64's and complex128's rows.
    """
    if dtype.num in (13, 16) and dtype.itemsize * 8 != BY_NAME[_BY_NUMBER[dtype.num]].bits:
        return BY_NAME["float64" if dtype.num == 13 else "complex128"]
    return BY_NAME.get(_BY_NUMBER.get(dtype.num) or dtype.name)


def names(*, kernel: str | None = None, package: str | None = None, tensorflow: bool = False) -> list[str]:
    """Return the names of the rows that fit, in the table's order."""
    return [
        row.name
        for row in DTYPES
        if (kernel is None or row.kernel == kernel)
        and (package is None or row.package == package)
        and (not tensorflow or row.tensorflow)
    ]
