"""A judge must be judged: planted faults, and the families of cases that have to notice each of them.

A family that an entry names kills the mutant by itself: that is what its column in the report promises. segmax's own
functions are what is spoiled, so that a mutant differs from the contract by its fault alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import islice

import numpy as np

from . import faults, references, strategies
from .case import Case
from .catalogue import CATALOGUE
from .compare import Difference
from .faults import Fault
from .implementation import Implementation
from .run import Judge


@dataclass(frozen=True)
class Mutant:
    """One planted fault."""

    name: str  #: what is wrong, in words
    operations: str  #: patterns of the operations that it concerns, comma-separated, with `*`
    families: str  #: families that rightly kill it, comma-separated; "catalogue" are the named cases
    fault: Fault
    dtypes: str = "*"  #: patterns of the dtypes that it concerns
    raises: bool = False  #: whether an exception in place of a value is what is wrong

    def spoils(self, operation: str) -> bool:
        """Return whether an operation is spoiled."""
        return _fits(operation, self.operations)

    def concerns(self, case: Case) -> bool:
        """Return whether a case may show the fault."""
        return self.spoils(case.operation) and _fits(case.dtype, self.dtypes)


@dataclass(frozen=True)
class Verdict:
    """What judging a mutant came to: the first unexplained difference, if any, and the cases that it took."""

    difference: Difference | None
    cases: int


def make(mutant: Mutant) -> Implementation:
    """Return a subject with that fault in every operation that it concerns."""
    functions = {
        operation: mutant.fault(function) if mutant.spoils(operation) else function
        for operation, function in faults.CORRECT.items()
    }
    return Implementation(f"mutant: {mutant.name}", functions)


def find_cases(mutant: Mutant, family: str, seed: int = 0) -> Iterator[Case]:
    """Yield the cases of a family that concern a mutant, for ever unless they are the named ones."""
    if family == "catalogue":
        yield from filter(mutant.concerns, CATALOGUE.values())
    else:
        yield from strategies.generate(strategies.find_cells(mutant.operations, mutant.dtypes, family), seed)


def kill(mutant: Mutant, budget: int = 3000, families: str = "", seed: int = 0) -> Verdict:
    """Judge a mutant until the first unexplained difference, by all of its families in turn or by those given."""
    streams = [find_cases(mutant, family, seed) for family in (families or mutant.families).split(",")]
    judge = Judge(make(mutant), load_references(), keep=1)
    for number, case in enumerate(islice(_alternate(streams), budget), 1):
        tally = judge.run([case])
        if tally.differences:
            return Verdict(tally.differences[0][1], number)
    return Verdict(None, judge.tally.cases)


def load_references() -> list[Implementation]:
    """Return who judges: the model, and NumPy on elementwise operations."""
    model, numpy = references.load("model"), references.load("numpy")
    numpy.functions = {name: call for name, call in numpy.functions.items() if "segment" not in name}
    return [model, numpy]


def _fits(name: str, patterns: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns.split(","))


def _alternate(streams: Collection[Iterator[Case]]) -> Iterator[Case]:
    """Yield one item of each stream in turn until all are exhausted."""
    left = list(streams)
    while left:
        for stream in list(left):
            case = next(stream, None)
            if case is None:
                left.remove(stream)
            else:
                yield case


_MAX, _ALL, _ARG = "*segment_max", "*segment_m*", "segment_arg*"
_SORTED, _UNSORTED = "segment_*", "unsorted_*"
_NUMBERS = "int*,uint*,float*,bfloat16,complex*"
_IEEE = "float16,float32,float64,bfloat16"
_REDUCTIONS = "*.reduce,amax,amin,nanmax,nanmin"


#: Every planted fault.
MUTANTS: tuple[Mutant, ...] = (
    # NaN.
    Mutant("NaN is dropped", _ALL, "values,identity,catalogue", faults.default(nan="omit"), "*float*"),
    Mutant("NaN that was to be omitted is kept", _ALL, "options,where,catalogue", faults.without("nan"), "*float*"),
    Mutant(
        "NaN counts only as the last row of its segment",
        "segment_m*",
        "values,catalogue",
        faults.keeping(faults.omit_early),
        "*float*",
    ),
    Mutant("NaN is forgotten after the first block", _ALL, "blocks", faults.keeping(faults.omit_late), "*float*"),
    Mutant("NaT is the least of times", _MAX, "values", faults.default(nan="omit"), "datetime64,timedelta64"),
    Mutant("NaN is negative", _ALL, "values,catalogue", faults.of_result(faults.negate_nan), _IEEE),
    Mutant("argmax goes by NaN", _ARG, "values,catalogue", faults.default(nan="omit"), "*float*"),
    Mutant(
        "segments of omitted NaN only count as empty",
        _ALL,
        "options,catalogue",
        faults.before(faults.omit_as_empty),
        "*float*",
    ),
    # What a reduction starts from.
    Mutant(
        "the identity is off by one in the last place",
        "*segment_max",
        "identity,num_segments,catalogue",
        faults.before(faults.beside_lowest),
    ),
    Mutant(
        "empty segments hold zero",
        _ALL,
        "identity,ids,num_segments,catalogue",
        faults.default(fill_value=0),
        "int*,float16,float32,float64,bfloat16",
    ),
    Mutant("empty segments hold -inf", _MAX, "identity,catalogue", faults.before(faults.infinite("fill_value")), _IEEE),
    Mutant(
        "segments of -inf only hold -inf",
        _MAX,
        "values,identity,catalogue",
        faults.before(faults.infinite("initial")),
        _IEEE,
    ),
    Mutant(
        "argmax takes -inf for nothing",
        "segment_argmax",
        "identity,catalogue",
        faults.after(faults.nowhere_if_infinite),
        _IEEE,
    ),
    Mutant("initial is ignored", _ALL, "options,catalogue", faults.without("initial")),
    Mutant("initial counts in empty segments only", _ALL, "options,catalogue", faults.before(faults.initial_as_fill)),
    Mutant("fill_value is ignored", _ALL, "options,where,catalogue", faults.without("fill_value"), _NUMBERS),
    Mutant("fill_value of argmax is ignored", _ARG, "options", faults.without("fill_value")),
    Mutant("fill_value of argmax is cut to 32 bits", _ARG, "options", faults.before(faults.cut_fill)),
    Mutant(
        "a segment is empty if its maximum is the lowest value",
        _MAX,
        "options",
        faults.after(faults.empty_if_lowest),
        "bool,*int*",
    ),
    # Rows and their segments.
    Mutant("the last row is lost", _ALL, "values,ids,identity,blocks", faults.before(faults.drop_last_row)),
    Mutant(
        "the last row of a segment goes to the next", "segment_*", "values,ids,blocks", faults.of_ids(faults.shift_ends)
    ),
    Mutant(
        "the last segment is lost",
        _ALL,
        "values,blocks",
        faults.of_ids(lambda ids, count: np.where(ids == count - 1, count, ids)),
    ),
    Mutant(
        "the first segment is lost",
        _UNSORTED,
        "values,blocks",
        faults.of_ids(lambda ids, count: np.where(ids == 0, count, ids)),
    ),
    Mutant("ids wrap around num_segments", _UNSORTED, "ids", faults.of_ids(lambda ids, count: ids % count)),
    Mutant("negative ids count from the end", _UNSORTED, "ids", faults.of_ids(faults.wrap_negative)),
    Mutant("ids above go to the last segment", _ALL, "ids,catalogue", faults.of_ids(faults.clip_above)),
    Mutant("ids are cut to 32 bits", _UNSORTED, "ids", faults.of_ids(lambda ids, _: ids.astype(np.int32))),
    Mutant("ids are cut to 16 bits", _UNSORTED, "ids", faults.of_ids(lambda ids, _: ids.astype(np.int16))),
    Mutant("ids are cut to 8 bits", _UNSORTED, "blocks", faults.of_ids(lambda ids, _: ids.astype(np.int8))),
    Mutant(
        "ids go through float64",
        "segment_*",
        "ids",
        faults.of_ids(lambda ids, _: faults.through(float)(ids)),
        raises=True,
    ),
    Mutant(
        "uint64 ids are read as int64",
        "segment_*",
        "ids",
        faults.of_ids(lambda ids, _: ids.view(f"i{ids.itemsize}")),
        raises=True,
    ),
    Mutant("a segment ends with a block of rows", _ALL, "blocks", faults.keeping(faults.lose_carry)),
    Mutant("ids out of order are accepted", _SORTED, "errors,out,catalogue", faults.default(indices_are_sorted=False)),
    Mutant("ids out of order at the end are accepted", _SORTED, "errors,out", faults.before(faults.forget_last_pair)),
    Mutant("num_segments=None is one too few", _ALL, "num_segments,catalogue", faults.before(faults.count_too_few)),
    Mutant(
        "num_segments=None overflows in the ids' dtype",
        _ALL,
        "num_segments,catalogue",
        faults.before(faults.count_in_own_dtype),
    ),
    Mutant(
        "num_segments=0 is refused",
        _ALL,
        "num_segments,catalogue",
        faults.refuse(lambda count: count is not None and count == 0),
        raises=True,
    ),
    Mutant(
        "num_segments must be Python's int",
        _ALL,
        "num_segments",
        faults.refuse(lambda count: isinstance(count, np.integer)),
        raises=True,
    ),
    Mutant(
        "ids of rank 2 are read column by column",
        _UNSORTED,
        "shapes",
        faults.of_ids(lambda ids, _: ids.ravel(order="F").reshape(ids.shape)),
    ),
    Mutant(
        "data without elements has no segments",
        _ALL,
        "shapes",
        faults.after(lambda result, given: result if given["data"].size else result[:0]),
    ),
    Mutant("the row at indptr's end counts, too", "segment_max", "indptr,catalogue", faults.include_ends, _NUMBERS),
    Mutant("rows outside of indptr count", "segment_m*", "indptr,catalogue", faults.before(faults.widen_offsets)),
    Mutant("argmax counts from indptr's start", _ARG, "indptr,catalogue", faults.after(faults.from_offset)),
    Mutant("indptr always cuts axis 0", _ALL + ",segment_arg*", "indptr", faults.before(faults.cut_first_axis)),
    # Layouts.
    Mutant("negative strides are ignored", _ALL, "layouts", faults.of_data(faults.read_forward)),
    Mutant("gaps between rows are ignored", _ALL, "layouts", faults.of_data(faults.read_packed)),
    Mutant("Fortran order is taken for C order", _ALL, "layouts", faults.of_data(faults.read_transposed)),
    Mutant("byte-swapped data are read as native", _ALL, "layouts", faults.of_data(faults.read_native), _NUMBERS),
    Mutant(
        "byte-swapped ids are read as native",
        _UNSORTED,
        "layouts",
        faults.of_ids(lambda ids, _: faults.read_native(ids)),
    ),
    Mutant("columns beyond a multiple of 8 are wrong", _ALL, "blocks,shapes", faults.of_result(faults.spoil_tail(8))),
    Mutant(
        "columns beyond a multiple of 4 are wrong",
        _ALL,
        "layouts,blocks,shapes",
        faults.of_result(faults.spoil_tail(4)),
    ),
    Mutant(
        "segments come first whatever the axis",
        _ALL,
        "axis",
        faults.after(lambda r, given: np.moveaxis(r, given.get("axis", 0), 0).copy()),
    ),
    Mutant("the result is in Fortran order", _ALL, "values,shapes,axis", faults.of_result(np.asfortranarray)),
    Mutant("the result is byte-swapped", _ALL, "values", faults.of_result(faults.swap), _NUMBERS),
    # Elements.
    Mutant("64-bit integers go through float64", _ALL, "values", faults.of_data(faults.through(float)), "int64,uint64"),
    Mutant("float64 goes through float32", _ALL, "values", faults.of_data(faults.through("f4")), "float64,complex128"),
    Mutant("longdouble goes through float64", _ALL, "values", faults.of_data(faults.through(float)), "longdouble"),
    Mutant(
        "subnormal numbers are flushed to zero", _ALL, "values", faults.of_data(faults.flush), "float16,float32,float64"
    ),
    Mutant("-0 becomes +0", _ALL, "values", faults.of_data(lambda data: data + np.zeros((), data.dtype)), _IEEE),
    Mutant("-0 is greater than +0", _ALL, "values,catalogue", faults.order_zeros_wrong, _IEEE),
    Mutant("bfloat16 is compared as bits", _MAX, "values", faults.greatest_by(faults.bits), "bfloat16"),
    Mutant(
        "float8 is compared as bits",
        _MAX,
        "values",
        faults.greatest_by(faults.bits),
        "float8_e5m2,float8_e4m3*,float8_e3m4",
    ),
    Mutant(
        "uint64 is compared as int64",
        _MAX,
        "values,catalogue",
        faults.greatest_by(lambda data: data.view("i8")),
        "uint64",
    ),
    Mutant(
        "signed integers are compared as unsigned",
        _MAX,
        "values",
        faults.greatest_by(faults.bits),
        "int8,int16,int32,int64",
    ),
    Mutant(
        "complex numbers are compared by magnitude",
        _MAX,
        "values,catalogue",
        faults.greatest_by(np.abs),
        "complex64,complex128",
    ),
    Mutant(
        "complex numbers are compared by their real part",
        _MAX,
        "values,catalogue",
        faults.greatest_by(np.real),
        "complex64,complex128",
    ),
    Mutant("strings are compared by length", _MAX, "values", faults.greatest_by(np.strings.str_len), "StringDType"),
    Mutant(
        "bool is true only as a byte of 1", _ALL, "layouts", faults.of_data(lambda data: data.view("u1") == 1), "bool"
    ),
    Mutant(
        "bits above a small type's own count", _MAX, "layouts", faults.greatest_by(faults.bits), "uint4,uint2,uint1"
    ),
    Mutant(
        "the unit of times is lost",
        _ALL,
        "values",
        faults.of_result(lambda r: r.view(f"{r.dtype.char}8[ns]")),
        "datetime64,timedelta64",
    ),
    Mutant(
        "the result has a wider dtype",
        _ALL,
        "values",
        faults.of_result(lambda r: r.astype(np.promote_types(r.dtype, float))),
        "float16,float32,int32,bfloat16",
    ),
    # Positions.
    Mutant("argmax ties go to the last row", _ARG, "values,catalogue", faults.last_tie),
    Mutant(
        "argmax counts from the first row of the segment", "segment_arg*", "values", faults.after(faults.from_segment)
    ),
    Mutant(
        "argmax holds +0 greater than -0",
        "segment_argmax",
        "values,catalogue",
        faults.of_data(faults.split_zeros),
        "float32",
    ),
    Mutant("argmax is an int32", _ARG, "values", faults.of_result(lambda r: r.astype(np.int32))),
    # Elements left out.
    Mutant("a masked array's mask is ignored", _ALL, "where,catalogue", faults.of_data(np.ma.getdata)),
    Mutant("where is ignored", _ALL + ",segment_arg*", "where,catalogue", faults.without("where")),
    Mutant(
        "where is turned round",
        _ALL,
        "where",
        faults.before(lambda given: {"where": ~given["where"]} if "where" in given else {}),
    ),
    Mutant("where is ignored after 16 rows", _ALL, "where", faults.before(faults.ignore_where_late)),
    Mutant("emptiness is decided by whole rows", _ALL, "where", faults.empty_by_row),
    # Promises.
    Mutant("out is partly written on errors", _SORTED, "out,catalogue", faults.write_on_error),
    Mutant("out is not returned", _ALL, "out,catalogue", faults.of_result(np.copy)),
    Mutant("out is not written", _ALL, "out", faults.leave_out),
    Mutant(
        "out of another dtype is cast into",
        _ALL,
        "out",
        faults.cast_into_out,
        "int8,int16,int32,int64,float16,float32,float64",
    ),
    Mutant("out over data is written while data is read", _ALL, "out,catalogue", faults.write_while_reading),
    Mutant("data is modified", _ALL, "values", faults.modify("data")),
    Mutant("segment_ids is modified", _UNSORTED, "values", faults.modify("segment_ids")),
    Mutant("errors are of the wrong kind", _ALL, "errors,catalogue", faults.raise_wrong, raises=True),
    # Elementwise.
    Mutant("fmax is maximum", "fmax", "pairs,strided,catalogue", faults.instead("maximum"), "*float*"),
    Mutant("maximum is fmax", "maximum", "pairs,strided,catalogue", faults.instead("fmax"), "*float*"),
    Mutant("minimum.reduce is fmin.reduce", "minimum.reduce", "reductions", faults.instead("fmin.reduce"), "*float*"),
    Mutant("ufuncs ignore where", "maximum,minimum,fmax,fmin", "strided", faults.without("where")),
    Mutant(
        "strided operands are read as packed",
        "maximum,minimum,fmax,fmin",
        "strided",
        faults.before(lambda given: {"x1": faults.read_packed(given["x1"])}),
    ),
    Mutant(
        "elements beyond a multiple of 8 are the first operand's",
        "maximum",
        "pairs,strided",
        faults.after(faults.tail_of_first),
    ),
    Mutant(
        "a smaller operand is broadcast by its first element",
        "maximum,fmin",
        "pairs,strided",
        faults.before(faults.repeat_first),
    ),
    Mutant("mixed operands take the first's dtype", "maximum,fmin", "mixed", faults.before(faults.cast_to_first)),
    Mutant(
        "unsigned integers are compared as signed", "minimum", "pairs", faults.as_signed, "uint8,uint16,uint32,uint64"
    ),
    Mutant(
        "maximum flushes subnormal numbers",
        "maximum",
        "pairs",
        faults.before(lambda given: {"x1": faults.flush(given["x1"])}),
        "float32,float64",
    ),
    Mutant("maximum gives the first of two zeros", "maximum,fmax", "pairs,strided,catalogue", faults.first_zero, _IEEE),
    Mutant("maximum gives the second of two NaNs", "maximum", "pairs", faults.before(faults.exchange), "float*"),
    Mutant("outer is transposed", "*.outer", "pairs,strided", faults.before(faults.exchange)),
    Mutant(
        "reductions ignore initial",
        _REDUCTIONS,
        "reductions",
        faults.without("initial", when=lambda given: given.get("where") is None and given[next(iter(given))].size > 0),
    ),
    Mutant("reductions ignore where", _REDUCTIONS, "reductions", faults.without("where")),
    Mutant("reductions ignore keepdims", _REDUCTIONS, "reductions", faults.without("keepdims")),
    Mutant("reductions take every axis", _REDUCTIONS, "reductions", faults.before(lambda _: {"axis": None}), _NUMBERS),
    Mutant("accumulate looks back one element only", "maximum.accumulate", "scans", faults.step_only("maximum")),
    Mutant("accumulate starts anew after 16 elements", "*.accumulate", "scans", faults.start_anew),
    Mutant(
        "accumulate goes along the next axis",
        "*.accumulate",
        "scans",
        faults.before(lambda given: {"axis": (given["axis"] + 1) % given["array"].ndim}),
    ),
    Mutant(
        "reduceat takes decreasing indices for empty slices",
        "*.reduceat",
        "slices",
        faults.after(faults.empty_if_backwards),
        _NUMBERS,
    ),
    Mutant("reduceat loses the last element", "*.reduceat", "slices", faults.before(faults.lose_last)),
    Mutant("at combines repeated indices once", "maximum.at", "scatters", faults.buffered("maximum")),
    Mutant("at skips negative indices", "*.at", "scatters", faults.before(faults.skip_negative)),
)
