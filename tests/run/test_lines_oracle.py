"""Each op of a PyTorch script is found on the line that ran it.

In the scripts `#! aten::add ...` names the outermost ops that a line runs, all of them and no
others; a backward op belongs to the line of its forward.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path
from textwrap import dedent

import pytest

from tidy import Trace
from tidy.trace import EventKind

from .running import record, write_script

pytestmark = pytest.mark.oracle

_SCRIPTS = {
    "operators": """
        import torch
        t = torch.zeros(4)  #! aten::zeros
        a, b = torch.ones(3, 3), torch.ones(3, 3)  #! aten::ones
        for i in range(12):
            t[i % 4] = i  #! aten::select aten::lift_fresh aten::copy_
        c = a @ b  #! aten::matmul
        d = [x * 2 for x in (a, b, c)]  #! aten::mul
        e = {
            "sum": a.sum(),  #! aten::sum
            "product": a.prod(),  #! aten::prod
        }
        f = torch.cat(  #! aten::cat
            [
                a.neg(),  #! aten::neg
                b,
            ]
        )
        if a[0, 0] > 0:  #! aten::select aten::gt aten::is_nonzero
            g = -a  #! aten::neg
        """,
    "calls": """
        import torch
        def twice(x):
            return x * 2  #! aten::mul
        def outer(x):
            y = twice(x) + twice(x)  #! aten::add
            return y.exp()  #! aten::exp
        def count(n):
            for i in range(n):
                yield torch.full((2,), i)  #! aten::full
        def decorate(function):
            def inner(*args):
                x = function(*args)
                return x.neg()  #! aten::neg
            return inner
        @decorate
        def decorated(x):
            return x.abs()  #! aten::abs
        def recursive(n):
            if n == 0:
                return torch.eye(2)  #! aten::eye
            return recursive(n - 1) - 1  #! aten::sub
        x = torch.ones(2)  #! aten::ones
        outer(x) / outer(x)  #! aten::div
        for item in count(3):
            item.sqrt()  #! aten::sqrt
        decorated(x).sin()  #! aten::sin
        recursive(5).cos()  #! aten::cos
        try:
            try:
                twice(x) @ torch.empty(7)  #! aten::empty aten::matmul
            finally:
                x.floor()  #! aten::floor
        except RuntimeError:
            x.ceil()  #! aten::ceil
        x.round()  #! aten::round
        total = sum(map(twice, [x, x]), x)  #! aten::add
        total.tan()  #! aten::tan
        sorted([3, 1], key=lambda i: float(len(x.log2())))  #! aten::log2
        """,
    "backward": """
        import torch
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 3  #! aten::mul
            @staticmethod
            def backward(ctx, grad):
                return grad * 3 + 0  #! aten::mul aten::add
        def hook(grad):
            return grad.neg()  #! aten::neg
        w = torch.randn(4, 4, requires_grad=True)  #! aten::randn
        for _ in range(3):
            x = torch.randn(2, 4)  #! aten::randn
            y = x.mm(w)  #! aten::mm MmBackward0
            z = y.tanh()  #! aten::tanh TanhBackward0
            z.register_hook(hook)
            u = Scale.apply(z)  #! Scale ScaleBackward
            loss = u.sum()  #! aten::sum SumBackward0
            loss.backward()  #! aten::ones_like torch::autograd::AccumulateGrad
            w.grad = None
        """,
    "module": """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Identity(), nn.ReLU())
                self.out = nn.Softmax(dim=-1)
            def forward(self, x):
                x = self.net(x)  #! aten::relu
                x = x.view(-1)  #! aten::view
                return self.out(x)  #! aten::softmax
        net = Net()
        x = torch.ones(2, 2)  #! aten::ones
        for _ in range(4):
            net(x).exp()  #! aten::exp
        """,
}


def test_ops_are_on_their_lines(tmp_path: Path) -> None:
    """One after the other in one file: to import PyTorch takes longer than all of them."""
    script = write_script(tmp_path, "".join(map(dedent, _SCRIPTS.values())))
    recorded = record(script, cwd=tmp_path)
    assert not recorded.err
    lines = script.read_text("utf-8").splitlines()
    expected = {
        number: set(line.partition("#!")[2].split())
        for number, line in enumerate(lines, 1)
        if "#!" in line
    }
    assert _ops_by_line(recorded.trace) == expected


def _ops_by_line(trace: Trace) -> dict[int, set[str]]:
    """Names of the ops that no other is around, or a backward op alone; by exact line."""
    found: defaultdict[int, set[str]] = defaultdict(set)
    for event in trace.of_kind(EventKind.TorchOp):
        above = next((e for e in event.ancestors() if e.kind == EventKind.TorchOp), None)
        is_wrapper = event.name.startswith("autograd::engine::evaluate_function")
        runs_in_python = above is not None and re.fullmatch(r"\w*Scale\w*", above.name)
        own = above is None or above.name.startswith("autograd::engine") or runs_in_python
        user_hook = event.name == "aten::neg"
        if (own or user_hook) and not is_wrapper:
            where = event.location
            assert where is not None, event
            assert where.is_call_line, event
            assert where.file == "train.py"
            found[where.line].add(event.name)
    return dict(found)


def test_a_loop_of_two_hundred_lines(tmp_path: Path) -> None:
    """Each of its ops carries the number of its line as an argument."""
    body = [f"    t.add(t, alpha={number})" for number in range(4, 204)]
    text = "\n".join(["import torch", "t = torch.ones(2)", "for _ in range(5):", *body])
    script = tmp_path / "long.py"
    script.write_text(text, "utf-8")
    trace = record(script, cwd=tmp_path).trace
    found = [
        (e.location.line, e.concrete_inputs[2]) for e in trace.named("aten::add") if e.location
    ]
    assert len(found) == 5 * 200
    assert [str(line) for line, _ in found] == [given for _, given in found]


def test_threads_have_their_own_lines(tmp_path: Path) -> None:
    script = write_script(
        tmp_path,
        """
        import threading, torch
        def one(x):
            for _ in range(300):
                x.sin()  # 5
        def other(x):
            for _ in range(300):
                x.cos()  # 8
        x = torch.ones(2)
        threads = [threading.Thread(target=work, args=(x,)) for work in (one, other)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        x.tan()  # 13
        """,
    )
    trace = record("--all-threads", script, cwd=tmp_path).trace
    for name, line, count in (("sin", 5, 300), ("cos", 8, 300), ("tan", 13, 1)):
        found = [event.location for event in trace.named(f"aten::{name}")]
        assert len(found) == count
        assert {(place.line, place.is_call_line) for place in found if place} == {(line, True)}


def test_a_script_that_traces_itself_is_left_alone(tmp_path: Path) -> None:
    script = write_script(
        tmp_path,
        """
        import sys, torch
        x = torch.ones(2)
        x.sin()
        seen = []
        def trace(frame, event, arg):
            seen.append(event)
            return trace
        def work():
            x.cos()
        sys.settrace(trace)
        work()
        sys.settrace(None)
        print(seen)
        """,
    )
    recorded = record(script, cwd=tmp_path)
    assert recorded.out.startswith("['call', 'line', 'return']\n")
    sin, cos = (recorded.trace.named(f"aten::{name}")[0] for name in ("sin", "cos"))
    assert sin.location is not None
    assert (sin.location.line, sin.location.is_call_line) == (4, True)
    assert cos.location is not None
    # Line events of `sys.monitoring`, from 3.12 on, go by beside those of `sys.settrace`.
    is_seen = sys.version_info >= (3, 12)
    assert cos.location.is_call_line == is_seen, "what is not known is not guessed"
    assert not is_seen or cos.location.line == 10


def test_lines_after_the_limit_of_recursion(tmp_path: Path) -> None:
    """Before Python 3.12 Python takes the trace function away there; the next step mends that."""
    text = """
        import torch
        weight = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([weight])
        def overflow():
            overflow()
        for _ in range(8):
            try:
                overflow()
            except RecursionError:
                pass
            weight.sum().backward()
            optimizer.step()
            torch.eye(2)  # line 14
        """
    script = write_script(tmp_path, text)
    trace = record("--steps", "5", "--warmup", "1", script, cwd=tmp_path).trace
    calls = [e for e in trace.named("aten::eye") if e.parent is None or e.parent.name != e.name]
    lines = [each.location.line for each in calls if each.location is not None]
    assert lines == [14] * 5
