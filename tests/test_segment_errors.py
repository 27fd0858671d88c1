"""Bad input: the exception, a sentence that names argument, value, position and the way out, and nothing written.

Both the library and the slow model are held to it.
"""

from __future__ import annotations

import numpy as np
import pytest

import segmax
from segmax import _reference

from .arrays import dtype_of

ROW = np.arange(6, dtype=np.float32)
IDS = [0, 0, 1, 1, 3, 3]
HUGE = 2**63


def out_of(shape=(4,), dtype=np.float32):
    return np.full(shape, 7, dtype)


def read_only():
    out = out_of()
    out.flags.writeable = False
    return out


#: What is wrong: keyword arguments, the exception, words of its sentence.
CASES = {
    "decreasing ids": (
        {"segment_ids": [0, 1, 5, 3, 2, 9]},
        ValueError,
        ["segment_ids", "5", "2", "3", "unsorted_segment_max"],
    ),
    "decreasing at the end": ({"segment_ids": [0, 1, 2, 3, 9, 8]}, ValueError, ["9 at position 4", "8 at position 5"]),
    "decreasing among dropped ids": ({"segment_ids": [-1, -2, 0, 0, 0, 0]}, ValueError, ["-1 at position 0", "-2"]),
    "decreasing uint64 ids": (
        {"segment_ids": np.array([0, 1, 2, 3, 2**64 - 1, 2**64 - 2], "u8"), "num_segments": 4},
        ValueError,
        [str(2**64 - 1), str(2**64 - 2), "position 4"],
    ),
    "decreasing rank-2 ids": (
        {"data": ROW.reshape(2, 3), "segment_ids": [[0, 1, 2], [1, 2, 3]]},
        ValueError,
        ["2 at position 2", "1 at position 3"],
    ),
    "float ids": ({"segment_ids": np.zeros(6)}, TypeError, ["segment_ids", "float64"]),
    "empty float ids": ({"data": ROW[:0], "segment_ids": np.zeros(0)}, TypeError, ["segment_ids", "float64"]),
    "bool ids": ({"segment_ids": [True] * 6}, TypeError, ["segment_ids", "bool"]),
    "object ids": ({"segment_ids": np.zeros(6, object)}, TypeError, ["segment_ids", "object"]),
    "text ids": ({"segment_ids": ["a"] * 6}, TypeError, ["segment_ids", "<U1"]),
    "ids too few": ({"segment_ids": [0, 0, 1]}, ValueError, ["segment_ids", "(3,)", "(6,)"]),
    "ids of higher rank": ({"segment_ids": [[0, 0, 1, 1, 3, 3]]}, ValueError, ["segment_ids", "(1, 6)", "(6,)"]),
    "ids that are a suffix": (
        {"data": ROW.reshape(2, 3), "segment_ids": [0, 0, 1]},
        ValueError,
        ["segment_ids", "(3,)", "(2, 3)"],
    ),
    "num_segments negative": ({"num_segments": -1}, ValueError, ["num_segments", "-1"]),
    "num_segments very negative": ({"num_segments": -67794891775896}, ValueError, ["num_segments", "-67794891775896"]),
    "num_segments below int64": ({"num_segments": -(2**70)}, ValueError, ["num_segments", str(-(2**70))]),
    "num_segments bool": ({"num_segments": True}, TypeError, ["num_segments", "True"]),
    "num_segments NumPy bool": ({"num_segments": np.True_}, TypeError, ["num_segments", "True"]),
    "num_segments float": ({"num_segments": 4.0}, TypeError, ["num_segments", "4.0"]),
    "num_segments array": ({"num_segments": np.array([4])}, TypeError, ["num_segments"]),
    "num_segments text": ({"num_segments": "4"}, TypeError, ["num_segments", "'4'"]),
    "num_segments above memory": (
        {"num_segments": 2**61 - 1},
        (MemoryError, ValueError),
        ["num_segments", str(2**61 - 1)],
    ),
    "num_segments near 2**63": ({"num_segments": HUGE - 1}, (MemoryError, ValueError), ["num_segments", str(HUGE - 1)]),
    "num_segments 2**63": ({"num_segments": HUGE}, (MemoryError, ValueError), ["num_segments", str(HUGE)]),
    "num_segments 2**64": ({"num_segments": 2**64}, (MemoryError, ValueError), ["num_segments", str(2**64)]),
    "num_segments times width near 2**63": (
        {"data": np.zeros((6, 1024), "f4"), "num_segments": 2**53},
        (MemoryError, ValueError),
        ["num_segments", str(2**53)],
    ),
    "num_segments from a huge id": (
        {"segment_ids": [0, 0, 1, 1, 3, 1676240524292489355]},
        (MemoryError, ValueError),
        ["num_segments", "1676240524292489356"],
    ),
    "num_segments from the greatest uint64": (
        {"segment_ids": np.array([0, 0, 1, 1, 3, 2**64 - 1], "u8")},
        (MemoryError, ValueError),
        ["num_segments", str(2**64)],
    ),
    "num_segments that indptr has not": (
        {"segment_ids": None, "indptr": [0, 6], "num_segments": 2},
        ValueError,
        ["num_segments", "2", "indptr", "1"],
    ),
    "out of a wrong shape": ({"out": out_of((5,))}, ValueError, ["out", "(5,)", "(4,)"]),
    "out of a wrong rank": ({"out": out_of((4, 1))}, ValueError, ["out", "(4, 1)", "(4,)"]),
    "out of a wrong dtype": ({"out": out_of(dtype=np.float64)}, TypeError, ["out", "float64", "float32"]),
    "out of another byte order": ({"out": out_of(dtype=">f4")}, TypeError, ["out", ">f4", "float32"]),
    "out read-only": ({"out": read_only()}, ValueError, ["out", "read-only"]),
    "out a list": ({"out": [0.0] * 4}, TypeError, ["out", "list"]),
    "out along another axis": (
        {"data": np.zeros((2, 6), "f4"), "axis": 1, "out": out_of((4, 2))},
        ValueError,
        ["out", "(4, 2)", "(2, 4)"],
    ),
    "indptr decreasing": (
        {"segment_ids": None, "indptr": [0, 4, 3, 6]},
        ValueError,
        ["indptr", "4 at position 1", "3 at position 2"],
    ),
    "indptr negative": ({"segment_ids": None, "indptr": [-1, 3, 6]}, ValueError, ["indptr", "-1"]),
    "indptr too long": ({"segment_ids": None, "indptr": [0, 3, 7]}, ValueError, ["indptr", "7", "6"]),
    "indptr near 2**63": ({"segment_ids": None, "indptr": [0, HUGE - 1]}, ValueError, ["indptr", str(HUGE - 1), "6"]),
    "indptr above int64": (
        {"segment_ids": None, "indptr": np.array([0, 2**64 - 1], "u8")},
        ValueError,
        ["indptr", "6"],
    ),
    "indptr of floats": ({"segment_ids": None, "indptr": [0.0, 6.0]}, TypeError, ["indptr", "float64"]),
    "indptr of bools": ({"segment_ids": None, "indptr": [False, True]}, TypeError, ["indptr", "bool"]),
    "indptr empty": ({"segment_ids": None, "indptr": np.zeros(0, int)}, ValueError, ["indptr", "(0,)"]),
    "indptr of two dimensions": ({"segment_ids": None, "indptr": [[0, 6]]}, ValueError, ["indptr", "(1, 2)"]),
    "indptr of a scalar": ({"data": 1.0, "segment_ids": None, "indptr": [0, 1]}, ValueError, ["data"]),
    "both ids and indptr": ({"indptr": [0, 6]}, TypeError, ["segment_ids", "indptr", "both"]),
    "neither ids nor indptr": ({"segment_ids": None}, TypeError, ["segment_ids", "indptr", "neither"]),
    "data of bytes": ({"data": np.zeros(6, "S3")}, TypeError, ["data", "|S3"]),
    "data of text": ({"data": np.zeros(6, "U3")}, TypeError, ["data", "<U3"]),
    "data of void": ({"data": np.zeros(6, "V3")}, TypeError, ["data", "|V3"]),
    "data of records": ({"data": np.zeros(6, "i4,f4")}, TypeError, ["data", "f0"]),
    "initial out of range": ({"data": ROW.astype("i1"), "initial": 300}, OverflowError, ["initial", "300", "int8"]),
    "initial negative for unsigned": (
        {"data": ROW.astype("u8"), "initial": -1},
        OverflowError,
        ["initial", "-1", "uint64"],
    ),
    "initial beyond 64 bits": ({"data": ROW.astype("u8"), "initial": 2**64}, OverflowError, ["initial", str(2**64)]),
    "initial with a fraction": ({"data": ROW.astype("i4"), "initial": 1.5}, TypeError, ["initial", "1.5", "int32"]),
    "initial rounded": ({"initial": 0.1}, TypeError, ["initial", "0.1", "float32"]),
    "initial rounded integer": ({"initial": 2**24 + 1}, TypeError, ["initial", str(2**24 + 1), "float32"]),
    "initial that overflows": ({"initial": 1e300}, OverflowError, ["initial", "1e+300", "float32"]),
    "initial NaN for integers": ({"data": ROW.astype("i4"), "initial": np.nan}, TypeError, ["initial", "nan", "int32"]),
    "initial infinite for integers": ({"data": ROW.astype("i4"), "initial": np.inf}, OverflowError, ["initial", "inf"]),
    "initial complex": ({"initial": 1 + 2j}, TypeError, ["initial", "(1+2j)", "float32"]),
    "initial text": ({"initial": "1"}, TypeError, ["initial", "'1'", "float32"]),
    "initial an array": ({"initial": [1.0, 2.0]}, TypeError, ["initial", "(2,)"]),
    "initial a date": ({"initial": np.datetime64("2020")}, TypeError, ["initial", "2020", "float32"]),
    "initial a number for dates": (
        {"data": ROW.astype("M8[s]"), "initial": 5},
        TypeError,
        ["initial", "5", "datetime64[s]"],
    ),
    "initial finer than the unit": (
        {"data": ROW.astype("M8[s]"), "initial": np.datetime64(1, "ms")},
        TypeError,
        ["initial", "datetime64[s]"],
    ),
    "initial of 2 for bool": ({"data": ROW.astype(bool), "initial": 2}, OverflowError, ["initial", "2", "bool"]),
    "fill_value out of range": (
        {"data": ROW.astype("i1"), "fill_value": 128},
        OverflowError,
        ["fill_value", "128", "int8"],
    ),
    "fill_value rounded": ({"fill_value": 0.1}, TypeError, ["fill_value", "0.1", "float32"]),
    "nan misspelt": ({"nan": "ignore"}, ValueError, ["nan", "'ignore'", "propagate", "omit"]),
    "nan None": ({"nan": None}, ValueError, ["nan", "None"]),
    "where that does not broadcast": ({"where": [True, False]}, ValueError, ["where", "(2,)", "(6,)"]),
    "where that would enlarge data": ({"where": np.ones((2, 6), bool)}, ValueError, ["where", "(2, 6)", "(6,)"]),
    "where of integers": ({"where": [1, 0, 1, 0, 1, 0]}, TypeError, ["where", "int64"]),
    "axis out of range": ({"axis": 1}, ValueError, ["axis 1", "1"]),
    "axis with rank-2 ids": (
        {"data": ROW.reshape(2, 3), "segment_ids": [[0, 0, 1], [1, 3, 3]], "axis": 1},
        ValueError,
        ["axis", "1", "segment_ids"],
    ),
    "axis float": ({"axis": 1.0}, TypeError, ["axis", "1.0"]),
    "axis bool": ({"axis": True}, TypeError, ["axis", "True"]),
    "objects without a lowest value": (
        {"data": ROW.astype(object)},
        ValueError,
        ["segment 2", "object", "initial", "fill_value"],
    ),
    "strings without a lowest value": (
        {"data": np.array(list("abcdef"), np.dtypes.StringDType())},
        ValueError,
        ["segment 2", "initial", "fill_value"],
    ),
}


@pytest.fixture(params=[segmax, _reference], ids=["library", "model"])
def module(request):
    return request.param


@pytest.mark.parametrize("case", CASES)
def test_bad_input(module, case):
    changes, exception, words = CASES[case]
    arguments = {"data": ROW, "segment_ids": IDS} | changes
    data = np.asarray(arguments["data"])
    if "out" not in arguments and "num_segments" not in case and data.dtype.kind not in "SUVOT":
        lead = max(np.ndim(arguments["segment_ids"]), 1)
        arguments["out"] = out_of((4, *data.shape[lead:]), data.dtype)
        if arguments["segment_ids"] is not None:
            arguments["num_segments"] = 4
    out = arguments.get("out")
    before = out.tobytes() if isinstance(out, np.ndarray) else repr(out)
    with pytest.raises(exception) as raised:
        module.segment_max(**arguments)
    message = str(raised.value)
    for word in words:
        assert word in message, f"{message!r} does not say {word!r}"
    assert (out.tobytes() if isinstance(out, np.ndarray) else repr(out)) == before, "out was written"


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("function", ["segment_min", "segment_argmax", "segment_argmin"])
def test_other_functions_raise_the_same(module, function, case):
    changes, exception, _ = CASES[case]
    if "arg" in function and ("initial" in changes or "fill_value" in changes or "out" in changes or "lowest" in case):
        return  # these mean something else there
    arguments = {"data": ROW, "segment_ids": IDS} | changes
    with pytest.raises(exception) as raised:
        getattr(module, function)(**arguments)
    if case == "decreasing ids":
        way = "indices_are_sorted=False" if "arg" in function else "unsorted_segment_min"
        assert way in str(raised.value)
        assert "unsorted_segment_arg" not in str(raised.value), "there is no such function"


def test_positions_have_no_initial(module):
    for function in (module.segment_argmax, module.segment_argmin):
        with pytest.raises(TypeError, match="initial"):
            function(ROW, IDS, initial=1.0)


@pytest.mark.parametrize("fill", [1.5, True, "a", np.nan])
def test_a_position_is_an_integer(module, fill):
    with pytest.raises(TypeError, match="fill_value"):
        module.segment_argmax(ROW, IDS, fill_value=fill)


def test_a_position_fits_in_int64(module):
    with pytest.raises(OverflowError, match="fill_value is 9223372036854775808"):
        module.segment_argmax(ROW, IDS, fill_value=2**63)
    for fill in (-(2**63), 2**63 - 1, np.uint8(7)):
        assert module.segment_argmax(ROW, IDS, fill_value=fill)[2] == fill


@pytest.mark.parametrize("rows", [1, 2, 255, 256, 257, 258, 511, 512, 513, 5000])
def test_disorder_is_found_anywhere(rows, built_as, settings):
    """The first position whose id is greater than the next, whatever the block, thread and level it falls into."""
    rng = np.random.default_rng(rows)
    data, ids = rng.standard_normal((rows, 3)).astype("f4"), np.sort(rng.integers(0, rows // 3 + 2, rows))
    for setting in settings:
        with built_as(*setting):
            for width in (1, 3):
                for _ in range(5):
                    if rows < 2:
                        continue
                    at = int(rng.integers(0, rows - 1))
                    bad = ids.copy()
                    bad[at] = bad[at + 1 :].min() + 1 + rng.integers(0, 2)
                    first = int(np.flatnonzero(bad[1:] < bad[:-1])[0])
                    for kind in ("i4", "i8", "u2", ">i4"):
                        given = bad.astype(kind)
                        for out in (None, np.full((rows, width), 7, "f4")):
                            with pytest.raises(ValueError, match=f"from {bad[first]} at position {first} to") as raised:
                                segmax.segment_max(data[:, :width], given, rows, out=out)
                            assert f"{bad[first + 1]} at position {first + 1}" in str(raised.value)
                            assert out is None or (out == 7).all()


def test_unsorted_functions_name_no_order(module):
    got = module.unsorted_segment_max(ROW, IDS[::-1])
    assert got.tolist() == [5, 3, float(np.finfo("f4").min), 1]
    with pytest.raises(TypeError, match="segment_ids"):
        module.unsorted_segment_max(ROW)


def test_an_error_leaves_the_library_usable(built_as):
    data = np.arange(10_000, dtype="f4")
    ids = np.repeat(np.arange(100), 100)
    with built_as("baseline", 2, 0):
        expected = segmax.segment_max(data, ids)
        for _ in range(20):
            with pytest.raises(ValueError, match="decrease"):
                segmax.segment_max(data, ids[::-1])
            assert segmax.segment_max(data, ids).tobytes() == expected.tobytes()


def test_small_type_without_nan_refuses_it(module):
    data = np.zeros(6, dtype_of("float4_e2m1fn"))
    with pytest.raises(TypeError, match="initial is nan"):
        module.segment_max(data, IDS, initial=np.nan)
