"""Recording with the PyTorch that is installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tidy
from tidy import Trace


@dataclass(frozen=True)
class Recording:
    """PyTorch's profiler after a run, and the trace that tidy reads from its export."""

    profiler: Any
    trace: Trace


def record(
    folder: Path,
    work: Callable[[], Any],
    *,
    verbose: bool = False,
    all_threads: bool = False,
    **options: Any,
) -> Recording:
    """Run `work` under `torch.profiler.profile(**options)` on the CPU.

    Now and then PyTorch 2.13 has freed a name of its own; the work is then run again.

    Args:
        verbose: whether PyTorch keeps the Python stack of each event.
        all_threads: also record threads that were started before.
    """
    from torch._C._profiler import _ExperimentalConfig
    from torch.profiler import ProfilerActivity, profile

    config = _ExperimentalConfig(verbose=verbose, profile_all_threads=all_threads)
    for _ in range(5):
        with profile(
            activities=[ProfilerActivity.CPU], experimental_config=config, **options
        ) as profiler:
            work()
        try:
            profiler.events()
        except UnicodeDecodeError:
            continue
        break
    return Recording(profiler, exported(profiler, folder))


def exported(profiler: Any, folder: Path) -> Trace:
    """What tidy reads from the profiler's file."""
    path = folder / "recorded.pt.trace.json"
    profiler.export_chrome_trace(str(path))
    return tidy.load(path)
