"""Generated code, as tracebacks and debuggers show it."""

import inspect
import linecache
import re
import subprocess
import sys
import traceback

import pytest

import tidy.runtime as rt
from tidy.runtime.ops.make.function_source import function_source
from tidy.runtime.ops.make.node_source import node_source
from tidy.runtime.ops.make.table import TABLE


def frames(call):
    """The frames of the error that a call raises, innermost last."""
    with pytest.raises((RuntimeError, TypeError)) as raised:
        call()
    return traceback.extract_tb(raised.value.__traceback__)


def pairs():
    return rt.tensor([1.0, 2.0], requires_grad=True), rt.tensor([3.0, 4.0], requires_grad=True)


def test_a_traceback_shows_the_line_of_an_operator():
    x, _ = pairs()
    (frame,) = [f for f in frames(lambda: rt.mul(x, "3")) if f.filename == "<operator aten::mul>"]
    assert frame.name == "mul"
    assert frame.line == "return _itself(*as_tensors(NAME, input, other), *())"
    source = function_source(TABLE["mul"].parse()).splitlines()
    assert source[frame.lineno - 1].strip() == frame.line


def test_a_traceback_shows_the_line_of_a_backward():
    x, y = pairs()
    product = x.mul(y)
    y.data.add_(1)
    y.detach().add_(1)  # counts as a change of what was saved
    file = "<operator aten::mul backward>"
    (frame,) = [f for f in frames(product.sum().backward) if f.filename == file]
    assert (frame.name, frame.line) == ("apply", "other = unpack_array(other, node)")
    assert node_source(TABLE["mul"]).splitlines()[frame.lineno - 1].strip() == frame.line


def test_lines_stay_when_the_cache_of_lines_is_checked():
    x, y = pairs()
    x.add(y)
    linecache.checkcache()
    assert linecache.getline("<operator aten::add.to>", 1) == "def add_to(input, other):\n"
    assert inspect.getsource(rt.Tensor.__add__).splitlines()[0] == "def add_to(input, other):"
    files = [op.file() for op in TABLE.values()]
    assert len(set(files)) == len(files)
    assert all(file.startswith("<operator aten::") for file in files)


def test_compiled_code_is_what_is_shown():
    """For an operator of each shape: what Python runs has the lines of the printed source."""
    for key in ("mul", "mul_", "exp", "t", "zeros", "sort", "cat", "zero_", "softplus", "silu"):
        call = getattr(rt.core.aten.aten, key)
        with pytest.raises((TypeError, RuntimeError)):
            call(None, None, None, None, None, None, None, None)  # whatever it takes: it is built
        code, op = call.__code__, TABLE[key]
        lines = function_source(op).splitlines()
        assert code.co_filename == op.file()
        assert lines[0].startswith(f"def {key}(")
        assert max(line or 0 for *_, line in code.co_lines()) == len(lines)


SCRIPT = """
import pdb
import tidy.runtime as torch

x = torch.tensor([2.0])
torch.mul(x, x)
pdb.Pdb(nosigint=True).set_trace()
y = torch.mul(x, x)
"""


def run(*command, text=""):
    how = {"capture_output": True, "text": True, "timeout": 300}
    return subprocess.run([sys.executable, *command], input=text, check=False, **how)


def test_a_breakpoint_in_an_operator_shows_its_source(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, "utf-8")
    ended = run(str(script), text="break torch.mul\ncontinue\nlist 1,5\nup\nlist\nquit\n")
    shown = ended.stdout
    # Python 3.13 begins with the first line that has code, earlier ones with that of `def`.
    assert re.search(r"Breakpoint 1 at <operator aten::mul>:[12]\n", shown)
    assert "if active: return active[0].op(NAME, inner, (input, other,))" in shown
    assert "other_t = other" in shown
    assert "y = torch.mul(x, x)" in shown
