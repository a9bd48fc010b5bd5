"""Steps that other work of the machine made longer, against the same steps alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidy.retiming.disturbed import quickest_of, undisturbed
from tidy.retiming.light import BareStep, LightSteps, light_steps
from tidy.retiming.unrecorded import as_short_as
from tidy.trace.kinds import EventKind
from tidy.trace.raw_columns import RawColumns, Track

_MAIN = Track(1, 1)
_FETCH = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
# What a step consists of when nothing disturbs it, one after the other, and then a pause.
_TRUE = {_FETCH: 900, "aten::mm": 400, "aten::add": 20, "aten::mm_out": 1_500}
_PAUSE_NS = 100
_STEP_NS = sum(_TRUE.values()) + _PAUSE_NS


def _light(added: list[list[int]], slowed: int = 1) -> LightSteps:
    """Steps of which each event takes so much longer.

    Args:
        added: a list for each step, in the order of its events.
        slowed: how many times longer the products take in every step.
    """
    raw, at, ends = RawColumns(), 1_000, [1_000]
    for step in added:
        for (name, length), more in zip(_TRUE.items(), step, strict=True):
            took = length * (slowed if "mm" in name else 1) + more
            raw.append(
                1,
                name_id=raw.strings.names[name],
                kind=EventKind.Annotation if name == _FETCH else EventKind.TorchOp,
                start_ns=at,
                duration_ns=took,
                track_id=raw.strings.tracks[_MAIN],
            )
            at += took
        at += _PAUSE_NS
        ends.append(at)
    light = light_steps(raw, [ends], _MAIN)
    assert light is not None
    return light


def _lengths(light: LightSteps) -> list[list[int]]:
    """The length of each event, a list for each step."""
    return light.table["duration_ns"].reshape(-1, len(_TRUE)).tolist()


_waits = st.lists(
    st.lists(st.integers(0, 50_000), min_size=len(_TRUE), max_size=len(_TRUE)),
    min_size=3,
    max_size=8,
)


@given(_waits, st.data())
def test_what_waited_in_some_of_the_steps(waits: list[list[int]], data: st.DataObject) -> None:
    """One undisturbed step for each event is enough, whichever it is."""
    for event in range(len(_TRUE)):
        waits[data.draw(st.integers(0, len(waits) - 1))][event] = 0
    light = undisturbed(_light(waits))
    assert _lengths(light) == [list(_TRUE.values())] * len(waits)
    assert light.lengths_ns.tolist() == [_STEP_NS] * len(waits)
    starts = light.table["start_ns"]
    assert (np.diff(starts) > 0).all()


def test_steps_of_another_kind_stay() -> None:
    """A step that nothing else is like has nothing that it could be compared to."""
    light = _light([[0] * 4] * 3 + [[7_000] * 4])
    light.table["name_id"][-1] = light.strings.names["aten::rare"]
    light = undisturbed(light)
    assert light.lengths_ns.tolist() == [_STEP_NS] * 3 + [_STEP_NS + 28_000]


def test_steps_that_are_all_of_another_kind_stay() -> None:
    """As those of a script that does one operator more in each step: none tells where it waited."""
    light = _light([[0] * 4, [9_000] * 4, [0] * 4, [7_000] * 4])
    names = light.table["name_id"].reshape(4, -1)
    for step in range(1, 4):
        names[step, :step] = light.strings.names["aten::rare"]
    after = undisturbed(light)
    assert not after.are_quickest
    assert after.lengths_ns.tolist() == light.lengths_ns.tolist()
    assert undisturbed(_light([[0] * 4] * 3)).are_quickest


def test_what_waited_in_every_step() -> None:
    """The products waited in each step that was recorded, but not with nothing recorded."""
    marks = ((0, _FETCH, 0), (_TRUE[_FETCH], _FETCH, 1))
    alone = [BareStep(0, _STEP_NS, marks)] * 4
    busy = [BareStep(0, 30 * _STEP_NS, marks)] * 16
    light = as_short_as(_light([[0] * 4] * 5, slowed=40), quickest_of(alone + busy))
    assert light.lengths_ns == pytest.approx([_STEP_NS] * 5, abs=5)
    for fetch, *_ in _lengths(light):
        assert fetch == pytest.approx(_TRUE[_FETCH], abs=2)


def test_without_parts_that_were_timed() -> None:
    light = as_short_as(_light([[0] * 4] * 5, slowed=40), [BareStep(0, 10_000, ())] * 4)
    assert light.lengths_ns == pytest.approx([10_000] * 5, abs=5)


def test_none_gets_longer() -> None:
    """Where the machine was busier with nothing recorded than before."""
    light = _light([[0] * 4] * 5)
    for marks in ((), ((0, _FETCH, 0), (_STEP_NS, _FETCH, 1))):
        after = as_short_as(light, [BareStep(0, 9 * _STEP_NS, marks)] * 4)
        assert _lengths(after) == _lengths(light)


@pytest.mark.parametrize("has_ops", [True, False])
@pytest.mark.parametrize(("wanted_ns", "step_ns"), [(60_000, 60_000), (10_000, 36_600)])
def test_devices_take_as_long_as_they_do(wanted_ns: int, step_ns: int, has_ops: bool) -> None:
    """What kept the host waiting slowed no kernel down: steps get as short as these let them."""
    raw, ends = RawColumns(), [1_000]
    names, tracks = raw.strings.names, raw.strings.tracks
    for step in range(5):
        at = ends[-1]
        for kind, name, place, start_ns, took_ns in (
            (EventKind.TorchOp, "aten::mm", _MAIN, at, 8_000),
            (EventKind.Runtime, "cudaLaunchKernel", _MAIN, at + 2_000, 4_000),
            (EventKind.Kernel, "gemm", Track(0, 7), at + 4_000, 30_000),
            (EventKind.Runtime, "cudaDeviceSynchronize", _MAIN, at + 20_000, 14_000),
        ):
            if kind == EventKind.TorchOp and not has_ops:
                continue
            raw.append(
                1,
                name_id=names[name],
                kind=kind,
                start_ns=start_ns,
                duration_ns=took_ns,
                track_id=tracks[place],
                correlation=step + 1 if name in ("cudaLaunchKernel", "gemm") else 0,
            )
        ends.append(at + 100_000)
    light = light_steps(raw, [ends], _MAIN)
    assert light is not None
    shorter = as_short_as(light, [BareStep(0, wanted_ns, ())] * 4)
    assert shorter.given is not None
    starts_ns, ends_ns = shorter.given
    kernels = shorter.table["kind"] == EventKind.Kernel
    assert (ends_ns - starts_ns)[kernels].tolist() == [30_000] * 5
    assert shorter.lengths_ns[1:] == pytest.approx([step_ns] * 4, rel=0.1)
