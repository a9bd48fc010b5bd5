"""A script runs under `tidy run` as under `python`: what it sees, writes and gives back."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ..environment import ROOT, environment
from .running import python, tidy_run, write_script

pytestmark = pytest.mark.slow  # each case starts processes

_UNUSED = "used neither torch nor tidy.runtime: nothing to report\n"

_QUICK = 6  # that many are in the plain suite
_SCRIPTS = {
    "what-it-sees": """
        import os, sys
        print(sys.argv, __name__, __file__, os.getcwd(), sys.path[0], sys.flags)
        print(sorted(name for name in os.environ if "TIDY" in name), os.environ.get("PYTHONPATH"))
        print([path for path in sys.path if "tidy" in path and "child" in path])
        print(sys.modules["__main__"].__dict__.keys(), __spec__, __builtins__)
        """,
    "stdin": "import sys; print(sys.stdin.read()[::-1], input.__name__)",
    "traceback": """
        def f(n):
            return f(n - 1) if n else 1 / 0
        print("so far")
        f(3)
        """,
    "exception-group-of-its-own": """
        class Mine(Exception):
            def __str__(self): return "said so"
        try:
            raise KeyError("first")
        except KeyError as error:
            raise Mine from error
        """,
    "syntax-error": "print('no'\nprint('never')",
    "exit-none": "import sys; sys.exit()",
    "exit-zero": "raise SystemExit(0)",
    "exit-number": "import sys; sys.exit(7)",
    "exit-text": "import sys; sys.exit('it did not work')",
    "exit-object": "raise SystemExit(['a', 3])",
    "exit-at-once": "import os; print('x', flush=True); os._exit(3)",
    "exit-true": "raise SystemExit(True)",
    "atexit": """
        import atexit
        for word in ("last", "first"):
            atexit.register(print, word)
        print("body")
        """,
    "excepthook": """
        import sys
        def hook(kind, error, trace):
            print("hook", kind, trace.tb_frame.f_code.co_name)
        sys.excepthook = hook
        raise ValueError("x")
        """,
    "closed-stdout": "import os; os.close(1); print('lost')",
    "pickle-of-main": """
        import pickle
        class Point:
            def __init__(self, x): self.x = x
        print(pickle.loads(pickle.dumps(Point(3))).x, Point.__module__)
        """,
    "spawn": """
        import multiprocessing as mp, os, sys
        def work(x):
            return x * x, sys.argv[1:], "_tidy_child" in sys.modules
        if __name__ == "__main__":
            with mp.get_context("spawn").Pool(1) as pool:
                print(pool.map(work, [1, 2, 3]))
        """,
    "fork": """
        import os, sys
        child = os.fork()
        if not child:
            print("child", flush=True)
            sys.exit(5)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
    "own-json-beside-it": "import helper; print(helper.json.mine)",
    "killed-by-itself": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "terminated": "import os, signal; os.kill(os.getpid(), signal.SIGTERM); print('never')",
    "interrupted": "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('never')",
    "threads": """
        import threading
        def work():
            raise RuntimeError("in a thread")
        thread = threading.Thread(target=work, name="worker")
        thread.start(); thread.join()
        print(threading.active_count(), threading.enumerate())
        """,
    "subprocess": """
        import subprocess, sys
        code = "import sys; print(sys.argv, '_tidy_child' in sys.modules)"
        print(subprocess.check_output([sys.executable, "-c", code, "x"]))
        """,
    "settrace": "import sys; print(sys.gettrace(), sys.getprofile(), sys.settrace.__name__)",
}


@pytest.mark.skipif(os.name == "nt", reason="signals and fork are POSIX's")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if number < _QUICK else pytest.mark.slow)
        for number, name in enumerate(_SCRIPTS)
    ],
)
def test_a_script_without_a_framework(name: str, tmp_path: Path) -> None:
    """The same on both streams and the same status, but for one line that says there is nothing."""
    script = write_script(tmp_path, _SCRIPTS[name], "scripts/train.py")
    write_script(tmp_path, "mine = 'not the one of Python'", "scripts/json.py")
    write_script(tmp_path, "import json", "scripts/helper.py")
    given = (script, "--steps", "a b", "-m", "")
    expected = python(*given, cwd=tmp_path, stdin="some\ntext")
    found = tidy_run(*given, cwd=tmp_path, stdin="some\ntext")
    err, _, said = found.err.rpartition("tidy: ")
    assert _same(found.out) == _same(expected.out)
    assert _same(err) == _same(expected.err)
    assert found.code == (expected.code or 2)
    assert said == (
        f"{script} ended before it used torch or tidy.runtime: nothing to report\n"
        if expected.code
        else f"{script} {_UNUSED}"
    )


def _same(text: str) -> str:
    """Without addresses and thread numbers, which differ from run to run."""
    import re

    return re.sub(r"0x[0-9a-f]+|started \d+", "#", text)


@pytest.mark.slow
def test_a_module(tmp_path: Path) -> None:
    write_script(tmp_path, "", "pack/__init__.py")
    write_script(
        tmp_path,
        "import sys; from . import other; print(sys.argv, __name__, __package__, sys.path[0])",
        "pack/run.py",
    )
    write_script(tmp_path, "print(__name__)", "pack/other.py")
    expected = python("-m", "pack.run", "-m", "x", cwd=tmp_path)
    found = tidy_run("-m", "pack.run", "-m", "x", cwd=tmp_path)
    assert (found.out, found.code) == (expected.out, 2)
    assert found.err == f"tidy: -m pack.run {_UNUSED}"


def test_no_such_module_is_for_python_to_say(tmp_path: Path) -> None:
    expected = python("-m", "absent.module", cwd=tmp_path)
    found = tidy_run("-m", "absent.module", cwd=tmp_path)
    assert found.code == expected.code == 1
    assert found.err.startswith(expected.err)


def test_no_such_script_is_one_line(tmp_path: Path) -> None:
    found = tidy_run("absent.py", cwd=tmp_path)
    assert (found.code, found.out) == (2, "")
    assert found.err == "tidy: absent.py: no such file\n"


@pytest.mark.parametrize("path", ["absent", "."])
def test_a_python_that_is_none(path: str, tmp_path: Path) -> None:
    script = write_script(tmp_path, "print(1)")
    found = tidy_run("--python", path, script, cwd=tmp_path)
    assert (found.code, found.out) == (2, "")
    assert found.err == f"tidy: --python {path}: no such program\n"


def test_a_sitecustomize_of_the_users_own(tmp_path: Path) -> None:
    script = write_script(tmp_path, "import sys; print(sys.modules['sitecustomize'].mine)")
    write_script(tmp_path, "mine = 4; print('customized')", "site/sitecustomize.py")
    path = os.pathsep.join([str(tmp_path / "site"), environment()["PYTHONPATH"]])
    expected = python(script, cwd=tmp_path, PYTHONPATH=path)
    found = tidy_run(script, cwd=tmp_path, PYTHONPATH=path)
    assert expected.out == "customized\n4\n"
    # tidy itself runs on a Python with that module, and so does the script.
    assert found.out == f"customized\n{expected.out}"


@pytest.mark.slow
def test_json_leaves_standard_output_to_the_report(tmp_path: Path) -> None:
    script = write_script(tmp_path, "print('mine')")
    found = tidy_run("--format", "json", script, cwd=tmp_path)
    assert found.out == ""
    assert found.err.startswith("mine\n")


def test_options_are_checked_before_the_script_runs(tmp_path: Path) -> None:
    script = write_script(tmp_path, "print('ran')")
    for given in (["--select", "TDY9999"], ["--trace", "."], ["-o", "absent/report"]):
        found = tidy_run(*given, script, cwd=tmp_path)
        assert (found.code, found.out) == (2, "")
        assert len(found.err.splitlines()) == 1


@pytest.mark.slow
def test_another_environment(tmp_path: Path) -> None:
    """The script runs in the one that --python names, which need not have tidy."""
    import venv

    venv.create(tmp_path / "env", symlinks=os.name != "nt")
    write_script(tmp_path, "import sys; print(sys.prefix); import tidy")
    command = f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
    command += "sys.argv = ['tidy', 'run', '--python', 'env', 'train.py']; "
    command += "from tidy.cli import main; main()"
    found = python("-c", command, cwd=tmp_path, PYTHONPATH="")
    assert found.out == f"{tmp_path / 'env'}\n"
    assert "ModuleNotFoundError: No module named 'tidy'" in found.err
    assert found.code == 1
    assert sys.prefix != str(tmp_path / "env")
