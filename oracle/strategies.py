"""Families of cases: each function makes one case of its family from a random generator, an operation and a dtype.

`generate` walks over families, operations and dtypes; the same seed gives the same cases. A family is what the report
shows as a column, so each is about one thing that can go wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from fnmatch import fnmatch
from itertools import count
from typing import Any

import numpy as np

from .arrays import LAYOUTS, ROWS, Array, dtype_of, row_of
from .case import METHODS, OPERATIONS, REDUCTIONS, SEGMENT_OPERATIONS, UFUNCS, Case
from .elements import ID_DTYPES, ID_PATTERNS, find_nan, find_special, make_elements, make_ids

Rng = np.random.Generator

#: Layouts that random cases choose from ("constant" needs equal rows, "scalar" no dimension, `out` must be writable).
_LAYOUTS = [name for name in LAYOUTS if name not in ("constant", "scalar")]
_OUT_LAYOUTS = [name for name in _LAYOUTS if name not in ("read_only", "swapped")]


def _choose(rng: Rng, items: Collection[Any]) -> Any:
    return list(items)[int(rng.integers(len(items)))]


def _make_plain(rng: Rng, operation: str, family: str, dtype: str, pattern: str = "even", widest: int = 4) -> Case:
    """Return a small case without options, with ids that TensorFlow takes in most cases."""
    rows, segments = int(rng.integers(0, 24)), int(rng.integers(1, 8))
    width = () if rng.random() < 0.5 else (int(rng.integers(1, widest + 1)),)
    id_dtype = _choose(rng, ("int32", "int64")) if rng.random() < 0.7 else _choose(rng, ID_DTYPES)
    ids = make_ids(rng, pattern, rows, segments, id_dtype)
    if operation.startswith("unsorted"):
        ids = rng.permutation(ids)
    data = make_elements(rng, dtype, (rows, *width))
    return _needing_fill(Case.of(operation, family, data=data, segment_ids=ids, num_segments=segments), dtype)


def _needing_fill(case: Case, dtype: str) -> Case:
    """Return the case with what its empty segments hold, where the dtype has no lowest value."""
    if row_of(dtype).order != "numpy" or row_of(dtype).part or "arg" in case.operation:
        return case
    return case.change(fill_value=-1 if dtype == "object" else "")


def make_values(rng: Rng, operation: str, dtype: str) -> Case:
    """Make special values: limits, infinities, NaNs of all payloads, zeros of both signs, subnormals, ties."""
    return _make_plain(rng, operation, "values", dtype)


def make_identity(rng: Rng, operation: str, dtype: str) -> Case:
    """Nothing above the lowest value: empty segments, -inf only, NaN only."""
    special = find_special(row_of(dtype).part or dtype) if dtype not in ("object", "StringDType") else None
    case = _make_plain(rng, operation, "identity", dtype, "sparse")
    if special is None or case["data"].plain.size == 0:
        return case
    values = np.sort(special[~find_nan(special)])
    edge = values[-1] if operation.endswith("min") else values[0]
    few = np.array([edge, *special[find_nan(special)][:1]], special.dtype)
    parts = 2 if row_of(dtype).part else 1
    data = rng.choice(few, (case["data"].plain.size, parts)).view(dtype_of(dtype)).reshape(case["data"].shape)
    return case.change(data=data)


def make_ids_case(rng: Rng, operation: str, dtype: str) -> Case:
    """Patterns of ids: even, one segment, one row each, skewed, mostly empty, out of range on both sides."""
    return _make_plain(rng, operation, "ids", dtype, _choose(rng, ID_PATTERNS))


def make_counts(rng: Rng, operation: str, dtype: str) -> Case:
    """num_segments: exact, too few, too many, zero, None, as NumPy integers and arrays without dimension."""
    case = _make_plain(rng, operation, "num_segments", dtype, _choose(rng, ("even", "sparse", "outside")))
    ids = case["segment_ids"].plain
    if ids.size and rng.random() < 0.1:
        # As many segments as the dtype of the ids cannot count.
        return case.change(segment_ids=np.append(np.clip(ids[1:], 0, 127), 127).astype(np.int8), num_segments=None)
    top = int(ids.max()) if ids.size else -1
    counts = [0, 1, 2, 7, 40, *([None, max(top + 1, 0), max(top - 1, 0)] if top < 200 else [])]
    chosen = _choose(rng, counts)
    if chosen is None or rng.random() < 0.7:
        return case.change(num_segments=chosen)
    return case.change(num_segments=Array.of(np.int16(chosen), _choose(rng, ("", "scalar"))))


def make_shapes(rng: Rng, operation: str, dtype: str) -> Case:
    """Ids of rank 0 to 3, data of rank 0 to 4, no elements, wide rows."""
    lead = tuple(int(k) for k in rng.choice([0, 1, 2, 3, 5], rng.integers(0, 4), p=[0.1, 0.2, 0.3, 0.2, 0.2]))
    inner = tuple(
        int(k) for k in rng.choice([0, 1, 2, 3, 17, 33], rng.integers(0, 3), p=[0.1, 0.2, 0.3, 0.2, 0.1, 0.1])
    )
    ids = rng.integers(-1, 5, int(np.prod(lead)))
    ids = ids if operation.startswith("unsorted") else np.sort(ids)
    ids = ids.astype(_choose(rng, ("int32", "int64"))).reshape(lead)
    data = make_elements(rng, dtype, lead + inner)
    return _needing_fill(Case.of(operation, "shapes", data=data, segment_ids=ids, num_segments=4), dtype)


def make_layouts(rng: Rng, operation: str, dtype: str) -> Case:
    """Strides, order, alignment and byte order of data and ids."""
    case = _make_plain(rng, operation, "layouts", dtype, _choose(rng, ("even", "skewed", "outside")), 9)
    data, ids = case["data"], case["segment_ids"]
    layout = _choose(rng, _LAYOUTS)
    if rng.random() < 0.2:
        layout = f"swapped+{_choose(rng, ('rows_apart', 'reversed', 'elements_apart'))}"
    if rng.random() < 0.1 and len(data.plain):
        data, layout = Array.of(np.broadcast_to(data.plain[:1], data.shape)), "constant"
    id_layout = _choose(rng, ["", *_LAYOUTS]) if rng.random() < 0.5 else ""
    return case.change(data=data.with_layout(layout), segment_ids=ids.with_layout(id_layout))


def make_options(rng: Rng, operation: str, dtype: str) -> Case:
    """Give `initial`, `fill_value` and `nan`, alone and together."""
    case = _make_plain(rng, operation, "options", dtype, _choose(rng, ("even", "sparse")))
    if rng.random() < 0.5:
        case = case.change(nan="omit")
    if "arg" in operation:
        return case.change(fill_value=int(rng.choice([-1, 0, -7, 2**40])))
    if rng.random() < 0.6:
        case = case.change(initial=_choose_scalar(rng, dtype))
    return case.change(fill_value=_choose_scalar(rng, dtype)) if rng.random() < 0.6 else case


def _choose_scalar(rng: Rng, dtype: str) -> Any:
    """Return an element of the dtype, as an item of JSON, a NumPy scalar or an array without dimension."""
    elements = make_elements(rng, dtype, (1,))
    return elements[0] if elements.dtype.kind in "OT" else Array.of(elements[0], _choose(rng, ("", "scalar")), dtype)


def make_where(rng: Rng, operation: str, dtype: str) -> Case:
    """Elements left out: `where` of every shape that broadcasts, masked arrays, with and without fill_value."""
    case = _make_plain(rng, operation, "where", dtype)
    shape = case["data"].shape
    chance = rng.choice([0.1, 0.5, 0.9])
    if rng.random() < 0.3:
        case = case.change(mask=rng.random(shape) < chance)
    else:
        cut = tuple(1 if rng.random() < 0.2 else size for size in shape)[int(rng.integers(0, 2)) * (len(shape) - 1) :]
        case = case.change(where=rng.random(cut) < chance)
    if rng.random() < 0.3:
        case = case.change(nan="omit")
    if rng.random() < 0.3 and "arg" not in operation:
        case = case.change(fill_value=_choose_scalar(rng, dtype))
    return case


def make_indptr(rng: Rng, operation: str, dtype: str) -> Case:
    """CSR offsets instead of ids, at times with rows before the first and after the last segment; any axis."""
    operation = operation.removeprefix("unsorted_")
    case = _make_plain(rng, operation, "indptr", dtype, widest=5)
    rows = len(case["data"].plain)
    offsets = np.sort(rng.integers(0, rows + 1, rng.integers(1, 9))).astype(_choose(rng, ID_DTYPES))
    if rng.random() < 0.4:
        shape = [rows, *(int(k) for k in rng.integers(1, 9, rng.integers(1, 3)))]
        axis = int(rng.integers(1, len(shape)))
        data = make_elements(rng, dtype, (*shape[1 : axis + 1], rows, *shape[axis + 1 :]))
        case = case.change(data=data, axis=axis - (len(shape) if rng.random() < 0.5 else 0))
    return case.without("segment_ids", "num_segments").change(indptr=offsets)


def make_axis(rng: Rng, operation: str, dtype: str) -> Case:
    """Put the segmented axis anywhere."""
    case = _make_plain(rng, operation, "axis", dtype)
    rows, ndim = len(case["data"].plain), int(rng.integers(1, 4))
    axis = int(rng.integers(-ndim, ndim))
    shape = [int(k) for k in rng.integers(1, 4, ndim)]
    shape[axis] = rows
    return case.change(data=make_elements(rng, dtype, tuple(shape)), axis=axis)


def make_out(rng: Rng, operation: str, dtype: str) -> Case:
    """Give a caller's `out`: any strides, overlapping data, of a wrong shape or dtype, with ids out of order."""
    case = _make_plain(rng, operation, "out", dtype)
    data, segments = case["data"], case["num_segments"]
    result = dtype if "arg" not in operation else "int64"
    choice = rng.random()
    if choice < 0.25 and "arg" not in operation and len(data.plain) > 1:
        count = int(rng.integers(1, len(data.plain) + 1))
        return case.change(num_segments=count, out=_choose(rng, ("data", "data reversed")))
    shape = (segments, *data.shape[1:])
    if choice < 0.35:
        shape = (segments + 1, *data.shape[1:])
    elif choice < 0.45:
        result = "float64" if result != "float64" else "float32"
    elif choice < 0.6 and len(data.plain) > 1:
        case = case.change(segment_ids=case["segment_ids"].plain[::-1].copy())
    layout = _choose(rng, ["", *_OUT_LAYOUTS])
    if len(shape) == 1 and layout == "elements_apart":
        layout = "rows_apart"
    return case.change(out=Array.of(make_elements(rng, result, shape), layout))


def make_errors(rng: Rng, operation: str, dtype: str) -> Case:
    """Make what must be refused: ids out of order or no integers, wrong shapes, wrong numbers and scalars."""
    case = _make_plain(rng, operation, "errors", dtype)
    data, ids = case["data"], case["segment_ids"]
    rows = len(ids.plain)
    wrong: list[dict[str, Any]] = [
        {"num_segments": _choose(rng, (-1, 2.5, True, "3", 2**62))},
        {"segment_ids": _choose(rng, (ids.plain.astype(float), ids.plain > 2, ids.plain.astype("U4")))},
        {"data": make_elements(rng, dtype, (rows + 1, 2))},
        {"nan": _choose(rng, ("ignore", "", None))},
        {"axis": _choose(rng, (5, -4, 1.5))},
        {"where": np.ones(rows + 1, bool)},
        {"where": np.ones(rows, np.int8)},
        {"data": np.array(["a", "b"] * rows)[:rows]},
        {"indptr": np.array([0, rows])},
    ]
    if "arg" not in operation:
        wrong.append({"initial": _choose(rng, ("x", 1e400, 10**30, 0.1, np.array([1, 2])))})
    if rows > 1:
        wrong.append({"segment_ids": rng.permutation(np.arange(rows)).astype(ids.dtype)})
    if rng.random() < 0.3 and not operation.startswith("unsorted"):
        offsets = _choose(rng, ([0, rows + 1], [2, 1], [-1, 0], []))
        case = case.without("segment_ids", "num_segments")
        wrong = [{"indptr": np.array(offsets, np.int64)}, {"indptr": np.array([0.0, 1.0])}, {}]
    return case.change(**_choose(rng, wrong)) if data.dtype else case


def make_blocks(rng: Rng, operation: str, dtype: str) -> Case:
    """Rows around the sizes at which kernels change their way: vectors, blocks, buffers, threads."""
    size = int(_choose(rng, (16, 32, 64, 128, 256, 512, 1024, 2048))) + int(rng.integers(-1, 2))
    width = int(_choose(rng, (1, 1, 2, 3, 4, 7, 8, 16, 31))) if size < 300 else 1
    segments = max(1, size // int(_choose(rng, (1, 2, 5, 17, 300))))
    ids = make_ids(rng, _choose(rng, ("even", "skewed", "one")), size, segments, _choose(rng, ("int32", "int64")))
    if operation.startswith("unsorted"):
        ids = rng.permutation(ids)
    data = make_elements(rng, dtype, (size, width) if width > 1 else (size,))
    return _needing_fill(Case.of(operation, "blocks", data=data, segment_ids=ids, num_segments=segments), dtype)


# Elementwise.

#: Lengths around vector and buffer sizes; most are short.
_LENGTHS = (0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 130)


def _shape(rng: Rng) -> tuple[int, ...]:
    if rng.random() < 0.6:
        return (int(_choose(rng, _LENGTHS)),)
    return tuple(int(k) for k in rng.integers(0, 5, rng.integers(0, 4)))


def make_pairs(rng: Rng, operation: str, dtype: str) -> Case:
    """Two operands of one dtype, broadcast."""
    shape = _shape(rng)
    other = tuple(1 if rng.random() < 0.15 else size for size in shape)[int(rng.integers(0, 2)) and len(shape) // 2 :]
    x1, x2 = (make_elements(rng, dtype, given) for given in (shape, other))
    return Case.of(operation, "pairs", x1=x1, x2=x2)


def make_mixed(rng: Rng, operation: str, dtype: str) -> Case:
    """Two operands of different dtypes."""
    case = make_pairs(rng, operation, dtype)
    other = _choose(rng, [row.name for row in ROWS])
    return Case.of(operation, "mixed", x1=case["x1"], x2=make_elements(rng, other, case["x2"].shape))


def make_strided(rng: Rng, operation: str, dtype: str) -> Case:
    """Operands in every layout, with `out` and `where`."""
    case = make_pairs(rng, operation, dtype)
    x1, x2 = (case[name].with_layout(_choose(rng, ["", *_LAYOUTS])) for name in ("x1", "x2"))
    case = Case.of(operation, "strided", x1=x1, x2=x2)
    if operation.endswith(".outer"):
        return case
    shape = np.broadcast_shapes(x1.shape, x2.shape)
    if rng.random() < 0.5 and shape:
        case = case.change(out=Array.of(make_elements(rng, dtype, shape), _choose(rng, ("", "reversed", "rows_apart"))))
        if rng.random() < 0.6:
            case = case.change(where=rng.random(shape) < 0.5)
    return case


def make_reductions(rng: Rng, operation: str, dtype: str) -> Case:
    """Reductions over any axes, with `keepdims`, `initial`, `where` and layouts."""
    shape = _shape(rng)
    first = "a" if operation in REDUCTIONS else "array"
    array = Array.of(make_elements(rng, dtype, shape), _choose(rng, ["", "", *_LAYOUTS]))
    axes = [None, *range(-len(shape), len(shape))]
    case = Case.of(operation, "reductions", **{first: array}, axis=_choose(rng, axes), keepdims=bool(rng.integers(2)))
    if rng.random() < 0.4 and dtype != "StringDType":
        case = case.change(initial=_choose_scalar(rng, dtype))
        if rng.random() < 0.6:
            case = case.change(where=rng.random(shape) < 0.6)
    return case


def make_scans(rng: Rng, operation: str, dtype: str) -> Case:
    """Accumulate along any axis."""
    shape = _shape(rng) or (3,)
    array = Array.of(make_elements(rng, dtype, shape), _choose(rng, ["", *_LAYOUTS]))
    return Case.of(operation, "scans", array=array, axis=int(rng.integers(-len(shape), len(shape))))


def make_slices(rng: Rng, operation: str, dtype: str) -> Case:
    """reduceat, also where an index is not below the next."""
    length = int(rng.integers(1, 30))
    array = Array.of(make_elements(rng, dtype, (length,)), _choose(rng, ["", *_LAYOUTS]))
    return Case.of(operation, "slices", array=array, indices=rng.integers(0, length, rng.integers(0, 8)))


def make_scatters(rng: Rng, operation: str, dtype: str) -> Case:
    """at, with repeated indices."""
    length, number = int(rng.integers(1, 12)), int(rng.integers(0, 20))
    a = Array.of(make_elements(rng, dtype, (length,)), _choose(rng, ["", *_OUT_LAYOUTS]))
    indices = rng.integers(-length, length, number)
    return Case.of(operation, "scatters", a=a, indices=indices, b=make_elements(rng, dtype, (number,)))


Family = Callable[[Rng, str, str], Case]

#: Families of the operations on segments.
SEGMENT_FAMILIES: dict[str, Family] = {
    "values": make_values,
    "identity": make_identity,
    "ids": make_ids_case,
    "num_segments": make_counts,
    "shapes": make_shapes,
    "layouts": make_layouts,
    "options": make_options,
    "where": make_where,
    "indptr": make_indptr,
    "axis": make_axis,
    "out": make_out,
    "errors": make_errors,
    "blocks": make_blocks,
}
_BINARY: dict[str, Family] = {"pairs": make_pairs, "mixed": make_mixed, "strided": make_strided}

#: Families of the elementwise operations, by the method of the ufunc.
METHOD_FAMILIES: dict[str, dict[str, Family]] = {
    "": _BINARY,
    ".outer": _BINARY,
    ".reduce": {"reductions": make_reductions},
    ".accumulate": {"scans": make_scans},
    ".reduceat": {"slices": make_slices},
    ".at": {"scatters": make_scatters},
}

#: Every operation with its families.
FAMILIES: dict[str, dict[str, Family]] = (
    dict.fromkeys(SEGMENT_OPERATIONS, SEGMENT_FAMILIES)
    | {name + method: METHOD_FAMILIES[method] for name in UFUNCS for method in METHODS}
    | {operation: {"reductions": make_reductions} for operation in REDUCTIONS}
)

#: Names of all families, those of the named cases first.
FAMILY_NAMES = ("catalogue", "proof", *dict.fromkeys(name for families in FAMILIES.values() for name in families))


def find_cells(operations: str = "*", dtypes: str = "*", families: str = "*") -> list[tuple[str, str, str]]:
    """Return (family, operation, dtype) of all that fit the patterns (comma-separated, with `*`)."""

    def fits(name: str, patterns: str) -> bool:
        return any(fnmatch(name, pattern) for pattern in patterns.split(","))

    return [
        (family, operation, row.name)
        for operation in OPERATIONS
        if fits(operation, operations)
        for family in FAMILIES[operation]
        if fits(family, families)
        for row in ROWS
        if fits(row.name, dtypes)
    ]


def make_case(cell: tuple[str, str, str], seed: int, number: int) -> Case:
    """Return case `number` of a cell."""
    family, operation, dtype = cell
    # Not the position of the cell: the same case comes whatever else is asked for.
    rng = np.random.default_rng([seed, number, *"/".join(cell).encode()])
    return FAMILIES[operation][family](rng, operation, dtype)


def generate(cells: Collection[tuple[str, str, str]], seed: int = 0) -> Iterator[Case]:
    """Yield cases for ever, if there are cells: one of each, in an order that mixes them, then the next of each."""
    ordered = list(cells)
    for number in count() if ordered else ():
        for k in np.random.default_rng([seed, number]).permutation(len(ordered)).tolist():
            yield make_case(ordered[k], seed, number)
