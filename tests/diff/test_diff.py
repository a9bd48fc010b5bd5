"""`tidy diff` on made runs: what it says of changes that are known, and of those that are none."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import tidy as tidy_package
from tidy.commands.options import diff_options
from tidy.diff import WHATS

from ..cli.command import Result, tidy
from ..run.running import record, write_script
from .runs import A100, OPS, Op, changed, run


def _diff(*given: str | Path) -> Any:
    result = tidy("diff", *given, "--format", "json")
    made = result.json()
    assert made["exit_code"] == result.code
    return made


def _certain(made: Any) -> list[tuple[str, str]]:
    return [(op["what"], op["key"]["name"]) for op in made["ops"] if op["is_certain"]]


@pytest.mark.parametrize("seed", range(4))
def test_runs_that_are_alike_are_clean(tmp_path: Path, seed: int) -> None:
    base = run(tmp_path / "base.json", seed=2 * seed, speed=1 + 0.05 * seed)
    new = run(tmp_path / "new.json", seed=2 * seed + 1)
    made = _diff(base, new, "--fail-on-regression", "1%")
    assert (made["exit_code"], made["verdict"], _certain(made)) == (0, "undecided", [])
    assert made["findings"] == {"new": [], "gone": []}


@pytest.mark.parametrize("op", ["aten::tanh", "aten::addmm", "aten::sum"])
@pytest.mark.parametrize("seed", range(3))
def test_an_op_that_makes_steps_longer_is_named(tmp_path: Path, op: str, seed: int) -> None:
    """A step takes 1,550 us; 5 % of it are planted in one op."""
    base = run(tmp_path / "base.json", seed=2 * seed)
    us = next(each.us for each in OPS if each.name == op) + 0.05 * 1550
    new = run(tmp_path / "new.json", changed(op, us=us), seed=2 * seed + 1)
    made = _diff(base, new, "--fail-on-regression", "2%")
    assert (made["exit_code"], made["verdict"], _certain(made)) == (1, "slower", [("grew", op)])
    assert made["step"]["low"] < 0.05 < made["step"]["high"]
    (named,) = (each for each in made["ops"] if each["is_certain"])
    assert named["of_step"]["low"] < 0.05 < named["of_step"]["high"]
    # A regression counts when all of the interval is above what is allowed.
    assert _diff(base, new, "--fail-on-regression", "5%")["exit_code"] == 0
    back = _diff(new, base, "--fail-on-regression", "0%")
    assert (back["exit_code"], back["verdict"], _certain(back)) == (0, "faster", [("shrank", op)])


def test_a_kernel_that_takes_longer_is_named(tmp_path: Path) -> None:
    ops = tuple(replace(op, kernel_us=0.9 * op.us) for op in OPS)
    slower = tuple(replace(o, kernel_us=260.0) if o.name == "aten::tanh" else o for o in ops)
    base = run(tmp_path / "base.json", ops, **A100)
    made = _diff(base, run(tmp_path / "new.json", slower, seed=1, **A100))
    assert _certain(made) == [("grew", "aten::tanh_kernel")]


def test_ops_that_come_and_go(tmp_path: Path) -> None:
    base = run(tmp_path / "base.json")
    without = tuple(op for op in OPS if op.name != "aten::tanh")
    ops = (*without, Op("aten::gelu", 200, shapes=((64, 512),)))
    made = _diff(base, run(tmp_path / "new.json", ops, seed=1))
    assert sorted(_certain(made)) == [("came", "aten::gelu"), ("went", "aten::tanh")]
    text = tidy("diff", base, tmp_path / "new.json").out
    assert re.search(r"came +aten::gelu \[\[64, 512\]\] .*\n +0 us -> \d+ us a step, x1,", text)
    assert re.search(r"went +aten::tanh", text)


def test_code_that_moved_is_the_same_code(tmp_path: Path) -> None:
    base = run(tmp_path / "base.json")
    moved = tuple(replace(op, line=op.line + 100) for op in OPS)
    made = _diff(base, run(tmp_path / "new.json", moved, seed=1))
    assert (made["verdict"], _certain(made)) == ("undecided", [])


def test_ops_of_another_function_and_of_other_shapes_are_paired(tmp_path: Path) -> None:
    base = run(tmp_path / "base.json")
    ops = changed("aten::sum", us=200.0, function="total")
    ops = tuple(replace(o, us=300.0, shapes=((8,),)) if o.name == "aten::mul" else o for o in ops)
    made = _diff(base, run(tmp_path / "new.json", ops, seed=1))
    changes = {op["key"]["name"]: (op["what"], op["how"]) for op in made["ops"]}
    assert changes["aten::sum"] == ("grew", "place")
    assert changes["aten::mul"] == ("grew", "shapes")


def test_what_all_ops_share_is_the_machine(tmp_path: Path) -> None:
    """Everything takes 25 % longer: that is no change of the script."""
    base, new = run(tmp_path / "base.json"), run(tmp_path / "new.json", seed=1, speed=0.8)
    made = _diff(base, new, "--fail-on-regression", "5%")
    assert (made["exit_code"], made["verdict"], _certain(made)) == (0, "undecided", [])
    assert made["step_alone"]["low"] > 0.2
    assert made["machine"]["growth"] == pytest.approx(0.25, abs=0.03)
    assert "slower or busier machine" in " ".join(tidy("diff", base, new).out.split())


def test_few_steps_decide_nothing(tmp_path: Path) -> None:
    base = run(tmp_path / "base.json", steps=3)
    new = run(tmp_path / "new.json", changed("aten::tanh", us=900), seed=1, steps=3)
    result = tidy("diff", base, new, "--fail-on-regression", "0%")
    assert result.code == 0
    assert "no interval" in result.out
    assert "record more steps" in result.out


_OTHER = {
    "device": (OPS, {"deviceProperties": [{"id": 0, "name": "NVIDIA H100"}]}),
    "recorded": (tuple(replace(op, shapes=()) for op in OPS), {"record_shapes": 0}),
    "shapes": (tuple(replace(op, shapes=((32, 128), (128, 128))) for op in OPS), {}),
    "dtype": (tuple(replace(op, dtype="c10::BFloat16") for op in OPS), {}),
    "world-size": (OPS, {"distributedInfo": {"rank": 0, "world_size": 8}}),
    "framework": (OPS, {"framework": "tidy.runtime"}),
}


@pytest.mark.parametrize("what", _OTHER)
def test_runs_that_are_not_comparable(tmp_path: Path, what: str) -> None:
    ops, header = _OTHER[what]
    on_device = {"kernel_us": 20.0} if what == "device" else {}
    usual = {"framework": "PyTorch", **(A100 if what == "device" else {})}
    base = run(tmp_path / "base.json", [replace(op, **on_device) for op in OPS], **usual)
    new = run(tmp_path / "new.json", [replace(op, **on_device) for op in ops], **usual | header)
    result = tidy("diff", base, new)
    assert result.code == 2
    assert "Not comparable" in result.out
    assert f"not comparable: {what}: " in result.err
    made = _diff(base, new)
    assert [each["what"] for each in made["differences"]] == [what]
    assert "step" not in made
    allowed = _diff(base, new, "--allow", what)
    assert allowed["comparable"]
    assert allowed["exit_code"] == 0
    assert [each["what"] for each in allowed["allowed_differences"]] == [what]
    assert tidy("diff", base, new, "--allow", "all").code == 0


def test_times_of_two_kinds_are_not_comparable(tmp_path: Path) -> None:
    plain = run(tmp_path / "plain.json", tidy_times="light")
    quick = run(tmp_path / "quick.json", tidy_times="light", tidy_quickest=True)
    bare = run(tmp_path / "bare.json", tidy_times="unrecorded", tidy_light_slowdown=1.1, speed=1.1)
    slow = run(tmp_path / "slow.json", tidy_times="unrecorded", tidy_light_slowdown=2.0)
    assert "record both with --quickest" in tidy("diff", plain, quick).err
    assert tidy("diff", plain, slow).code == 2
    made = _diff(plain, bare)
    assert (made["exit_code"], made["verdict"]) == (0, "undecided")
    assert abs(made["step_alone"]["estimate"]) < 0.01  # the 10 % are put back


def test_options_name_what_is_compared() -> None:
    made = diff_options(lambda: None)
    (allow,) = (p for p in made.__click_params__ if p.name == "allow")  # type: ignore[attr-defined]
    assert tuple(allow.type.choices) == ("all", *WHATS)


def test_ranks_are_one_run(tmp_path: Path) -> None:
    """A step is as long as on the slowest rank, and so is an op."""
    for name, us in (("base", 200.0), ("new", 290.0)):
        for rank in range(2):
            ops = changed("aten::tanh", us=us if rank else 200.0)
            info = {"distributedInfo": {"rank": rank, "world_size": 2}}
            run(tmp_path / name / f"{rank}.json", ops, seed=rank, **info)
    made = _diff(tmp_path / "base", tmp_path / "new")
    assert made["verdict"] == "slower"
    assert _certain(made) == [("grew", "aten::tanh")]
    one = _diff(tmp_path / "base" / "0.json", tmp_path / "new")
    assert [each["what"] for each in one["differences"]] == ["world-size"]


def test_several_runs_of_a_script_are_one_side(tmp_path: Path) -> None:
    for number in range(3):
        run(tmp_path / "base" / f"{number}.json", seed=number, steps=6)
    new = run(tmp_path / "new.json", seed=9, steps=6)
    made = _diff(tmp_path / "base", new)
    assert (made["base"]["runs"], made["base"]["steps"]) == (3, 18)
    run(tmp_path / "base" / "other.json", [replace(op, shapes=((8, 8),)) for op in OPS])
    assert "cannot be taken together" in tidy("diff", tmp_path / "base", new).err


# -- reports --------------------------------------------------------------------------------------


def _report(trace: Path) -> Path:
    report = trace.with_suffix(".report.json")
    tidy("report", trace, "--fail-on", "never", "-o", f"json={report}")
    return report


def test_reports_are_compared_by_their_steps(tmp_path: Path) -> None:
    base = run(tmp_path / "base.json")
    new = run(tmp_path / "new.json", changed("aten::tanh", us=600), seed=1)
    traces, reports = _diff(base, new), _diff(_report(base), _report(new))
    assert reports["step_alone"] == traces["step_alone"]
    assert reports["account"] == traces["account"]
    assert (reports["ops"], reports["memory"]) == ([], [])
    assert reports["not_checked"] == ["shapes", "dtype", "framework"]
    mixed = _diff(_report(base), base)
    assert (mixed["verdict"], mixed["findings"]) == ("undecided", {"new": [], "gone": []})


def test_findings_that_come_and_go(tmp_path: Path) -> None:
    """A loop that indexes is written; then lines are added above it."""
    loop = Op("aten::select", 2, 20, ((64, 4),), line=70, function="fill", then="aten::fill_")
    without = run(tmp_path / "without.json", OPS, steps=6)
    with_it = run(tmp_path / "with.json", [*OPS, loop], steps=6)
    moved = run(tmp_path / "moved.json", [*OPS, replace(loop, line=95)], steps=6)
    for of in (lambda trace: trace, _report):
        made = _diff(of(without), of(with_it))["findings"]
        assert [(f["code"], f["function"]) for f in made["new"]] == [("TDY404", "fill")]
        assert made["gone"] == []
        assert _diff(of(with_it), of(moved))["findings"] == {"new": [], "gone": []}
    assert "gone  TDY404" in tidy("diff", with_it, without).out


# -- forms ----------------------------------------------------------------------------------------

_HOSTILE = "x::error title=a::b|<b>`c`\x1b[31m@all\n# d"


def _hostile(folder: Path) -> Result:
    base = run(folder / "base.json", changed("aten::tanh", name=_HOSTILE))
    new = run(folder / "new.json", changed("aten::tanh", name=_HOSTILE, us=600), seed=1)
    outputs = [f"{form}={folder / form}" for form in ("text", "json", "markdown", "github")]
    given = [each for output in outputs for each in ("-o", output)]
    return tidy("diff", base, new, *given)


def test_several_forms_at_once_in_which_names_stay_names(tmp_path: Path) -> None:
    assert _hostile(tmp_path) == Result(0, "", "")
    text = (tmp_path / "text").read_text("utf-8")
    assert "\x1b" not in text
    made = json.loads((tmp_path / "json").read_text("utf-8"))
    assert [op["key"]["name"] for op in made["ops"] if op["is_certain"]] == [_HOSTILE]
    page = (tmp_path / "markdown").read_text("utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith("| grew"))
    assert row.count("|") == 4
    assert not re.search(r"<b>|@all|`c`", page)
    lines = (tmp_path / "github").read_text("utf-8").splitlines()
    assert all(re.match(r"::(warning|notice|error) title=[^:]*::", line) for line in lines)
    assert lines[0].startswith("::warning title=tidy diff::slower")
    assert len(lines) == 2


def test_the_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    _hostile(tmp_path / "one")
    first = {form: (tmp_path / "one" / form).read_bytes() for form in ("text", "json")}
    _hostile(tmp_path / "one")
    assert first == {form: (tmp_path / "one" / form).read_bytes() for form in first}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["base.json", "missing.json"], "missing.json"),
        (["base.json", "odd.json"], "odd.json"),
        (["base.json", "empty"], "empty"),
        (["base.json", "base.json", "-o", "a.sarif"], "tidy diff writes text, json"),
        (["base.json", "base.json", "-o", "base.json"], "which would be lost"),
        (["base.json", "base.json", "--fail-on-regression", "much"], "no percentage"),
        (["base.json", "base.json", "--allow", "colour"], "colour"),
        (["base.json"], "NEW"),
    ],
)
def test_what_cannot_be_done_is_one_line(tmp_path: Path, given: list[str], said: str) -> None:
    run(tmp_path / "base.json", steps=2)
    (tmp_path / "odd.json").write_text('{"schema_version": 1, "traces": [{}]}')
    (tmp_path / "empty").mkdir()
    result = tidy("diff", *given, cwd=tmp_path)
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert all(line.startswith("tidy: ") for line in result.err.splitlines())


@pytest.mark.slow
def test_recorded_runs_with_and_without_other_work(tmp_path: Path) -> None:
    """With `--quickest` all steps of a run that are alike are as long, whatever else runs."""
    script = write_script(tmp_path, _SCRIPT)
    kept = []
    for name, work in (("base", 0), ("same", 0), ("more", 150)):
        given = ("--steps", "40", "--warmup", "3", "--quickest", "--stop-after", "-q")
        done = record(*given, script, str(work), cwd=tmp_path)
        assert done.code == 0, done.err
        assert done.header["tidy_quickest"] is True
        kept.append(done.path.rename(tmp_path / f"{name}.json"))
        lengths = [step.duration_ns for step in tidy_package.load(kept[-1]).window.steps]
        # A step that took three times as long as the others in full recording stays as it is.
        assert median(lengths) < 1.01 * min(lengths)
    base, same, more = kept
    assert _diff(base, same)["comparable"]
    made = _diff(base, more, "--fail-on-regression", "20%")
    assert made["exit_code"] == 1  # by the step as a whole, or by what certainly came
    assert made["least_regression"] > 0.2
    assert ("came", "aten::mul") in _certain(made)


_SCRIPT = """
import sys
import tidy.runtime as torch
nn = torch.nn
layers = [nn.Linear(64, 64), nn.Tanh(), nn.LayerNorm(64), nn.Linear(64, 64), nn.ReLU()]
model = nn.Sequential(*layers, nn.Linear(64, 4), nn.Sigmoid())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, other = torch.randn(32, 64), torch.randn(100)
for _ in range(200):
    optimizer.zero_grad()
    model(x).sum().backward()
    for _ in range(int(sys.argv[1])):
        other * 2
    optimizer.step()
"""
