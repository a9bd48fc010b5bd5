"""Event kinds, in the words of PyTorch's `EventType` and Kineto's `ActivityType`."""

from __future__ import annotations

from enum import IntEnum


class EventKind(IntEnum):
    """What one row of a trace is.

    The first four make up the host tree (`torch/csrc/profiler/collection.h`, `EventType`; Kineto's
    categories `cpu_op`, `user_annotation` and `python_function`). The others never are parents.
    """

    TorchOp = 0
    Annotation = 1  # record_function ranges, ProfilerStep#N, Optimizer.step#..., DataLoader ranges
    PyCall = 2
    PyCCall = 3
    Backend = 4  # work delegated to another runtime (category glow_runtime)
    Allocation = 5
    OutOfMemory = 6
    Runtime = 7  # CUDA or HIP API calls on the host
    Kernel = 8
    Memcpy = 9
    Memset = 10
    Sync = 11  # cuda_sync records of CUPTI, on device rows
    DeviceAnnotation = 12  # gpu_user_annotation: a shadow of a host range, never work
    Overhead = 13  # the profiler's own cost
    Other = 14


TREE_KINDS = (EventKind.TorchOp, EventKind.Annotation, EventKind.PyCall, EventKind.PyCCall)
DEVICE_WORK = (EventKind.Kernel, EventKind.Memcpy, EventKind.Memset)
DEVICE_KINDS = (*DEVICE_WORK, EventKind.Sync, EventKind.DeviceAnnotation)
# How names begin of what Gloo, MPI and UCC record of their work, on whichever thread is free.
COLLECTIVES_ON_HOST = ("gloo:", "mpi:", "ucc:")

# Kineto's names in lower case (ActivityType.h), and those of 2021 (`Operator`, `Python`, ...).
# Among MTIA's events are copies and waits that have names of their own.
_CATEGORIES = {
    EventKind.TorchOp: "cpu_op operator",
    EventKind.Annotation: "user_annotation",
    EventKind.PyCall: "python_function python",
    EventKind.Runtime: """
        cuda_runtime cuda_driver runtime driver hip_runtime xpu_runtime xpu_driver mtia_runtime
        hpu_op privateuse1_runtime privateuse1_driver
        """,
    EventKind.Kernel: "kernel concurrent_kernel mtia_ccp_events",
    EventKind.Memcpy: "gpu_memcpy memcpy",
    EventKind.Memset: "gpu_memset memset",
    EventKind.Sync: "cuda_sync",
    EventKind.DeviceAnnotation: "gpu_user_annotation",
    EventKind.Overhead: "overhead",
    EventKind.Backend: "glow_runtime",
}
KIND_OF_CATEGORY = {name: kind for kind, names in _CATEGORIES.items() for name in names.split()}
# How Kineto's categories of accelerators begin that are neither NVIDIA's nor AMD's; PyTorch calls
# an accelerator that registers itself PrivateUse1.
ACCELERATORS = ("mtia", "xpu", "hpu", "privateuse1")
