"""Each operator's line is the one that calls it: marked `#!` in the scripts below."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ..environment import ROOT, SOAK

_HEAD = """\
import sys, json
import tidy.runtime as rt
from tidy.runtime import nn
from tidy.runtime.data import DataLoader, TensorDataset
from tidy.profiler import profile
x = rt.ones(4, 4, requires_grad=True); t = rt.zeros(8); F = nn.functional
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU()); opt = rt.optim.Adam(model.parameters())
prof = profile(with_stack=True); prof.start()
"""
_TAIL = """\
prof.stop()
wanted = sys.argv[1]
found = []
for e in prof.trace.dfs():
    parent = e.parent
    while parent is not None and parent.kind.name == "PyCall":
        parent = parent.parent
    if e.name == wanted:
        l = e.location
        found.append(None if l is None else [l.file, l.line, l.is_call_line])
sys.stdout.write(json.dumps(found))
"""

# The operator to look for, and a script; each call of the operator comes from a marked line.
_CASES = {
    "plain": ("aten::add", "x + 1  #!"),
    "several lines": ("aten::add", "rt.add(  #!\n    x,\n    1,\n)"),
    "argument on a line of its own": ("aten::exp", "rt.add(\n    x,\n    x.exp(),  #!\n)"),
    "comprehension": ("aten::add", "[\n    t + i  #!\n    for i in range(3)\n]"),
    "set item": ("aten::copy_", "for i in range(2):\n    t[i] = t[i + 1]  #!"),
    "operator": ("aten::matmul", "y = (\n    x @ x  #!\n)"),
    "augmented": ("aten::add_", "t += 1  #!"),
    "decorator": (
        "aten::add",
        """
        def twice(f):
            def call(*a):
                return f(*a) + 0  #!
            return call
        @twice
        def g(a):
            return a + 1  #!
        g(x)
        """,
    ),
    "in a decorator's expression": (
        "aten::add",
        """
        def keep(value):
            return lambda f: f
        @keep(x + 1)  #!
        def g():
            pass
        """,
    ),
    "lambda": ("aten::add", "f = lambda a: a + 1  #!\nf(\n    x\n)"),
    "class body": ("aten::add", "class C:\n    a = x + 1  #!"),
    "default argument": ("aten::add", "def f(\n    a=x + 1  #!\n):\n    pass"),
    "generator": (
        "aten::add",
        """
        def numbers():
            for i in range(2):
                yield t + i  #!
        for _ in numbers():
            pass
        """,
    ),
    "nested functions": (
        "aten::add",
        """
        def outer():
            def inner():
                return x + 1  #!
            return inner()
        outer()
        """,
    ),
    "thread": (
        "aten::add",
        """
        import threading
        def work():
            t + 1  #!
        thread = threading.Thread(target=work)
        thread.start(); thread.join()
        """,
    ),
    "through a library": (
        "aten::add",
        "import functools\nfunctools.reduce(  #!\n    rt.add, [t, t, t])",
    ),
    "callback of a library": (
        "aten::add",
        "import functools\nfunctools.reduce(lambda a, b:\n    a + b,  #!\n    [t, t, t])",
    ),
    "exec without a name": ("aten::add", 'exec("\\n\\n\\nx + 1")  #!'),
    "after an error": ("aten::add", "try:\n    1 / 0\nexcept ZeroDivisionError:\n    x + 1  #!"),
    "with": ("aten::add", "with rt.no_grad():\n    x + 1  #!"),
    "f-string": ("aten::add", 's = f"{(t + 1).shape}"  #!'),
    "conditional": ("aten::add", "y = (\n    t + 1  #!\n    if True else\n    t - 1\n)"),
    "module": ("aten::addmm", "model(  #!\n    x)"),
    "backward": ("ExpBackward0", "y = x.exp()  #!\ny = y.sum()\ny.backward()"),
    "gradients of leaves": (
        "torch::autograd::AccumulateGrad",
        "y = x.exp().sum()\ny.backward()  #!",
    ),
    "backward of what was not recorded": (
        "ExpBackward0",
        "prof.stop()\ny = x.exp().sum()\nprof.start()\ny.backward()  #!",
    ),
    "inside a backward": ("aten::tanh_backward", "y = x.tanh()  #!\ny.sum().backward()"),
    "two backwards": (
        "ExpBackward0",
        "y = x.exp()  #!\ny.sum().backward(retain_graph=True)\ny.sum().backward()",
    ),
    "double backward": (
        "aten::pow",
        """
        y = x.pow(3)  #!
        (g,) = rt.autograd.grad(y.sum(), x, create_graph=True)
        g.sum().backward()
        """,
    ),
    "a function's own backward": (
        "aten::neg",
        """
        class Own(rt.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                return a * 2
            @staticmethod
            def backward(ctx, g):
                return -g  #!
        Own.apply(x).sum().backward()
        """,
    ),
    "hook of a tensor": (
        "aten::neg",
        "y = x * 2\ny.register_hook(\n    lambda g: -g  #!\n)\ny.sum().backward()",
    ),
    "hook of a leaf": (
        "aten::neg",
        """
        x.register_post_accumulate_grad_hook(
            lambda p: (-p.grad, None)[1]  #!
        )
        x.sum().backward()
        """,
    ),
    "hook of a node": (
        "aten::neg",
        """
        y = x * 2
        y.grad_fn.register_hook(
            lambda a, b: (-a[0], None)  #!
        )
        y.sum().backward()
        """,
    ),
    "hook of a module": (
        "aten::neg",
        "model.register_forward_hook(\n    lambda m, a, o: -o  #!\n)\nmodel(x)",
    ),
    "hook of what is saved": (
        "aten::neg",
        """
        with rt.autograd.graph.saved_tensors_hooks(
            lambda a: -a,  #!
            lambda a: -a,  #!
        ):
            y = x.exp()
        y.sum().backward()
        """,
    ),
    "in a module within such a hook": (
        "aten::addmm",
        """
        other = nn.Linear(4, 4)
        with rt.autograd.graph.saved_tensors_hooks(lambda a: a, lambda a: other(a)):  #!
            y = x.exp()
        y.sum().backward()
        """,
    ),
    "checkpoint": (
        "aten::exp",
        """
        from tidy.runtime.utils.checkpoint import checkpoint
        def block(a):
            return a.exp().tanh()  #!
        for kind in (True, False):
            checkpoint(block, x, use_reentrant=kind).sum().backward()
        """,
    ),
    "optimizer": (
        "Optimizer.step#Adam.step",
        "model(x).sum().backward()\nopt.step()  #!",
    ),
    "an optimizer's operators": (
        "aten::addcdiv_",
        "model(x).sum().backward()\nopt.step()  #!",
    ),
    "fetch": (
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        """
        data = DataLoader(TensorDataset(rt.zeros(6)), batch_size=2)
        for (b,) in data:  #!
            b.sum()
        """,
    ),
    "range": ("mine", "with rt.record_function(  #!\n    'mine'\n):\n    t + 1"),
}


def _run(path: Path, name: str, cwd: Path) -> list[list[object] | None]:
    done = subprocess.run(
        [sys.executable, str(path), name],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[list[object] | None] = json.loads(done.stdout)
    return found


def _write(path: Path, body: str) -> set[int]:
    text = _HEAD + textwrap.dedent(body).strip("\n") + "\n" + _TAIL
    path.write_text(text, "utf-8")
    return {n for n, line in enumerate(text.split("\n"), 1) if line.endswith("#!")}


_ALL = """\
import json, sys
from pathlib import Path
import tidy.runtime as rt
from tidy.profiler import profile
out = {}
for path in sorted(Path().glob("case_*.py")):
    sys.argv = [str(path), Path(path.stem + ".wanted").read_text()]
    text = path.read_text()
    caught = []
    class Out:
        write = caught.append
    import builtins, io, contextlib
    target = io.StringIO()
    with contextlib.redirect_stdout(target):
        exec(compile(text, str(path), "exec"), {"__name__": "__main__"})
    out[path.stem] = json.loads(target.getvalue())
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """All cases in one process, each under its own file's name: what was found, and the marks."""
    folder = tmp_path_factory.mktemp("cases")
    marks = {}
    for number, (name, (wanted, body)) in enumerate(_CASES.items()):
        marks[name] = (f"case_{number:02}", _write(folder / f"case_{number:02}.py", body))
        (folder / f"case_{number:02}.wanted").write_text(wanted)
    (folder / "all.py").write_text(_ALL)
    done = subprocess.run(
        [sys.executable, "all.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return {name: (found[stem], f"{stem}.py", lines) for name, (stem, lines) in marks.items()}


@pytest.mark.parametrize("name", _CASES)
def test_the_line_of_the_call(outcomes: dict[str, tuple[list, str, set[int]]], name: str) -> None:
    found, file, marked = outcomes[name]
    assert found
    places = {tuple(each) if each else None for each in found}
    assert places == {(file, line, True) for line in marked}


_NAMES = (
    "train.py", "with space.py", "größe.py", "quo'te\"d.py", "a(1): b.py", "code.py",
    "code/train.py", "tidy/train.py",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
@pytest.mark.parametrize(
    ("name", "relative"),
    [(name, way) for at, name in enumerate(_NAMES) for way in (0, 1) if SOAK or at % 2 == way],
)
def test_any_file_and_a_script_that_changes_directory(
    tmp_path: Path, name: str, relative: int
) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    (tmp_path / "elsewhere").mkdir()
    marked = _write(path, f"import os\nos.chdir({str(tmp_path / 'elsewhere')!r})\nx + 1  #!")
    found = _run(Path(name) if relative else path, "aten::add", tmp_path)
    # The file is not below the directory that the script ended in.
    assert found == [[path.as_posix(), line, True] for line in marked]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["train.py", "code/train.py"])
def test_below_the_working_directory(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    marked = _write(path, "x + 1  #!")
    shown = name if name == "train.py" else path.as_posix()  # `code` is also a library's name
    assert _run(Path(name), "aten::add", tmp_path) == [[shown, line, True] for line in marked]


def test_a_working_directory_that_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    marked = _write(
        path, "import os\nos.mkdir('gone')\nos.chdir('gone')\nos.rmdir('../gone')\nx + 1  #!"
    )
    if os.name != "nt":
        found = _run(path, "aten::add", tmp_path)
        assert found == [[path.as_posix(), line, True] for line in marked]


@pytest.mark.parametrize("file", ["C:\\code\\train.py", "C:/code/train.py", "<cell 3>"])
def test_names_of_files_that_are_none_here(tmp_path: Path, file: str) -> None:
    body = f"exec(compile({'x + 1'!r}, {file!r}, 'exec'))"
    path = tmp_path / "train.py"
    _write(path, body)
    ((found, line, exact),) = _run(path, "aten::add", tmp_path)
    assert str(found).endswith(file.replace("\\", "/"))
    assert (line, exact) == (1, True)
