"""Ranges for other profilers: every operator of `tidy.runtime` as an NVTX range or an ITT task.

    nsys profile --trace=nvtx python train.py

    with emit_nvtx(record_shapes=True):
        train_step()

The text is PyTorch's (torch.autograd.profiler.emit_nvtx): `aten::mul, seq = 7` where autograd may
make node 7, and `MulBackward0, stashed seq = 7` where that node runs. A backward with
`create_graph=True` numbers what it runs too, so that a double backward can be followed alike.

Both packages keep each distinct text for the rest of the process, some hundred bytes of it, and the
numbers make most texts distinct: emit some steps, not a whole training.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar

from tidy.errors import TidyError
from tidy.runtime.engine.tensor import Tensor
from tidy.runtime.observe.callbacks import CallbackHandle, add_callback
from tidy.runtime.observe.record import RecordFunction, RecordScope

_DOMAIN = "tidy"
_ENGINE = "autograd::engine::evaluate_function: "

Begin = Callable[[str], object]
End = Callable[[], None]


class ExtraMissing(TidyError, ImportError):
    """A package is wanted that comes with an extra of this project."""


class _Emit:
    """Opens a range around everything that is recorded in this thread, and in its backwards.

    Args:
        enabled: without it, nothing is done.
        record_shapes: add the sizes of the inputs, `sizes = [[2, 3], []]`; a list of tensors gives
            one size for each, what is no tensor an empty one.

    Raises:
        RuntimeError: on entering while another is entered in this thread.
        ExtraMissing: on entering without the package.
    """

    _label: ClassVar[str]
    _package: ClassVar[str]
    _ranges: Callable[[ModuleType], tuple[Begin, End]]
    _running = threading.local()

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes
        self._handle: CallbackHandle | None = None

    def __enter__(self) -> _Emit:
        if not self.enabled:
            return self
        if getattr(self._running, "emit", None) is not None:
            raise RuntimeError(f"{self._label} annotation context manager is not reentrant")
        begin, end = self._ranges(self._load())
        self._handle = add_callback(
            lambda record: begin(range_text(record)),
            lambda _record, _context: end(),
            needs_inputs=self.record_shapes,
            thread_local=True,
        )
        self._running.emit = self
        return self

    def __exit__(self, *exc: object) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None
            self._running.emit = None

    def _load(self) -> ModuleType:
        try:
            return import_module(self._package)
        except ImportError as error:
            name = type(self).__name__
            extra = name.removeprefix("emit_")
            how = f"pip install 'torchtidy[{extra}]'"
            raise ExtraMissing(f"{name} needs the package {self._package}: {how}") from error


class emit_nvtx(_Emit):  # noqa: N801  # PyTorch's name
    """NVTX ranges, for Nsight Systems and nvprof."""

    _label, _package = "NVTX", "nvtx"

    @staticmethod
    def _ranges(module: ModuleType) -> tuple[Begin, End]:
        return module.push_range, module.pop_range


class emit_itt(_Emit):  # noqa: N801
    """ITT tasks, for VTune."""

    _label, _package = "ITT", "ittapi"

    @staticmethod
    def _ranges(module: ModuleType) -> tuple[Begin, End]:
        domain, handle = module.domain(_DOMAIN), module.string_handle
        return (
            lambda text: module.task_begin(domain, handle(text)),
            lambda: module.task_end(domain),
        )


def range_text(record: RecordFunction) -> str:
    """Return the text of a range: name, number and sizes, as far as the record has them."""
    text = record.name
    engine = record.name.startswith(_ENGINE)  # the node inside it says all
    if record.sequence_nr >= 0 and not engine:
        stashed = "stashed " if record.scope == RecordScope.BACKWARD_FUNCTION else ""
        text += f", {stashed}seq = {record.sequence_nr}"
    if record.inputs and record.scope != RecordScope.USER_SCOPE and not engine:
        text += f", sizes = {_sizes(record.inputs)}"
    return text


def _sizes(inputs: tuple[Any, ...]) -> list[list[int]]:
    sizes: list[list[int]] = []
    for each in inputs:
        tensors = each if isinstance(each, (list, tuple)) else [each]
        found = [[int(n) for n in one.shape] for one in tensors if isinstance(one, Tensor)]
        sizes += found or [[]]
    return sizes
