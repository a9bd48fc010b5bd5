"""Much pure Python around few operators: it is not slowed down for long, and no line is wrong.

Each operator of the script carries the number of its line. What the trace says of one is that line,
or where it does not know the line a function that was open.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from .running import record, write_script

pytestmark = pytest.mark.oracle

_SCRIPT = """\
import sys, time
import torch
t = torch.ones(2)
def op(line):
    t.add(t, alpha=line)
def small(x):
    return x + 1
def pure(n):
    total = 0
    for i in range(n):
        total += i & 3
        if total > 100:
            total -= small(i)
        total = small(total)
    return total
def turns(i):
    total = 0
    for k in range(30):
        total += k
    if i > 3000:
        t.add(t, alpha=LINE)
        total += 1
    return total
def fails(i):
    for k in range(20):
        i += k
    if i % 500 == 0:
        raise ValueError
    return i
def produce(n):
    for i in range(n):
        k = i * 2
        k += 1
        yield k
        if i % 200 == 0:
            t.add(t, alpha=LINE)
            k -= 1
def recursive(n):
    if n == 0:
        t.add(t, alpha=LINE)
        return 0
    return 1 + recursive(n - 1)
class Adds:
    def __init__(self):
        self.count = 0
    def step(self, often):
        self.count += 1
        if self.count % often == 0:
            t.add(t, alpha=LINE)
            self.count += 0
        for i in range(10):
            self.count += 0
        return self.count
parameter = torch.nn.Parameter(torch.ones(2))
optimizer = torch.optim.SGD([parameter], lr=0.1)
adds = Adds()
for step in range(12):
    total = 0
    for i in range(400):
        total += i
        total -= small(total)
        if i % 100 == 7:
            t.add(t, alpha=LINE)
            total += 1
        if i % 90 == 8:
            t.add(t, alpha=LINE)
    t.add(t, alpha=LINE); total += 1
    pure(300)
    t.add(t, alpha=LINE)
    for i in range(300):
        turns(i + 300 * step)
        try:
            fails(i)
            total += 1
        except ValueError:
            t.add(t, alpha=LINE)
            total += 2
        adds.step(97)
        total += 1
    for k in produce(400):
        total += k
    recursive(20)
    values = [small(i) for i in range(200)] + [t.add(t, alpha=LINE)]
    parameter.grad = torch.ones(2)
    optimizer.step()
    t.add(t, alpha=LINE)
"""


def test_no_operator_is_on_another_line(tmp_path: Path) -> None:
    text = "\n".join(
        line.replace("LINE", str(number)) for number, line in enumerate(_SCRIPT.splitlines(), 1)
    )
    (tmp_path / "train.py").write_text(text, "utf-8")
    functions = {
        node.name: range(node.lineno, (node.end_lineno or 0) + 1)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
    }
    recorded = record("--steps", "11", tmp_path / "train.py", cwd=tmp_path)
    exact, others = 0, list[str]()
    for event in recorded.trace.named("aten::add"):
        place = event.location
        assert place is not None
        truth = int(event.concrete_inputs[2])
        if place.is_call_line:
            assert place.line == truth or _calls(place.line, text)
            exact += place.line == truth
        else:
            inside = place.function == "<module>" or truth in functions[place.function or ""]
            assert inside
            # What begins to start operators late is noticed some time later.
            is_late = truth in functions["turns"]
            others += [f"{truth} in {place.function}"] * (not is_late)
    assert exact > 0.7 * (exact + len(others)), others


def _calls(line: int, text: str) -> bool:
    """Whether a line of the script calls a function in which an operator runs."""
    called = ("turns(", "adds.step(", "recursive(", "in produce(")
    return any(each in text.splitlines()[line - 1] for each in called)


_AFTER = """\
import gc, json, sys, time
import torch
def pure(n):
    total = 0
    for i in range(n):
        total += i & 3
    return total
parameter = torch.nn.Parameter(torch.ones(2))
optimizer = torch.optim.SGD([parameter], lr=0.1)
end, steps = time.time() + 0.2, 0
while time.time() < end or steps < 40:
    steps += 1
    for _ in range(40):
        pure(500)
    parameter.grad = torch.ones(2)
    optimizer.step()
tools = [sys.monitoring.get_tool(i) for i in range(6)] if hasattr(sys, "monitoring") else [None]
none = [sys.gettrace(), sys.getprofile(), *gc.callbacks]
print(json.dumps([set(none) == {None}, set(tools) == {None}]))
"""


@pytest.mark.parametrize("more", [["--steps", "2"], ["--seconds", "0.01"]])
def test_nothing_is_left_when_the_recording_has_ended(tmp_path: Path, more: list[str]) -> None:
    """What the steps after it take is measured in benchmarks/bench_after_end.py."""
    script = write_script(tmp_path, _AFTER)
    assert json.loads(record(*more, script, cwd=tmp_path).out.splitlines()[0]) == [True] * 2


def test_an_import_is_not_traced(tmp_path: Path) -> None:
    """A library that looks, as it is imported, whether something hears of its lines."""
    library = """\
        import sys
        code = sys._getframe().f_code
        if hasattr(sys, "monitoring"):
            tools = [i for i in range(6) if sys.monitoring.get_tool(i)]
            events = [sys.monitoring.get_local_events(i, code) for i in tools]
            print("heard", any(events), "set", len(tools) > 0)
        else:
            print("heard", sys.gettrace() is not None, "set", True)
        """
    write_script(tmp_path / "site-packages", library, "heavy.py")
    text = """\
        import sys, torch
        sys.path.append("site-packages")
        x = torch.ones(2)
        import heavy
        y = x.neg()
        """
    script = write_script(tmp_path, text)
    recorded = record(script, cwd=tmp_path)
    assert recorded.out.startswith("heard False set True\n")
    (negated,) = recorded.trace.named("aten::neg")
    assert negated.location is not None
    assert (negated.location.line, negated.location.is_call_line) == (5, True)
