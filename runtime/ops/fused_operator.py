"""Operators that are one piece in both directions: norms, attention, a layer of an LSTM.

    forward(*arrays, *rest)  ->  (arrays of outputs), work
    backward(work, arrays, gradients, wanted, *rest)  ->  arrays, one for each of `arrays`

`arrays` are those of the tensors that come first among the arguments (None for None). 16-bit floats
are computed with in float32. A backward whose graph is recorded goes through `by_steps`, which
takes the operator's arguments and is made of others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.dtypes import in_float32, narrowed
from ..engine.backward import grad
from ..engine.grad_mode import enable_grad, is_grad_enabled
from ..engine.node import NO_EDGE, SECOND_BACKWARD, Grads, Node
from ..engine.saved_variable import SavedVariable, hooked
from ..engine.tensor import Tensor, gradient_edge, wrap
from ..observe.arrangement import active
from ..observe.bookkeeping import around
from .make.arguments import failed, laid_as
from .make.table import Call

Array = Any
Found = tuple[Sequence[Array], Any]


class FusedNode(Node):
    """Holds the tensors, the other arguments, and the forward pass's work."""

    __slots__ = ("guarded", "inputs", "output", "rest", "work")

    operator: FusedOperator
    inputs: tuple[Any, ...] | None
    guarded: Sequence[bool]
    rest: tuple[Any, ...]
    work: Any
    output: SavedVariable | None

    def apply(self, grads: Grads) -> Grads:
        operator = self.operator
        if not any(g is not None for g in grads):
            return [None] * operator.count
        if self.inputs is None:
            raise RuntimeError(SECOND_BACKWARD)
        inputs = list(map(self._unpacked, self.inputs, self.guarded))
        if self.output is not None:
            self.output.unpack(self)
        if is_grad_enabled():
            return self._recorded(inputs, grads)
        if active:
            given = (*grads, *inputs, *self.rest)
            name = f"{operator.name}_backward"
            found: Grads = active[0].op(name, around(name, self._on_arrays), given)
            return found
        return self._on_arrays(*grads, *inputs)

    def _unpacked(self, x: Any, guarded: bool) -> Any:
        """Return a saved tensor, checked where it is guarded or the forward pass runs again."""
        if x.__class__ is not SavedVariable:
            return x
        read = guarded or x.packed or is_grad_enabled()
        return x.unpack(self) if read else x.variable

    def _on_arrays(self, *tensors: Any) -> Grads:
        operator, split = self.operator, len(self.input_metadata)
        arrays = operator.arrays(tensors[split : split + operator.count])
        given = operator.arrays(tensors[:split])
        work = self.work
        if work is None:
            work = operator.forward(*arrays, *self.rest)[1]
        wanted = self._wanted()
        found = operator.backward(work, arrays, given, wanted, *self.rest)
        return [
            None if x is None or not want else wrap(x)
            for x, want in zip(found, wanted, strict=True)
        ]

    def _wanted(self) -> list[bool]:
        return [self.task_should_compute_output(i) for i in range(self.operator.count)]

    def _recorded(self, inputs: list[Any], grads: Grads) -> Grads:
        """The same through other operators, which have derivatives themselves."""
        wanted = self._wanted()
        with enable_grad():  # of views, as one tensor may be two of the inputs
            inputs = [x if x is None else x.expand(x.array.shape) for x in inputs]
            asked = [x for x, want in zip(inputs, wanted, strict=True) if want]
            outputs = self.operator.by_steps(*inputs, *self.rest)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if g is not None]
            of, given = zip(*pairs, strict=True)
            found = iter(grad(of, asked, given, create_graph=True, allow_unused=True))
        return [next(found) if want else None for want in wanted]

    def release_variables(self) -> None:
        self.inputs = self.work = self.output = None


class FusedOperator:
    """An operator `aten::name` of `count` tensors and more, with nodes of a class of its own.

    Args:
        after: is called with the work and all arguments, once the outputs are there.
        unsaved: which of the tensors no gradient depends on, so that they may change until
            backward.
        guarded: takes which of the tensors need gradients, and the tensors; tells which may not
            change until a backward that nothing records. By default none may.
        guards_output: whether the first output may not.
        takes: tells of each array whether it may stay as it lies; by default in order alone.
        keeps_format: whether the first output is in channels_last where the first tensor is.
    """

    def __init__(
        self, name: str, count: int, forward: Callable[..., Found], backward: Call, by_steps: Call,
        *, after: Call | None = None, unsaved: Sequence[int] = (), guarded: Call | None = None,
        guards_output: bool = False, takes: Call | None = None, keeps_format: bool = False,
    ) -> None:  # fmt: skip
        self.name, self.count = f"aten::{name}", count
        self.forward, self.backward = forward, backward
        self.by_steps, self.after = by_steps, after
        self.unsaved, self.guarded, self.guards_output = unsaved, guarded, guards_output
        self.takes, self.keeps_format = takes, keeps_format
        self.shown = around(self.name, self.run)
        title = name.strip("_").title().replace("_", "") + "Backward0"
        self.node = type(title, (FusedNode,), {"__slots__": (), "operator": self})

    def __call__(self, *args: Any) -> Any:
        """The one output, or a tuple of several."""
        return active[0].op(self.name, self.shown, args) if active else self.run(*args)

    def arrays(self, tensors: Sequence[Any]) -> list[Any]:
        """Return the arrays of tensors, in order unless it takes others, 16-bit floats as
        float32.
        """
        found = [t if t is None else t.array for t in tensors]
        if self.takes is None or not all(a is None or self.takes(a) for a in found):
            found = [a if a is None else np.asarray(a, order="C") for a in found]
        return [in_float32(a) if a is not None and a.itemsize == 2 else a for a in found]

    def run(self, *args: Any) -> Any:
        """Run the operator itself, which nobody observes."""
        tensors, rest = args[: self.count], args[self.count :]
        arrays, dtype = self.arrays(tensors), tensors[0].array.dtype
        if dtype.kind not in "fV":
            raise RuntimeError(f"{self.name}: not implemented for {dtype}")
        try:
            outputs, work = self.forward(*arrays, *rest)
        except (ValueError, TypeError) as error:
            raise failed(self.name, error, *arrays) from None
        if self.after is not None:
            self.after(work, *args)
        made = [wrap(narrowed(x, dtype) if dtype.itemsize == 2 else x) for x in outputs]
        if self.keeps_format and not tensors[0].array.flags.c_contiguous:
            made[0].array = laid_as(made[0].array, tensors[0].array)
        if is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors):
            self._record(made, tensors, rest, work)
        return made[0] if len(made) == 1 else tuple(made)

    def _record(self, made: list[Tensor], tensors: Sequence[Any], rest: Any, work: Any) -> None:
        edges = [NO_EDGE if t is None else gradient_edge(t) for t in tensors]
        node: Any = self.node(edges, [(x.array.shape, x.array.dtype) for x in made])
        for number, out in enumerate(made):
            out._node, out._rg, out.output_nr = node, True, number
        node.inputs = tuple(
            t if t is None or i in self.unsaved else SavedVariable(t) for i, t in enumerate(tensors)
        )
        needs, guarded = [edge is not NO_EDGE for edge in edges], [True] * self.count
        node.guarded = guarded if self.guarded is None else self.guarded(needs, *tensors)
        node.output = SavedVariable(made[0], True) if self.guards_output else None
        # Who packs saved tensors (checkpoints, say) does not want the work kept either.
        node.rest, node.work = rest, None if hooked else work


def has_rows(a: Array) -> bool:
    """Tell whether each row (of the last dimension) is contiguous, and apart from the next one."""
    return a.ndim > 1 and a.strides[-2] >= a.strides[-1] * a.shape[-1] == a.itemsize * a.shape[-1]
