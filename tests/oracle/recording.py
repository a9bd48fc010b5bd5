"""Recording with the PyTorch that is installed, and reading what it exports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tidy
from tidy import Trace


@dataclass(frozen=True)
class Recording:
    """The profiler after it stopped, and the trace that tidy reads from its export."""

    profiler: Any
    trace: Trace


def record(
    folder: Path, work: Callable[[], Any], *, all_threads: bool = False, **options: Any
) -> Recording:
    """Run `work` under `torch.profiler.profile(**options)`.

    Now and then PyTorch 2.13 has freed a name in its own event tree, and then nothing can be
    compared with it: the work is run again.
    """
    from torch._C._profiler import _ExperimentalConfig
    from torch.profiler import profile

    config = _ExperimentalConfig(profile_all_threads=all_threads)
    for _ in range(5):
        with profile(experimental_config=config, **options) as profiler:
            work()
        if is_readable(profiler):
            break
    path = folder / "recorded.pt.trace.json"
    profiler.export_chrome_trace(str(path))
    trace = tidy.load(path)
    trace.self_check()
    return Recording(profiler, trace)


def is_readable(profiler: Any) -> bool:
    """Whether all names of the event tree are text."""
    stack = list(profiler.profiler.kineto_results.experimental_event_tree())
    try:
        for event in stack:  # grows
            stack += event.children
            str(event.name)
    except UnicodeDecodeError:
        return False
    return True


def torchtidy_events(profiler: Any) -> dict[str, list[Any]]:
    """The profiler's events that PyTorch's own patterns match in the run, by pattern.

    PyTorch dropped them in 2026; without them there is nothing to compare with.
    """
    import pytest

    patterns = pytest.importorskip("torch.profiler._pattern_matcher")
    names = [name for name in vars(patterns) if name.endswith("Pattern")]
    walk = patterns.Pattern.eventTreeTraversal
    events = list(walk(patterns.Pattern(profiler)))  # once: each makes all events anew
    found = {}
    for name in names:
        if name not in {"Pattern", "NamePattern"}:
            pattern = getattr(patterns, name)(profiler, should_benchmark=False)
            if type(pattern).eventTreeTraversal is walk:
                pattern.eventTreeTraversal = lambda: events
            found[name] = list(pattern.matched_events())
    return found


def torchtidy_matches(profiler: Any) -> dict[str, set[tuple[str, int]]]:
    """{pattern: {(event name, start_ns)}} of those events."""
    import pytest

    try:
        return {
            pattern: {(event.name, event.start_time_ns) for event in events}
            for pattern, events in torchtidy_events(profiler).items()
        }
    except UnicodeDecodeError:
        pytest.skip("PyTorch has freed a name in its own event tree; see record")
