"""The ops that a rule found, timed alone with the shapes they were recorded with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..finding import Finding
from ..run import RunOptions
from ..runtime.cuda import VARIABLE
from ..trace import Event

_MICRO = Path(__file__).with_name("micro.py")
_MOST_CASES = 3  # of a rule, those that were recorded most often
# Which inputs of an op are what is multiplied.
_FACTORS = {
    "aten::mm": slice(0, 2),
    "aten::bmm": slice(0, 2),
    "aten::addmm": slice(1, 3),
    "aten::baddbmm": slice(1, 3),
}
RULES = frozenset({"TDY201", "TDY501", "TDY503"})


@dataclass(frozen=True)
class OpTimes:
    """One op alone.

    Attributes:
        wrong_ns, corrected_ns: median time as recorded, and as the rule says to write it.
    """

    code: str
    op: str
    shapes: tuple[tuple[int, ...], ...]
    count: int
    wrong_ns: int
    corrected_ns: int


def time_ops(findings: Iterable[Finding], framework: str, options: RunOptions) -> list[OpTimes]:
    """Return time the ops of findings, wrong and corrected, on what the script runs on.

    Cases that cannot be made on this machine are left out.

    Args:
        framework: "torch" or "runtime".
        options: the interpreter and the device.
    """
    counted = Counter(
        (finding.code, *case)
        for finding in findings
        if finding.code in RULES
        for case in map(_case, finding.events)
        if case is not None
    )
    in_order = [case for case, _ in counted.most_common()]
    of_rules = [[case for case in in_order if case[0] == code] for code in sorted(RULES)]
    chosen = [case for cases in of_rules for case in cases[:_MOST_CASES]]
    if not chosen:
        return []
    cases = [{"code": code, "shapes": shapes, "dtype": kind} for code, _, shapes, kind in chosen]
    return [
        OpTimes(code, op, shapes, counted[code, op, shapes, kind], *times)
        for (code, op, shapes, kind), times in zip(
            chosen, _run(cases, framework, options), strict=True
        )
        if times is not None
    ]


def _case(event: Event) -> tuple[str, tuple[tuple[int, ...], ...], str] | None:
    """An op's name, the shapes that matter, and the type of its elements."""
    shapes = event.input_shapes[_FACTORS.get(event.name, slice(0, 1))]
    if not shapes or not all(isinstance(shape, tuple) for shape in shapes):
        return None
    return event.name, tuple(shapes), event.input_dtypes[0]


def _run(
    cases: Sequence[dict[str, Any]], framework: str, options: RunOptions
) -> list[list[int] | None]:
    python, module = sys.executable, "tidy.runtime"
    if framework == "torch":
        python, module = options.interpreter, "torch"
    device = {} if options.device is None else {VARIABLE: options.device}
    with tempfile.TemporaryDirectory(prefix="tidy-verify-") as folder:
        path = Path(folder) / "cases.json"
        path.write_text(json.dumps(cases), "utf-8")
        done = subprocess.run(  # noqa: S603 - the Python of the script
            [python, str(_MICRO), module, str(path)],
            env={**os.environ, **device},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        return [None] * len(cases)
    times: list[list[int] | None] = json.loads(done.stdout.splitlines()[-1])
    return times
