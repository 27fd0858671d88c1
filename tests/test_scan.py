"""The scans of one column, each CPU level's form against its definition, AVX-512 emulated where it is missing."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from segmax import _dispatch, _dtypes

HERE = Path(__file__).parent
KERNELS = HERE.parent / "segmax/_kernels"
AVX512 = [f"-D__AVX512{part}__=1" for part in ("F", "BW", "DQ", "VL")]
FORMS = {
    "baseline": [],
    "v3": ["-march=x86-64-v3"],
    "v4 emulated": [*AVX512, f"-I{HERE / 'avx512'}"],
}
#: A dtype of each width whose keys use all three constants.
DTYPES = {"u8": "float8_e5m2", "u16": "bfloat16", "u32": "float32", "u64": "float64"}


@pytest.fixture(scope="module", params=FORMS)
def scans(request, tmp_path_factory):
    compiler = shutil.which("gcc")
    if compiler is None or not KERNELS.is_dir():
        pytest.skip("needs gcc and the source tree")
    if request.param == "v3" and "v3" not in _dispatch.available_levels():
        pytest.skip("this CPU cannot run v3")
    library = tmp_path_factory.mktemp("scan") / "scan.so"
    flags = ["-O1", "-shared", "-fPIC", "-fwrapv", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
    source = HERE / "avx512/scan.c"
    # gcc's own headers must not see the emulated macros: only scan.h reads them, and it finds the emulation first.
    subprocess.run([compiler, *flags, *FORMS[request.param], f"-I{KERNELS}", source, "-o", library], check=True)
    loaded = ctypes.CDLL(str(library))
    assert loaded.export_level() == {"baseline": 1, "v3": 3, "v4 emulated": 4}[request.param]
    return loaded


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("omit", [False, True])
def test_scan(scans, kind, omit):
    """Every segment's key lands at its id, also with a carried segment; a dense scan writes nothing else."""
    row = _dtypes.BY_NAME[DTYPES[kind]]
    key = row.key(omit=omit)
    word, wide = np.dtype(f"u{row.bits // 8}"), np.dtype("u8" if kind == "u64" else "u4")
    shift = max(32 - row.bits, 0)
    constants = np.array([key.fold, key.flip, key.turn], word)
    rng = np.random.default_rng(row.bits + omit)
    for case in range(200):
        m = 16 * int(rng.integers(1, 17))
        dense = bool(case % 2)
        steps = rng.random(m) < rng.choice([0.0, 0.02, 0.3, 0.9, 1.0])
        gaps = np.ones(m, np.int64) if dense else rng.integers(1, 9, m)
        ids = np.cumsum(np.where(steps, gaps, 0)).astype(np.int32) + 3
        carried = bool(rng.integers(2))
        x = rng.integers(0, 1 << row.bits, m, dtype=np.uint64).astype(word)
        carry = int(rng.integers(0, 1 << row.bits, dtype=np.uint64)) << shift if carried else 0
        padded = np.concatenate([np.full(16, ids[0] if carried else -1, np.int32), ids, np.full(16, -7, np.int32)])
        out = np.full(int(ids[-1]) + 17, 12345, wide)
        want = {}
        if carried:
            want[int(ids[0])] = carry
        for element, at in zip(x.tolist(), ids.tolist(), strict=True):
            want[at] = max(want.get(at, 0), key.encode(element) << shift)
        carry_type = ctypes.c_uint64 if kind == "u64" else ctypes.c_uint32
        getattr(scans, f"export_{kind}")(
            x.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_void_p(padded.ctypes.data + 64),
            m,
            constants.ctypes.data_as(ctypes.c_void_p),
            carry_type(carry),
            out.ctypes.data_as(ctypes.c_void_p),
            int(dense),
        )
        assert {at: int(out[at]) for at in want} == want
        untouched = np.ones(len(out), bool)
        untouched[list(want)] = False
        assert (out[untouched] == 12345).all()
