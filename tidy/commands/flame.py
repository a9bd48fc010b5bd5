"""`tidy flame`: the time of traces as folded stacks."""

from __future__ import annotations

from collections.abc import Sequence

from ..account import Accountant, waits_for_ranks
from ..progress import say
from ..trace import printable
from .files import check_output, find_files, of_step, opened


def run_flame(
    traces: Sequence[str],
    of_device: bool,
    all_frames: bool,
    output: str | None,
    step: str | None = None,
    jobs: int | None = None,
) -> int:
    """Read and write, as the options of the command say; gives the exit code.

    Of several traces each path begins with that of its file.
    """
    inputs = find_files(traces, jobs)
    check_output(output, sources=[path for path, _ in inputs.files])
    read = [of_step(each, step) for each in inputs.read()]
    inputs.say_what_is_missing()
    with opened(output) as file:
        for trace, waits in zip(read, waits_for_ranks(read), strict=True):
            graph = Accountant(trace, waits=waits).flame_graph(all_frames=all_frames)
            lines = graph.folded(graph.self_device_ns if of_device else graph.self_host_ns)
            above = f"{trace.info.path.replace(';', ',')};" if len(read) > 1 else ""
            is_empty = True
            for line in lines:
                file.write(f"{printable(above + line)}\n")
                is_empty = False
            if is_empty:
                side = "device" if of_device else "host"
                say(f"{trace.info.path}: no {side} time is recorded in the window")
    return 2 if inputs.unreadable else 0
