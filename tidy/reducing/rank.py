"""One file of one rank: read, checked and reduced to its summary, where the file lies.

`reduce_rank` does it at once and holds nothing afterwards. What the ranks of a job say of each
other comes between reading and reducing, so that the same is done in three calls, too: `look_at`
reads and runs the rules, `found_keys` judges with what the other ranks tell, and `reduce_rank`
weighs. The process keeps the trace from the first to the last of them; one that does not have it,
because another process died, reads the file again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from ..account import RankWaits
from ..api import prepare
from ..check.checked_trace import CheckedTrace
from ..check.overlap import Repeated, Stretch, stretches_in
from ..check.pipeline import CheckSettings, judge
from ..check.settings import Settings
from ..errors import TraceFormatError, UnreadableFile
from ..finding import Outcome
from ..patterns.runner import run_patterns
from ..readers import read_trace
from ..readers.urls import is_url, open_url, url_nbytes
from ..summary import HEAD_NBYTES, Origin, encode, origin_of, summarise
from ..trace import Location, Trace
from .parcel import Parcel, unpack_outcomes

Key = tuple[str, Location | None]


@dataclass(frozen=True)
class RankSettings:
    """How each file is checked: what any process makes the same rules and settings of.

    Attributes:
        select, ignore, patterns: rules, as for `tidy.check`.
        config: the configuration, for options of rules and ignored paths.
        folders: where the sources of the project are, whose comments accept findings.
        savings, warn_from: as for `weigh`.
        step: the step to look at alone, as `--step` names it; None for the window.
        command: tells a command from an earlier one on the same cluster, whose traces are not those
            of this one even where the paths are.
    """

    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    patterns: Sequence[str] = ()
    config: Settings = field(default_factory=Settings)
    folders: Sequence[Path] = ()
    savings: str = "replay"
    warn_from: float = 0.01
    step: str | None = None
    command: str = ""

    def for_checks(self) -> CheckSettings:
        """The rules and settings; rules are loaded once in a process."""
        if not _made or _made[0][0] != self:
            rules = prepare(self.select, self.ignore, self.patterns, settings=self.config)
            made = CheckSettings(
                rules,
                self.config.path_ignores,
                self.folders,
                savings=self.savings,
                warn_from=self.warn_from,
            )
            _made[:] = [(self, made)]
            _kept.clear()
        return _made[0][1]


@dataclass(frozen=True, slots=True)
class RankFile:
    """A file, and what is known of its steps before it is read.

    Attributes:
        path: the file, which is what reports call it.
        repeated: the steps that an earlier file holds too.
        place: the path by which other processes find it; "" for the same.
    """

    path: str
    repeated: Repeated | None = None
    place: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why there is no summary of a file: one line.

    Attributes:
        is_foreign: whether it could be read, and is no trace.
        is_usage: whether the options ask for what it does not have.
        traceback: of what was raised; "" if it is a fault of the file.
    """

    text: str
    is_foreign: bool = False
    is_usage: bool = False
    traceback: str = ""


@dataclass(frozen=True, slots=True)
class ReducedRank:
    """What is kept of one file.

    Attributes:
        content: of a file with its summary.
        tracebacks: of rules that crashed on it, by code; a summary has none.
    """

    content: bytes
    tracebacks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Look:
    """What is known of a trace when it was read and the rules ran.

    Attributes:
        rank, world_size: of its job; None if it does not say.
        stretches: its steps, by which it is known again.
        has_steps: whether these are steps, and not its whole time.
        parcel: the trace, if other ranks may be compared with it.
    """

    rank: int | None
    world_size: int | None
    stretches: Sequence[Stretch]
    has_steps: bool
    parcel: Parcel | None


@dataclass(frozen=True, slots=True)
class Compared:
    """What the other ranks of its job tell of a rank.

    Attributes:
        outcomes: what rules that compare ranks say of it; see `pack_outcomes`.
        waits: how long its collectives wait for them.
        everywhere: code and location of findings that all these ranks have.
    """

    outcomes: bytes
    waits: RankWaits | None
    everywhere: frozenset[Key] = frozenset()


@dataclass(slots=True)
class _Kept:
    file: RankFile
    trace: Trace
    outcomes: Mapping[str, Outcome]
    report: CheckedTrace | None = None


# In this process: the settings that were used last, and traces between the calls.
_made: list[tuple[RankSettings, CheckSettings]] = []
_kept: dict[str, _Kept] = {}


def reduce_rank(
    file: RankFile, settings: RankSettings, compared: Compared | None = None
) -> ReducedRank | Problem:
    """Read, check and reduce one file to its summary.

    Nothing of the trace is held afterwards.

    Args:
        compared: what other ranks tell of it; None for what it tells by itself.
    """
    try:
        report = _judged(file, settings, compared)
    except _Failed as failed:
        return failed.problem
    finally:
        _kept.pop(file.path, None)
    if compared is not None and compared.waits is not None:
        report = replace(report, waits=compared.waits, everywhere=compared.everywhere)
    tracebacks = {code: crash.traceback for code, crash in report.crashed.items()}
    return ReducedRank(encode(summarise(report, _origin(file))), tracebacks)


def look_at(file: RankFile, settings: RankSettings) -> Look | Problem:
    """Read a file, run the rules, and keep the trace for what follows."""
    try:
        read = _read(file)
        info = read.info
        may_be_compared = info.rank is not None and (info.world_size or 1) > 1
        parcel = Parcel.of(read) if may_be_compared else None
        look = Look(info.rank, info.world_size, stretches_in(read), bool(read.steps), parcel)
        trace = window_asked(read, file, settings)
    except _Failed as failed:
        return failed.problem
    _kept[file.path] = _Kept(file, trace, run_patterns(trace, settings.for_checks().rules))
    return look


def found_keys(
    file: RankFile, settings: RankSettings, compared: Compared
) -> frozenset[Key] | Problem:
    """Code and location of what is found, with what other ranks tell of the trace."""
    try:
        report = _judged(file, settings, compared)
    except _Failed as failed:
        return failed.problem
    return frozenset((each.code, each.location) for each in report.found)


def forget(file: RankFile, _settings: RankSettings) -> None:
    """Hold nothing of a file any more."""
    _kept.pop(file.path, None)


class _Failed(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem


def _read(file: RankFile) -> Trace:
    """Read a file.

    Raises:
        _Failed: it cannot be read.
    """
    try:
        return read_trace(file.place or file.path, name=file.path)
    except TraceFormatError as error:
        is_foreign = not isinstance(error, UnreadableFile)
        raise _Failed(Problem(error.problem, is_foreign)) from error
    except MemoryError as error:
        raise _Failed(Problem("cannot be read: not enough memory")) from error


def _origin(file: RankFile) -> Origin:
    place = file.place or file.path
    if not is_url(place):
        return origin_of(place)
    with suppress(OSError, TraceFormatError), open_url(place) as opened:
        head = opened.read(HEAD_NBYTES)
        name = place.rpartition("/")[2]
        return Origin(name, url_nbytes(place), sha256(head).hexdigest())
    return Origin()


def window_asked(trace: Trace, file: RankFile, settings: RankSettings) -> Trace:
    """The trace without steps that an earlier one holds, or with the one that is asked for.

    Raises:
        _Failed: it has no such step.
    """
    if file.repeated is not None:
        trace = trace.without_steps(file.repeated.ranges, file.repeated.reason)
    try:
        return trace if settings.step is None else trace.only_step(settings.step)
    except ValueError as error:
        problem = f"--step {settings.step}: {file.path} has {error}"
        raise _Failed(Problem(problem, is_usage=True)) from error


def _judged(file: RankFile, settings: RankSettings, compared: Compared | None) -> CheckedTrace:
    checks = settings.for_checks()
    kept = _kept.get(file.path)
    if kept is None or kept.file != file:
        trace = window_asked(_read(file), file, settings)
        kept = _Kept(file, trace, run_patterns(trace, checks.rules))
        if compared is not None:
            _kept[file.path] = kept
    if kept.report is None:
        told = {} if compared is None else unpack_outcomes(compared.outcomes, kept.trace)
        (kept.report,) = judge([(kept.trace, {**kept.outcomes, **told})], checks)
    return kept.report
