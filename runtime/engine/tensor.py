"""Tensor: an array, whether it needs a gradient, and the node that made it.

    array       the numpy array with the data; views share its memory
    _rg         requires_grad
    _node       grad_fn (None for leaves), and output_nr, which of its outputs this is
    _counter    [n], counted up by each in-place operation; one list for a tensor and all its views
    _view       how a view came from its base (ViewInfo), or None

Those are slots, because every operator touches them; the rest is rare and lives in the instance's
dict. `ops` puts the operators on. Source: torch/csrc/autograd/variable.h.
"""

from __future__ import annotations

import math
import sys
import threading
import warnings
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ..accelerator import accelerators
from ..core.aten import aten
from ..core.storage import storages
from ..observe.arrangement import active, innermost
from ..observe.bookkeeping import show
from . import grad_mode
from .hooks import Hook, HookDict, NodeHooks, RemovableHandle, call_single, check, register
from .node import NO_EDGE, RUNS_FIRST, Edge, Grads, Node

if TYPE_CHECKING:
    from .view import ViewInfo

Array = np.ndarray[Any, Any]


class Size(tuple[int, ...]):
    __slots__ = ()

    def numel(self) -> int:
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


_NOT_A_LEAF = "you can only change requires_grad flags of leaf variables; detach() it first"
_NOT_KEPT = "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed."
_NAMES = {"float32": "FloatTensor", "float64": "DoubleTensor", "float16": "HalfTensor"}
_NO_HOOKS = "cannot register a hook on a tensor that doesn't require gradient"
_Operators: Any = object  # to a type checker: all that ops.methods puts on Tensor


class Tensor(_Operators):  # type: ignore[misc]
    """A multi-dimensional array that can take part in autograd."""

    __slots__ = "__dict__ __weakref__ _counter _node _rg _view array output_nr".split()
    array: Array
    _rg: bool
    _node: Node | None
    _counter: Any  # list[int]; None in inference mode's tensors
    _view: ViewInfo | None
    output_nr: int
    shape: Size
    dtype: np.dtype[Any]

    _grad: Tensor | None = None
    _accumulator: weakref.ref[AccumulateGrad] | None = None
    _hooks: NodeHooks | None = None  # of a leaf, whose accumulator may be made anew
    _post_accumulate: HookDict | None = None
    _retains_grad = is_sparse = False
    __array_priority__ = 1000  # so that numpy leaves `array + tensor` to us

    def __init__(self, *data: Any, **options: Any) -> None:
        if type(self).__new__ is object.__new__:  # else a subclass's has made it
            self._become(aten.legacy_tensor(data, **options))

    def _become(self, other: Tensor) -> Tensor:
        """The same tensor, of another class."""
        self.array, self._counter, self._rg = other.array, other._counter, other._rg
        self._node, self._view, self.output_nr = other._node, other._view, other.output_nr
        return self

    @property
    def requires_grad(self) -> bool:
        return self._rg or late_grad(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        check(value or self._node is None, _NOT_A_LEAF)
        if value:
            fits = self.array.dtype.kind in "fcV"
            check(fits, "only Tensors of floating point and complex dtype can require gradients")
            normal = self._counter is not None or grad_mode.is_inference_mode_enabled()
            check(normal, "Setting requires_grad=True on inference tensor is not allowed.")
        self._rg = bool(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        self.requires_grad = requires_grad
        return self

    @property
    def grad_fn(self) -> Node | None:
        """The node that made it; for a view whose base was modified, made anew."""
        late_grad(self)
        return self._node

    is_leaf = property(lambda self: self.grad_fn is None)
    retains_grad = property(lambda self: self._retains_grad)
    _base = property(lambda self: None if self._view is None else self._view.base)
    data = property(  # the same memory, outside autograd and with a version of its own
        lambda self: wrap(self.array), lambda self, value: setattr(self, "array", value.array)
    )

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated so far, with the tensor's own shape and dtype."""
        if self._grad is None and self._node is not None and not self._retains_grad:
            warnings.warn(f"{_NOT_KEPT} It is not kept without .retain_grad().", stacklevel=2)
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            wrong = f"assigned grad expected to be a Tensor or None but got {type(value).__name__}"
            check(isinstance(value, Tensor), wrong, TypeError)
            check(value is not self, "can't assign Variable as its own grad")
            got, ours = value.array, self.array
            if got.dtype != ours.dtype or got.shape != ours.shape:
                wrong = f"a gradient {shape_name(got)} to a tensor {shape_name(ours)}"
                raise RuntimeError(f"attempting to assign {wrong}, of a different size or dtype")
            if storages:
                accelerators[0].check_grad(self, value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def _version(self) -> int:
        check(self._counter is not None, "Inference tensors do not track version counter.")
        return int(self._counter[0])

    def _is_view(self) -> bool:
        return self._view is not None

    def is_inference(self) -> bool:
        return self._counter is None

    def retain_grad(self) -> None:
        """Keep the gradient of a non-leaf in `.grad` too."""
        check(self._rg, "can't retain_grad on Tensor that has requires_grad=False")
        node = self.grad_fn
        if node is not None and not self._retains_grad:
            self._retains_grad = True
            node.own_hooks().retain[self.output_nr] = weakref.ref(self)

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """`hook(grad)` runs when the gradient is complete; what it returns replaces it."""
        check(self._rg, _NO_HOOKS)
        hooks = (self.grad_fn or accumulator(self)).own_hooks()
        if self._node is None:
            self._hooks = hooks
        return register(hooks.tensor_pre.setdefault(self.output_nr, HookDict()), hook)

    def register_post_accumulate_grad_hook(self, hook: Hook) -> RemovableHandle:
        """`hook(tensor)` runs after a backward has added to this leaf's `.grad`."""
        check(self._rg, _NO_HOOKS)
        check(self.is_leaf, "post accumulate grad hooks cannot be registered on non-leaf tensors")
        self._post_accumulate = self._post_accumulate or HookDict()
        return register(self._post_accumulate, hook)


def wrap(array: Any) -> Tensor:
    """Return a tensor around an array (or numpy scalar), outside autograd. Nothing is copied."""
    if array.__class__ is not np.ndarray:
        array = np.asarray(array)
    tensor = _new(Tensor)
    tensor.array, tensor._rg, tensor._node = array, False, None
    tensor._counter, tensor._view, tensor.output_nr = [0], None, 0
    return tensor


def late_grad(tensor: Tensor) -> bool:
    """Tell whether a tensor needs a gradient by now: a view does when its base came to need one."""
    view = tensor._view
    if view is None:
        return tensor._rg
    if view.version != tensor._counter[0]:
        view.regenerate(tensor)
    return tensor._rg or view.base._rg


def gradient_edge(tensor: Tensor) -> Edge:
    """Return where a gradient for `tensor` goes: its grad_fn, or its AccumulateGrad."""
    view = tensor._view
    if view is not None and view.version != tensor._counter[0]:
        view.regenerate(tensor)
    if tensor._node is not None:
        return (tensor._node, tensor.output_nr)
    return (accumulator(tensor), 0) if tensor._rg else NO_EDGE


def accumulator(leaf: Tensor) -> AccumulateGrad:
    """Return the leaf's one AccumulateGrad, made anew if nothing holds the last one."""
    node = None if leaf._accumulator is None else leaf._accumulator()
    if node is None:
        node = _new(AccumulateGrad)  # a leaf may be new in each step, so this must not take long
        node.next_edges = ()
        node.input_metadata = ((leaf.array.shape, leaf.array.dtype),)
        node.hooks = leaf._hooks
        node.sequence_nr = RUNS_FIRST
        node.variable = leaf
        if accelerators:
            node.stream = accelerators[0].stream_of(leaf)
        leaf._accumulator = weakref.ref(node)
    return node


class AccumulateGrad(Node):
    __slots__ = ("variable",)

    variable: Tensor

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def apply(self, grads: Grads) -> Grads:
        grad, grads[0] = grads[0], None
        # Else it is not seen, or done by operators.
        if (
            grad is not None
            and active
            and not (innermost or grad_mode._grad.get() or grad.is_sparse)
        ):
            show("detach(:detach)" if self.variable._grad is None else "add_")
        self.add(grad)
        return []

    def add(self, grad: Tensor | None) -> None:
        """`.grad` += `grad`, which is taken over as it is where nobody else can see it."""
        variable, recording = self.variable, grad_mode._grad.get()
        with _accumulating:
            old = variable._grad
            if grad is None or not variable._rg:
                pass  # requires_grad was turned off after the forward pass
            elif old is None:
                sole = not recording and sys.getrefcount(grad) <= _SOLE_TENSOR
                if sole and (grad.is_sparse or _sole_owner(grad, variable.array.strides)):
                    variable._grad = grad
                elif recording or grad.is_sparse:
                    variable._grad = grad.clone()
                elif storages:
                    variable._grad = accelerators[0].copied(variable, grad)
                else:
                    copy = np.empty_like(variable.array)
                    copy[...] = grad.array
                    variable._grad = wrap(copy)
            elif recording:
                variable._grad = old + grad
            elif old.is_sparse and not grad.is_sparse:
                variable._grad = grad + old
            elif old.is_sparse:
                old.array = (old + grad).array
                bump_version(old)
            elif storages:
                old += grad.to_dense() if grad.is_sparse else grad
            else:
                dense = grad.to_dense() if grad.is_sparse else grad
                np.add(old.array, dense.array, out=old.array)
                bump_version(old)
        if variable._post_accumulate is not None:
            _call_each(variable._post_accumulate, variable)


def _call_each(hooks: HookDict, leaf: Tensor) -> None:
    for hook in list(hooks.values()):
        told = "Tensor post accumulate grad hooks should return None."
        check(call_single(hook, leaf) is leaf, told)


def _sole_owner(grad: Tensor, strides: tuple[int, ...]) -> bool:
    """Whether no other array sees this memory, which is laid out as the leaf's."""
    array, base = grad.array, grad.array.base
    if not grad._counter or grad._rg or array.strides != strides:
        return False
    if sys.getrefcount(array) > _SOLE_ARRAY:
        return False
    return base is None or (
        isinstance(base, np.ndarray) and sys.getrefcount(base) <= _SOLE_ARRAY and base.base is None
    )


def _references(outputs: Grads) -> tuple[int, int]:
    """How many references Python shows for a tensor, and its array, that has a single owner."""

    def count(grad: Tensor) -> tuple[int, int]:
        array = grad.array
        return sys.getrefcount(grad), sys.getrefcount(array)

    for _, grad in zip((0,), outputs):  # noqa: B905
        counts = count(grad)  # type: ignore[arg-type]
    return counts


_new = Tensor.__new__
_SOLE_TENSOR, _SOLE_ARRAY = _references([wrap(np.zeros(1))])
_accumulating = threading.Lock()


def bump_version(tensor: Tensor) -> None:
    """Count an in-place modification."""
    counter = tensor._counter
    if counter is not None:
        counter[0] += 1
    elif not grad_mode.is_inference_mode_enabled():
        wrong = "Inplace update to inference tensor outside InferenceMode is not allowed."
        raise RuntimeError(f"{wrong} You can clone() it to get a normal tensor.")


def shape_name(array: Array) -> str:
    """`torch.FloatTensor [2, 3]`, as error messages write it."""
    kind = _NAMES.get(array.dtype.name, array.dtype.name.capitalize() + "Tensor")
    return f"torch.{kind} {list(array.shape)}"
