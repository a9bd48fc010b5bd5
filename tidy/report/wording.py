"""The sentences of a report: for the terminal, and for the other forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..check.summary import RunSummary
from ..finding import Crashed, Saving
from ..jobs import ranks_text
from ..summary import Fidelity, Summary
from ..trace import count_text, printable, range_text, time_text
from .account_text import UNTOLD
from .sections import NUMBER, PlaceOnRanks, Section
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
_ALL, _FEW = "all ranks", 4
_EXACT = 0.01  # a replay that is off by no more needs no word


def run_line(section: Section) -> str:
    """`A100, rank 0 of 8, 5 steps of 153 ms, GPU busy 61%; left out: ...; recorded: ...`.

    Of several ranks it has the least and the most of them, and says of which rank the rest is.
    Where steps are left out it is `6 steps of which 5 count, 153 ms each, ...`. All figures are of
    a step of the window, in the mean; of the rest it says how much it is.
    """
    run, several = section.runs[0], section.rank_count > 1
    parts = [printable(run.framework)] if run.framework else []
    parts.append(" and ".join(dict.fromkeys(map(_devices, section.runs))))
    ranks = [r.rank for r in section.runs if r.rank is not None]
    if ranks and run.world_size and run.world_size > 1:
        parts.append(f"{ranks_label(ranks)} of {run.world_size}")
    if run.unit != "step":
        parts.append("no steps marked")
    if several and all(each.step_ns is not None for each in section.runs):
        parts.append(_steps_on_ranks(section.runs))
    elif run.step_count and run.step_ns is not None:
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
        at_least = "at least " if any(r.busy_is_lower_bound for r in section.runs) else ""
        said = f"{run.device_sort} busy {at_least}{_percents(busy)}"
        communicates = [r.communication_share for r in section.runs]
        if max(busy) * max(communicates) >= _WORTH_A_WORD:
            said += f" ({_percents(communicates)} of it communication)"
        parts.append(said)
    left = _left_out(run)
    whose = f" on rank {run.rank}" if several else ""
    left_out = f"left out{whose}: {', '.join(left)}; " if left else ""
    recorded = ", ".join(run.recorded) or "names and times only"
    if len({each.recorded for each in section.runs}) > 1:
        recorded += f"{whose}, and not the same on all"
    return f"{', '.join(parts)}; {left_out}recorded: {recorded}"


def _steps_on_ranks(runs: Sequence[RunSummary]) -> str:
    """Say how many steps ranks have, and how long they are: `5 steps of 153 to 161 ms`."""
    counts, lengths = [run.counted for run in runs], [run.step_ns or 0 for run in runs]
    low, high = min(counts), max(counts)
    count = count_text(low, runs[0].unit) if low == high else f"{low:,} to {high:,} {runs[0].unit}s"
    which = " that count" if any(run.counted < run.step_count for run in runs) else ""
    longest = time_text(max(lengths))
    length = range_text(min(lengths), max(lengths), max(lengths))
    return f"{count}{which} of {length} {longest.rpartition(' ')[2]}"


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
    """Return what is to be said of the recordings, each once, with the ranks that it is of.

    Of many ranks one speaks for those that have the same note with other numbers.
    """
    ranks: dict[str, dict[str, list[int]]] = {}
    for run in section.runs:
        lost = [LOST_WORK] if run.busy_is_lower_bound else []
        for note in (*run.warnings, *lost):
            alike = NUMBER.sub("#", note) if section.rank_count > _FEW else note
            ranks.setdefault(alike, {}).setdefault(note, []).append(run.rank or 0)
    of_job = [section.note] if section.note else []
    if section.rank_count <= 1:
        return of_job + [note for alike in ranks.values() for note in alike]
    return of_job + [_note_text(notes) for notes in ranks.values()]


def _note_text(ranks: Mapping[str, Sequence[int]]) -> str:
    """Name the ranks of notes that differ in numbers alone, and give the first note."""
    (note, first), *others = ranks.items()
    if not others:
        return f"{ranks_label(first)}: {note}"
    whose = [rank for each in ranks.values() for rank in each]
    return f"{ranks_label(whose)}: {note} (on rank {first[0]}; the others with other numbers)"


def _devices(run: RunSummary) -> str:
    if not run.devices:
        return "CPU run" if run.is_cpu_run else "no device activity"
    names = (name + (f" x {count}" if count > 1 else "") for name, count in run.devices)
    return " and ".join(names)


def message_of(section: Section, place: PlaceOnRanks) -> str:
    """Return what was seen, where the fix is made, whether it is costlier now, and its ranks."""
    said, known = place.finding.message, place.finding.known
    if len({finding.message for _, finding in place.alike}) > 1 and len(place.ranks) > 1:
        said = said if said.startswith("rank ") else f"on rank {place.rank}: {said}"
    if place.finding.fix_place is not None:
        said += f"; {place.finding.fix_place}"
    if known is not None and known.state == "updated":
        said += "; costlier than in the baseline"
        if known.cost_share is not None:
            said += f": it was {share_text(known.cost_share)} of the time that counts"
    return f"{said} ({_ranks_of(section, place)})" if section.rank_count > 1 else said


def _ranks_of(section: Section, place: PlaceOnRanks) -> str:
    """Return `all but 7: 1.09 to 1.39 ms, median 1.20`, the costs where they are not alike."""
    given = [run.rank or 0 for run in section.runs]
    who = ranks_text(place.ranks, given)
    if who == _ALL and len(given) < (section.runs[0].world_size or 0):
        who = f"{_ALL} given" if len(given) > _FEW else ranks_label(given)
    low, middle, high = place.spread_ns
    if len(place.ranks) < 2 or high - low <= _TELLABLE * high:
        return who
    text = f"{who}: {range_text(low, high, high)} {time_text(high).rpartition(' ')[2]}"
    return f"{text}, median {range_text(middle, middle, high)}" if len(place.ranks) > 2 else text


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
    count = _count_text(section, place)
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


def _count_text(section: Section, place: PlaceOnRanks) -> str:
    """Return the matches a step, the mean over ranks; or in all, if less than one a step."""
    run = section.runs[0]
    ranks = set(place.ranks)
    steps = sum(each.counted for each in section.runs if (each.rank or 0) in ranks)
    if not steps or place.count < steps:
        return _in_all(place.count)
    a_step = place.count / steps
    digits = 0 if a_step >= 10 or a_step == round(a_step) else 1
    return f"{a_step:,.{digits}f} a {run.unit}"


def account_of(section: Section, report: Summary) -> tuple[str, str]:
    """Return whose account it is, and what it says of communication that may be waiting."""
    given, world_size = max(section.rank_count, section.among), report.run.world_size or 0
    if given <= 1:
        return "", UNTOLD
    if given < world_size:
        few = "with the traces of all ranks it may be told which part is waiting for others"
    elif section.job is not None and len(section.job.matched.group):
        few = "communication has waiting for other ranks in it, which the comparison of ranks tells"
    else:
        few = "which part of communication is waiting is not known: not matched with other ranks'"
    return f" on rank {report.run.rank}", few


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
    """Return the rank whose step is longest after all fixes."""
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
