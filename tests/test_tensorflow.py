"""SegmentMaxV2 and SegmentMinV2 themselves: the same bits for all twelve dtypes, however XLA treats NaN.

The known differences are left out of the data: TensorFlow on a CPU flushes subnormals, and lets the order decide the
sign of a zero.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy as np
import tensorflow as tf
import segmax
from segmax._dtypes import DTYPES

nan = sys.argv[1]
rng = np.random.default_rng(3)
cases = 0
for row in (row for row in DTYPES if row.tensorflow):
    dtype = tf.as_dtype(row.name).as_numpy_dtype
    for shape in ((4096,), (1024, 3), (256, 20)):
        n = shape[0]
        count = n // 3
        for id_dtype in ("i4", "i8"):
            for name in ("SegmentMaxV2", "SegmentMinV2"):
                call = tf.function(
                    lambda x, i: getattr(tf.raw_ops, name)(data=x, segment_ids=i, num_segments=count), jit_compile=True
                )
                for _ in range(3):
                    words = rng.integers(0, 1 << row.bits, shape, dtype=np.uint64).astype(f"u{row.bits // 8}")
                    if row.order == "sign":
                        infinity = row.largest
                        least = infinity & -infinity  # the smallest exponent: what is below is zero or subnormal
                        magnitude = words & ((1 << (row.bits - 1)) - 1)
                        words[magnitude < least] = 0
                        some = rng.random(shape) < 0.02
                        special = np.array([infinity, infinity | 1 << (row.bits - 1), row.nan], words.dtype)
                        words[some] = rng.choice(special, some.sum())
                    data = words.view(dtype)
                    ids = np.sort(rng.integers(0, count, n)).astype(id_dtype)
                    want = call(tf.constant(data), tf.constant(ids)).numpy()
                    got = segmax.raw_ops.__dict__[name](data, ids, count)
                    if nan == "omit":
                        reduce = segmax.segment_max if name == "SegmentMaxV2" else segmax.segment_min
                        got = reduce(data, ids, count, nan="omit")
                    assert got.dtype == want.dtype and got.shape == want.shape
                    same = (got.view(words.dtype) == want.view(words.dtype)) | ((got != got) & (want != want))
                    assert same.all(), (row.name, shape, id_dtype, name, got[~same][:3], want[~same][:3])
                    cases += got.size
print(cases)
"""


@pytest.mark.parametrize("nan", ["propagate", "omit"])
def test_segment_max_v2(nan):
    """By default XLA skips NaN; told not to, it propagates."""
    if importlib.util.find_spec("tensorflow") is None:
        if os.environ.get("SEGMAX_REQUIRE_TENSORFLOW") == "1":
            pytest.fail("TensorFlow is required here (SEGMAX_REQUIRE_TENSORFLOW=1) and not installed")
        pytest.skip("TensorFlow is not installed")
    flags = {"XLA_FLAGS": "--xla_cpu_enable_fast_min_max=false"} if nan == "propagate" else {}
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""} | flags
    ended = subprocess.run([sys.executable, "-c", PROGRAM, nan], env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert int(ended.stdout) > 500_000
