"""The sentences of a report: for the terminal, and for the other forms."""

from __future__ import annotations

from collections.abc import Sequence

from ..check.summary import RunSummary
from ..finding import Crashed, Saving
from ..summary import Fidelity, Summary
from ..trace import count_text, printable, range_text, time_text
from .sections import PlaceOnRanks, Section
from .units import ranges_text, share_text

LOST_WORK = "device activity may be missing in the file: idle time and savings are upper bounds"

_MOST_LEFT_OUT = 2
# Steps of which one in ten is longer than so much of the median are unlike.
_FEWEST_UNLIKE, _OF_TEN, _UNLIKE = 3, 9, 1.3
# Time besides the window that is less than this part of all goes without saying.
_WORTH_SAYING = 0.001
_WORTH_A_WORD = 0.05  # of the window: communication that nothing hides
# Two recordings of the same code differ by more (docs/savings.md): less is no promise.
_TELLABLE = 0.01
_EXACT = 0.01  # a replay that is off by no more needs no word


def run_line(section: Section) -> str:
    """`A100, rank 0 of 8, 5 steps of 153 ms, GPU busy 61%; left out: ...; recorded: ...`.

    Where steps are left out it is `6 steps of which 5 count, 153 ms each, ...`. All figures are of
    a step of the window, in the mean; of the rest it says how much it is.
    """
    run = section.runs[0]
    parts = [printable(run.framework), _devices(run)] if run.framework else [_devices(run)]
    ranks = [r.rank for r in section.runs if r.rank is not None]
    if ranks and run.world_size and run.world_size > 1:
        parts.append(f"{ranks_label(ranks)} of {run.world_size}")
    if run.unit != "step":
        parts.append("no steps marked")
    if run.step_count and run.step_ns is not None:
        count, length = count_text(run.step_count, run.unit), time_text(run.step_ns)
        unlike = _unlike_text(run)
        if run.counted < run.step_count:
            parts.append(f"{count} of which {run.counted:,} count, {length}{unlike or ' each'}")
        else:
            parts.append(f"{count} of {length}{unlike}")
    else:
        parts.append(f"{time_text(run.window_ns)} of the run")
    busy = [r.busy_share for r in section.runs if r.busy_share is not None]
    if busy:
        at_least = "at least " if run.busy_is_lower_bound else ""
        said = f"{run.device_sort} busy {at_least}{_percents(busy)}"
        communicates = [r.communication_share for r in section.runs]
        if max(busy) * max(communicates) >= _WORTH_A_WORD:
            said += f" ({_percents(communicates)} of it communication)"
        parts.append(said)
    recorded = ", ".join(run.recorded) or "names and times only"
    left_out = f"left out: {', '.join(_left_out(run))}; " if _left_out(run) else ""
    return f"{', '.join(parts)}; {left_out}recorded: {recorded}"


def _percents(shares: Sequence[float]) -> str:
    low, high = f"{min(shares):.0%}", f"{max(shares):.0%}"
    return low if low == high else f"{low} to {high}"


def _unlike_text(run: RunSummary) -> str:
    """Say how unlike they are, ` in the mean (28.5 to 411, median 39.0)`; "" if they are not."""
    ordered = sorted(run.steps_ns)
    if len(ordered) < _FEWEST_UNLIKE or not run.median_ns or not run.step_ns:
        return ""
    if ordered[_OF_TEN * len(ordered) // 10] <= _UNLIKE * run.median_ns:
        return ""
    ends, middle = ((ordered[0], ordered[-1]), (run.median_ns,) * 2)
    said = (range_text(*each, run.step_ns) for each in (ends, middle))
    return f" in the mean ({', median '.join(said)})"


def _left_out(run: RunSummary) -> list[str]:
    """List the parts of the recording outside of the window, with their times."""
    named = [f"{each.label} ({time_text(each.time_ns)})" for each in run.left_out]
    if len(named) > _MOST_LEFT_OUT:
        time_ns = sum(each.time_ns for each in run.left_out)
        unit = run.unit if run.step_count else "call"
        named = [f"{count_text(len(named), unit)} ({time_text(time_ns)})"]
    rest_ns = run.span_ns - run.window_ns - sum(each.time_ns for each in run.left_out)
    if rest_ns > _WORTH_SAYING * run.span_ns:
        where = f"outside of {run.unit}s" if run.step_count else "before and after it"
        named.append(f"{time_text(rest_ns)} {where}")
    return named


def ranks_label(ranks: Sequence[int]) -> str:
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {ranges_text(ranks)}"


def notes_of(section: Section) -> list[str]:
    """Return what is to be said of the recordings, each once, with the ranks that it is of."""
    ranks: dict[str, list[int]] = {}
    for run in section.runs:
        lost = [LOST_WORK] if run.busy_is_lower_bound else []
        for note in (*run.warnings, *lost):
            ranks.setdefault(note, []).append(run.rank or 0)
    if section.rank_count <= 1:
        return list(ranks)
    return [f"{ranks_label(whose)}: {note}" for note, whose in ranks.items()]


def _devices(run: RunSummary) -> str:
    if not run.devices:
        return "CPU run" if run.is_cpu_run else "no device activity"
    names = (name + (f" x {count}" if count > 1 else "") for name, count in run.devices)
    return " and ".join(names)


def message_of(section: Section, place: PlaceOnRanks) -> str:
    """Return what was seen, where the fix is made, whether it is costlier now, and its ranks."""
    said, known = place.finding.message, place.finding.known
    if place.finding.fix_place is not None:
        said += f"; {place.finding.fix_place}"
    if known is not None and known.state == "updated":
        said += "; costlier than in the baseline"
        if known.cost_share is not None:
            said += f": it was {share_text(known.cost_share)} of the time that counts"
    return f"{said} ({ranks_label(place.ranks)})" if section.rank_count > 1 else said


def saving_text(saving: Saving) -> str:
    """`saves 31.9 to 37.7 of 67.9 ms`, where that is more than two recordings differ by."""
    if saving.high_ns >= _TELLABLE * saving.step_ns:
        return str(saving)
    less = f"less than 1% of {time_text(saving.step_ns)}" if saving.high_ns > 0 else "nothing"
    return f"saves {less}"


def saving_of(place: PlaceOnRanks) -> str:
    """Return the saving, and the reason why it is small or uncertain; "" if it is not known."""
    saving = place.finding.saving
    if saving is None:
        return ""
    return f"{saving_text(saving)}: {saving.why}" if saving.why else saving_text(saving)


def costs_of(section: Section, place: PlaceOnRanks) -> list[str]:
    """Return `2 a step`, `45.5 ms` and, if shares say anything, `29.7% of step`.

    Of several ranks the last one also says where that is.
    """
    run = section.runs[0]
    if not place.finding.in_window:
        counting = "time that counts" if run.unit == "run" else f"{run.unit}s that count"
        return [_in_all(place.count), f"outside of the {counting}"]
    count = _count_text(place, run)
    if not place.cost_ns:
        return [count]
    where = "GPU " if place.finding.on_device else ""
    share = place.cost_share
    part = "outside steps" if share is None else f"{share_text(share)} of {run.unit}"
    parts = [where + time_text(place.cost_ns), *([part] if run.has_shares else [])]
    parts[-1] += on_rank(section, place.rank)
    return [count, *parts]


def cost_of(section: Section, place: PlaceOnRanks) -> str:
    """`6 a step, 273 ms, 29.7% of step`."""
    return ", ".join(costs_of(section, place))


def on_rank(section: Section, rank: int) -> str:
    """Say whose figures stand before it, if the section is of several ranks."""
    return f" on rank {rank}" if section.rank_count > 1 else ""


def _in_all(count: int) -> str:
    """`x2`; what has no events of its own is about the whole run."""
    return f"x{count:,}" if count else "in all"


def _count_text(place: PlaceOnRanks, run: RunSummary) -> str:
    """Return the matches a step, the mean over ranks; or in all, if less than one a step."""
    steps = run.counted * len(place.ranks)
    if not steps or place.count < steps:
        return _in_all(place.count)
    a_step = place.count / steps
    digits = 0 if a_step >= 10 or a_step == round(a_step) else 1
    return f"{a_step:,.{digits}f} a {run.unit}"


def crashed_text(code: str, crash: Crashed) -> str:
    return f"{code} crashed: {crash.error} (TIDY_TRACEBACK=1 shows where)"


def replay_is_off_text(fidelity: Fidelity, unit: str) -> str:
    """Say that the replay is off by too much to estimate savings, in most steps or in some."""
    said = "savings are not estimated: a replay of the recorded run is off by"
    if fidelity.is_off_in_most_steps:
        return f"{said} {share_text(fidelity.median_error)} of a {unit}"
    some = "one part of ten" if unit == "run" else f"one {unit} of ten"
    return f"{said} {share_text(fidelity.p90_error)} or more in {some}"


def slowest_after_all(section: Section) -> Summary:
    """The rank whose step is longest after all fixes."""
    return max(section.reports, key=lambda each: (each.replay.step_ns_after or (-1, -1))[1])


def after_all_text(section: Section) -> str | None:
    """`With all of this fixed: 67.9 -> 30.2 to 36.0 ms a step`, and how far off a replay is.

    Of several ranks it is the one whose step is longest then.
    """
    report = slowest_after_all(section)
    replay, run = report.replay, report.run
    after, step_ns = replay.step_ns_after, replay.step_ns
    if after is None or replay.fidelity is None or step_ns - after[0] < _TELLABLE * step_ns:
        return None
    number, unit = time_text(step_ns).rsplit(" ", 1)
    what = "" if run.unit == "run" else f" a {run.unit}"
    where = f" of rank {run.rank}" if section.rank_count > 1 else ""
    ends = range_text(*after, step_ns)
    text = f"With all of this fixed: {number} -> {ends} {unit}{what}{where}"
    if replay.fidelity.median_error <= _EXACT:
        return text
    return f"{text}; replayed unchanged, it is off by {share_text(replay.fidelity.median_error)}"
