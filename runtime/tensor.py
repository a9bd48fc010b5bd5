"""Tensor: an array, whether it needs a gradient, and the node that made it.

    array       the numpy array with the data; views share its memory
    _rg         requires_grad
    _node       grad_fn (None for leaves), and output_nr, which of its outputs this is
    _counter    [n], counted up by each in-place operation; one list for a tensor and all its views
    _view       how a view came from its base (ViewInfo), or None

Those are slots, because every operator touches them. The rest are rare and live in the instance's
dict, with their defaults here. No mathematics here: `ops` puts the operators on.

Source: torch/csrc/autograd/variable.h.
"""

from __future__ import annotations

import warnings
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from . import grad_mode
from .hooks import Hook, HookDict, NodeHooks, RemovableHandle, register
from .node import NO_EDGE, RUNS_FIRST, Edge, Grads, Node

if TYPE_CHECKING:
    from .view import ViewInfo

Array = np.ndarray[Any, Any]
VersionCounter = list[int]


class Size(tuple[int, ...]):
    """A shape."""

    __slots__ = ()

    def numel(self) -> int:
        """How many elements it has."""
        count = 1
        for size in self:
            count *= size
        return count

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


class Tensor:
    """A multi-dimensional array that can take part in autograd."""

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_counter",
        "_node",
        "_rg",
        "_view",
        "array",
        "output_nr",
    )

    array: Array
    _rg: bool
    _node: Node | None
    _counter: Any  # VersionCounter; None in inference mode's tensors
    _view: ViewInfo | None
    output_nr: int

    _grad: Tensor | None = None
    _accumulator: weakref.ref[AccumulateGrad] | None = None
    _hooks: NodeHooks | None = None  # of a leaf
    _post_accumulate: HookDict | None = None
    _retains_grad = False
    __array_priority__ = 1000  # so that numpy leaves `array + tensor` to us
    __array_ufunc__ = None

    if TYPE_CHECKING:  # what ops.methods puts here

        def __getattr__(self, name: str) -> Any: ...

        shape: Size
        dtype: np.dtype[Any]
        __add__: Any
        __radd__: Any
        __sub__: Any
        __rsub__: Any
        __mul__: Any
        __rmul__: Any
        __truediv__: Any
        __rtruediv__: Any
        __pow__: Any
        __matmul__: Any
        __neg__: Any
        __lt__: Any
        __gt__: Any
        __le__: Any
        __ge__: Any
        __hash__: Any
        __eq__: Any
        __ne__: Any
        __getitem__: Any
        __setitem__: Any

    def __init__(self, data: Any = (), requires_grad: bool = False) -> None:
        array = np.asarray(data.array if isinstance(data, Tensor) else data)
        self.array = array
        self._rg = False
        self._node = None
        self._counter = [0]
        self._view = None
        self.output_nr = 0
        if requires_grad:
            self.requires_grad = True

    # Autograd

    @property
    def requires_grad(self) -> bool:
        """Whether operators on it record a graph."""
        if not self._rg and self._view is not None and self._view.version != self._counter[0]:
            self._view.regenerate(self)  # its base may have come to need one
        return self._rg

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if self._node is not None and not value:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        if value and self.array.dtype.kind not in "fcV":
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients"
            )
        if value and self._counter is None and not grad_mode.is_inference_mode_enabled():
            raise RuntimeError("Setting requires_grad=True on inference tensor is not allowed.")
        self._rg = bool(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set requires_grad, and give the tensor back."""
        self.requires_grad = requires_grad
        return self

    @property
    def grad_fn(self) -> Node | None:
        """The node that made it; for a view whose base was modified, made anew."""
        view = self._view
        if view is not None and self._rg and view.version != self._counter[0]:
            view.regenerate(self)
        return self._node

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operator made it."""
        return self._node is None

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated so far, with the tensor's own shape and dtype."""
        if self._grad is None and self._node is not None and not self._retains_grad:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
                ".grad attribute won't be populated during autograd.backward(). If you indeed want "
                "the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on it.",
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(
                    "assigned grad expected to be a Tensor or None but got grad of "
                    f"type {type(value).__name__!r}"
                )
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if value.array.dtype != self.array.dtype:
                raise RuntimeError(
                    "attempting to assign a gradient with dtype "
                    f"'{value.array.dtype}' to a tensor with dtype '{self.array.dtype}'"
                )
            if value.array.shape != self.array.shape:
                raise RuntimeError(
                    f"assigned grad has data of a different size: {list(value.array.shape)}, "
                    f"expected {list(self.array.shape)}"
                )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def data(self) -> Tensor:
        """The same memory, outside autograd and with a version of its own."""
        return wrap(self.array)

    @data.setter
    def data(self, value: Tensor) -> None:
        self.array = value.array

    @property
    def _base(self) -> Tensor | None:
        return None if self._view is None else self._view.base

    @property
    def _version(self) -> int:
        if self._counter is None:
            raise RuntimeError("Inference tensors do not track version counter.")
        return int(self._counter[0])

    def _is_view(self) -> bool:
        return self._view is not None

    def is_inference(self) -> bool:
        """Whether it was made in inference mode."""
        return self._counter is None

    def retain_grad(self) -> None:
        """Keep the gradient of a non-leaf in `.grad` too."""
        if not self._rg:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        node = self.grad_fn
        if node is None or self._retains_grad:
            return
        self._retains_grad = True
        node.own_hooks().retain[self.output_nr] = weakref.ref(self)

    @property
    def retains_grad(self) -> bool:
        """Whether retain_grad was called on this non-leaf."""
        return self._retains_grad

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """`hook(grad)` runs when the gradient is complete; what it returns replaces it."""
        if not self._rg:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node = self.grad_fn
        if node is not None:
            hooks = node.own_hooks()
        else:
            if self._hooks is None:
                self._hooks = NodeHooks()
                live = None if self._accumulator is None else self._accumulator()
                if live is not None and live.hooks is not None:  # node hooks came first
                    self._hooks = live.hooks
                elif live is not None:
                    live.hooks = self._hooks
            hooks = self._hooks
        return register(hooks.tensor_pre.setdefault(self.output_nr, HookDict()), hook)

    def register_post_accumulate_grad_hook(self, hook: Hook) -> RemovableHandle:
        """`hook(tensor)` runs after a backward has added to this leaf's `.grad`."""
        if not self._rg:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._node is not None:
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        if self._post_accumulate is None:
            self._post_accumulate = HookDict()
        return register(self._post_accumulate, hook)

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Add the gradient of this tensor to the leaves' `.grad`; see `autograd.backward`."""
        from .autograd import backward

        backward(self, gradient, retain_graph, create_graph, inputs=inputs)


_new = Tensor.__new__


def wrap(array: Any) -> Tensor:
    """A tensor around an array (or numpy scalar), outside autograd. Nothing is copied."""
    if array.__class__ is not np.ndarray:
        array = np.asarray(array)
    tensor = _new(Tensor)
    tensor.array = array
    tensor._rg = False
    tensor._node = None
    tensor._counter = [0]
    tensor._view = None
    tensor.output_nr = 0
    return tensor


def gradient_edge(tensor: Tensor) -> Edge:
    """Where a gradient for `tensor` goes: its grad_fn, or its AccumulateGrad."""
    view = tensor._view
    if view is not None and tensor._rg and view.version != tensor._counter[0]:
        view.regenerate(tensor)
    node = tensor._node
    if node is not None:
        return (node, tensor.output_nr)
    if tensor._rg:
        return (accumulator(tensor), 0)
    return NO_EDGE


def accumulator(leaf: Tensor) -> AccumulateGrad:
    """The leaf's one AccumulateGrad, made anew if nothing holds the last one."""
    ref = leaf._accumulator
    node = None if ref is None else ref()
    if node is None:
        node = AccumulateGrad(leaf)
        leaf._accumulator = weakref.ref(node)
    return node


class AccumulateGrad(Node):
    """Adds what arrives to a leaf's `.grad`."""

    __slots__ = ("variable",)

    def __init__(self, variable: Tensor) -> None:
        self.next_edges = ()
        self.input_metadata = ((variable.array.shape, variable.array.dtype),)
        self.hooks = variable._hooks
        self.sequence_nr = RUNS_FIRST
        self.variable = variable

    def apply(self, grads: Grads) -> Grads:
        """Engine's way in: see engine.accumulate."""
        from .engine import accumulate

        accumulate(self, grads)
        return []


def bump_version(tensor: Tensor) -> None:
    """Count an in-place modification."""
    counter = tensor._counter
    if counter is not None:
        counter[0] += 1
    elif not grad_mode.is_inference_mode_enabled():
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make "
            "a clone to get a normal tensor before doing inplace update."
        )


_NAMES = {"float32": "FloatTensor", "float64": "DoubleTensor", "float16": "HalfTensor"}


def shape_name(array: Array) -> str:
    """`torch.FloatTensor [2, 3]`, as error messages write it."""
    kind = _NAMES.get(array.dtype.name, array.dtype.name.capitalize() + "Tensor")
    return f"torch.{kind} {list(array.shape)}"
