"""What is put into a recorded step: all-reduces, and work that only some ranks do."""

from __future__ import annotations

from math import prod

from .step import (
    BACKWARD,
    BYTES_OF,
    COMMUNICATION,
    COMPUTE,
    MAIN,
    Collective,
    HostEvent,
    Point,
    Step,
    Work,
    around,
    call,
)

_FIRST_BUCKET, _BUCKET = 1 << 20, 25 << 20  # bytes, as DistributedDataParallel has them
_GRADIENT = "torch::autograd::AccumulateGrad"
_BYTES_A_NS = 1_300.0  # what an elementwise kernel moves
_NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
_SCALED = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, "
    "float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int, "
    "at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float>"
    " >, std::array<char*, 2ul>)"
)
_BLOCK = {"registers per thread": 32, "shared memory": 0, "block": [128, 1, 1]}


def has_collectives(step: Step) -> bool:
    """Whether the step communicates as it was recorded."""
    return any(work.collective is not None for work in step.work())


def all_reduce(
    nelems: int, group: str, *, thread: int = MAIN, is_extra: bool = False
) -> tuple[list[Point], Work]:
    """Return the points of an all-reduce, and its kernel."""
    what = Collective("allreduce", nelems, "Float", group)
    args = {
        "registers per thread": 96,
        "shared memory": 82240,
        "grid": [min(24, 1 + nelems // 65_536), 1, 1],
        "block": [544, 1, 1],
        "est. achieved occupancy %": 0,
    }
    kernel = Work(_NCCL, "kernel", COMMUNICATION, 0, args, collective=what)
    dims = {"Input Dims": [[nelems]], "Input type": ["float"]}
    outer = {
        "Input Dims": [[[nelems]], [], [], [], [], []],
        "Input type": ["TensorList", "", "", "", "Scalar", "Scalar"],
    }
    comms = {
        "Input Dims": [[nelems], [], [], [], [], [], [], [], [], []],
        "Input type": ["float", *["Scalar"] * 2, *[""] * 4, *["Scalar"] * 3],
    }
    points = around(
        HostEvent("c10d::allreduce_", "cpu_op", outer, thread),
        around(
            HostEvent("record_param_comms", "cpu_op", comms, thread, communicates=what),
            call("cudaEventRecord", thread=thread, took_ns=1_200),
            call("cudaStreamWaitEvent", thread=thread, took_ns=1_000),
            around(
                HostEvent("nccl:all_reduce", "user_annotation", dims, thread),
                call("cudaLaunchKernelExC", kernel, thread=thread, took_ns=8_000),
            ),
            call("cudaEventRecord", thread=thread, took_ns=900),
            gap_ns=8_000,
        ),
        gap_ns=12_000,
    )
    for point in points:
        point.event.is_extra = is_extra
    return points, kernel


def _elementwise(nbytes: int) -> Work:
    """A kernel that scales a gradient into its bucket."""
    args = {**_BLOCK, "grid": [max(nbytes // 2048, 1), 1, 1], "est. achieved occupancy %": 90}
    return Work(_SCALED, "kernel", COMPUTE, 2_000 + round(2 * nbytes / _BYTES_A_NS), args)


def _scaled(dims: list[int], nbytes: int) -> list[Point]:
    """What the reducer does with a gradient that is ready."""
    args = {"Input Dims": [dims, [], dims], "Input type": ["float", "float", "float"]}
    return around(
        HostEvent("torch::distributed::reducer::mul_out", "cpu_op", args, BACKWARD),
        around(
            HostEvent("aten::mul", "cpu_op", dict(args), BACKWARD),
            call("cudaLaunchKernel", _elementwise(nbytes), thread=BACKWARD),
        ),
    )


def add_buckets(step: Step, shards: int = 1) -> None:
    """Reduce the gradients as DistributedDataParallel does, beside backward.

    What the optimizer launches waits for it. With tensor parallelism each rank has one of `shards`.
    """
    parents = step.parents()
    ready = [event for event in step.events() if event.name == _GRADIENT]
    limit, nbytes, kernels = _FIRST_BUCKET, 0, list[Work]()
    for event in ready:
        dims = event.args["Input Dims"][0]
        size = prod(dims) * BYTES_OF["float"]
        nbytes += size
        inserted = _scaled(dims, size)
        if nbytes >= limit or event is ready[-1]:
            points, kernel = all_reduce(max(nbytes // 4 // shards, 1), "data", thread=BACKWARD)
            kernels.append(kernel)
            inserted += points
            nbytes, limit = 0, _BUCKET
        outer = parents[event] or event
        at = step.end_of(outer)
        step.points[at:at] = inserted
    last = step.end_of(parents[ready[-1]] or ready[-1])
    waits = [call("cudaStreamWaitEvent", thread=BACKWARD, took_ns=900) for _ in kernels]
    step.points[last:last] = [point for points in waits for point in points]
    _later_work_waits(step, last, kernels)


def _later_work_waits(step: Step, point: int, kernels: list[Work]) -> None:
    """Let the first kernel that is launched after a point wait for collectives."""
    for each in step.points[point:]:
        if not each.is_end and any(work.stream == COMPUTE for work in each.event.work):
            first = next(work for work in each.event.work if work.stream == COMPUTE)
            first.after = [*first.after, *kernels]
            return


def add_tensor_parallel(step: Step) -> None:
    """Add up activations among the ranks of a tensor group, of each pair of products.

    In forward after the second one, in backward after the first one.
    """
    parents = step.parents()
    forward = [event for event in step.events() if event.name == "aten::linear"][1::2]
    backward = [event for event in step.events() if event.name == "AddmmBackward0"]
    backward = backward[-1 : -2 * len(forward) : -2]
    shapes = [event.args["Input Dims"] for event in forward]
    sizes = [prod(dims[0][:-1]) * dims[1][0] for dims in shapes]
    for events, thread in ((forward, MAIN), (backward, BACKWARD)):
        for event, nelems in zip(events, sizes, strict=True):
            points, kernel = all_reduce(nelems, "tensor", thread=thread)
            # Where backward goes on after an operator, so does its function.
            outer = event if thread == MAIN else parents[event] or event
            at = step.end_of(outer) + (1 if thread == MAIN else 0)
            points += call("cudaStreamWaitEvent", thread=thread, took_ns=900)
            step.points[at:at] = points
            _later_work_waits(step, at + len(points), [kernel])


def add_small_collectives(step: Step, count: int) -> None:
    """Have some ranks reduce as many numbers one by one, before the optimizer's step."""
    at = _before_optimizer(step)
    inserted, kernels = list[Point](), list[Work]()
    for number in range(count):
        points, kernel = all_reduce(1 + number % 4, "data", is_extra=True)
        inserted += points
        kernels.append(kernel)
    step.points[at:at] = inserted
    _later_work_waits(step, at + len(inserted), kernels)


def add_other_path(step: Step, took_ns: int) -> None:
    """Have some ranks read back and write out results at the end of the step."""
    copy = {"bytes": 8_000_000, "memory bandwidth (GB/s)": 6.0}
    read = Work("Memcpy DtoH (Device -> Pageable)", "gpu_memcpy", COMPUTE, 1_300_000, copy)
    size = [2000, 1000]
    dims = {"Input Dims": [size, *[[]] * 6], "Input type": ["float", *[""] * 6]}
    copied = {"Input Dims": [size, size, []], "Input type": ["float", "float", ""]}
    waiting = call("cudaStreamSynchronize", took_ns=3_000)
    waiting[0].event.waits = COMPUTE
    points = around(
        HostEvent("save_checkpoint", "user_annotation"),
        around(
            HostEvent("aten::to", "cpu_op", dims),
            around(
                HostEvent("aten::_to_copy", "cpu_op", dict(dims)),
                around(
                    HostEvent("aten::copy_", "cpu_op", copied),
                    call("cudaMemcpyAsync", read),
                    waiting,
                ),
            ),
        ),
    )
    points[-1].gap_ns += max(took_ns - 1_300_000, 0)
    for point in points:
        point.event.is_extra = True
    at = len(step.points) - 1
    step.points[at:at] = points


def _before_optimizer(step: Step) -> int:
    for number, point in enumerate(step.points):
        if not point.is_end and point.event.name.startswith("Optimizer.step"):
            return number
    return len(step.points) - 1
