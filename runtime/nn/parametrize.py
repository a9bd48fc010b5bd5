"""Parameters that are computed of others each time they are read; weight and spectral norm so made.

`register_parametrization(m, "weight", f)` moves the weight to `m.parametrizations.weight.original`,
and gives `m` a class of its own, whose property `weight` is `f` of that.

Source: torch/nn/utils/parametrize.py, parametrizations.py.
"""

# mypy: disable-error-code="attr-defined"

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

from ..core.aten import aten
from ..engine.grad_mode import no_grad
from ..engine.hooks import check
from ..engine.tensor import Tensor
from .containers import ModuleDict, ModuleList
from .module import Module
from .parameter import Parameter

_caches: list[dict[tuple[int, str], Any]] = []  # of the contexts that are open; all have the first


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Within it each parametrized tensor is computed once."""
    _caches.append({})
    try:
        yield
    finally:
        _caches.pop()


def hold(module: Module, name: str, tensor: Tensor) -> None:
    """Hold as a parameter if it is one, else as a buffer."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


class ParametrizationList(ModuleList):
    """The module that a tensor goes through, and what that is given in place of the tensor.

    That is `original`, or where its `right_inverse` gives several `original0`, `original1`...
    """

    def __init__(self, parametrization: Module, tensor: Tensor) -> None:
        super().__init__([parametrization])
        new: Any = tensor
        with no_grad(), contextlib.suppress(NotImplementedError):
            if hasattr(parametrization, "right_inverse"):
                new = parametrization.right_inverse(tensor)
        if isinstance(new, Tensor):
            if new is not tensor:
                tensor.data = new.detach()
            self.names = ["original"]
            hold(self, "original", tensor)
            return
        self.names = [f"original{i}" for i in range(len(new))]
        for name, each in zip(self.names, new, strict=True):
            part = Parameter(each.detach()) if isinstance(tensor, Parameter) else each
            hold(self, name, part.requires_grad_(tensor.requires_grad))

    def forward(self) -> Any:
        return self[0](*(getattr(self, name) for name in self.names))

    def right_inverse(self, value: Tensor) -> None:
        """Give the originals the values of which `value` is made."""
        told = f"parametrization {type(self[0]).__name__} does not implement right_inverse."
        check(hasattr(self[0], "right_inverse"), told)
        with no_grad():
            new = self[0].right_inverse(value)
        owns = [getattr(self, name) for name in self.names]
        for own, each in zip(owns, [new] if isinstance(new, Tensor) else new, strict=True):
            fits = own.dtype == each.dtype
            check(fits, f"right_inverse gave {each.dtype} where {own.dtype} is held", ValueError)
            own.data = each.detach()


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    memo[id(self)] = made = self.__class__.__new__(self.__class__)
    made.__setstate__(copy.deepcopy(self.__dict__, memo))
    return made


def _getstate(self: Any) -> Any:
    told = "Serialization of parametrized modules is only supported through state_dict()."
    raise RuntimeError(told)


def _read(name: str) -> property:
    def read(self: Any) -> Any:
        if not _caches:
            return self.parametrizations[name]()
        known, key = _caches[0], (id(self), name)
        if key not in known:
            known[key] = self.parametrizations[name]()
        return known[key]

    return property(read, lambda self, value: self.parametrizations[name].right_inverse(value))


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Tell whether that tensor is, or any."""
    held = vars(module).get("parametrizations")
    return isinstance(held, ModuleDict) and (tensor_name in held if tensor_name else len(held) > 0)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """From now on `module.<tensor_name>` is what `parametrization` makes of what it was."""
    parametrization.train(module.training)
    once = not is_parametrized(module, tensor_name)
    check(once, f"{tensor_name} is parametrized already", NotImplementedError)
    told = f"Module '{module}' does not have a parameter or a buffer with name '{tensor_name}'"
    check(tensor_name in {**module._buffers, **module._parameters}, told, ValueError)
    tensor = getattr(module, tensor_name)
    like = tensor.array.shape, tensor.dtype
    made = ParametrizationList(parametrization, tensor)
    found = None if unsafe else made()
    alike = unsafe or (isinstance(found, Tensor) and (found.array.shape, found.dtype) == like)
    check(alike, f"A parametrization must return a tensor of shape and dtype {like}", ValueError)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        kind = type(module)
        body = {"__getstate__": _getstate, "__deepcopy__": _deepcopy, "__module__": kind.__module__}
        module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), body)
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _read(tensor_name))
    module.parametrizations[tensor_name] = made
    return module


def norm_except_dim(v: Tensor, dim: int | None) -> Tensor:
    """Return the norm of each slice along `dim`; of all for None or -1."""
    if dim is None or dim == -1:
        return v.norm()
    return v.norm(2, tuple(d for d in range(v.dim()) if d != dim % v.dim()), True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Any:
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Replace a weight by its direction times its length along `dim`, which are learned apart."""

    def from_hooks(state_dict: Any, prefix: str, *_: Any) -> None:
        older = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in older):
            for i, key in enumerate(older):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(from_hooks)
    return module


def as_matrix(weight: Tensor, dim: int) -> Any:
    """`dim` against all others."""
    return weight.movedim(dim, 0).flatten(1)


def iterate(matrix: Any, u: Tensor, v: Tensor, count: int, eps: float, first: str = "u") -> None:
    """Turn `u` and `v` towards the singular vectors of the largest singular value."""
    with no_grad():
        for step in "uv" * count if first == "u" else "vu" * count:
            made = matrix.mv(v) if step == "u" else matrix.t().mv(u)
            (u if step == "u" else v).copy_(aten.normalize(made, dim=0, eps=eps))


class _SpectralNorm(Module):
    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.dim()
        check(-ndim <= dim < ndim, f"Dimension out of range: {dim}", IndexError)
        told = f"Expected n_power_iterations to be positive, but got {n_power_iterations}"
        check(n_power_iterations > 0, told, ValueError)
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight.detach(), self.dim)
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                drawn = weight.new_empty(size).normal_()
                self.register_buffer(name, aten.normalize(drawn, dim=0, eps=eps))
            iterate(matrix, self._u, self._v, 15, eps)

    def forward(self, weight: Tensor) -> Any:
        if weight.dim() == 1:
            return aten.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            iterate(matrix.detach(), self._u, self._v, self.n_power_iterations, self.eps)
        return weight / self._u.clone().dot(matrix.mv(self._v.clone()))

    def right_inverse(self, weight: Tensor) -> Tensor:
        return weight  # the norm of what is assigned is not its own, mostly


def dim_of_outputs(module: Module) -> int:
    """Return where outputs are counted in a weight."""
    return int(any("ConvTranspose" in kind.__name__ for kind in type(module).__mro__))


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: int | None = None,
) -> Module:  # fmt: skip
    """Divide a weight by its largest singular value, which power iteration finds."""
    weight = getattr(module, name, None)
    told = f"Module '{module}' has no parameter or buffer with name '{name}'"
    check(isinstance(weight, Tensor), told, ValueError)
    dim = dim_of_outputs(module) if dim is None else dim
    made: Any = _SpectralNorm(weight, n_power_iterations, dim, eps)  # type: ignore[arg-type]
    return register_parametrization(module, name, made)
