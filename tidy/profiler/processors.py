"""How many processors a process may use, how many threads compute in it, and how busy they are."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from io import FileIO
from typing import Any

HEADER = "tidy_threads"
_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

# Where Linux says what part of its processors a container may use: in all and a period, in us.
_QUOTAS = (
    ("/sys/fs/cgroup/cpu.max",),
    ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
)
_MAPS = "/proc/self/maps"
_LIBRARY = re.compile(r"/\S*(?:openblas|libmkl_rt)[^\s/]*")
_ASKS = (
    "scipy_openblas_get_num_threads64_", "scipy_openblas_get_num_threads",
    "openblas_get_num_threads64_", "openblas_get_num_threads", "MKL_Get_Max_Threads",
)  # fmt: skip


def usable_cpus() -> int:
    """Count how many processors this process may use, by its affinity and its container's quota."""
    quotas = [quota for quota in map(_quota, _QUOTAS) if quota]
    return min([own_cpus(), *quotas])


def own_cpus() -> int:
    """Count how many processors this process may run on, whatever part of their time it may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quota(files: tuple[str, ...]) -> int:
    """Processors that a quota is worth, at least one; 0 where there is none."""
    texts = list[str]()
    for name in files:
        with suppress(OSError):
            texts += _read(name).split()
    if len(texts) != 2 or not all(text.isdigit() for text in texts) or not int(texts[1]):
        return 0
    return max(-(-int(texts[0]) // int(texts[1])), 1)


def _read(path: str) -> str:
    """The text of a file of the system; `open` may be another one in the script's process."""
    with FileIO(path) as file:
        return file.readall().decode("utf-8", "replace")


@lru_cache(maxsize=1)
def _ask_blas() -> Callable[[], int] | None:
    """What tells how many threads numpy's products may use; None where its library does not."""
    try:
        libraries = sorted(set(_LIBRARY.findall(_read(_MAPS))))
    except OSError:
        return None
    for library in libraries:
        with suppress(OSError):
            loaded = ctypes.CDLL(library)
            for name in _ASKS:
                if hasattr(loaded, name):
                    ask: Callable[[], int] = getattr(loaded, name)
                    return ask
    return None


def machine_facts() -> dict[str, Any]:
    """Return what threads compete for: processors, processes of this job here, and the machine's
    load; and the variable that says how many there are, if one is set.
    """
    facts: dict[str, Any] = {"processors": usable_cpus()}
    with suppress(OSError, AttributeError):
        facts["load"] = round(os.getloadavg()[0], 1)
    processes = os.environ.get("LOCAL_WORLD_SIZE", "")
    if processes.isdigit():
        facts["processes"] = int(processes)
    named = (f"{name}={os.environ[name]}" for name in _VARIABLES if name in os.environ)
    if variable := next(named, ""):
        facts["variable"] = variable
    return facts


def threads_header() -> dict[str, Any]:
    """Return the key for a recording of tidy.runtime, or nothing if numpy's threads are not
    known.
    """
    ask = _ask_blas()
    threads = ask() if ask is not None else 0
    return {HEADER: {"intra_op": threads, **machine_facts()}} if threads else {}
