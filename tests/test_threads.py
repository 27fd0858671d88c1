"""Numbers of threads, callers at once, fork, and the choice of a CPU level."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import segmax
from segmax import _dispatch, _reference, _segment

from .arrays import assert_same, bits_of


def run(program, **environment):
    """Run a program in another Python; return how it ended."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("SEGMAX_", "OMP_"))}
    return subprocess.run(
        [sys.executable, "-c", program],
        env=clean | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def restored():
    before = segmax.get_num_threads()
    yield before
    segmax.set_num_threads(before)


def test_set_and_get(restored):
    for n in (1, 3, np.int8(2)):
        segmax.set_num_threads(n)
        assert segmax.get_num_threads() == n
    segmax.set_num_threads(10**9)
    assert 1 <= segmax.get_num_threads() <= 10**6


@pytest.mark.parametrize("n", [0, -1])
def test_a_number_of_threads_is_positive(n, restored):
    for function in (segmax.set_num_threads, lambda n: segmax.num_threads(n).__enter__()):
        with pytest.raises(ValueError, match=f"num_threads is {n}"):
            function(n)
    assert segmax.get_num_threads() == restored


@pytest.mark.parametrize("n", [1.0, "2", None, True])
def test_a_number_of_threads_is_an_integer(n, restored):
    for function in (segmax.set_num_threads, lambda n: segmax.num_threads(n).__enter__()):
        with pytest.raises(TypeError, match="num_threads"):
            function(n)
    assert segmax.get_num_threads() == restored


def test_the_context_nests_and_ends(restored):
    segmax.set_num_threads(2)
    with segmax.num_threads(3) as here:
        assert here == segmax.get_num_threads() == 3
        with segmax.num_threads(1):
            assert segmax.get_num_threads() == 1
        assert segmax.get_num_threads() == 3
    assert segmax.get_num_threads() == 2
    with pytest.raises(KeyError), segmax.num_threads(3):
        raise KeyError
    assert segmax.get_num_threads() == 2


def test_the_context_is_one_thread_s_own(restored):
    seen = []
    segmax.set_num_threads(2)
    with segmax.num_threads(1):
        other = threading.Thread(target=lambda: seen.append(segmax.get_num_threads()))
        other.start()
        other.join()
    assert seen == [2]


@pytest.mark.parametrize("variable", ["SEGMAX_NUM_THREADS", "OMP_NUM_THREADS"])
def test_the_environment(variable):
    assert run("import segmax; print(segmax.get_num_threads())", **{variable: "3"}).stdout == "3\n"


def test_segmax_s_own_variable_comes_first():
    program = "import segmax; print(segmax.get_num_threads())"
    assert run(program, SEGMAX_NUM_THREADS="2", OMP_NUM_THREADS="5").stdout == "2\n"
    assert run(program, OMP_NUM_THREADS="5,2").stdout == "5\n"


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5"])
def test_a_bad_variable_is_an_import_error(text):
    ended = run("import segmax", SEGMAX_NUM_THREADS=text)
    assert ended.returncode == 1
    assert f"SEGMAX_NUM_THREADS={text}" in ended.stderr


@pytest.mark.parametrize("level", _dispatch.available_levels())
def test_a_level_can_be_forced(level):
    ended = run(
        "import segmax; segmax.show_config(); print(segmax.segment_max([1, 3, 2], [0, 0, 1]))", SEGMAX_CPU_LEVEL=level
    )
    assert ended.returncode == 0, ended.stderr
    assert f"CPU level    {level} (SEGMAX_CPU_LEVEL" in ended.stdout
    assert ended.stdout.endswith("[3 2]\n")


def test_a_level_that_is_not_here_is_an_import_error():
    for level in {"v4", "v9", "fast"} - set(_dispatch.available_levels()):
        ended = run("import segmax", SEGMAX_CPU_LEVEL=level)
        assert ended.returncode == 1
        assert f"ImportError: SEGMAX_CPU_LEVEL={level}" in ended.stderr


@pytest.mark.parametrize("threads", [1, 2])
def test_eight_callers_agree(threads, built_as):
    """Eight Python threads, different functions and dtypes at once, each sees what a lone caller sees."""
    rng = np.random.default_rng(0)
    ids = np.sort(rng.integers(0, 300, 20_000))
    inputs = [rng.standard_normal(20_000).astype(kind) for kind in ("f4", "f8", "f2", "c8", "g", "i2", "u1", "f4")]
    inputs[7] = rng.standard_normal((20_000, 3)).astype("f4")[:, ::2]

    def work(data):
        return [
            bits_of(segmax.segment_max(data, ids)),
            bits_of(segmax.segment_argmin(data, ids)),
            bits_of(segmax.segment_min(data, ids[::-1], indices_are_sorted=False)),
        ]

    with built_as(_dispatch.LEVEL, threads, 0):
        expected = [work(data) for data in inputs]
        differing = []
        start = threading.Barrier(8)

        def call(k):
            start.wait()
            for turn in range(10):
                which = (k + turn) % 8
                if work(inputs[which]) != expected[which]:
                    differing.append((k, which))

        callers = [threading.Thread(target=call, args=(k,)) for k in range(8)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    assert differing == []


FORK = """
import os, sys
import numpy as np, segmax
from segmax import _segment
_segment._SMALL = 0
segmax.set_num_threads(2)
data, ids = np.arange(100_000.0), np.repeat(np.arange(1000), 100)
expected = segmax.segment_max(data, ids).tobytes()
child = os.fork()
if child == 0:
    segmax.set_num_threads(2)
    os._exit(0 if segmax.segment_max(data, ids).tobytes() == expected else 3)
assert segmax.segment_max(data, ids).tobytes() == expected
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_computes():
    """The parent computes with two threads and forks; the child computes too, also if it asks for two threads."""
    ended = run(FORK)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_worker_processes_that_were_forked():
    program = """
import multiprocessing, numpy as np, segmax
from segmax import _segment
_segment._SMALL = 0
data, ids = np.arange(100_000.0), np.repeat(np.arange(1000), 100)
def work(k):
    return segmax.segment_max(data + k, ids)[-1]
if __name__ == "__main__":
    segmax.set_num_threads(2)
    work(0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(work, range(4), chunksize=1) == [99_999.0 + k for k in range(4)])
"""
    ended = run(program)
    assert ended.stdout == "True\n", ended.stderr


def test_without_its_threads_limit_small_inputs_stay_on_one(monkeypatch):
    rows = _segment.Rows(np.zeros((100, 2), "f4"), _segment.lookup(np.dtype("f4")), np.zeros(100, "i8"), None, None)
    with segmax.num_threads(2):
        assert _segment._choose_threads(rows) == 1
        monkeypatch.setattr(_segment, "_SMALL", 0)
        assert _segment._choose_threads(rows) == 2


def test_an_interrupt_leaves_the_library_usable():
    """KeyboardInterrupt during a call: the next call is right."""
    data, ids = np.arange(200_000.0), np.repeat(np.arange(2000), 100)
    expected = _reference.segment_max(data[:1000], ids[:1000])
    out = np.empty(2000)
    timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), 2))
    timer.start()

    def call_for_ever():
        while True:
            segmax.segment_max(data, ids, out=out)

    with pytest.raises(KeyboardInterrupt):
        call_for_ever()
    timer.join()
    assert_same(segmax.segment_max(data[:1000], ids[:1000]), expected)
