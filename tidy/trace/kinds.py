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

# Kineto's names in lower case (ActivityType.h), and those of 2021 (`Operator`, `Python`, ...).
KIND_OF_CATEGORY = {
    "cpu_op": EventKind.TorchOp,
    "operator": EventKind.TorchOp,
    "user_annotation": EventKind.Annotation,
    "python_function": EventKind.PyCall,
    "python": EventKind.PyCall,
    "cuda_runtime": EventKind.Runtime,
    "cuda_driver": EventKind.Runtime,
    "runtime": EventKind.Runtime,
    "driver": EventKind.Runtime,
    "hip_runtime": EventKind.Runtime,
    "xpu_runtime": EventKind.Runtime,
    "xpu_driver": EventKind.Runtime,
    "mtia_runtime": EventKind.Runtime,
    "hpu_op": EventKind.Runtime,
    "privateuse1_runtime": EventKind.Runtime,
    "privateuse1_driver": EventKind.Runtime,
    "kernel": EventKind.Kernel,
    "concurrent_kernel": EventKind.Kernel,
    "mtia_ccp_events": EventKind.Kernel,  # copies and waits among them have names of their own
    "gpu_memcpy": EventKind.Memcpy,
    "memcpy": EventKind.Memcpy,
    "gpu_memset": EventKind.Memset,
    "memset": EventKind.Memset,
    "cuda_sync": EventKind.Sync,
    "gpu_user_annotation": EventKind.DeviceAnnotation,
    "overhead": EventKind.Overhead,
    "glow_runtime": EventKind.Backend,
}
# How Kineto's categories of accelerators begin that are neither NVIDIA's nor AMD's; PyTorch calls
# an accelerator that registers itself PrivateUse1.
ACCELERATORS = ("mtia", "xpu", "hpu", "privateuse1")
