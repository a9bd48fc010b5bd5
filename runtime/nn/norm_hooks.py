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
from .parametrize import as_matrix, dim_of_outputs, iterate, norm_except_dim


class _OfWeight:
    """What both share: a hook that sets a weight, of parameters beside it."""

    beside: tuple[str, ...] = ()

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, dim

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.computed(module, module.training))

    def computed(self, module: Module, training: bool) -> Any:
        raise NotImplementedError

    def join(self, module: Module, **tensors: Tensor) -> None:
        """Put tensors beside the weight, which is no parameter any more, and hook on."""
        hooks = module._hooks.forward_pre.values() if module._hooks else ()
        twice = any(type(h) is type(self) and h.name == self.name for h in hooks)
        what = type(self).__name__
        check(not twice, f"Cannot register two {what} hooks on the same parameter {self.name}")
        delattr(module, self.name)
        for suffix, tensor in tensors.items():
            add = (
                module.register_parameter
                if isinstance(tensor, Parameter)
                else module.register_buffer
            )
            add(f"{self.name}{suffix}", tensor)
        module.register_forward_pre_hook(self)

    def part(self, module: Module, suffix: str) -> Any:
        return getattr(module, f"{self.name}{suffix}")

    @classmethod
    def remove(cls, module: Module, name: str) -> Module:
        hooks = module._hooks.forward_pre if module._hooks else {}
        for key, hook in tuple(hooks.items()):
            if type(hook) is cls and hook.name == name:
                with no_grad():
                    weight = hook.computed(module, False)
                for suffix in ("", *cls.beside):
                    delattr(module, f"{name}{suffix}")
                module.register_parameter(name, Parameter(weight.detach()))
                del hooks[key]
                return module
        raise ValueError(f"{cls.__name__} of '{name}' not found in {module}")


class WeightNorm(_OfWeight):
    """The direction `_v` times the length `_g`."""

    beside = "_g", "_v"

    def computed(self, module: Module, training: bool) -> Any:
        g, v = (self.part(module, suffix) for suffix in self.beside)
        return v * (g / norm_except_dim(v, self.dim))


class SpectralNorm(_OfWeight):
    """`_orig` over its largest singular value, of the vectors `_u` and `_v`."""

    beside = "_u", "_v", "_orig"
    count, eps = 1, 1e-12

    def computed(self, module: Module, training: bool) -> Any:
        u, v, weight = (self.part(module, suffix) for suffix in self.beside)
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
    made, weight = WeightNorm(name, dim), getattr(module, name)
    length = norm_except_dim(weight.detach(), dim)
    made.join(module, _g=Parameter(length), _v=Parameter(weight.detach()))
    setattr(module, name, made.computed(module, False))
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
    weight = module._parameters[name]
    check(weight is not None, f"`{name}` of the module is None", ValueError)
    sizes = as_matrix(weight.detach(), made.dim or 0).shape
    drawn = [aten.empty(n, dtype=weight.dtype).normal_() for n in sizes]
    u, v = (aten.normalize(each, dim=0, eps=eps) for each in drawn)
    made.join(module, _orig=weight, _u=u, _v=v)
    setattr(module, name, weight.detach())
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight a parameter again, as it is now."""
    return WeightNorm.remove(module, name)


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight a parameter again, divided as it is now."""
    return SpectralNorm.remove(module, name)
