"""CuPy on the CPU: correct kernels run and report nothing, planted faults are found and named."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from segmax.oracle import hostcuda
from segmax.oracle.hostcuda import Kind, runtime, toolchain, versions

try:
    versions.check_cupy()
    toolchain.find_compiler()
except hostcuda.UnsupportedError as error:
    pytest.skip(str(error), allow_module_level=True)
hostcuda.install()
import cupy  # noqa: E402

N = 64
ALL = "0xffffffffu"


@pytest.fixture(autouse=True)
def clean_record():
    """Start each test without faults and events, and fail it for faults that it did not ask about."""
    hostcuda.report()
    hostcuda.clear_events()
    before = hostcuda.current_settings()
    yield
    assert hostcuda.current_settings() == before
    assert hostcuda.report() == []


def make_kernel(body, name="planted"):
    """Return a kernel over the flat index `i`, with access to the whole of `x` and `y`."""
    return cupy.ElementwiseKernel("raw T x", "raw T y", body, name, no_return=True)


def run_kernel(body, x=None, y=None, **launch):
    """Run a kernel body for each of N indices, in one block, and return `y`."""
    x = cupy.arange(N, dtype="int32") if x is None else x
    y = cupy.zeros(N, "int32") if y is None else y
    make_kernel(body)(x, y, **{"size": N, "block_size": N, **launch})
    return y


def kinds():
    """Return the kinds of the faults since the last report, and forget these."""
    return {fault.kind for fault in hostcuda.report()}


@dataclass
class Plant:
    """A fault: a body that commits it, and one that shows the right way to do the same."""

    faulty: str
    right: str
    found: set


PLANTS = {
    "write past the end": Plant("y[i + 1] = x[i]", "y[i] = x[i]", {Kind.OUT_OF_BOUNDS_WRITE}),
    "read before the start": Plant("y[i] = x[i - 1]", "y[i] = x[i ? i - 1 : 0]", {Kind.OUT_OF_BOUNDS_READ}),
    "atomic past the end": Plant(
        "atomicAdd((int*)&y[i] + 1, 1)", "atomicAdd((int*)&y[i], 1)", {Kind.OUT_OF_BOUNDS_ATOMIC}
    ),
    "misaligned vector": Plant(
        "if (i < 8) { int4 v = *(const int4*)&x[4 * i + 1]; y[i] = v.x + v.y + v.z + v.w; }",
        "if (i < 8) { int4 v = *(const int4*)&x[4 * i]; y[i] = v.x + v.y + v.z + v.w; }",
        {Kind.MISALIGNED_ACCESS},
    ),
    "two writers": Plant("y[i / 2] = i", "y[i] = i", {Kind.WRITE_WRITE_RACE}),
    "reader and writer": Plant("y[i] = y[(i + 1) % 64]", "y[i] = x[(i + 1) % 64]", {Kind.READ_WRITE_RACE}),
    "missing atomic": Plant(
        "if (x[i] > y[0]) y[0] = x[i]",
        "if (x[i] > y[0]) atomicMax((int*)&y[0], x[i])",
        {Kind.READ_WRITE_RACE, Kind.WRITE_WRITE_RACE},
    ),
    "atomic beside a plain write": Plant(
        "if (i) atomicMax((int*)&y[0], x[i]); else y[0] = 0",
        "if (i) atomicMax((int*)&y[0], x[i]); else atomicMax((int*)&y[0], 0)",
        {Kind.ATOMIC_PLAIN_RACE},
    ),
    "shuffle under divergence": Plant(
        f"if (i < 10) y[i] = __shfl_xor_sync({ALL}, (int)x[i], 1)",
        f"int v = __shfl_xor_sync({ALL}, (int)x[i], 1); if (i < 10) y[i] = v",
        {Kind.WARP_DIVERGENCE},
    ),
    "barrier under divergence": Plant(
        "if (i < 10) __syncthreads(); y[i] = x[i]", "__syncthreads(); y[i] = x[i]", {Kind.BARRIER_DIVERGENCE}
    ),
    "no barrier between write and read": Plant(
        "y[i] = x[i]; __syncwarp(); if (i >= 32) y[i] = y[i - 32]",
        "y[i] = x[i]; __syncthreads(); int v = y[63 - i]; __syncthreads(); y[i] = v",
        {Kind.READ_WRITE_RACE},
    ),
}


@pytest.mark.parametrize("code", ["source", "ptx"])
@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_fault_is_found_and_its_mended_twin_is_clean(name, code):
    plant = PLANTS[name]
    with hostcuda.configured(code=code):
        run_kernel(plant.right)
        assert hostcuda.report() == []
        run_kernel(plant.faulty)
    assert kinds() == plant.found


@pytest.mark.parametrize("code", ["source", "ptx"])
def test_uninitialised_and_freed_memory(code):
    with hostcuda.configured(code=code):
        run_kernel("y[i] = x[i]", x=cupy.empty(N, "int32"))
        (fault,) = hostcuda.report()
        assert (fault.kind, fault.array, fault.count) == (Kind.UNINITIALISED_READ, "x", N)
        x = cupy.arange(N, dtype="int32")
        at = x.data.ptr
        kernel = cupy.ElementwiseKernel("uint64 at", "int32 y", "y = ((const int*)at)[i]", "planted_stale")
        assert kernel(cupy.full(N, at, "uint64")).get().tolist() == list(range(N))
        assert hostcuda.report() == []
        del x
        kernel(cupy.full(N, at, "uint64"))
    assert kinds() == {Kind.USE_AFTER_FREE}


def test_a_copy_carries_along_what_is_uninitialised():
    half = cupy.empty(N, "int32")
    half[: N // 2] = 1
    copy = cupy.empty_like(half)
    copy.data.copy_from_device(half.data, half.nbytes)
    run_kernel("y[i] = x[i]", x=copy, size=N // 2)
    assert hostcuda.report() == []
    run_kernel("y[i] = x[i]", x=copy)
    assert kinds() == {Kind.UNINITIALISED_READ}


def test_addresses_that_are_no_device_memory_and_division_by_zero_end_the_thread_only():
    y = run_kernel("y[i] = 7; if (i == 3) y[i] = *(const int*)(size_t)x[i]")
    assert y.get().tolist() == [7] * N
    assert kinds() == {Kind.ILLEGAL_ADDRESS}
    y = run_kernel("y[i] = 7 / x[i]")
    assert y.get().tolist()[:3] == [0, 7, 3]
    assert kinds() == {Kind.DIVISION_BY_ZERO}


def test_traps_and_impossible_launches():
    run_kernel("if (i == 5) __trap(); y[i] = x[i]")
    (fault,) = hostcuda.report()
    assert (fault.kind, fault.thread) == (Kind.TRAP, 5)
    with pytest.raises(RuntimeError, match="refuses the launch"):
        run_kernel("y[i] = x[i]", size=4096, block_size=2048)
    assert kinds() == {Kind.INVALID_LAUNCH}


@pytest.mark.parametrize("code", ["source", "ptx"])
def test_a_fault_says_where(code):
    with hostcuda.configured(code=code):
        run_kernel("int here = x[i];\ny[i + 2] = here", block_size=32)
    (fault,) = hostcuda.report()
    assert fault.kernel == "planted"
    assert (fault.array, fault.bytes, fault.count) == ("y", 4, 2)
    assert fault.block == 1
    assert fault.element == fault.block * 32 + fault.thread + 2 >= N
    assert ("y[i + 2] = here" if code == "source" else "st.global") in fault.text
    assert all(part in str(fault) for part in ("out-of-bounds write", "planted", "y[6", fault.text))


@pytest.mark.parametrize("code", ["source", "ptx"])
def test_half_warps_may_go_separate_ways(code):
    body = """
        int v = x[i];
        if (i % 32 < 16) v = __shfl_xor_sync(0x0000ffffu, v, 1); else v = __shfl_xor_sync(0xffff0000u, v, 2);
        y[i] = v"""
    with hostcuda.configured(code=code):
        y = run_kernel(body)
    assert y.get().tolist() == [i ^ (1 if i % 32 < 16 else 2) for i in range(N)]


@pytest.mark.parametrize("code", ["source", "ptx"])
def test_warp_wide_operations_compute_what_cuda_says(code):
    body = f"""
        int v = x[i], lane = i % 32;
        int up = __shfl_up_sync({ALL}, v, 3, 8), down = __shfl_down_sync({ALL}, v, 3, 8);
        int to = __shfl_sync({ALL}, v, 5, 16), odd = __popc(__ballot_sync({ALL}, v % 2 == 1));
        y[i] = up + 100 * down + 10000 * to + 1000000 * odd + 100000000 * __reduce_max_sync({ALL}, lane)"""
    with hostcuda.configured(code=code):
        y = run_kernel(body, x=cupy.arange(N, dtype="int64"), y=cupy.zeros(N, "int64"))
    i = np.arange(N)
    up = np.where(i % 8 >= 3, i - 3, i)
    down = np.where(i % 8 < 5, i + 3, i)
    expected = up + 100 * down + 10000 * (i // 16 * 16 + 5) + 1000000 * 16 + 100000000 * 31
    assert y.get().tolist() == expected.astype("int32").tolist()


def test_a_race_is_found_under_every_schedule():
    for schedule in hostcuda.SCHEDULES:
        for seed in range(3):
            with hostcuda.configured(seed=seed, schedule=schedule):
                run_kernel(PLANTS["two writers"].faulty)
            assert kinds() == {Kind.WRITE_WRITE_RACE}, (schedule, seed)


def test_checks_can_be_switched_off():
    with hostcuda.configured(races=False):
        run_kernel(PLANTS["two writers"].faulty)
    with hostcuda.configured(memory=False):
        run_kernel(PLANTS["write past the end"].faulty)
    with hostcuda.configured(initialisation=False):
        run_kernel("y[i] = x[i]", x=cupy.empty(N, "int32"))
    assert hostcuda.report() == []
    with pytest.raises(ValueError, match="schedule is 'sideways'"):
        hostcuda.configure(schedule="sideways")


def test_a_seed_determines_the_run():
    def last_writer_and_reporter(seed):
        with hostcuda.configured(seed=seed, schedule="preemptive"):
            y = run_kernel("y[0] = i")
        (fault,) = hostcuda.report()
        return int(y[0]), fault.thread, fault.detail

    runs = [last_writer_and_reporter(seed) for seed in range(8)]
    assert runs == [last_writer_and_reporter(seed) for seed in range(8)]
    assert len(set(runs)) > 4


def test_preemption_loses_updates_of_plain_code_but_not_of_atomics():
    x = cupy.ones(4096, "int32")
    with hostcuda.configured(schedule="preemptive"):
        hostcuda.counts()
        lossy = run_kernel("y[0] += x[i]", x=x, size=x.size, block_size=128)
        assert hostcuda.counts()["preemptions"] > 0
        assert kinds() == {Kind.READ_WRITE_RACE, Kind.WRITE_WRITE_RACE}
        loop = "int old = y[0], seen; while ((seen = atomicCAS((int*)&y[0], old, old + x[i])) != old) old = seen"
        exact = run_kernel(loop, x=x, size=x.size, block_size=128)
    assert int(lossy[0]) < x.size == int(exact[0])


@pytest.mark.parametrize("code", ["source", "ptx"])
def test_32_bit_indices_beyond_2_to_the_31(code):
    large = cupy.empty(2**31 + 1000, "int8")
    with hostcuda.configured(code=code), hostcuda.sparse():
        for index, expected in (("long long", set()), ("int", {Kind.OUT_OF_BOUNDS_WRITE})):
            kernel = cupy.ElementwiseKernel("raw T x", "raw T y", f"{index} j = i; y[j] = 1", "large", no_return=True)
            kernel(cupy.zeros(1, "int8"), large, size=large.size)
            assert kinds() == expected
    (launch, _) = [launch for launch in hostcuda.launches() if launch.kernel == "large"]
    assert launch.grid[0] * launch.block[0] >= large.size


def test_launches_streams_copies_and_waits_are_logged():
    x = cupy.asarray(np.arange(1000, dtype="float32"))
    stream = cupy.cuda.Stream(non_blocking=True)
    hostcuda.clear_events()
    with stream:
        y = x + 1
    stream.synchronize()
    (launch,) = hostcuda.launches()
    assert (launch.kernel, launch.stream) == ("cupy_add__float32_float_float32", stream.ptr)
    assert launch.grid[0] * launch.block[0] >= 1000
    assert hostcuda.events()[-1] == hostcuda.Synchronization("stream", stream.ptr)
    assert hostcuda.events_of(hostcuda.Allocation) == [hostcuda.Allocation(4000)]
    y.get()
    (copy,) = hostcuda.events_of(hostcuda.Copy)
    assert (copy.bytes, copy.from_device, copy.to_device) == (4000, True, False)


@pytest.mark.parametrize(
    ("dtype", "code"),
    [
        ("bool", "source"),
        ("int64", "source"),
        ("float32", "source"),
        ("int8", "ptx"),
        ("float32", "ptx"),
    ],
)
def test_kernels_of_cupy_itself_agree_with_numpy(dtype, code):
    rng = np.random.default_rng(5)
    x, y = (rng.integers(0, 9, (7, 300)).astype(dtype) for _ in range(2))
    with hostcuda.configured(code=code):
        for there, here in (
            (cupy.add(cupy.asarray(x), cupy.asarray(y)), np.add(x, y)),
            (cupy.add(cupy.asarray(x)[::2, ::-3], cupy.asarray(y)[0, :100]), np.add(x[::2, ::-3], y[0, :100])),
            (cupy.sum(cupy.asarray(x)), np.sum(x)),
            (cupy.sum(cupy.asarray(x), axis=0), np.sum(x, axis=0)),
        ):
            assert there.dtype == here.dtype
            assert there.get().tolist() == here.tolist()


def test_float32_subnormals_are_flushed_as_on_the_gpu():
    tiny = cupy.asarray(np.array([1e-40], "float32"))
    for code in ("source", "ptx"):
        with hostcuda.configured(code=code):
            assert float((tiny * cupy.float32(1))[0]) == 0
    with hostcuda.configured(flush_subnormals=False):
        assert float((tiny * cupy.float32(1))[0]) > 0


def test_the_traffic_model_sees_how_accesses_coalesce():
    x, y = cupy.zeros(8 * N, "int32"), cupy.zeros(N, "int32")
    with hostcuda.profiled() as dense:
        run_kernel("y[i] = x[i]", x, y)
    with hostcuda.profiled() as strided:
        run_kernel("y[i] = x[8 * i]", x, y)
    assert dense["requests"] == strided["requests"] == 4  # two warps, a read and a write each
    assert dense["sectors"] == 2 * N * 4 // 32
    assert strided["sectors"] == N + N * 4 // 32
    assert dense["read_bytes"] == strided["written_bytes"] == N * 4
    hostcuda.counts()
    run_kernel("y[i] = x[i]", x, y)
    counts = hostcuda.counts()
    assert (counts["reads"], counts["writes"], counts["threads"]) == (N, N, N)


# ------------------------------------------------------------------------------------------------ for GPUs not here


def test_the_offline_source_is_what_cupy_compiles():
    kernel = cupy.ElementwiseKernel("T x, T y", "T z", "z = x > y ? x : y", "offline_elementwise")
    kernel(cupy.zeros(N, "float32"), cupy.zeros(N, "float32"))
    made = hostcuda.elementwise_source(kernel, [hostcuda.Array("float32")] * 3, small=True)
    assert made == hostcuda.sources()["offline_elementwise"]
    reduction = cupy.ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", "0", "offline_reduction")
    reduction(cupy.ones(N, "int32"))
    made = hostcuda.reduction_source(reduction, [hostcuda.Array("int32"), hostcuda.Array("int32", ndim=0)])
    assert made == hostcuda.sources()["offline_reduction"]


@pytest.mark.parametrize("architecture", hostcuda.ARCHITECTURES)
def test_nvrtc_compiles_for_gpus_that_are_not_here(architecture):
    kernel = cupy.ElementwiseKernel("T x, T y", "T z", "z = x > y ? x : y", "offline_elementwise")
    source = hostcuda.elementwise_source(kernel, [hostcuda.Array("float16")] * 3)
    options = hostcuda.compiler_options()
    assert hostcuda.compile_source(source, architecture, options).startswith(b"\x7fELF")
    ptx = hostcuda.compile_source(source, architecture, options, "ptx").decode()
    assert f".target sm_{architecture}" in ptx


def test_nvrtc_refuses_what_only_a_host_compiler_knows():
    run_kernel("y[i] = (int)std::fmin(x[i], INFINITY)")
    with (
        hostcuda.configured(architectures=("90",)),
        pytest.raises(cupy.cuda.compiler.CompileException, match="INFINITY"),
    ):
        run_kernel("y[i] = 1 + (int)std::fmin(x[i], INFINITY)")


# ------------------------------------------------------------------------------------------------ command line
SCRIPT = """
import sys
import cupy
kernel = cupy.ElementwiseKernel("raw T x", "raw T y", f"y[i + {sys.argv[1]}] = x[i]", "shift", no_return=True)
kernel(cupy.arange(8), cupy.empty(8, "int64"), size=8)
sys.exit(int(sys.argv[2]))
"""


def run_command(*arguments, **environment):
    command = [sys.executable, "-m", "segmax.oracle.hostcuda", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


@pytest.mark.parametrize("option", [[], ["--ptx", "--nvrtc=90"], ["--seed", "7", "--schedule", "preemptive"]])
def test_the_command_reports_and_exits_with_1(tmp_path, option):
    script, written = tmp_path / "script.py", tmp_path / "report.json"
    script.write_text(SCRIPT)
    done = run_command(*option, "--report", written, script, 1, 0)
    assert done.returncode == 1
    assert "out-of-bounds write in shift, block 0, thread 7" in done.stderr
    report = json.loads(written.read_text())
    (fault,) = report["faults"]
    assert (fault["kind"], fault["array"], fault["element"]) == ("out-of-bounds write", "y", 8)
    assert [launch["kernel"] for launch in report["launches"]][-1] == "shift"


def test_the_command_exits_as_a_correct_script_does(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    for status in (0, 3):
        done = run_command(script, 0, status)
        assert (done.returncode, done.stderr) == (status, "hostcuda: no faults\n")


def test_libraries_are_compiled_once_and_kept_by_what_went_into_them(tmp_path, monkeypatch):
    monkeypatch.setenv(toolchain.CACHE_VARIABLE, str(tmp_path / "cache"))
    flags = ("-std=c++17", "-fPIC")
    first = runtime.build_library("part", ("traffic.cpp",), flags)
    assert list((tmp_path / "cache").iterdir()) == [first]
    made = first.stat().st_mtime_ns
    assert runtime.build_library("part", ("traffic.cpp",), flags) == first
    assert first.stat().st_mtime_ns == made
    assert runtime.build_library("part", ("traffic.cpp",), (*flags, "-O1")) != first
    monkeypatch.delenv(toolchain.CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert toolchain.cache_folder() == tmp_path / "segmax" / "hostcuda"


def test_a_missing_compiler_and_an_unknown_cupy_are_named(tmp_path, monkeypatch):
    done = run_command(tmp_path / "script.py", PATH=str(tmp_path))
    assert done.returncode == 2
    assert "hostcuda needs g++" in done.stderr
    monkeypatch.setattr(versions.metadata, "version", lambda name: "13.0.0")
    with pytest.raises(hostcuda.UnsupportedError, match=r"needs CuPy 14\.2\.0, but cupy-cuda12x is 13\.0\.0"):
        versions.check_cupy()


def test_install_must_come_first():
    code = "import cupy; from segmax.oracle import hostcuda; hostcuda.install()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "must come before the first `import cupy`" in done.stderr
