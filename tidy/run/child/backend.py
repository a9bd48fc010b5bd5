"""The base of what records with the profilers of both frameworks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from sys import _getframe as getframe
from types import FrameType
from typing import Any

from .kept import time, weakref
from .made_modules import MadeModules
from .made_places import MadePlaces
from .patches import Patches
from .repeated_calls import RepeatedCalls
from .worker_lines import lines_of_workers


class GraphSteps:
    """Calls `on_replay` before each replay of a CUDA graph that holds an optimizer's step.

    A step that an optimizer makes while a graph is captured does not run, but each replay does.
    """

    def __init__(self, cuda: Any, on_replay: Callable[[], object], patches: Patches) -> None:
        self._cuda, self._on_replay, self._patches = cuda, on_replay, patches
        self._has_step = False  # the graph that is being captured
        self._graphs: list[Any] = []  # weak references

    def is_captured(self) -> bool:
        """Tell whether the step that an optimizer just made becomes part of a graph."""
        cuda = self._cuda
        if not cuda.is_initialized() or not cuda.is_current_stream_capturing():
            return False
        if not self._has_step:
            self._has_step = True
            self._patches.call_first(cuda.CUDAGraph, "capture_end", self._captured)
        return True

    def _captured(self, graph: Any) -> None:
        if not self._has_step:
            return
        self._has_step = False
        if not self._graphs:
            self._patches.call_first(self._cuda.CUDAGraph, "replay", self._replayed)
        self._graphs.append(weakref.ref(graph))

    def _replayed(self, graph: Any) -> None:
        if any(each() is graph for each in self._graphs):
            self._on_replay()


class Backend:
    """Starts and stops a profiler, `_profiler`, which is None while none runs.

    Attributes:
        has_all_threads: whether it records every thread, and may be stopped on another one than
            it was started on.
        has_moved: whether it went on from one thread to another. Memory is not recorded then:
            PyTorch complains of what was allocated meanwhile and is freed.
    """

    _profiler: Any = None
    has_all_threads = has_moved = False
    _hook: Any = None  # the one that is called after optimizer steps
    _module_call: Any = None  # the code that calls a module

    def __init__(self, settings: dict[str, Any]) -> None:
        self._patches, self._of_steps = Patches(), Patches()
        self._settings, self._worker_lines = settings, None
        if settings["stack"]:
            self._worker_lines = lines_of_workers(settings["folder"], settings.get("ours", ""))
        self._given: list[tuple[dict[Any, Any], object]] = []  # hooks of modules, and our keys

    def on_step(
        self,
        step: Callable[..., None],
        on_replay: Callable[[], None],
        *on_made: Callable[[Any], None],
    ) -> None:
        """Have `step(optimizer, args, kwargs)` called after each optimizer step.

        Args:
            on_replay: is called before each replay of a CUDA graph that holds one.
            on_made: get each optimizer before it is set up.
        """
        cuda, module = self._stepping()
        graphs = GraphSteps(cuda, on_replay, self._of_steps)

        def stepped(optimizer: Any, args: Any, kwargs: Any) -> None:
            if not graphs.is_captured():
                self._look_at_step()
                step(optimizer, args, kwargs)

        def made(optimizer: Any) -> None:
            for each in on_made:
                each(optimizer)

        self._of_steps.call_first(module.Optimizer, "__init__", made)
        self._hook = module.register_optimizer_step_post_hook(stepped)

    def note_places(self, places: MadePlaces) -> None:
        """Have loaders noted where they are made and used, modules, modes and threads."""
        loader, anomaly = self._loader(), self._anomaly()
        if loader is not None:
            self._of_steps.call_first(loader, "__init__", places.loader_made)
            self._of_steps.call_first(loader, "__iter__", places.iterated)
        for mode in (anomaly.set_detect_anomaly, anomaly.detect_anomaly):
            self._of_steps.call_first(mode, "__init__", places.anomaly_mode)
        sets_threads = self._sets_threads()
        if sets_threads is not None:
            self._of_steps.call_first(sets_threads, "set_num_threads", places.threads_set)
        self._note_calls(places.repeated)
        self._note_modules(places.modules)

    def _note_modules(self, modules: MadeModules) -> None:
        framework, home = self._modules()
        # A script may empty `sys.modules` later.
        self._module_call = getattr(home.Module.__call__, "__code__", None)
        modules.watch(framework, home.Module)
        notes = {"parameter": modules.parameter_given, "module": modules.submodule_given}
        for kind, note in notes.items():
            hooks, key = getattr(home, f"_global_{kind}_registration_hooks", None), object()
            if hooks is not None:
                hooks[key] = _unless_compiled(framework, note)
                self._given.append((hooks, key))

    def _modules(self) -> tuple[Any, Any]:
        """Return the framework, and its module that has the class of modules."""
        raise NotImplementedError

    def _loader(self) -> Any:
        """Return the framework's class of loaders, if it is imported."""
        raise NotImplementedError

    def _anomaly(self) -> Any:
        """Return the framework's module of anomaly mode."""
        raise NotImplementedError

    def _note_calls(self, calls: RepeatedCalls) -> None:
        """Have it noted which modules are called, and on what."""
        raise NotImplementedError

    def _sets_threads(self) -> Any:
        """Return the module whose `set_num_threads` sets how many compute, if there is one."""

    def _stepping(self) -> tuple[Any, Any]:
        """Return the framework's modules of CUDA graphs and of optimizers."""
        raise NotImplementedError

    def _look_at_step(self) -> None:
        """Look at what holds of a thread that made a step."""

    def forget_steps(self) -> None:
        """Call nothing of ours after steps any more."""
        self._of_steps.undo()
        for hooks, key in self._given:
            # They may be running, and cannot be taken out while a framework goes through them.
            hooks[key] = lambda *_: None

    def close(self) -> None:
        """Take away all that was put into the framework."""
        self.forget_steps()
        self._patches.undo()
        for hooks, key in self._given:
            hooks.pop(key, None)
        self._given.clear()

    def is_in_module(self) -> bool:
        """Tell whether a call of a module is under way on this thread."""
        frame: FrameType | None = getframe(1)
        while frame is not None and frame.f_code is not self._module_call:
            frame = frame.f_back
        return frame is not None

    def can_stop(self, at_step: bool) -> bool:
        """Tell whether the profiler can be stopped right here."""
        raise NotImplementedError

    def pause(self) -> int:
        """Return the time on the clock of what is recorded; until `resume` the recorder is
        at work.
        """
        return self.now_ns()

    def now_ns(self) -> int:
        """Return the time on the clock of what is recorded."""
        return time.time_ns()

    def resume(self) -> None:
        """Let the clock go on with the script."""

    def abandon(self, at_step: bool) -> bool:
        """Stop what runs, if it can be stopped here; whether nothing runs any more."""
        if self._profiler is not None:
            if not self.can_stop(at_step):
                return False
            with suppress(Exception):
                self._profiler.stop()
            self._profiler = None
        return True


def _unless_compiled(framework: Any, note: Callable[..., None]) -> Callable[..., None]:
    """A hook that torch.compile can follow: it calls nothing while a function is compiled."""
    compiler = getattr(framework, "compiler", None)
    names = ("is_dynamo_compiling", "is_compiling")
    is_compiling = next(
        (getattr(compiler, each) for each in names if hasattr(compiler, each)), None
    )
    if is_compiling is None:
        return note

    def hook(module: Any, name: str, given: Any) -> None:
        if not is_compiling():
            note(module, name, given)

    return hook
