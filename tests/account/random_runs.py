"""Small random runs with devices: what a recorded one may hold, and much that none does.

Threads overlap, streams have several kernels at once, work starts before its launch, correlations
are missing or name nothing, and the clock has so few instants that ties are the rule.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tidy.trace import EventKind, RawColumns, Trace, TraceInfo, Track, build_trace

from ..drawn import choices

HOST = (
    ("aten::add", EventKind.TorchOp),
    ("aten::item", EventKind.TorchOp),
    ("autograd::engine::evaluate_function: AddBackward0", EventKind.TorchOp),
    ("ProfilerStep#1", EventKind.Annotation),
    ("ProfilerStep#2", EventKind.Annotation),
    ("ProfilerStep#3", EventKind.Annotation),
    ("Optimizer.step#SGD.step", EventKind.Annotation),
    ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", EventKind.Annotation),
    ("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", EventKind.Annotation),
    ("train.py(3): train", EventKind.PyCall),
    ("torch/utils/data/dataloader.py(7): __next__", EventKind.PyCall),
    ("<built-in function collect>", EventKind.PyCCall),
)
CALLS = (
    "cudaLaunchKernel",
    "cudaMemcpyAsync",
    "cudaMalloc",
    "cudaStreamSynchronize",
    "cudaGraphLaunch",
    "cuModuleLoadData",
)
WORK = (
    ("volta_sgemm_128x64_nn", EventKind.Kernel),
    ("void at::native::vectorized_elementwise_kernel<4>", EventKind.Kernel),
    ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", EventKind.Kernel),
    ("Memcpy HtoD (Pageable -> Device)", EventKind.Memcpy),
    ("Memset (Device)", EventKind.Memset),
)
_SCALES = (1, 1000, 30_000)  # nanoseconds from one instant to the next


@st.composite
def runs(draw: st.DrawFn, *, devices: int = 2) -> Trace:
    """Up to 40 events on up to three threads and two streams of each of `devices` devices."""
    raw = RawColumns()
    names, tracks = raw.strings.names, raw.strings.tracks
    threads = draw(st.integers(1, 3))
    scale = draw(st.sampled_from(_SCALES))
    host, calls, work = (draw(st.integers(0, most)) for most in (14, 10, 14))
    chosen = draw(choices(4 * host + 4 * calls + 6 * work + 3))

    def place(longest: int) -> dict[str, list[int]]:
        start, duration = chosen.upto(40), chosen.upto(longest)
        return {"start_ns": [start * scale], "duration_ns": [duration * scale]}

    def thread() -> list[int]:
        return [tracks[Track(1, 1 + chosen.upto(threads - 1))]]

    for _ in range(host):
        name, kind = chosen.of(HOST)
        raw.append(1, name_id=[names[name]], kind=kind, track_id=thread(), **place(30))
    for correlation in range(1, 1 + calls):
        name = chosen.of(CALLS)
        raw.append(
            1,
            name_id=[names[name]],
            kind=EventKind.Runtime,
            track_id=thread(),
            correlation=[correlation],
            **place(6),
        )
    for _ in range(work):
        name, kind = chosen.of(WORK)
        device, stream = chosen.upto(devices - 1), chosen.of((7, 20))
        raw.append(
            1,
            name_id=[names[name]],
            kind=kind,
            track_id=[tracks[Track(device, stream)]],
            correlation=[chosen.upto(12)],
            device=[device],
            stream=[stream],
            **place(10),
        )
    if chosen.upto(1):
        overhead = names["Activity Buffer Request"]
        raw.append(1, name_id=[overhead], kind=EventKind.Overhead, track_id=[0], **place(5))
    return build_trace(raw, TraceInfo("random"))


@st.composite
def windows(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Up to three disjoint intervals, by start."""
    bounds = sorted(draw(st.sets(st.integers(-10, 60), max_size=6)))
    scale = draw(st.sampled_from(_SCALES))
    return [
        (start * scale, end * scale) for start, end in zip(bounds[::2], bounds[1::2], strict=False)
    ]
