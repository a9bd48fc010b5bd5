"""What TDY601 says to write: an argument that the optimizer has, or to group what it updates."""

from __future__ import annotations

import pytest

import tidy
from tidy.finding import Severity
from tidy.patterns.examples import FRAME, launch, on_gpu, steps, under
from tidy.trace.outline import parse_outline

from ..conftest import ReadEvents
from ..trace.kineto import mark, op

_FUNCTION = "torch/optim/adam.py(347): _single_tensor_adam"
_UPDATES = "aten::add_\n" * 5


def _fixes(outline: str) -> list[str]:
    return [f.fix for f in tidy.check(parse_outline(outline), select=["TDY601"]).findings]


@pytest.mark.parametrize(
    ("label", "fix"),
    [
        ("Adam", "pass fused=True to Adam"),
        ("AdamW", "pass fused=True to AdamW"),
        ("RMSprop", "pass foreach=True to RMSprop"),
        ("Rprop", "pass foreach=True to Rprop"),
        ("Adafactor", "pass foreach=True to Adafactor"),
    ],
)
def test_by_the_class(label: str, fix: str) -> None:
    assert _fixes(under(f"Optimizer.step#{label}.step", _UPDATES)) == [fix]


def test_on_a_gpu_either_form_helps() -> None:
    step = under("Optimizer.step#Adam.step", launch("aten::add_", "add 2us") * 5)
    assert _fixes(on_gpu(steps(step))) == ["pass fused=True (or foreach=True) to Adam"]


def test_the_range_tells_more_than_the_function() -> None:
    """AdamW updates by Adam's function."""
    frames = under(FRAME, under("Optimizer.step#AdamW.step", under(_FUNCTION, _UPDATES)))
    assert _fixes(frames) == ["pass fused=True to AdamW"]
    # The range of the first may have begun before the recording.
    cut = under(FRAME, under(_FUNCTION, _UPDATES))
    assert _fixes(cut + frames) == ["pass fused=True to AdamW"]
    assert _fixes(under(FRAME, under(_FUNCTION, _UPDATES))) == ["pass fused=True to Adam"]


def test_a_class_of_the_users_gets_no_argument() -> None:
    """Nobody knows what the constructor of Lion takes, though it calls Adam's function."""
    (fix,) = _fixes(under(FRAME, under("Optimizer.step#Lion.step", under(_FUNCTION, _UPDATES))))
    assert "=" not in fix


def test_each_optimizer_of_a_report_has_its_own_fix() -> None:
    outline = "".join(
        under(f"train.py({line}): step", under(f"Optimizer.step#{label}.step", _UPDATES))
        for line, label in ((3, "Adam"), (9, "RMSprop"))
    )
    lines = str(tidy.check(parse_outline(outline), select=["TDY601"])).splitlines()
    shown = [line.strip() for line in lines if "train.py:" in line or "->" in line]
    fixes = {
        "3": "-> pass fused=True to Adam",
        "9": "-> pass foreach=True to RMSprop",
    }
    places = [line.partition(":")[2][0] for line in shown if "train.py:" in line][-2:]
    assert [line for line in shown if line.startswith("->")] == [fixes[place] for place in places]


def test_a_closure_is_no_part_of_it() -> None:
    """Forward and backward run within the optimizer's step; its own updates take 100 us."""
    node = under("autograd::engine::evaluate_function: MmBackward0", "aten::mm 300us")
    closure = under("train.py(6): closure", "aten::mm 300us", node)
    updates = "aten::mul_ 10us\naten::add_ 10us\n" * 5
    step = under("train.py(9): train > Optimizer.step#SGD.step", closure, updates)
    trace = parse_outline("# deviceProperties []\n" + steps(step, lasts_us=None))
    (finding,) = tidy.check(trace, select=["TDY601"]).findings
    assert "sgd updates" in finding.message
    assert finding.cost_ns < 150_000


@pytest.mark.parametrize(
    ("name", "op_us", "is_sure"),
    [("Adam", 5, True), ("Adam", 500, True), ("SGD", 5, True), ("SGD", 500, False)],
)
@pytest.mark.parametrize("header", ["baseTimeNanoseconds", "made"])
def test_on_a_cpu_it_warns_where_a_fused_form_saves_surely(
    name: str, op_us: int, is_sure: bool, header: str
) -> None:
    """PyTorch before 2.4 has none there; a fused SGD is one pass over memory, as a single one."""
    step = under(f"train.py(9): train > Optimizer.step#{name}.step", f"aten::add_ {op_us}us\n" * 9)
    outline = f"# {header} 1\n# deviceProperties []\n" + steps(step, "aten::mm 50us", lasts_us=None)
    (finding,) = tidy.check(parse_outline(outline), select=["TDY601"]).findings
    is_new = header == "baseTimeNanoseconds"
    assert (finding.severity == Severity.WARNING) is (is_new and is_sure)
    assert (finding.saving is not None) is is_new


def test_the_rest_of_an_optimizer_before_the_steps_does_not_count(read_events: ReadEvents) -> None:
    """Each step ends in a hook of the optimizer: 10 us before its range does."""
    written = [mark(f"ProfilerStep#{step}", 100 * step, 100) for step in (1, 2, 3)]
    for step in range(4):
        written.append(mark("Optimizer.step#SGD.step", 100 * step + 50, 60))
        written += [op("aten::add_", 100 * step + 52 + 5 * each, 4) for each in range(5)]
    (finding,) = tidy.check(read_events(written), select=["TDY601"]).findings
    assert finding.count == 3


def _own(name: str, inside: str, around: str = "lion.py(9): step") -> str:
    return under(f"{FRAME} > Optimizer.step#{name}.step > {around}", inside)


_ROUND = "aten::mul\naten::add_\naten::sign_\n"
_LINES = "".join(f"aten::add_ @lion.py({line}): step\n" for line in (14, 12, 14, 13))


@pytest.mark.parametrize("name", ["Lion", "Adam"])
def test_a_class_of_the_users_is_named_where_it_loops(name: str) -> None:
    """Its name may be one of PyTorch's, of which it does not have the arguments."""
    trace = parse_outline(on_gpu(steps(_own(name, launch("aten::sub_", "k") + _LINES * 10))))
    (finding,) = tidy.check(trace, select=["TDY601"], savings="off").findings
    assert finding.message == f"{name} updates one tensor at a time"
    assert (str(finding.location), finding.count) == ("lion.py:12", 3)
    assert finding.fix.startswith("group the updates: torch._foreach_")


def test_rounds_that_read_a_value_are_found() -> None:
    read = under("aten::item", "aten::_local_scalar_dense")
    (fix,) = _fixes(_own("Lamb", (_ROUND + read) * 10))
    assert "item" not in fix


@pytest.mark.parametrize("count", [9, 10])
def test_fewer_than_ten_updates_are_left_alone(count: int) -> None:
    assert len(_fixes(_own("Lion", _ROUND * count))) == (count == 10)


@pytest.mark.parametrize("products", [0, 2, 3, 30])
def test_matrix_products_are_the_work_itself(products: int) -> None:
    found = _fixes(_own("Muon", _ROUND * 10 + "aten::mm\n" * products))
    assert bool(found) == (products < 3)


def test_a_hook_of_the_users_does_not_make_a_librarys_optimizer_theirs() -> None:
    """It averages the parameters after each step; timm updates them by more operators."""
    hook = under("train.py(3): average", "aten::lerp_\n" * 10)
    step = under("timm/optim/lamb.py(9): step", _ROUND * 10)
    assert _fixes(under(f"{FRAME} > Optimizer.step#Lamb.step", step, hook)) == []


@pytest.mark.parametrize("on_gpu_too", [False, True])
def test_parameters_on_the_cpu_are_no_warning_beside_a_gpu(on_gpu_too: bool) -> None:
    """There an op for all parameters calls the same loops."""
    update = launch("aten::sub_", "k") if on_gpu_too else "aten::sub_"
    step = _own("Lion", f"{update}\n" + _ROUND * 10)
    trace = parse_outline(on_gpu(steps(launch("aten::mm", "gemm 90us"), step, lasts_us=None)))
    (finding,) = tidy.check(trace, select=["TDY601"], savings="off").findings
    assert (finding.severity == Severity.WARNING) is on_gpu_too
    assert (finding.correction.edit is not None) is on_gpu_too
