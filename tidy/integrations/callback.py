"""What the callbacks of all frameworks do: record some steps, then report.

A framework wants its callbacks to be of a class of its own. The subclass that is both is made when
a callback is, so that the framework need not be there before.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from inspect import Signature, signature
from pathlib import Path
from typing import Any, ClassVar

from ..attach import Recorder
from ..errors import UsageError


class _LoopRecorder(Recorder):
    """Its steps are the framework's, whatever the optimizers do."""

    _counts_itself = True


class Callback:
    """Records once, in one process of the training, and never ends the training.

    Args:
        steps: how many steps to record.
        trace: where to keep the trace, a name in .json or .json.gz; None keeps none.
        output: the file that the report is written to; None prints it.
        warmup, after, seconds, stack, shapes, memory, all_threads, framework, title: as for
            `tidy.Recorder`.

    Attributes:
        recorder: the recording, also for its `trace` and `report()`.

    Raises:
        UsageError: an argument makes no sense, or the framework is not installed.
    """

    # Modules that may hold the framework's class, its name in them, and the package to install.
    _modules: ClassVar[Sequence[str]] = ()
    _name: ClassVar[str] = ""
    _package: ClassVar[str] = ""
    _kind: ClassVar[type[Recorder]] = _LoopRecorder

    def __new__(cls, *_: Any, **__: Any) -> Any:
        kind: Any = cls  # which mypy does not take for hashable
        bases = _frameworks_classes(cls)
        return object.__new__(cls if issubclass(cls, bases) else _joined(kind, bases))

    def __init__(
        self,
        steps: int = 10,
        *,
        trace: str | os.PathLike[str] | None = None,
        output: str | os.PathLike[str] | None = None,
        warmup: int = 1,
        after: int = 0,
        seconds: float = 60.0,
        stack: bool = True,
        shapes: bool = True,
        memory: bool = True,
        all_threads: bool = False,
        framework: str = "auto",
        title: str | None = None,
    ) -> None:
        super().__init__()
        given = dict(locals())
        self._arguments = {name: given[name] for name in self.__signature__.parameters}
        options = {**self._arguments}
        self._keep, self._output = options.pop("trace"), options.pop("output")
        self.recorder = self._kind(**options)
        self._has_begun = False

    # What editors show: the arguments of `__init__`, as `__new__` takes any.
    __signature__: ClassVar[Signature]

    def __reduce__(self) -> Any:
        """In another process, or in a copy, it begins anew."""
        kind: Any = next(each for each in type(self).__mro__ if "_bases" not in vars(each))
        return partial(kind, **self._arguments), ()

    def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._try(self.recorder.start)

    def _step(self) -> None:
        """A step of the training is over."""
        self.recorder.step()
        self._look()

    def _look(self) -> None:
        """Report as soon as all is recorded."""
        if not self.recorder.is_recording:
            self._finish()

    def _finish(self) -> None:
        """End the recording if it runs, and report."""
        if self.recorder.is_started:
            self._try(self._report)

    def _report(self) -> None:
        self.recorder.stop()
        if self._keep is not None:
            self.recorder.save(self._keep)
        text = str(self.recorder.report())
        if self._output is None:
            sys.stdout.write(f"\n{text}")
            sys.stdout.flush()
        else:
            Path(self._output).write_text(text, "utf-8")

    def _try(self, action: Any) -> None:
        """What goes wrong is a warning: the training goes on."""
        try:
            action()
        except Exception as error:
            text = " ".join(str(error).split()) or type(error).__name__
            warnings.warn(f"tidy: {type(self).__name__}: {text}", RuntimeWarning, stacklevel=3)


_SIGNATURE = signature(Callback.__init__)
Callback.__signature__ = _SIGNATURE.replace(parameters=[*_SIGNATURE.parameters.values()][1:])


def _frameworks_classes(cls: type[Callback]) -> tuple[type, ...]:
    """The framework's own classes: of those imported all, else of the first that is installed."""
    imported = [each for each in cls._modules if each in sys.modules]
    found: dict[type, None] = {}
    for module in imported or cls._modules:
        with suppress(ImportError):
            found[getattr(import_module(module), cls._name)] = None
            if not imported:
                break
    if not found:
        raise UsageError(
            f"{cls.__name__} needs {cls._package}, which is not installed"
            f" (pip install {cls._package})"
        )
    return tuple(found)


@cache
def _joined(cls: type[Callback], bases: tuple[type, ...]) -> Any:
    """A subclass of both, by the name of the first; the same each time."""
    copied = ("__module__", "__qualname__", "__doc__")
    names = {name: getattr(cls, name) for name in copied}
    return type(cls.__name__, (cls, *bases), {**names, "_bases": bases})
