"""Record the traces in tests/data/traces, with what PyTorch and the devices say of each run.

    python -m tests.data.record_traces

at the top of a checkout, with PyTorch 2.13 for the CPU. Each trace is recorded by a process of its
own. NAME.pt.trace.json.gz is the trace; beside it lie

- of a run of PyTorch: NAME.tree.json.gz, the event tree that the profiler held (columns: index,
  index of the parent, name, tag, start_ns, duration_ns), and NAME.torchtidy.json, what TorchTidy
  (torch.profiler._pattern_matcher) matched: {pattern: [[name, start_ns, place], ...]};
- of a run of tidy.runtime: NAME.device.json.gz, what the modelled devices and their host logged.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .device_workloads import DEVICE_WORKLOADS

TRACES = Path(__file__).parent / "traces"
VERSION = "2.13."
ALL = {"record_shapes": True, "with_stack": True, "profile_memory": True}
WITHOUT_STACKS = {"record_shapes": True}
# What is recorded, by the names in tests/oracle/rule_workloads.py.
RULES = (
    "nested-chain copy-plus-one helper read-rows at-once recurrent one-sample-a-step "
    "list-of-tensors data-set data-set-workers iterator-before functional functional-relu "
    "Conv2d-bias Conv2d-no-bias Conv2d-eval Adam-single Adam-foreach SGD-single "
    "optimizer-zeros-foreach optimizer-none-foreach model-zeros-single aligned float32 "
    "copy-on-the-cpu"
).split()
RULES_WITHOUT_STACKS = ("data-set", "Adam-single", "optimizer-zeros-foreach", "functional")
THREADS = ("new_thread_each", "one_thread_reused", "two_at_once", "late_backward", "root_first")
ALL_THREADS = ("one_thread_reused", "late_backward", "double_backward")


def _nothing() -> None:
    """Records nothing but the profiler."""


def runs() -> dict[str, tuple[Callable[[], Any], dict[str, Any]]]:
    """{name: (what is recorded, options of the profiler)} of the runs of PyTorch."""
    from ..oracle import thread_workloads
    from ..oracle.rule_workloads import workloads
    from . import torch_training

    rules = workloads()
    listed: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {"nothing": (_nothing, ALL)}
    listed |= {name: (rules[name], ALL) for name in RULES}
    listed |= {f"{name}-no-stacks": (rules[name], WITHOUT_STACKS) for name in RULES_WITHOUT_STACKS}
    for name in ("training_bad", "training_good"):
        listed[name] = (getattr(torch_training, name), {**ALL, "with_flops": True})
    for name in THREADS:
        listed[name] = (getattr(thread_workloads, name), ALL)
    for name in ALL_THREADS:
        options = {**ALL, "all_threads": True}
        listed[f"{name}-all-threads"] = (getattr(thread_workloads, name), options)
    return listed


def names() -> list[str]:
    return [*runs(), *DEVICE_WORKLOADS]


def _packed(path: Path, text: str) -> None:
    path.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))


def _neutral(text: str) -> str:
    """Without the names of the machine and of the folder written to; other places are fatal."""
    text = re.sub(r'("host_name": ?)"[^"]*"', r'\1"machine"', text)
    text = re.sub(r'("traceName": ?)"[^"]*/', r'\1"', text)
    place = re.search(r'"(?:[^"]* )?(?:/[^"/]+){2}[^"]*"|"[^"]*site-packages[^"]*"', text)
    if place is not None:
        raise ValueError(f"a place on this machine: {place[0]}")
    return text


def record_torch(name: str) -> None:
    import torch
    from torch.profiler import _pattern_matcher as patterns

    from ..oracle.live_tree import rows_of
    from ..oracle.recording import is_readable, record, torchtidy_events
    from . import torch_training

    torch.set_num_threads(1)
    torch_training.warm()
    work, options = runs()[name]
    with TemporaryDirectory() as folder:
        recording = record(Path(folder), work, **options)
        if not is_readable(recording.profiler):
            raise RuntimeError("PyTorch has freed a name in its own event tree: try again")
        (path,) = Path(folder).iterdir()
        text = path.read_text("utf-8")
    said = {
        pattern: [
            [event.name, event.start_time_ns, patterns.source_code_location(event)]
            for event in events
        ]
        for pattern, events in torchtidy_events(recording.profiler).items()
    }
    _packed(TRACES / f"{name}.pt.trace.json.gz", _neutral(text))
    rows = json.dumps({"rows": rows_of(recording.profiler)}, separators=(",", ":"))
    _packed(TRACES / f"{name}.tree.json.gz", rows)
    verdicts = json.dumps({k: v for k, v in said.items() if v}, indent=0) + "\n"
    (TRACES / f"{name}.torchtidy.json").write_text(verdicts, "utf-8")


def record_devices(name: str) -> None:
    from tidy.profiler import profile
    from tidy.runtime import cuda
    from tidy.runtime.modelled.activity import ActivityLog, add_log, remove_log

    log = ActivityLog()
    add_log(log)
    with profile(**ALL) as profiler:
        DEVICE_WORKLOADS[name]()
    remove_log(log)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(path)
        _packed(TRACES / f"{name}.pt.trace.json.gz", _neutral(path.read_text("utf-8")))
    cuda.configure(None)
    calls = [[c.name, c.start_ns, c.end_ns, c.correlation] for c in log.calls]
    work = [
        [w.kind, w.name, w.start_ns, w.end_ns, w.device, w.stream, w.correlation, w.nbytes]
        for w in log.work
    ]
    memory = [[m.time_ns, m.device, m.nbytes, m.allocated_nbytes] for m in log.memory]
    logged = {"calls": calls, "work": work, "memory": memory}
    _packed(TRACES / f"{name}.device.json.gz", json.dumps(logged))


def main(arguments: list[str]) -> str | None:
    import torch

    if not torch.__version__.startswith(VERSION):
        return f"the traces are those of PyTorch {VERSION}x, not of {torch.__version__}"
    warnings.simplefilter("ignore")
    if arguments:
        for name in arguments:
            (record_devices if name in DEVICE_WORKLOADS else record_torch)(name)
        return None
    TRACES.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tests.data.record_traces"]
    for name in names():
        print(name, flush=True)  # noqa: T201
        subprocess.run([*command, name], check=True)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
