"""Weight and spectral norm as hooks that make the weight anew before each forward.

Source: torch/nn/utils/weight_norm.py, spectral_norm.py.
"""

# mypy: disable-error-code="attr-defined"

from __future__ import annotations

import warnings
from typing import Any

from ..core.aten import aten
from ..engine.grad_mode import no_grad
from ..engine.hooks import check
from ..engine.tensor import Tensor
from .module import Module
from .parameter import Parameter
from .parametrize import as_matrix, dim_of_outputs, hold, iterate, norm_except_dim


class _OfWeight:
    """What both share: a hook that sets a weight, `computed` of tensors beside it."""

    beside: tuple[str, ...] = ()
    called = ""
    computed: Any

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, dim

    def __call__(self, module: Module, inputs: Any) -> None:
        tensors = (getattr(module, f"{self.name}{suffix}") for suffix in self.beside)
        setattr(module, self.name, self.computed(module.training, *tensors))

    def refuse_twice(self, module: Module) -> None:
        """Refuse a module whose weight has such a hook."""
        hooks = module._hooks.forward_pre.values() if module._hooks else ()
        twice = any(type(h) is type(self) and h.name == self.name for h in hooks)
        told = f"Cannot register two {self.called} hooks on the same parameter {self.name}"
        check(not twice, told)

    def join(self, module: Module, *tensors: Tensor) -> None:
        """Put tensors beside the weight, which is no parameter any more, and hook on."""
        delattr(module, self.name)
        for suffix, tensor in zip(self.beside, tensors, strict=True):
            hold(module, f"{self.name}{suffix}", tensor)
        module.register_forward_pre_hook(self)

    @classmethod
    def remove(cls, module: Module, name: str = "weight") -> Module:
        """Make the weight a parameter again, as it is now."""
        hooks = module._hooks.forward_pre if module._hooks else {}
        for key, hook in tuple(hooks.items()):
            if type(hook) is cls and hook.name == name:
                tensors = [getattr(module, f"{name}{suffix}") for suffix in cls.beside]
                with no_grad():
                    weight = hook.computed(False, *tensors)
                for suffix in ("", *cls.beside):
                    delattr(module, f"{name}{suffix}")
                module.register_parameter(name, Parameter(weight.detach()))
                del hooks[key]
                return module
        raise ValueError(f"{cls.__name__} of '{name}' not found in {module}")


class WeightNorm(_OfWeight):
    """The direction `_v` times the length `_g`."""

    beside, called = ("_g", "_v"), "weight_norm"

    def computed(self, training: bool, g: Tensor, v: Tensor) -> Any:
        return v * (g / norm_except_dim(v, self.dim))


class SpectralNorm(_OfWeight):
    """`_orig` over its largest singular value, of the vectors `_u` and `_v`."""

    beside, called = ("_orig", "_u", "_v"), "spectral_norm"
    count, eps = 1, 1e-12

    def computed(self, training: bool, weight: Tensor, u: Tensor, v: Tensor) -> Any:
        matrix = as_matrix(weight, self.dim or 0)
        if training:
            iterate(matrix.detach(), u, v, self.count, self.eps, "v")
            u, v = u.clone(), v.clone()
        return weight / u.dot(matrix.mv(v))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Replace a weight by its direction times its length along `dim`, which are learned apart."""
    told = "`torch.nn.utils.weight_norm` is deprecated in favor of "
    told += "`torch.nn.utils.parametrizations.weight_norm`."
    warnings.warn(told, FutureWarning, stacklevel=2)
    made, weight = WeightNorm(name, dim), getattr(module, name).detach()
    made.refuse_twice(module)
    made.join(module, Parameter(norm_except_dim(weight, dim)), Parameter(weight))
    made(module, ())
    return module


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: int | None = None,
) -> Module:  # fmt: skip
    """Divide a weight by its largest singular value, which power iteration finds."""
    told = f"Expected n_power_iterations to be positive, but got {n_power_iterations}"
    check(n_power_iterations > 0, told, ValueError)
    made = SpectralNorm(name, dim_of_outputs(module) if dim is None else dim)
    made.count, made.eps = n_power_iterations, eps
    made.refuse_twice(module)
    weight = module._parameters[name]
    check(weight is not None, f"`{name}` of the module is None", ValueError)
    sizes = as_matrix(weight.detach(), made.dim or 0).shape
    drawn = [weight.new_empty(n).normal_() for n in sizes]
    made.join(module, weight, *(aten.normalize(each, dim=0, eps=eps) for each in drawn))
    setattr(module, name, weight.detach())
    return module


remove_weight_norm, remove_spectral_norm = WeightNorm.remove, SpectralNorm.remove
