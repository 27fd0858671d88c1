"""Whatever hypothesis thinks of: the library and the slow model give the same bits or the same error."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("hypothesis")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import segmax
from segmax import _reference

from .arrays import PLAIN, assert_same, dtype_of

FUNCTIONS = ["segment_max", "segment_min", "segment_argmax", "segment_argmin"]


@st.composite
def calls(draw):
    """Return a function's name and its arguments."""
    name = draw(st.sampled_from([name for name in PLAIN if "longdouble" not in name]))
    dtype = dtype_of(name)
    rows, width = draw(st.integers(0, 40)), draw(st.integers(1, 3))
    pool = draw(st.lists(st.binary(min_size=dtype.itemsize, max_size=dtype.itemsize), min_size=1, max_size=6))
    if name == "bool":
        pool = [bytes([item[0] & 1]) for item in pool]
    picks = draw(st.lists(st.integers(0, len(pool) - 1), min_size=rows * width, max_size=rows * width))
    data = np.frombuffer(b"".join(pool[k] for k in picks), dtype).reshape(rows, width)
    count = draw(st.integers(0, 6))
    kind = draw(st.sampled_from(["ids", "sorted ids", "unsorted ids", "indptr"]))
    options = {"nan": draw(st.sampled_from(["propagate", "omit"]))}
    if kind == "indptr":
        options["indptr"] = sorted(draw(st.lists(st.integers(0, rows), min_size=count + 1, max_size=count + 1)))
    else:
        ids = draw(st.lists(st.integers(-2, 7), min_size=rows, max_size=rows))
        options["segment_ids"] = np.array(
            sorted(ids) if kind == "sorted ids" else ids, draw(st.sampled_from(["i1", "i4", ">i8"]))
        )
        options["num_segments"] = draw(st.sampled_from([None, count]))
        options["indices_are_sorted"] = kind != "unsorted ids"
    if draw(st.booleans()):
        options["where"] = np.array(draw(st.lists(st.booleans(), min_size=width, max_size=width)))
    function = draw(st.sampled_from(FUNCTIONS))
    for option in ("initial", "fill_value"):
        if draw(st.booleans()) and not ("arg" in function and option == "initial"):
            options[option] = draw(st.integers(-3, 300)) if "arg" in function else np.frombuffer(pool[0], dtype)[0]
    return function, data, options


@settings(
    max_examples=400, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(call=calls(), setting=st.integers(0, 7))
def test_library_equals_model(built_as, settings, call, setting):
    function, data, options = call
    try:
        expected = getattr(_reference, function)(data, **options)
    except (ValueError, TypeError) as error:
        with built_as(*settings[setting % len(settings)]), pytest.raises(type(error)):
            getattr(segmax, function)(data, **options)
        return
    with built_as(*settings[setting % len(settings)]):
        assert_same(getattr(segmax, function)(data, **options), expected)
