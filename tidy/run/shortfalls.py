"""What a recording lacks, why, and what to do about it; each as one line."""

from __future__ import annotations

from collections.abc import Iterator

from ..trace import count_text
from .assembly import Assembly
from .options import RunOptions
from .recording import Recording

_MARK_ROUNDS = "in a loop without an optimizer, step() of tidy.record marks the rounds"


def shortfalls(
    recording: Recording, full: Assembly, options: RunOptions, status: int | None
) -> list[str]:
    """What reports say, and the trace's header keeps.

    Args:
        full: its fully recorded pieces.
        status: how the process ended, as a shell counts it; None where that is not known.
    """
    ended_early = recording.end(status)
    notes = [] if ended_early is None else [f"the recording ended early: {ended_early}"]
    notes += [lost.text(reason) for reason, lost in recording.lost.items()]
    if options.device is not None:
        notes += _of_device(recording, full, options.device)
    if recording.state.get("own_profiler"):
        notes.append("the recording ended when the script started a profiler of its own")
    elif ended_early is None and not recording.lost and full.op_count:
        notes += _of_steps(recording, full, options)
    return notes


def why_no_ops(recording: Recording, options: RunOptions) -> str:
    """Why there is nothing to report where nothing went wrong."""
    why = "no op ran while it was recorded"
    counted = recording.state.get("counted", 0)
    if options.after and counted <= options.after:
        steps = count_text(counted, "optimizer step")
        return f"{why}: there were {steps}, and --after {options.after} leaves out the first ones"
    if recording.state.get("steps_elsewhere"):
        return f"{why}: the steps ran on another thread than the main one; --all-threads records it"
    other = recording.state.get("also_imported")
    if other is not None:
        name = {"torch": "PyTorch", "runtime": "tidy.runtime"}[other]
        return f"{why}; {name} is imported, too: --framework {other} records that"
    return f"{why}: nothing to report"


def _of_device(recording: Recording, full: Assembly, device: str) -> Iterator[str]:
    if recording.framework == "torch":
        yield (
            "--device has no effect on PyTorch; --framework runtime runs the script on tidy.runtime"
        )
    elif not full.has_modelled_work:
        yield (
            f"--device {device}: nothing ran on the modelled device while it was recorded;"
            ' .to("cuda") moves a model and its batches there'
        )


def _of_steps(recording: Recording, full: Assembly, options: RunOptions) -> Iterator[str]:
    """Steps that were wanted and are not there."""
    count = full.step_count
    wanted = options.warmup + options.steps
    is_time_over, is_large = (
        recording.round in recording.state.get(why, []) for why in ("out_of_time", "large")
    )
    time = f"{options.seconds:g} s"
    if not count and is_time_over:
        yield (
            f"no optimizer stepped in the {time} that were recorded, so no steps are marked;"
            f" --seconds records longer, and {_MARK_ROUNDS}"
        )
    elif not count:
        yield (
            f"no optimizer stepped while it was recorded, so no steps are marked; {_MARK_ROUNDS}"
        )
    elif count < wanted and is_time_over:
        steps = count_text(options.steps, "step")
        yield (
            f"{max(count - options.warmup, 0)} of {steps} recorded when the {time} were over;"
            " --seconds records longer"
        )
    elif count < wanted and is_large:
        steps = count_text(options.steps, "step")
        yield (
            f"{count - options.warmup} of {steps} recorded, since they are large; a larger"
            " --max-size records more"
        )
    elif count <= options.warmup:
        yield (
            f"the script ended after {count_text(count, 'step')}, which --warmup {options.warmup}"
            " does not count; --warmup 0 does"
        )
