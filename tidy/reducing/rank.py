"""One file of one rank: read, checked and reduced to its summary, where the file lies.

`reduce_held` does it at once. What the ranks of a job say of each other comes between reading and
reducing, so that the same is done in three calls, too: `look_at` reads and runs the rules,
`found_keys` judges with what the other ranks tell, and `reduce_held` weighs. Each leaves what it
holds of the file to the next; if that is lost, as with the process that had it, the next one reads
the file again.
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
        command: tells a command from an earlier one on the same cluster, whose rules are not those
            of this one even if their files have the same paths.
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
        """Return the rules and settings; rules are loaded once in a process."""
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
        is_of_cluster: whether what should have read it was lost, with that of all other files.
    """

    text: str
    is_foreign: bool = False
    is_usage: bool = False
    traceback: str = ""
    is_of_cluster: bool = False


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
        path: the file.
        rank, world_size: of its job; None if it does not say.
        stretches: its steps, by which it is known again.
        has_steps: whether these are steps, and not its whole time.
        parcel: the trace, if other ranks may be compared with it.
    """

    path: str
    rank: int | None
    world_size: int | None
    stretches: Sequence[Stretch]
    has_steps: bool
    parcel: Parcel | None


@dataclass(frozen=True, slots=True)
class Compared:
    """What the other ranks of its job tell of a rank.

    Attributes:
        outcomes: what rules that compare ranks say of it, see `pack_outcomes`; None if it cannot be
            sent, and is held with the trace.
        waits: how long its collectives wait for them.
        everywhere: code and location of findings that all these ranks have.
    """

    outcomes: bytes | None
    waits: RankWaits | None
    everywhere: frozenset[Key] = frozenset()

    def outcomes_of(self, trace: Trace) -> dict[str, Outcome]:
        """Return what came packed, of the trace that it is about."""
        return {} if self.outcomes is None else unpack_outcomes(self.outcomes, trace)


class HeldRank:
    """What one call on a file leaves to the next.

    Args:
        parcel: the trace as it was read, which is what goes along to another process; None to read
            the file again there.
        trace: its window as it was asked for; None to unpack the parcel.
        outcomes: what rules say of that.
    """

    def __init__(
        self,
        file: RankFile,
        parcel: Parcel | None,
        trace: Trace | None = None,
        outcomes: Mapping[str, Outcome] | None = None,
    ) -> None:
        self.file, self.parcel, self.trace, self.outcomes = file, parcel, trace, outcomes
        self.report: CheckedTrace | None = None

    def __reduce__(self) -> tuple[type[HeldRank], tuple[RankFile, Parcel | None]]:
        """Leave what rules say behind: they may say what no other process understands."""
        return HeldRank, (self.file, self.parcel)

    def __sizeof__(self) -> int:
        """Return how many bytes would go to another process, by which Dask decides that."""
        return 1 << 10 if self.parcel is None else self.parcel.nbytes


# In this process: the settings that were used last.
_made: list[tuple[RankSettings, CheckSettings]] = []


def reduce_held(
    held: HeldRank | None, file: RankFile, settings: RankSettings, compared: Compared | None = None
) -> tuple[ReducedRank | Problem, None]:
    """Reduce a file to its summary, with what is held of it, and leave nothing.

    Args:
        held: what calls before left; None to read and check the file.
        compared: what other ranks tell of it; None for what it tells by itself.
    """
    try:
        report = _judged(held, file, settings, compared).report
    except _Failed as failed:
        return failed.problem, None
    assert report is not None
    if compared is not None and compared.waits is not None:
        report = replace(report, waits=compared.waits, everywhere=compared.everywhere)
    tracebacks = {code: crash.traceback for code, crash in report.crashed.items()}
    return ReducedRank(encode(summarise(report, _origin(file))), tracebacks), None


def look_at(
    _held: HeldRank | None, file: RankFile, settings: RankSettings
) -> tuple[Look | Problem, HeldRank | None]:
    """Read a file, run the rules, and leave both to what follows."""
    try:
        read = _read(file)
        info = read.info
        may_be_compared = info.rank is not None and (info.world_size or 1) > 1
        parcel = Parcel.of(read) if may_be_compared else None
        stretches, has_steps = stretches_in(read), bool(read.steps)
        look = Look(file.path, info.rank, info.world_size, stretches, has_steps, parcel)
        trace = window_asked(read, file, settings)
    except _Failed as failed:
        return failed.problem, None
    outcomes = run_patterns(trace, settings.for_checks().rules)
    return look, HeldRank(file, parcel, trace, outcomes)


def found_keys(
    held: HeldRank | None, file: RankFile, settings: RankSettings, compared: Compared
) -> tuple[frozenset[Key] | Problem, HeldRank | None]:
    """Return code and location of what is found, with what other ranks tell of the trace."""
    try:
        held = _judged(held, file, settings, compared)
    except _Failed as failed:
        return failed.problem, None
    assert held.report is not None
    return frozenset((each.code, each.location) for each in held.report.found), held


def forget(_held: HeldRank | None) -> tuple[None, None]:
    """Leave nothing of a file any more."""
    return None, None


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
    """Return the trace without steps that an earlier one holds, or with the one that is asked for.

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


def _judged(
    held: HeldRank | None, file: RankFile, settings: RankSettings, compared: Compared | None
) -> HeldRank:
    """Return what is held of a file with its report, made anew as far as it is lost."""
    checks = settings.for_checks()
    if held is None or held.file != file or held.trace is None or held.outcomes is None:
        parcel = None if held is None else held.parcel
        trace = window_asked(_read(file) if parcel is None else parcel.trace(), file, settings)
        held = HeldRank(file, parcel, trace, run_patterns(trace, checks.rules))
    if held.report is None:
        assert held.trace is not None
        told = {} if compared is None else compared.outcomes_of(held.trace)
        (held.report,) = judge([(held.trace, {**(held.outcomes or {}), **told})], checks)
    return held
