"""Ids in any disorder, threads and all: an error that names the place, and nothing outside the output is touched."""

from __future__ import annotations

import numpy as np
import pytest

import segmax
from segmax import _segment


@pytest.mark.parametrize("id_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("dtype", ["f4", "i1", "f8", "c8"])
def test_disorder_is_found_and_harmless(id_dtype, width, dtype, monkeypatch):
    monkeypatch.setattr(_segment, "_SMALL", 0)
    limits = np.iinfo(id_dtype)
    rng = np.random.default_rng(width)
    for case in range(120):
        n = int(rng.choice([2, 3, 300, 1500]))
        count = int(rng.choice([1, 7, 400]))
        ids = np.sort(rng.integers(0, count, n)).astype(id_dtype)
        wrong = [limits.min, limits.max, -1, -5, count, 0, count - 1, count + 1000]
        if case % 3 == 0:
            ids = rng.choice(np.array(wrong, id_dtype), n)
        else:
            ids[rng.integers(0, n, case % 4 + 1)] = rng.choice(wrong, case % 4 + 1)
        data = rng.integers(-9, 9, (n, width)).astype(dtype)
        falls = np.flatnonzero(ids[1:] < ids[:-1])
        # The output lies between two guards of its own size, which no row may reach.
        guarded = np.full((3 * count, width), 77, dtype)
        out = guarded[count : 2 * count]
        with segmax.num_threads(case % 5 + 1):
            for target in (None, out):
                if len(falls):
                    at = int(falls[0])
                    with pytest.raises(
                        ValueError, match=rf"from {ids[at]} at position {at} to {ids[at + 1]} at position"
                    ):
                        segmax.segment_max(data, ids, count, out=target)
                    assert (guarded == 77).all()
                else:
                    segmax.segment_max(data, ids, count, out=target)
            segmax.unsorted_segment_max(data, ids, count, out=out)
        assert (guarded[:count] == 77).all()
        assert (guarded[2 * count :] == 77).all()
