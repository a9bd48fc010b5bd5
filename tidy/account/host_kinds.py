"""The kinds of a host thread's time."""

from __future__ import annotations

from .work_kinds import OP_KINDS

# Where ranges of two kinds hold each other, the kind that stands first counts.
HOST_KINDS = (
    RECEIVING := "receiving batches from the loader's workers",
    WORKERS := "waiting for the loader's workers",
    LOADING := "loading data",
    WAITING := "waiting for the device",
    LAUNCHING := "launching",
    PYTHON := "Python between ops",
    IN_RANGES := "in ranges",
    NOT_IN_RANGES := "outside ranges",
    OPTIMIZER := "optimizer's host work",
    HOOK := "hooks' host work",
    OTHER_PROCESS := "waiting for another process",
    COLLECTIVE := "collectives",
    ALLOCATOR := "allocator calls",
    COMPILING := "compiling and first calls",
    COLLECTING := "garbage collection",
    STALLED := "host stalls",
    CPU_OP := "work on the CPU",
    PREPROCESSING := "preprocessing on the CPU",
    COPYING := "copies that hold the host",
    RECORDING := "the recording itself",
    GAP := "gaps between kernels",
    LOST_IN_GRAPHS := "kernels of graphs that were not recorded",
    LOST := "kernels that the profiler lost",
    LEFT_OUT := "work that the file leaves out",
    NOT_RECORDED := "work queued but none recorded",
    UNKNOWN := "unknown",
    *OP_KINDS,
)
CODE_OF = {kind: code for code, kind in enumerate(HOST_KINDS)}
# Without operators and stacks nothing says that the host runs Python.
BETWEEN_OPS = (PYTHON, IN_RANGES, NOT_IN_RANGES)
