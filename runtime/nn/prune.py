"""Parameters with parts set to zero: `weight` becomes `weight_orig` times `weight_mask`.

A method of pruning is a hook of the module, which computes the product before each call.

Source: torch/nn/utils/prune.py.
"""

# mypy: disable-error-code="attr-defined"

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor
from .module import Module
from .utils import parameters_to_vector


class BasePruningMethod(ABC):
    """Subclass with `PRUNING_TYPE` (unstructured, structured or global) and `compute_mask`."""

    _tensor_name: Any = None
    PRUNING_TYPE = ""

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """A mask of `t`'s shape, in which further elements than in `default_mask` are 0."""

    def apply_mask(self, module: Module) -> Any:
        name = self._tensor_name
        check(name is not None, f"Module {module} has to be pruned", AssertionError)
        original = getattr(module, f"{name}_orig")
        return getattr(module, f"{name}_mask").to(original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> Any:
        """Prune a parameter; one that is pruned already further. Gives the method."""
        method, old = cls(*args, **kwargs), _method_of(module, name)
        method._tensor_name, original = name, getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        told = f"importance_scores should have the shape of {name}, {tuple(original.shape)}"
        check(scores.shape == original.shape, told, AssertionError)
        if old is not None:
            mask = getattr(module, f"{name}_mask").detach().clone()
            container = old[1] if isinstance(old[1], PruningContainer) else PruningContainer(old[1])
            container.add_pruning_method(method)
            del module._forward_pre_hooks[old[0]]
            method = container
        else:
            module.register_parameter(f"{name}_orig", original)
            del module._parameters[name]
            mask = aten.ones_like(original)
        try:
            mask = method.compute_mask(scores, default_mask=mask)
            module.register_buffer(f"{name}_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if old is None:
                module.register_parameter(name, original)
                del module._parameters[f"{name}_orig"]
            raise
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """The tensor, pruned, without a module."""
        scores = t if importance_scores is None else importance_scores
        told = "importance_scores should have the shape of the tensor"
        check(scores.shape == t.shape, told, AssertionError)
        mask = aten.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=mask)

    def remove(self, module: Module) -> None:
        """Make it the parameter's own value."""
        name, value = self._tensor_name, self.apply_mask(module)
        delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        original.data = value.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


def _method_of(module: Module, name: str) -> tuple[Any, BasePruningMethod] | None:
    """The hook that prunes this parameter, and its key."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None


class PruningContainer(BasePruningMethod):
    """Methods one after the other; each prunes what the others have left."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        if method is not None:
            kind = isinstance(method, BasePruningMethod)
            check(kind, f"{type(method)} is not a BasePruningMethod subclass", TypeError)
            fits = self._tensor_name == method._tensor_name
            told = f"Can only add pruning methods acting on the parameter {self._tensor_name!r}"
            check(fits, told, ValueError)
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        method, mask = self._pruning_methods[-1], default_mask.clone()
        kind: str = method.PRUNING_TYPE
        part: Any = ...
        if kind == "unstructured":
            part = default_mask == 1
        elif kind == "structured":
            dim = range(t.dim())[method.dim]
            kept = default_mask.sum([d for d in range(t.dim()) if d != dim]) != 0
            part = tuple(kept if d == dim else slice(None) for d in range(t.dim()))
        else:
            check(kind == "global", f"Unrecognized PRUNING_TYPE {kind}", ValueError)
        mask[part] = method.compute_mask(t[part], default_mask[part]).to(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return default_mask


class _OfAmount(BasePruningMethod):
    """Prunes a share (a float), or a number (an int), of elements or channels."""

    def __init__(self, amount: Any) -> None:
        real = isinstance(amount, numbers.Real)
        check(real, f"Invalid type for amount: {amount}. Must be int or float.", TypeError)
        fits = amount >= 0 and (isinstance(amount, numbers.Integral) or amount <= 1)
        told = f"amount={amount} should be a float in the range [0, 1] or a non-negative integer"
        check(fits, told, ValueError)
        self.amount = amount

    def _count(self, size: int) -> int:
        whole = isinstance(self.amount, numbers.Integral)
        told = f"amount={self.amount} should be smaller than the number to prune={size}"
        check(not whole or self.amount <= size, told, ValueError)
        return int(self.amount) if whole else round(self.amount * size)


class _Unstructured(_OfAmount):
    PRUNING_TYPE = "unstructured"
    _largest = False

    def _scores(self, t: Any) -> Any:
        return t.abs()

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        count, mask = self._count(t.numel()), default_mask.clone()
        if count:
            chosen = self._scores(t).reshape(-1).topk(count, largest=self._largest).indices
            mask.view(-1)[chosen] = 0
        return mask


class L1Unstructured(_Unstructured):
    """Prunes the smallest."""


class RandomUnstructured(_Unstructured):
    """Prunes any."""

    _largest = True

    def _scores(self, t: Any) -> Any:
        return aten.rand_like(t)


class _Structured(_OfAmount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _scores(self, t: Any) -> Any:
        return aten.rand(t.shape[self.dim])

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        told = f"Structured pruning needs several dimensions, not the shape {tuple(t.shape)}"
        check(t.dim() > 1, told, ValueError)
        told = f"Invalid index {self.dim} for tensor of size {tuple(t.shape)}"
        check(self.dim < t.dim(), told, IndexError)
        size = t.shape[self.dim]
        count = self._count(size)
        if not count:
            return default_mask
        mask, dim = aten.zeros_like(t), range(t.dim())[self.dim]
        kept = self._scores(t).topk(size - count).indices
        mask[tuple(kept if d == dim else slice(None) for d in range(t.dim()))] = 1
        mask *= default_mask.to(mask.dtype)
        return mask


class RandomStructured(_Structured):
    """Prunes any channels."""


class LnStructured(_Structured):
    """Prunes the channels of the least norm."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t: Any) -> Any:
        dim = range(t.dim())[self.dim]
        return aten.norm(t, self.n, [d for d in range(t.dim()) if d != dim])


class CustomFromMask(BasePruningMethod):
    """Prunes what a mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        told = "the mask should have the shape of the parameter"
        check(default_mask.shape == self.mask.shape, told, AssertionError)
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Any) -> Module:
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: Any, importance_scores: Any = None
) -> Module:
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Any, dim: int) -> Module:
    RandomStructured.apply(module, name, amount=amount, dim=dim)
    return module


def ln_structured(
    module: Module, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None
) -> Module:
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    CustomFromMask.apply(module, name, mask=mask)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune several parameters, `(module, name)` each, as if they were one."""
    told = "global_unstructured(): parameters is not an Iterable"
    check(isinstance(parameters, Iterable), told, TypeError)
    scores = {} if importance_scores is None else importance_scores
    told = "global_unstructured(): importance_scores must be of type dict"
    check(isinstance(scores, dict), told, TypeError)
    places = [*parameters]
    method, container = pruning_method(**kwargs), PruningContainer()
    method._tensor_name = container._tensor_name = "temp"
    told = f"Only unstructured PRUNING_TYPE is supported, not {method.PRUNING_TYPE!r}"
    check(method.PRUNING_TYPE == "unstructured", told, TypeError)
    container.add_pruning_method(method)
    tensors = [getattr(module, name) for module, name in places]
    masks = [
        getattr(module, f"{name}_mask", aten.ones_like(tensor))
        for (module, name), tensor in zip(places, tensors, strict=True)
    ]
    given = [scores.get(place, tensor) for place, tensor in zip(places, tensors, strict=True)]
    mask = container.compute_mask(parameters_to_vector(given), parameters_to_vector(masks))
    for (module, name), part in zip(places, mask.split([x.numel() for x in tensors]), strict=True):
        custom_from_mask(module, name, part.view_as(getattr(module, name)))


def remove(module: Module, name: str) -> Module:
    """Keep what is left of the parameter, and forget how it was pruned."""
    found = _method_of(module, name)
    if found is None:
        raise ValueError(f"Parameter {name!r} of module {module} has to be pruned before that")
    found[1].remove(module)
    del module._forward_pre_hooks[found[0]]
    return module


def is_pruned(module: Module) -> bool:
    return any(
        isinstance(hook, BasePruningMethod)
        for inner in module.modules()
        for hook in inner._forward_pre_hooks.values()
    )
