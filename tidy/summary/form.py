"""The document that a summary becomes: its types are those that docs/summary.schema.json describes.

Values are written as the classes have them, but for the window, which accounts share, and columns:
these are base64 of differences between neighbours, 64-bit integers, little end first, with the
first bytes of all before the second ones of all, which packs best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_type_hints

import msgspec
import numpy as np
from msgspec import Meta, Struct, field
from numpy.typing import NDArray

from .._version import __version__
from ..account import Account, StepParts
from ..check.summary import RunSummary
from ..finding import Crashed, NotApplicable, NotChecked
from ..jobs import Collectives, ProcessGroup
from ..trace import Intervals, LeftOut, Step, Window
from .summary import FindingSummary, Origin, ReplaySummary, Summary

SUMMARY_VERSION: Literal[1] = 1
_OTHERS = ("rank", "groups", "operations", "world_size")  # of Collectives, that are no columns
_LATER_COLUMNS = ("blocked_ns", "step_flops")  # what summaries made before lack
_LATER = ("window_event_count",)  # the same of other fields
_COLUMNS = [
    each.name for each in fields(Collectives) if each.name not in (*_OTHERS, *_LATER_COLUMNS)
]
_LARGEST = 1 << 62

Column = Annotated[bytes, Meta(description="A column of 64-bit integers; see docs/summaries.md.")]


class WindowForm(Struct, frozen=True):
    """The time that counts: its steps, and the stretches of time that it is made of."""

    unit: Literal["step", "round", "run"]
    step_number: Column
    step_start_ns: Column
    step_end_ns: Column
    finished_start_ns: Column | None
    finished_end_ns: Column | None
    start_ns: Column
    end_ns: Column
    others_start_ns: Column
    others_end_ns: Column
    left_out: tuple[LeftOut, ...]


def _form_of(source: type, without: str) -> Any:
    """A struct with the fields of a dataclass, but for one; those of `_LATER` may be missing."""
    hints = get_type_hints(source)
    kept = [
        (each.name, hints[each.name], *([None] if each.name in _LATER else []))
        for each in fields(source)
        if each.name != without
    ]
    said = {"__doc__": source.__doc__}
    return msgspec.defstruct(f"{source.__name__}Form", kept, frozen=True, namespace=said)


if TYPE_CHECKING:  # their types are made of those of the classes
    RunForm: TypeAlias = Any
    AccountForm: TypeAlias = Any
    CollectivesForm: TypeAlias = Any
else:
    RunForm = _form_of(RunSummary, "window")
    AccountForm = _form_of(Account, "window")
    CollectivesForm = msgspec.defstruct(
        "CollectivesForm",
        [
            ("rank", int),
            ("world_size", int),
            ("groups", tuple[ProcessGroup, ...]),
            ("operations", tuple[str, ...]),
            *((name, Column) for name in _COLUMNS),
            *((name, Column | None, None) for name in _LATER_COLUMNS),
        ],
        frozen=True,
    )


class StepPartsForm(Struct, frozen=True):
    """What each step is spent on: the sort and cause of each part, and its times, step by step."""

    steps: Column
    names: tuple[tuple[str, str], ...]
    time_ns: Column


class SummaryForm(Struct, frozen=True):
    """What a report needs of one trace; `tidy_summary` is the version of this form."""

    tidy_summary: Literal[1]
    tool: dict[str, str]
    origin: Origin
    host: str
    process: str
    number: int
    run: RunForm
    window: WindowForm
    accounts: tuple[AccountForm, ...]
    findings: tuple[FindingSummary, ...]
    replay: ReplaySummary
    checked: tuple[str, ...]
    not_checked: dict[str, NotChecked]
    not_applicable: dict[str, NotApplicable]
    crashed: dict[str, Crashed]
    collectives: CollectivesForm
    savings: str
    warn_from: float
    step_parts: StepPartsForm | None = None


class Version(Struct):
    """The one thing that all versions of the form have."""

    tidy_summary: int = field(default=-1)


def to_form(summary: Summary) -> SummaryForm:
    """Return the document of a summary."""
    given = {each.name: getattr(summary, each.name) for each in fields(summary)}
    given |= {
        "run": _without_window(RunForm, summary.run),
        "accounts": tuple(_without_window(AccountForm, each) for each in summary.accounts),
        "collectives": _collectives_form(summary.collectives),
        "step_parts": _step_parts_form(summary.step_parts),
    }
    del given["source"]
    tool = {"name": "tidy", "version": __version__}
    return SummaryForm(
        tidy_summary=SUMMARY_VERSION, tool=tool, window=_window_form(summary.run.window), **given
    )


def from_form(form: SummaryForm) -> Summary:
    """Return the summary that a document is of.

    Raises:
        ValueError: columns or numbers in it cannot be those of a summary.
    """
    window = _window(form.window)
    given = {name: getattr(form, name) for name in form.__struct_fields__}
    given |= {
        "run": _with_window(RunSummary, form.run, window),
        "accounts": tuple(_with_window(Account, each, window) for each in form.accounts),
        "collectives": _collectives(form.collectives),
        "step_parts": _step_parts(form.step_parts),
    }
    for name in ("tidy_summary", "tool", "window"):
        del given[name]
    return Summary(**given)


def _without_window(form: Any, value: Any) -> Any:
    return form(**{name: getattr(value, name) for name in form.__struct_fields__})


def _with_window(made: type, form: Any, window: Window) -> Any:
    return made(window=window, **{name: getattr(form, name) for name in form.__struct_fields__})


def _window_form(window: Window) -> WindowForm:
    steps = [(min(s.number, _LARGEST - 1), s.start_ns, s.end_ns) for s in window.steps]
    number, start_ns, end_ns = (_packed(each) for each in _columns(steps, 3))
    finished: tuple[bytes | None, bytes | None] = None, None
    if window.finished is not None:
        first, last = _columns(window.finished, 2)
        finished = _packed(first), _packed(last)
    return WindowForm(
        window.unit,  # type: ignore[arg-type]
        number,
        start_ns,
        end_ns,
        *finished,
        _packed(window.time.starts_ns),
        _packed(window.time.ends_ns),
        _packed(window.others.starts_ns),
        _packed(window.others.ends_ns),
        window.left_out,
    )


def _columns(rows: Sequence[tuple[int, ...]], count: int) -> NDArray[np.int64]:
    return np.array(rows, np.int64).reshape(-1, count).T


def _window(form: WindowForm) -> Window:
    numbers, starts, ends = _together(form.step_number, form.step_start_ns, form.step_end_ns)
    _require((ends >= starts).all(), "steps that end before they begin")
    finished = None
    if form.finished_start_ns is not None and form.finished_end_ns is not None:
        pair = _together(form.finished_start_ns, form.finished_end_ns)
        _require(len(pair[0]) == len(numbers), "steps that are finished more or less often")
        _require((pair[1] >= pair[0]).all(), "steps that are finished before they begin")
        finished = tuple(zip(*(each.tolist() for each in pair), strict=True))
    columns = (each.tolist() for each in (numbers, starts, ends))
    return Window(
        tuple(Step(*each) for each in zip(*columns, strict=True)),
        Intervals(*_together(form.start_ns, form.end_ns)),
        form.left_out,
        form.unit,
        finished,
        Intervals(*_together(form.others_start_ns, form.others_end_ns)),
    )


def _collectives_form(table: Collectives) -> CollectivesForm:
    others = {name: getattr(table, name) for name in _OTHERS}
    given = [name for name in (*_COLUMNS, *_LATER_COLUMNS) if getattr(table, name) is not None]
    return CollectivesForm(**others, **{name: _packed(getattr(table, name)) for name in given})


def _collectives(form: Any) -> Collectives:
    others = {name: getattr(form, name) for name in _OTHERS}
    given = [name for name in (*_COLUMNS, *_LATER_COLUMNS) if getattr(form, name) is not None]
    unpacked = _together(*(getattr(form, name) for name in given))
    columns: dict[str, Any] = dict(zip(given, unpacked, strict=True))
    for least, of, name in ((-1, "groups", "group"), (0, "operations", "operation")):
        ids = columns[name]
        known = (ids >= least).all() and (ids < len(others[of])).all()
        _require(known, f"collectives without {name}")
    columns["on_device"] = columns["on_device"] != 0
    return Collectives(**others, **columns)


def _step_parts_form(parts: StepParts | None) -> StepPartsForm | None:
    if parts is None:
        return None
    numbers = np.minimum(parts.steps, _LARGEST - 1)
    return StepPartsForm(_packed(numbers), parts.names, _packed(parts.time_ns.reshape(-1)))


def _step_parts(form: StepPartsForm | None) -> StepParts | None:
    if form is None:
        return None
    (steps,), (times,) = _together(form.steps), _together(form.time_ns)
    _require(len(times) == len(form.names) * len(steps), "parts of more or fewer steps")
    return StepParts(steps, form.names, times.reshape(len(form.names), len(steps)))


def _packed(column: NDArray[Any]) -> bytes:
    differences = np.diff(column.astype("<i8"), prepend=np.int64(0))
    return differences.view(np.uint8).reshape(-1, 8).T.tobytes()


def _together(*packed: bytes) -> list[NDArray[np.int64]]:
    """Unpack columns of one length.

    Raises:
        ValueError: they have several lengths, or numbers are too large.
    """
    _require(len({len(each) for each in packed}) == 1, "columns of several lengths")
    _require(len(packed[0]) % 8 == 0, "a column that ends within a number")
    columns = []
    for each in packed:
        planes = np.frombuffer(each, np.uint8).reshape(8, -1)
        column = np.cumsum(np.ascontiguousarray(planes.T).view("<i8").ravel(), dtype=np.int64)
        _require(((column < _LARGEST) & (column > -_LARGEST)).all(), "numbers that are too large")
        columns.append(column)
    return columns


def _require(holds: bool | np.bool_, what: str) -> None:
    if not holds:
        raise ValueError(what)
