"""Becomes `python -m tidy ...` in a copy of a process that has imported it: for tests, which call
it a thousand times and would wait for the imports as long as for the rest.

`forked.py` starts this program, and asks it over a socket: a line of JSON with the arguments, the
folder and the environment, and with it three descriptors. The answer is the exit code in a line.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import socket
import sys
import threading
from importlib import import_module
from typing import Any, NoReturn

from .imports import SOURCES, module_name

_NOT_IN_A_COMMAND = (
    "tidy.__main__", "tidy.integrations", "tidy.run.child", "tidy.runtime", "tidy.testing"
)  # fmt: skip
_IMPORTED_LATE = ("encodings.utf_8_sig", "numpy.ma")  # by most commands, in their course


def _import_all() -> None:
    for name in _IMPORTED_LATE:
        import_module(name)
    for name in map(module_name, SOURCES):
        if not name.startswith(_NOT_IN_A_COMMAND):
            import_module(name)
    gc.collect()
    gc.freeze()  # what is never looked at again is shared with every copy


def _next_copy(asks: socket.socket) -> dict[str, Any]:
    """What a copy is asked for; the process that serves returns from here never."""
    while True:
        text, descriptors, _, _ = socket.recv_fds(asks, 1 << 16, 3)
        while text and not text.endswith(b"\n"):
            text += asks.recv(1 << 16)
        if not text:
            sys.exit()
        pid = os.fork()
        if not pid:
            asks.close()
            return {**json.loads(text), "descriptors": descriptors}
        for descriptor in descriptors:
            os.close(descriptor)
        _, status = os.waitpid(pid, 0)
        asks.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _become(asked: dict[str, Any]) -> None:
    for number, descriptor in enumerate(asked["descriptors"]):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.path[0] = asked["cwd"]
    sys.argv = ["", *asked["arguments"]]
    # As Python opens them with PYTHONUTF8=1.
    sys.stdin = open(0, "r", -1, "utf-8", "surrogateescape", closefd=False)  # noqa: SIM115, UP015
    sys.stdout = open(1, "w", -1, "utf-8", "surrogateescape", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115


def _end(code: object) -> NoReturn:
    """End as Python does, without taking every module apart, which a process that ends need not."""
    if threading.active_count() > 1 or not isinstance(code, int | None):
        sys.exit(code)  # type: ignore[arg-type]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


if __name__ == "__main__":
    _import_all()
    _become(_next_copy(socket.socket(fileno=int(sys.argv[1]))))
    try:
        runpy.run_module("tidy", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        _end(ended.code)
