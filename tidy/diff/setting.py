"""What two runs have to have in common for their times to be compared, and where they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..trace import EventKind, Trace, count_text

# Of the products of the one run so many have to be in the other one, too.
_ALIKE = 0.5
# Where light recording made steps so many times longer, each op is longer by a part of its own.
_MUCH_SLOWER = 1.25
# Operators whose inputs are what a model is given, in the dtype that it computes in.
_PRODUCTS = (
    "aten::mm",
    "aten::addmm",
    "aten::bmm",
    "aten::baddbmm",
    "aten::convolution",
    "aten::scaled_dot_product_attention",
    "aten::_scaled_mm",
)
WHATS = ("framework", "device", "world-size", "recorded", "steps", "shapes", "dtype")


@dataclass(frozen=True)
class Setting:
    """What is compared before times are.

    Attributes:
        framework: its name, without a version; "" where it is not known.
        devices: (name, how many) of the devices that did work, on all ranks.
        is_modelled: whether the times of devices were computed and not measured.
        world_size: the number of ranks of the job, 1 where it was not distributed.
        rank_count: how many of them are there.
        recorded: what the profiler was asked to keep.
        unit: "step", "round" or "run".
        times: how steps got their times: "recorded", "light" (recorded lightly) or "unrecorded";
            "" where it is not known.
        slowdown: how much longer light recording made the steps; None where that is not known.
        is_quickest: whether each part of a step is as long as in the quickest ones: then steps
            tell nothing of how they differ by chance.
        shapes: operator and shapes of each product in the steps, or where there are none of each
            operator; None where no shapes are known.
        dtypes: the part of these operators that compute in each dtype; None where none are known.
    """

    framework: str
    devices: tuple[tuple[str, int], ...]
    is_modelled: bool
    world_size: int
    rank_count: int
    recorded: tuple[str, ...]
    unit: str
    times: str = "recorded"
    slowdown: float | None = None
    is_quickest: bool = False
    shapes: frozenset[str] | None = None
    dtypes: Mapping[str, float] | None = None


class Difference(NamedTuple):
    """Why two runs cannot be compared; `what` is one of `WHATS`."""

    what: str
    why: str


def differences(base: Setting, new: Setting) -> Iterator[Difference]:
    """Return all that keeps two runs from being compared. What one of them does not say is no
    reason.
    """
    if base.framework and new.framework and base.framework != new.framework:
        yield Difference("framework", _two(base.framework, new.framework))
    if base.is_modelled != new.is_modelled and base.devices and new.devices:
        sorts = ("a modelled device" if s.is_modelled else "a measured one" for s in (base, new))
        yield Difference("device", _two(*sorts))
    elif base.devices != new.devices:
        yield Difference("device", _two(*map(_devices, (base, new))))
    if base.world_size != new.world_size:
        yield Difference(
            "world-size", _two(*(count_text(each.world_size, "rank") for each in (base, new)))
        )
    elif base.rank_count != new.rank_count:
        counts = (f"traces of {count_text(each.rank_count, 'rank')}" for each in (base, new))
        yield Difference("world-size", _two(*counts))
    yield from _differently_recorded(base, new)
    if base.unit != new.unit:
        yield Difference("steps", _two(*(_UNITS[each.unit] for each in (base, new))))
    if base.shapes and new.shapes:
        common = len(base.shapes & new.shapes) / min(len(base.shapes), len(new.shapes))
        if common < _ALIKE:
            examples = min(base.shapes - new.shapes), min(new.shapes - base.shapes)
            yield Difference("shapes", f"{common:.0%} of the shapes are in both; {_two(*examples)}")
    if base.dtypes and new.dtypes:
        kinds = base.dtypes.keys() | new.dtypes.keys()
        common = sum(min(base.dtypes.get(k, 0.0), new.dtypes.get(k, 0.0)) for k in kinds)
        if common < _ALIKE:
            usual = (max(each, key=lambda k: each[k]) for each in (base.dtypes, new.dtypes))
            yield Difference("dtype", _two(*usual))


def _differently_recorded(base: Setting, new: Setting) -> Iterator[Difference]:
    if set(base.recorded) != set(new.recorded):
        kept = (", ".join(each.recorded) or "names and times only" for each in (base, new))
        yield Difference("recorded", _two(*kept))
    if base.is_quickest != new.is_quickest:
        how = (_QUICKEST if each.is_quickest else "as they were" for each in (base, new))
        yield Difference("recorded", f"steps {_two(*how)}; record both with --quickest")
    elif base.times and new.times and scale(base, new) is None:
        yield Difference("recorded", _two(*(_TIMES[each.times] for each in (base, new))))


def scale(base: Setting, new: Setting) -> tuple[float, float] | None:
    """Return what the times of both are to be multiplied by to be of one kind; None if nothing
    helps.

    Whether steps can be scaled to those with nothing recorded is chance on a busy machine. Where
    that was done for one of the two alone, it is undone.
    """
    if base.times == new.times:
        return 1.0, 1.0
    if {base.times, new.times} != {"light", "unrecorded"}:
        return None
    known = (base if base.times == "unrecorded" else new).slowdown
    if known is None or known > _MUCH_SLOWER:
        return None
    return (known, 1.0) if base.times == "unrecorded" else (1.0, known)


def unknown(base: Setting, new: Setting) -> list[str]:
    """Return what could not be compared, as one of the two does not say it."""
    names = {"shapes": "shapes", "dtypes": "dtype", "framework": "framework"}
    both = (base, new)
    return [what for name, what in names.items() if not all(getattr(s, name) for s in both)]


def inputs_of(trace: Trace) -> tuple[frozenset[str] | None, dict[str, float] | None]:
    """Shapes and dtypes of what the steps of a trace compute, as `Setting` has them."""
    rows = trace.rows_named(*_PRODUCTS)
    rows = rows[trace.inputs_id[rows] >= 0]
    if not len(rows):
        rows = trace.rows_of_kind(EventKind.TorchOp)
        rows = rows[trace.inputs_id[rows] >= 0]
    rows = rows[trace.in_window(rows)]
    kinds, counts = np.unique(
        np.stack([trace.name_id[rows], trace.inputs_id[rows]]), axis=1, return_counts=True
    )
    shapes, dtypes = set[str](), Counter[str]()
    for (name, inputs_id), count in zip(kinds.T.tolist(), counts.tolist(), strict=True):
        dims = [each for each in trace.inputs.shapes(inputs_id) if each]
        if not dims:
            continue
        shapes.add(f"{trace.names[name]} {shapes_text(dims)}")
        given = trace.inputs.dtypes(inputs_id)
        if given and given[0]:
            dtypes[given[0]] += count
    total = dtypes.total()
    return (
        frozenset(shapes) or None,
        {dtype: count / total for dtype, count in dtypes.items()} or None,
    )


def shapes_text(shapes: Sequence[object]) -> str:
    """`[64, 512] [512]`; of more than four tensors the first three and how many more there are."""
    texts = [str(shape).replace("(", "[").replace(",)", "]").replace(")", "]") for shape in shapes]
    if len(texts) > 4:
        texts = [*texts[:3], f"and {len(texts) - 3} more"]
    return " ".join(texts)


_TIMES = {
    "recorded": "steps as long as recorded",
    "light": "steps as long as recorded lightly",
    "unrecorded": "steps as long as with nothing recorded",
}
_QUICKEST = "with each part as long as in the quickest"
_UNITS = {"step": "steps marked", "round": "rounds, no steps marked", "run": "no steps"}


def _two(base: str, new: str) -> str:
    return f"{base} in BASE, {new} in NEW"


def _devices(setting: Setting) -> str:
    names = (name + (f" x {count}" if count > 1 else "") for name, count in setting.devices)
    return " and ".join(names) or "no device"
