"""What a node keeps of the forward pass, and the checks when backward asks for it.

An input is kept as it is. An output is kept without its grad_fn (that would be a cycle: the node
keeps the output, the output its node) and gets it back when it is unpacked.
Source: torch/csrc/autograd/saved_variable.cpp, torch/autograd/graph.py.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from ..core.mode import Mode
from .grad_mode import without_grad
from .hooks import check
from .node import Edge, Node
from .tensor import AccumulateGrad, Array, Tensor, gradient_edge, shape_name, wrap

_hooks: ContextVar[Any] = ContextVar("tidy_saved_tensors_hooks", default=None)  # or (pack, unpack)
_disabled: ContextVar[Any] = ContextVar("tidy_saved_tensors_hooks_disabled", default=None)
hooked: list[Any] = []  # not empty while anybody, in any context, has hooks


class SavedVariable:
    __slots__ = ("array", "counter", "is_output", "output_nr", "packed", "variable", "version")

    variable: Tensor | None
    array: Array | None

    def __init__(self, variable: Tensor, is_output: bool = False) -> None:
        counter = variable._counter
        if counter is None:
            raise RuntimeError(
                "Inference tensors cannot be saved for backward. "
                "To work around you can make a clone to get a normal tensor and use it in autograd."
            )
        self.counter = counter
        self.version = counter[0]
        self.is_output = is_output
        self.packed: tuple[Any, Callable[[Any], Tensor], Edge | None] | None = None
        if hooked and _hooks.get():
            self._pack(variable)
        elif is_output:
            self.variable = None
            self.array = variable.array
            self.output_nr = variable.output_nr
        else:
            self.variable = variable

    def _pack(self, variable: Tensor) -> None:
        pack, unpack = _hooks.get()
        self.variable, self.array, self.output_nr = None, None, variable.output_nr
        edge = None if self.is_output or not variable._rg else gradient_edge(variable)
        if self.is_output:
            variable = wrap(variable.array)
            variable._counter = self.counter
        self.packed = (without_grad(pack, variable), unpack, edge)
        told = "A saved tensor pack hook is modifying its input in place. Give it a clone."
        check(self.counter[0] == self.version, told)

    def unpack(self, saved_for: Node) -> Tensor:
        """Return the tensor again.

        Raises:
            RuntimeError: it was modified in place since, or freed by an earlier backward.
        """
        edge: Edge | None = None
        if self.packed is None:
            if self.counter[0] != self.version:
                self._modified(saved_for)
            if self.variable is not None:
                return self.variable
            tensor = wrap(self.array)
            tensor._counter = self.counter
        else:
            data, unpack, edge = self.packed
            found = unpack(data)
            wrong = f"Output of saved tensor unpack_hook expected to be a Tensor, not {type(found)}"
            check(isinstance(found, Tensor), wrong, TypeError)
            tensor = wrap(found.array)
        if self.is_output:
            edge = (saved_for, self.output_nr)
        if edge is not None:
            tensor._rg = True
            if isinstance(edge[0], AccumulateGrad):
                tensor._accumulator = weakref.ref(edge[0])
            else:
                tensor._node, tensor.output_nr = edge
        return tensor

    def unpack_array(self, saved_for: Node) -> Any:
        """`unpack`, for formulas that work on arrays."""
        if self.packed is not None or self.counter[0] != self.version:
            return self.unpack(saved_for).array
        return self.array if self.is_output else self.variable.array  # type: ignore[union-attr]

    def _modified(self, saved_for: Node) -> None:
        tensor: Any = self if self.variable is None else self.variable
        node = saved_for if self.variable is None else self.variable._node
        who = f", which is output {tensor.output_nr} of {node.name()}," if node else ""
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace "
            f"operation: [{shape_name(tensor.array)}]{who} is at version {self.counter[0]}; "
            f"expected version {self.version} instead. Hint: autograd.set_detect_anomaly(True)."
        )


class saved_tensors_hooks(Mode):
    """Inside the block, save `pack(tensor)` for each tensor; backward gets `unpack` of it."""

    variable, listed = _hooks, hooked

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]):
        self.value = (pack_hook, unpack_hook)

    def __enter__(self) -> None:
        check(_disabled.get() is None, str(_disabled.get()))
        super().__enter__()


class save_on_cpu(saved_tensors_hooks):
    """Inside the block, keep what is saved on the CPU, in pinned memory if `pin_memory`."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Any) -> Any:
            kept = tensor.cpu() if tensor.is_cuda or not pin_memory else tensor.clone()
            return tensor.device, kept.pin_memory() if pin_memory else kept

        super().__init__(pack, lambda packed: packed[1].to(packed[0], non_blocking=pin_memory))


class disable_saved_tensors_hooks(Mode):
    """Inside the block, using `saved_tensors_hooks` is an error with this message."""

    variable = _disabled

    def __init__(self, error_message: str) -> None:
        self.value = error_message

    def __enter__(self) -> None:
        check(not _hooks.get(), self.value)
        super().__enter__()
