"""Running a case inside this process, as a program that records itself would."""

from __future__ import annotations

import gc
import runpy
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import BuiltinFunctionType, ModuleType
from typing import Any

import pytest

import tidy
from tidy import Trace
from tidy.profiler import ProfilerAction, profile
from tidy.runtime import cuda
from tidy.runtime.optim.optimizer import Optimizer


class _Alias(MetaPathFinder, Loader):
    """`import torch.x` gives tidy.runtime.x."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname.partition(".")[0] == "torch" else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return import_module("tidy.runtime" + spec.name.removeprefix("torch"))

    def exec_module(self, module: ModuleType) -> None:
        """It is complete."""


@contextmanager
def _runtime_as_torch() -> Iterator[None]:
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_torch(name)}
    alias = _Alias()
    sys.meta_path.insert(0, alias)
    try:
        yield
    finally:
        sys.meta_path.remove(alias)
        for name in [name for name in sys.modules if _is_torch(name)]:
            del sys.modules[name]
        sys.modules.update(hidden)


def _is_torch(name: str) -> bool:
    return name.partition(".")[0] == "torch"


def run_on_runtime(script: Path) -> None:
    """The script, with tidy.runtime under the name of torch."""
    with _runtime_as_torch():
        runpy.run_path(str(script), run_name="__main__")


@contextmanager
def by_own_time() -> Iterator[None]:
    """Have all of tidy see clocks that count this process's own time on a processor.

    What else the machine does is not in what is recorded meanwhile; sleeping is not, either. Nor
    are collections of what the process held before, which take longer the more tests there were.
    """
    began_ns = time.time_ns() - time.process_time_ns()
    clocks = {
        time.perf_counter_ns: time.process_time_ns,
        time.time_ns: lambda: began_ns + time.process_time_ns(),
    }
    modules = [each for name, each in sys.modules.items() if name.partition(".")[0] == "tidy"]
    with pytest.MonkeyPatch.context() as patched:
        for module in modules:
            for name, value in [*vars(module).items()]:
                if isinstance(value, BuiltinFunctionType) and value in clocks:
                    patched.setattr(module, name, clocks[value])
        gc.collect()
        gc.freeze()
        try:
            yield
        finally:
            gc.unfreeze()


@contextmanager
def recorded_in_steps(script: Path, device: str = "") -> Iterator[profile]:
    """The profiler that saw a run of the script, in which each step of an optimizer ends a step.

    Args:
        device: what it runs on, "a100" or "a100:2", for as long as the context lasts.
    """
    prof = profile(
        schedule=lambda _: ProfilerAction.RECORD,
        record_shapes=True,
        with_stack=True,
        profile_memory=True,
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CUDA_LAUNCH_BLOCKING", "0")  # what a script sets goes with it
        _end_steps_of(prof, patched)
        key, _, count = device.partition(":")
        if key:
            cuda.configure(key, int(count or 1))
        try:
            with prof:
                run_on_runtime(script)
            yield prof
        finally:
            gc.collect()
            cuda.configure(None)


def _end_steps_of(prof: profile, patched: pytest.MonkeyPatch) -> None:
    """Optimizers that are made from now on tell the profiler that a step is over."""
    init = Optimizer.__init__

    def made(optimizer: Any, *args: Any, **kwargs: Any) -> None:
        init(optimizer, *args, **kwargs)
        step = optimizer.step

        @wraps(step)
        def stepped(*given: Any, **named: Any) -> Any:
            out = step(*given, **named)
            prof.step()
            return out

        optimizer.step = stepped

    patched.setattr(Optimizer, "__init__", made)


_kept: list[object] = []  # PyTorch 2.13 reads names of functions after they are gone


def run_on_torch(script: Path) -> None:
    pytest.importorskip("torch")
    _kept.append(runpy.run_path(str(script), run_name="__main__"))


def recorded_by_pytorch(script: Path, path: Path, profile_memory: bool = False) -> Trace:
    """What PyTorch's profiler exports to `path`; each step of an optimizer ends a step."""
    torch = pytest.importorskip("torch")
    hooked = import_module("torch.optim.optimizer").register_optimizer_step_post_hook
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=lambda _: torch.profiler.ProfilerAction.RECORD,
        record_shapes=True,
        with_stack=True,
        profile_memory=profile_memory,
    ) as prof:
        handle = hooked(lambda *_: prof.step())
        try:
            run_on_torch(script)
        finally:
            handle.remove()
    prof.export_chrome_trace(str(path))
    return tidy.load(path)
