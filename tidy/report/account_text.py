"""The account as a person reads it: a bar, and a line for each of the largest parts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len
from rich.text import Text

from ..account import Account, Part
from ..account import host_kinds as kinds
from ..account.device_work import ABOVE_SHORTEST
from ..account.places import Place
from ..account.work_kinds import COMMUNICATION
from ..trace import LeftOut, Window, count_text, plain_name, printable, time_text
from ..trace.location import parse_frame
from .console import ReportConsole
from .units import location_text, share_text, shortened

_BUILT_IN = re.compile(r"<built-in (function |method )?(?P<name>\w+)[ >].*")
_MOST_LINES = 8
_HANG = 21  # behind the share and the time
_NARROWEST_PLACE = 12
_PLACE = 40  # of a place among words
_MOST_LEFT_OUT = 3
# An idle share from which "nothing found" would mislead.
_WORTH_SAYING = 0.1
_WORTH_A_NOTE = 0.01
_STYLES = {
    "compute": "green",
    "communication": "magenta",
    "copy": "blue",
    "idle": "yellow",
    "host": "cyan",
}
# Full and dark blocks where a device is busy, light ones where it idles.
_WORKS = "\u2588\u2593"
_FILLS = {
    **dict.fromkeys(("compute", "communication", "copy"), _WORKS),
    "idle": "\u2591\u00b7",
    "host": "\u2588\u2593\u2592\u2591",
}
_WORDS = {"compute": "computes", "communication": "exposed", "copy": "exposed", "idle": "idle"}
_EXPLAINED = {
    "host-stall": "operators that stall take 50 times as long as others of their name, or more:"
    " too few processors, a container's quota, or another process",
    "host-code": "what the host code does is not recorded: operators, stacks or more ranges tell",
}
# A remedy for each cause.
REMEDIES = {
    kinds.LOADING: "load batches in workers: DataLoader(..., num_workers=N, pin_memory=True)",
    kinds.WORKERS: "more workers (num_workers, prefetch_factor), or cheaper transforms",
    kinds.WAITING: "read values less often: keep them on the device, read every N steps",
    kinds.LAUNCHING: 'larger batches, torch.compile(mode="reduce-overhead"), or CUDA graphs',
    kinds.PYTHON: "move Python work out of the step, or into fewer and larger operators",
    kinds.IN_RANGES: "record operators, stacks, or ranges within these",
    kinds.NOT_IN_RANGES: "record operators, stacks, or ranges of your own",
    kinds.OPTIMIZER: "fused=True, or foreach=True, where the optimizer takes it",
    kinds.ALLOCATOR: "no empty_cache() in the loop; keep shapes alike",
    kinds.COMPILING: "warm up before recording; keep shapes alike",
    kinds.HOOK: "fewer hooks, or hooks that only keep what a later step reads",
    kinds.OTHER_PROCESS: "have the other process work ahead, while the step goes on",
    kinds.COLLECTIVE: "give the traces of all ranks: they tell which one comes late",
    kinds.COLLECTING: "gc.freeze() after set-up, or gc.disable() with gc.collect() now and then",
    kinds.STALLED: "fewer threads and processes, or more processors (a container's quota)",
    kinds.CPU_OP: "move this work to the device, to workers, or out of the step",
    kinds.PREPROCESSING: "move this work to workers, or prepare the data once, before training",
    kinds.COPYING: "pinned memory and .to(device, non_blocking=True)",
    kinds.RECORDING: "record less: without stacks, shapes or memory",
    kinds.GAP: "larger kernels, or CUDA graphs",
    kinds.LOST_IN_GRAPHS: "record without CUDA graphs to see the kernels of this time",
    kinds.LOST: "record fewer steps at once, so that no kernel is lost",
}


UNTOLD = "communication may be waiting for other ranks: their traces, given too, tell"


def print_account(
    console: ReportConsole,
    account: Account,
    others: int = 0,
    where: str = "",
    untold: str = UNTOLD,
) -> None:
    """Print where the window of one device went.

    Args:
        others: of how many further devices there are accounts.
        where: which rank it is of, if there are several.
        untold: what is said of communication that may be waiting.
    """
    whose = "" if account.device is None else f"{account.sort}'s "
    console.show(Text(f"Where the {whose}time goes{where}: {window_text(account.window)}", "bold"))
    for said in left_out_texts(account):
        console.wrapped(printable(said), "dim", indent=2)
    steps = account.window.step_count
    bar = Text("  ")
    for part, blocks in _stretches_of_bar(account, console.width - 2):
        bar.append(blocks, _STYLES[part.part])
    console.show(bar)
    shown = _MOST_LINES - (len(account.parts) > _MOST_LINES)
    fills = fills_of(account)
    for number, part in enumerate(account.parts[:shown]):
        console.show(_line(part, fills[number], steps, console), _HANG)
    if rest := account.parts[shown:]:
        time_ns, share = sum(p.time_ns for p in rest) / steps, sum(p.share for p in rest)
        words = count_text(len(rest), "smaller part")
        console.show(Text(f"    {share_text(share):>6} {time_text(time_ns):>8}  {words}"))
    for said in _waiting_lines(account, steps, untold):
        console.wrapped(said, "dim", indent=2)
    for part in account.parts:
        if part.cause in _EXPLAINED and part.share >= _WORTH_A_NOTE:
            console.wrapped(_EXPLAINED[part.cause], "dim", indent=2)
    if account.idle_is_upper_bound:
        idle = share_text(sum(part.share for part in account.parts if part.part == "idle"))
        said = f"  idle for {idle} at the most: {account.sort} activity is not in the recording"
        console.show(Text(said, "dim"))
    if others:
        console.show(Text(f"  {count_text(others, 'further device')}: see --format json", "dim"))
    console.show()


def left_out_texts(account: Account) -> Iterator[str]:
    """Return what the window leaves out, the longest first, and where the time outside of
    it went.
    """
    alike = dict[tuple[str, str], list[LeftOut]]()
    for each in account.window.left_out:
        alike.setdefault(("" if each.step else each.label, each.reason), []).append(each)
    of_all = {key: sum(each.time_ns for each in them) for key, them in alike.items()}
    longest = sorted(of_all, key=lambda key: -of_all[key])
    for what, reason in longest[:_MOST_LEFT_OUT]:
        count, label = len(alike[what, reason]), alike[what, reason][0].label
        if count > 1:
            label = f"{count} calls of {what}" if what else f"{count} {account.window.unit}s"
        yield f"{label} left out: {time_text(of_all[what, reason])}, {reason}"
    if rest := sum(len(alike[key]) for key in longest[_MOST_LEFT_OUT:]):
        yield f"and {rest} more left out"
    if account.not_counted:
        whole_ns = sum(part.time_ns for part in account.not_counted)
        most = [p for p in account.not_counted if p.share >= _WORTH_SAYING][:_MOST_LEFT_OUT]
        named = (f"{time_text(p.time_ns)} {p.text}{_at(p)}" for p in most)
        yield f"not counted: {time_text(whole_ns)}, of it {'; '.join(named)}"


def _at(part: Part) -> str:
    """Name the place with most of a part: ` (train.py:12 in load)`; "" if there is none."""
    place = part.places[0] if part.places else None
    if place is None or not (place.location or place.name):
        return ""
    return f" ({place_text(place, _PLACE)})"


def place_of(part: Part) -> Place | None:
    """Return the costliest place of a part that says something; None if there is none."""
    return next((each for each in part.places if each.location or each.name), None)


def place_text(place: Place, room: int) -> str:
    """Return the location of a place or, without one, the name of its operator or kernel."""
    return location_text(place.location, room) if place.location else _short_name(place.name, room)


def _waiting_lines(account: Account, steps: int, untold: str) -> Iterator[str]:
    """Say what one rank's trace tells of how much of its communication is waiting."""
    for part in account.parts:
        if _may_wait(part) and part.share >= _WORTH_A_NOTE:
            yield untold
            above_ns = dict(part.kinds).get(ABOVE_SHORTEST, 0)
            if above_ns >= _WORTH_A_NOTE * part.time_ns:
                above = time_text(above_ns / steps)
                yield f"of it up to {above} is above the shortest of each collective"


def _may_wait(part: Part) -> bool:
    """Whether it is communication of which one rank's trace does not tell what is waiting."""
    return part.kinds[0][0] in (COMMUNICATION, ABOVE_SHORTEST)


def idle_text(account: Account) -> str | None:
    """Describe a device that idles though no rule found why; None if it is busy."""
    idle = [part for part in account.parts if part.part == "idle"]
    share = sum(part.share for part in idle)
    if not idle or share < _WORTH_SAYING:
        return None
    part = f"{'at most ' if account.idle_is_upper_bound else ''}{share_text(share)}"
    whole = account.window.whole
    said = f"the {account.sort} idles for {part} of {whole}, most of it {idle[0].text}"
    remedy = REMEDIES.get(idle[0].kinds[0][0])
    return f"{said}; {remedy}" if remedy else said


def window_text(window: Window) -> str:
    """`5 steps of 153 ms`, `step 3, 153 ms`, `2.1 s of the run`."""
    if not window.steps:
        return f"{time_text(window.time_ns)} of the run"
    length = time_text(window.step_ns)
    if len(window.steps) == 1:
        return f"{window.unit} {window.steps[0].number}, {length}"
    return f"{count_text(len(window.steps), window.unit)} of {length}"


def bar_text(account: Account, width: int) -> str:
    """Return the bar without colours, `width` characters."""
    return "".join(blocks for _, blocks in _stretches_of_bar(account, width))


def _stretches_of_bar(account: Account, width: int) -> Iterator[tuple[Part, str]]:
    """The window as one line of blocks, a stretch for each part in the order of the lines."""
    done, drawn = 0.0, 0
    for part, fill in zip(account.parts, fills_of(account), strict=True):
        done += part.share
        upto = min(round(done * width), width)
        yield part, fill * (upto - drawn)
        drawn = upto


def fills_of(account: Account) -> list[str]:
    """Return the character that each part has in the bar: neighbours differ, also without
    colours.
    """
    fills = list[str]()
    for part in account.parts:
        choice = _FILLS[part.part]
        at = choice.find(fills[-1]) if fills else -1
        fills.append(choice[(at + 1) % len(choice)])
    return fills


def _function(name: str) -> str:
    """`preprocess` for `a/video.py(12): preprocess`, `sleep` for `<built-in function sleep>`."""
    frame = parse_frame(name)
    if frame is not None:
        return printable(frame.function)
    called = _BUILT_IN.fullmatch(name)
    return printable(name if called is None else called["name"])


def _short_name(name: str, room: int) -> str:
    """The name of an op or kernel, of which types and parameters go first where it is too long."""
    whole = printable(name.removeprefix("void "))
    return whole if cell_len(whole) <= room else plain_name(name)


def part_text(part: Part) -> str:
    """`idle: launching`, `exposed: copies`, `Python between ops`."""
    words = _WORDS.get(part.part)
    return f"{words}: {part.text}" if words else part.text


def besides_text(part: Part) -> str:
    """Return the function that most of a part is in, or the finer kinds that it is made of."""
    if _may_wait(part):
        return "waiting included"
    if part.calls:
        return f"{count_text(part.calls, 'operator')}, {time_text(part.time_ns / part.calls)} each"
    if part.mostly_in and not (part.cause == "data-loading" and part.finer):
        return _function(part.mostly_in)
    return ", ".join(part.finer)


def _line(part: Part, fill: str, steps: int, console: ReportConsole) -> Text:
    line = Text("  ").append(fill, _STYLES[part.part])
    line.append(f" {share_text(part.share):>6} {time_text(part.time_ns / steps):>8}  ")
    line.append(part_text(part), _STYLES[part.part])
    if said := besides_text(part):
        line.append(f" ({said})")
    place = place_of(part)
    fits = console.width - line.cell_len - 2
    room = fits if place is None or place.location is None else console.room(fits)
    if place is not None and room >= _NARROWEST_PLACE:
        where = shortened(place_text(place, room), room)
        line.append(" " * max(console.width - line.cell_len - cell_len(where), 2) + where)
    return line
