"""What a comparison says, as plain sentences: for the terminal, and for the other forms."""

from __future__ import annotations

from collections.abc import Iterator

from ..patterns.evidence.device.memory import in_units
from ..trace import count_text, number_text, printable, time_text
from .compare import Comparison, OpChange
from .findings import FoundPlace
from .interval import CONFIDENCE
from .setting import Difference
from .side import Side

_MUCH = 0.05  # the machine is worth a sentence from here on


def side_text(side: Side) -> str:
    """`base.json.gz: 40 steps of 2.82 ms`."""
    if side.step_ns is None:
        return f"{printable(side.path)}: no steps"
    unit = side.setting.unit
    runs = f", in {count_text(len(side.runs), 'run')}" if len(side.runs) > 1 else ""
    count = count_text(len(side.steps_ns), unit) if len(side.steps_ns) else f"{unit}s"
    return f"{printable(side.path)}: {count} of {time_text(round(side.step_ns))}{runs}"


def verdict_text(pair: Comparison) -> str:
    """Return the one sentence that a reader takes away."""
    step, unit = pair.step, pair.new.setting.unit
    if pair.differences:
        return "not comparable"
    if step is None or step.low is None or step.high is None:
        return _no_interval(pair)
    said = {
        "slower": f"slower: a {unit} takes {step.estimate:.1%} longer",
        "faster": f"faster: a {unit} takes {-step.estimate:.1%} less",
        "undecided": f"no difference that is certain: a {unit} takes {step.estimate:+.1%}",
    }[pair.verdict]
    counts = f"{len(pair.base.steps_ns):,} and {len(pair.new.steps_ns):,}"
    confidence = f"with {CONFIDENCE:.0%} confidence"
    text = f"{said} ({step.low:+.1%} to {step.high:+.1%} {confidence}, {counts} {unit}s)"
    least = pair.least_regression or 0.0
    if pair.verdict == "undecided" and least > 0:
        text += f"; but what certainly changed in it adds at least {least:.1%}"
    return text


def _no_interval(pair: Comparison) -> str:
    if pair.base.step_ns is None or pair.new.step_ns is None:
        return "no steps to compare: mark them with prof.step(), or record an optimizer"
    medians = " and ".join(time_text(round(each.step_ns or 0)) for each in (pair.base, pair.new))
    if pair.step is None:
        return f"no interval: one report has no single steps; medians are {medians}"
    counts = [min(round(s.independent_count), len(s.steps_ns)) for s in (pair.base, pair.new)]
    said = "count as" if counts != [len(pair.base.steps_ns), len(pair.new.steps_ns)] else "are"
    return (
        f"no interval: the steps {said} {counts[0]} and {counts[1]} independent ones, too few for"
        f" {CONFIDENCE:.0%} confidence; medians are {medians}: record more steps"
    )


def notes(pair: Comparison) -> Iterator[str]:
    """Return what one has to know to read the rest."""
    for each in pair.overlooked:
        yield f"{each.what} differs: {each.why}"
    if pair.unknown:
        yield f"not checked whether it is the same: {', '.join(pair.unknown)} (not recorded)"
    if pair.scales != (1.0, 1.0):
        yield "steps are compared as recorded lightly: not both could be scaled to unrecorded ones"
    if pair.is_quickest:
        yield (
            "each part of a step is as long as in the quickest steps; how much that differs from"
            " run to run is estimated from the ops"
        )
    machine = pair.machine
    if machine.op_count and abs(machine.growth) >= _MUCH:
        longer = "longer" if machine.growth > 0 else "shorter"
        busier = "slower or busier" if machine.growth > 0 else "faster or quieter"
        yield (
            f"ops are alike {abs(machine.growth):.0%} {longer} ({machine.op_count} of them, give or"
            f" take {machine.spread:.0%} each), as on a {busier} machine; the interval holds what"
            " that explains"
        )
    if pair.base.ops is None or pair.new.ops is None:
        yield "no ops and no memory are compared: a JSON report has none; give the traces"


def difference_text(each: Difference) -> str:
    """`device: A100 in BASE, H100 in NEW (--allow device compares all the same)`."""
    return printable(f"{each.what}: {each.why} (--allow {each.what} compares all the same)")


def op_text(change: OpChange) -> str:
    """`grew  aten::mm [64, 512] [512, 512] at train.py:42`."""
    key = change.key
    name = f"Python code of {key.function}" if not key.name else f"{key.name} {key.shapes}".rstrip()
    where = f" at {key.file}:{key.line}" if key.file else ""
    how = f" (other {change.how})" if change.how else ""
    return printable(f"{name}{where}{how}")


def op_times(change: OpChange) -> str:
    """`120 us -> 190 us a step, x2, +2.5% of it (+1.0% to +3.9%)`."""
    times = f"{time_text(round(change.base_ns))} -> {time_text(round(change.new_ns))} a step"
    counts = change.base_count, change.new_count
    shown = [number_text(each) for each in counts]
    if change.what == "came":
        often = f"x{shown[1]}"
    elif change.what == "went" or shown[0] == shown[1]:
        often = f"x{shown[0]}"
    else:
        often = f"x{shown[0]} -> x{shown[1]}"
    estimate, low, high = change.of_step
    interval = "" if low is None or high is None else f" ({low:+.1%} to {high:+.1%})"
    return f"{times}, {often}, {estimate:+.1%} of it{interval}"


def finding_text(found: FoundPlace) -> str:
    """`TDY404 for-loop-indexing warning  train.py:12  a loop indexes ...`."""
    said = f"{found.code} {found.name} {found.severity}  {found.where}  {found.said}"
    return printable(said)


def memory_text(row: tuple[str, int, int]) -> str:
    """`tensors on a device: 1.2 GiB -> 1.4 GiB (+12.5%)`."""
    what, base, new = row
    change = f" ({new / base - 1:+.1%})" if base != new else ""
    return f"{what}: {in_units(base)} -> {in_units(new)}{change}"


def regression_text(least: float | None, allowed: float) -> str:
    """Return what `--fail-on-regression` came to."""
    if least is None:
        return f"--fail-on-regression {_percent(allowed)}: not decided, no interval is known"
    said = "a regression" if least > allowed else "no regression"
    return f"{said}: at least {least:+.1%}, {_percent(allowed)} allowed"


def _percent(part: float) -> str:
    return f"{number_text(100 * part)}%"
