"""Training scripts of many kinds: no warning as they stand, and planted mistakes are named.

A script in training/ is clean as it stands. It has mistakes in comments, as

    # clean:
    loss = F.cross_entropy(logits, labels)
    # planted loss-row-by-row (TDY404, TDY406):
    # for row, label in zip(logits, labels):  # at: loss-row-by-row
    # end

of which either half may be absent. A finding that names a mistake is of a code that stands there,
at a line marked `at:`. Where lines are marked `fix:`, since something is made there that should be
made otherwise, the finding says one of them, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from ..cli.command import tidy
from ..environment import SOAK

pytestmark = [pytest.mark.oracle, pytest.mark.slow]

SCRIPTS = sorted(Path(__file__).with_name("training").glob("*.py"))
# Pictures with an evaluation, a recurrent network, and an environment without a loader.
_IN_CI = ("dqn", "image_classification", "seq2seq")
_MARK = re.compile("  # (at|fix): ")
# Warnings of clean scripts that are right.
_ROW_BY_ROW = "a TensorDataset gives a batch row by row, which takes more than 1 % of the step"
_RIGHT_ALL_THE_SAME = {
    "closure_loop": {"TDY101": _ROW_BY_ROW},
    "distillation": {"TDY101": _ROW_BY_ROW},
    "dqn": {"TDY401": "a buffer of arrays for each step is stacked; one array for all is not"},
    "finetune": {"TDY101": _ROW_BY_ROW},
    "image_classification": {"TDY101": _ROW_BY_ROW},
    "tabular": {"TDY101": _ROW_BY_ROW},
    "tagger": {"TDY101": "sentences are padded in the training process, 3 % of the step"},
    "time_series": {"TDY101": "windows are sliced one by one, which takes 9 % of the step"},
}
# Beside other work of the machine products take most of a step, and short lists count for long;
# and no processor is left for a second thread.
_NAMED_ON_A_QUIET_MACHINE = ("norms-by-item", "one-thread", "sorted-in-python")
_PLANTED = re.compile(r" *# planted ([a-z-]+)(?: \((.*)\))?:$")


def mistakes(script: Path) -> dict[str, set[str]]:
    """The codes that may name each planted mistake."""
    found: dict[str, set[str]] = {}
    for match in map(_PLANTED.match, script.read_text("utf-8").splitlines()):
        if match:
            found.setdefault(match[1], set()).update((match[2] or "").split(", "))
    return {name: codes - {""} for name, codes in found.items()}


def text(
    script: Path, planted: Collection[str]
) -> tuple[str, dict[str, set[int]], dict[str, set[int]]]:
    """The script with some mistakes, and the lines of each: of its finding, and of its fix."""
    chosen: list[str] = []
    halves: dict[bool, list[str]] | None = None
    for line in script.read_text("utf-8").splitlines():
        match = _PLANTED.match(line)
        if match or line.strip() == "# clean:":
            if halves is None:
                halves, is_planted = {True: [], False: []}, False
            into = halves[match is not None]
            is_planted = is_planted or (match is not None and match[1] in planted)
        elif line.strip() == "# end":
            assert halves is not None
            chosen += halves[is_planted]
            halves = None
        elif halves is None:
            chosen.append(line)
        else:
            into.append(line.replace("# ", "", 1) if into is halves[True] else line)
    lines: dict[str, dict[str, set[int]]] = {
        kind: {name: set() for name in planted} for kind in ("at", "fix")
    }
    for number, marked in enumerate(chosen, 1):
        chosen[number - 1], *marks = _MARK.split(marked)
        for kind, names in zip(marks[::2], marks[1::2], strict=True):
            for name in lines[kind].keys() & set(names.split()):
                lines[kind][name].add(number)
    return "\n".join(chosen) + "\n", lines["at"], lines["fix"]


@cache
def _findings(script: Path, is_planted: bool) -> list[dict[str, Any]]:
    """What `tidy run` finds with its defaults, without what it leaves out of the steps."""
    pytest.importorskip("torch")
    with TemporaryDirectory() as folder:
        chosen, *_ = text(script, mistakes(script) if is_planted else ())
        Path(folder, script.name).write_text(chosen, "utf-8")
        options = ("--framework", "torch", "--format", "json")
        # Threads that spin for each other beside other tests would make products the whole step.
        done = tidy("run", *options, script.name, cwd=Path(folder), GOMP_SPINCOUNT="0")
    (report,) = json.loads(done.out)["traces"]
    assert report["crashed"] == []
    found: list[dict[str, Any]] = report["findings"]
    return found


def _scripts() -> Iterator[Path]:
    yield from (script for script in SCRIPTS if SOAK or script.stem in _IN_CI)


def _clean() -> Iterator[Any]:
    for script in _scripts():
        yield pytest.param(script, id=script.stem)


def _planted(with_fix: bool = False) -> Iterator[Any]:
    for script in _scripts():
        *_, fix = text(script, mistakes(script))
        for name in mistakes(script):
            if with_fix and not fix[name]:
                continue
            marks = []
            if name in _NAMED_ON_A_QUIET_MACHINE:
                marks = [pytest.mark.xfail(strict=False, reason="the machine may be busy")]
            yield pytest.param(script, name, marks=marks, id=f"{script.stem}-{name}")


@pytest.mark.parametrize("script", list(_clean()))
def test_a_clean_script_has_no_warning(script: Path) -> None:
    found = {each["code"] for each in _findings(script, False) if each["severity"] == "warning"}
    assert found <= _RIGHT_ALL_THE_SAME.get(script.stem, {}).keys()


@pytest.mark.parametrize(("script", "name"), list(_planted()))
def test_a_planted_mistake_is_named_at_its_line(script: Path, name: str) -> None:
    _, at, fix = text(script, mistakes(script))
    found = _of(script, name)
    places = [each["location"] for each in found]
    places += [each["fix_place"]["location"] for each in found if each["fix_place"]]
    assert any(_is_at(each, script, at[name] | fix[name]) for each in places)


@pytest.mark.parametrize(("script", "name"), list(_planted(with_fix=True)))
def test_a_planted_mistake_is_named_where_its_fix_is_made(script: Path, name: str) -> None:
    *_, fix = text(script, mistakes(script))
    places = [each["fix_place"] or {"location": each["location"]} for each in _of(script, name)]
    assert any(_is_at(each["location"], script, fix[name]) for each in places)


def _of(script: Path, name: str) -> list[dict[str, Any]]:
    """The findings that may name a mistake."""
    codes = mistakes(script)[name]
    return [each for each in _findings(script, True) if each["code"] in codes]


def _is_at(place: dict[str, Any] | None, script: Path, lines: set[int]) -> bool:
    return place is not None and place["file"] == script.name and place["line"] in lines
