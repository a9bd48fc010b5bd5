"""Print how near the unchanged replay of each recorded trace comes to what was recorded.

    python benchmarks/replay_fidelity.py ../shared/traces/real

A table in Markdown, for docs/savings.md. The step's error alone says little where the host never
waits for the device, since the host's times are kept as recorded; so the device's part is shown as
well: how far the start of each kernel, copy and fill is off, as a share of a step (90th
percentile).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tidy
from tidy.account import HostTime
from tidy.errors import TraceFormatError
from tidy.savings import Savings, Simulator, build_graph
from tidy.trace import Capability, Trace

_HEAD = """\
| trace | steps | step, ms | median error | 90th percentile | device work is off by |
|---|---:|---:|---:|---:|---:|"""


@dataclass(frozen=True)
class Row:
    """One trace's errors, as shares of a step."""

    name: str
    step_count: int
    step_ns: float
    median_error: float
    p90_error: float
    work_error: float

    def line(self) -> str:
        errors = (self.median_error, self.p90_error, self.work_error)
        shown = " | ".join(f"{error:.3%}" for error in errors)
        return f"| `{self.name}` | {self.step_count} | {self.step_ns / 1e6:,.2f} | {shown} |"


def fidelity_of(trace: Trace, name: str) -> Row | None:
    """The errors of the unchanged replay; None where there is nothing to replay."""
    window = trace.window
    steps = window.step_ranges or list(window.time)
    if Capability.DEVICE not in trace.capabilities or not steps:
        return None
    track = HostTime(trace).main
    fidelity = Savings(trace, steps, track).fidelity
    bounds = sorted({time for step in steps for time in step})
    graph = build_graph(trace, bounds, track)
    times = Simulator(graph).run()
    step_ns = float(np.median([end - start for start, end in steps]))
    starts = trace.start_ns[graph.work_row]
    inside = window.time.contains(starts)
    off = np.abs(times.work_start_ns - starts)[inside] / step_ns
    work_error = float(np.quantile(off, 0.9)) if len(off) else 0.0
    return Row(name, len(steps), step_ns, fidelity.median_error, fidelity.p90_error, work_error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    rows = list[Row]()
    print(_HEAD)
    for path in sorted(parser.parse_args().folder.glob("*.json*")):
        try:
            row = fidelity_of(tidy.load(path), path.name.partition(".")[0])
        except TraceFormatError:
            continue
        if row is not None:
            rows.append(row)
            print(row.line())
    medians = [row.median_error for row in rows]
    worst = np.quantile([row.p90_error for row in rows], 0.9) if rows else 0.0
    print(f"\n{len(rows)} traces: median error {np.median(medians):.3%} (median of all),", end=" ")
    print(f"90th percentile {worst:.3%}.")


if __name__ == "__main__":
    main()
