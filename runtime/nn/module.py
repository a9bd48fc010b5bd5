"""Module: parameters, buffers and submodules by name, and what is done to all of them.

Each stands in two dicts: in the instance's `__dict__`, so that reading `self.weight` is a plain
attribute read, and in `_parameters`, `_buffers` or `_modules`, where a change made by `[name] =`,
`del` or `pop` reaches the first too.

Source: torch/nn/modules/module.py.
"""

# mypy: disable-error-code="attr-defined"

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partialmethod
from typing import Any, NamedTuple, TypeVar

from ..device import Device
from ..dtypes import float16, float32, float64
from ..grad_mode import no_grad
from ..hooks import Hook, RemovableHandle, check
from ..ops.conversion import _dtype_of
from ..storage import storages
from ..tensor import Tensor, wrap
from .module_hooks import ModuleHooks

T = TypeVar("T", bound="Module")
Named = Iterator[tuple[str, Any]]


class Parameter(Tensor):
    """A leaf on the memory of `data`; assigned to a Module it is one of its parameters."""

    __slots__ = ()

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        super().__init__(() if data is None else data, requires_grad)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.detach().cpu(), self._rg)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        copy = self.detach().clone() if storages else wrap(self.array.copy())
        memo[id(self)] = made = type(self)(copy, self._rg)
        return made


class IncompatibleKeys(NamedTuple):
    """What load_state_dict did without, on either side."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        told = f"_IncompatibleKeys(missing_keys={self[0]}, unexpected_keys={self[1]})"
        return told if any(self) else "<All keys matched successfully>"


class _Registry(dict[str, Any]):
    """What a module has of one kind."""

    def __init__(self, owner: Module, items: Any = ()) -> None:
        super().__init__(items)
        self.owner = weakref.proxy(owner)

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self.owner.__dict__[name] = value

    def __delitem__(self, name: str) -> None:
        self.pop(name)

    def pop(self, name: str, *default: Any) -> Any:
        if name in self:
            self.owner.__dict__.pop(name, None)
        return super().pop(name, *default)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)  # Module.__setstate__ makes it a registry again


def _named(kind: str) -> Any:
    def named(
        self: Module, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Named:
        """Pairs of dotted name and tensor, here and below; a shared tensor once."""
        seen = set()
        whole = self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]
        for path, module in whole:
            for name, value in module.__dict__[kind].items():
                if value is not None and id(value) not in seen:
                    if remove_duplicate:
                        seen.add(id(value))
                    yield f"{path}.{name}" if path else name, value

    def unnamed(self: Module, recurse: bool = True) -> Iterator[Any]:
        return (value for _, value in named(self, recurse=recurse))

    return named, unnamed


class Module:
    """A part of a model: what it computes (`forward`), and what it has learned."""

    training = True
    _hooks: ModuleHooks | None = None  # made with the first hook

    def __init__(self) -> None:
        Module.__setstate__(self, {"_non_persistent_buffers_set": set()})

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for kind in _TYPES:
            self.__dict__[kind] = _Registry(self, state.get(kind, ()))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """`forward`, between the hooks."""
        if self._hooks is None:
            return self.forward(*args, **kwargs)
        return self._hooks.call(self, args, kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        name = type(self).__name__
        raise NotImplementedError(f'Module [{name}] is missing the required "forward" function')

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        kind = next((kind for kind in _TYPES if name in own.get(kind, ())), None)
        wanted = "_parameters" if isinstance(value, Parameter) else kind
        if kind != "_parameters" and isinstance(value, Module):
            wanted = "_modules"
        if wanted != kind:
            check(wanted in own, "cannot assign before Module.__init__() call", AttributeError)
            self._forget(name)
        if wanted is None:
            object.__setattr__(self, name, value)
        else:
            own[wanted][name] = _checked(wanted, name, value)

    def __delattr__(self, name: str) -> None:
        if not self._forget(name):
            object.__delattr__(self, name)

    def _forget(self, name: str) -> bool:
        found = self.__dict__.pop(name, _TYPES) is not _TYPES
        for kind in _TYPES:
            self.__dict__[kind].pop(name, None)
        self._non_persistent_buffers_set.discard(name)
        return found

    def _register(self, kind: str, name: str, value: Any) -> None:
        """Add a parameter, buffer or module; None stands for one that is left out.

        Raises:
            TypeError: it is of another class.
            KeyError: the name is taken, empty, or has a dot.
        """
        check(kind in self.__dict__, "cannot assign before Module.__init__() call", AttributeError)
        check(isinstance(name, str), f"name should be a string, not {name!r}", TypeError)
        fits = name in self.__dict__[kind] or not hasattr(self, name)
        check(fits and "." not in name != "", f"name {name!r} is taken, empty or dotted", KeyError)
        self.__dict__[kind][name] = _checked(kind, name, value)

    register_parameter = partialmethod(_register, "_parameters")
    add_module = register_module = partialmethod(_register, "_modules")

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is not learned; in the state_dict if `persistent`."""
        self._register("_buffers", name, tensor)
        (set.discard if persistent else set.add)(self._non_persistent_buffers_set, name)

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Named:
        """Itself and all below it, parents first, with their dotted names."""
        memo = set() if memo is None else memo
        if self not in memo:
            if remove_duplicate:
                memo.add(self)
            yield prefix, self
            for name, module in self._modules.items():
                if module is not None:
                    below = f"{prefix}.{name}" if prefix else name
                    yield from module.named_modules(memo, below, remove_duplicate)

    named_parameters, parameters = _named("_parameters")
    named_buffers, buffers = _named("_buffers")
    _named_modules, _modules_of = _named("_modules")
    named_children = partialmethod(_named_modules, recurse=False)
    children = partialmethod(_modules_of, recurse=False)

    def modules(self) -> Iterator[Module]:
        return (module for _, module in self.named_modules())

    def get_submodule(self, target: str, kind: str = "_modules") -> Any:
        """What has that dotted name; the module itself for "". AttributeError if there is none."""
        found: Any = self
        path = target.split(".") if target else []
        for n, name in enumerate(path, 1):
            registry = kind if n == len(path) else "_modules"
            found = found.__dict__[registry].get(name)
            check(found is not None, f"no {_TYPES[registry][0]} {target!r}", AttributeError)
        return found

    get_parameter = partialmethod(get_submodule, kind="_parameters")
    get_buffer = partialmethod(get_submodule, kind="_buffers")

    def _add_hook(
        self, kind: str, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Add a hook behind the others of its kind, or before them; see ModuleHooks."""
        self._hooks = self._hooks or ModuleHooks()
        return self._hooks.add(kind, hook, prepend, with_kwargs)

    register_forward_pre_hook = partialmethod(_add_hook, "forward_pre")
    register_forward_hook = partialmethod(_add_hook, "forward")
    register_full_backward_pre_hook = partialmethod(_add_hook, "backward_pre")
    register_full_backward_hook = partialmethod(_add_hook, "backward")

    def apply(self: T, fn: Callable[[Module], Any]) -> T:
        """Call `fn` on every submodule, children first, and on the module itself."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self: T, mode: bool = True) -> T:
        """Set `training` here and below."""
        check(isinstance(mode, bool), "training mode is expected to be boolean", ValueError)
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    eval = partialmethod(train, False)

    def requires_grad_(self: T, requires_grad: bool = True) -> T:
        for param in self.parameters():
            param.requires_grad = requires_grad
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients, or fill them with zeros."""
        for param in self.parameters():
            if param.grad is not None:
                param.grad = None if set_to_none else param.grad.detach().zero_()

    def _apply(self: T, fn: Callable[[Tensor], Tensor]) -> T:
        for param in self.parameters():
            grad, param.grad = param.grad, None
            param.data = fn(param.data)
            param.grad = None if grad is None else fn(grad)
        for module in self.modules():
            for name, buffer in module._buffers.items():
                module._buffers[name] = None if buffer is None else fn(buffer)
        return self

    def to(self: T, *args: Any, **kwargs: Any) -> T:
        """Convert floating and complex parameters and buffers, in place; see `Tensor.to`."""
        dtype = _dtype_of(args, kwargs.get("dtype"))
        fits = dtype is None or dtype.kind in "fcV"
        check(fits, f"nn.Module.to only accepts floating point or complex, not {dtype}", TypeError)
        return self._apply(
            lambda x: x if dtype and x.array.dtype.kind not in "fcV" else x.to(*args, **kwargs)
        )

    float, double = partialmethod(to, float32), partialmethod(to, float64)
    half, cpu = partialmethod(to, float16), partialmethod(to, "cpu")

    def cuda(self: T, device: Any = None) -> T:
        """To a CUDA device, the current one by default."""
        return self.to(Device("cuda" if device is None else device))

    def _state(self) -> dict[str, tuple[Module, str, Tensor]]:
        """What is saved, by dotted name: whose it is, its name there, and the tensor."""
        return {
            f"{path}.{name}" if path else name: (module, name, value)
            for path, module in self.named_modules(None, "", False)
            for name, value in (*module._parameters.items(), *module._buffers.items())
            if value is not None and name not in module._non_persistent_buffers_set
        }

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> Any:
        """Parameters and persistent buffers by dotted name, detached unless `keep_vars`."""
        found = self._state().items()
        return OrderedDict((prefix + k, x if keep_vars else x.detach()) for k, (*_, x) in found)

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Copy the values of a state_dict in, or put them in place of the tensors (`assign`).

        Raises:
            RuntimeError: shapes differ, or (if `strict`) keys are missing or unexpected.
        """
        check(hasattr(state_dict, "keys"), f"not dict-like: {type(state_dict)}", TypeError)
        own, errors = self._state(), list[str]()
        missing = [key for key in own if key not in state_dict]
        unexpected = [key for key in state_dict if key not in own]
        for what, keys in ("Missing", missing), ("Unexpected", unexpected):
            if strict and keys:
                told = ", ".join(f'"{key}"' for key in keys)
                errors.append(f"{what} key(s) in state_dict: {told}. ")
        for key, (module, name, held) in own.items():
            value = state_dict.get(key, held)
            if not isinstance(value, Tensor):
                errors.append(f'expected a Tensor as "{key}", not {type(value)}')
            elif value.shape != held.shape:
                sizes = f"{value.shape} from checkpoint, {held.shape} in current model"
                errors.append(f"size mismatch for {key}: {sizes}.")
            elif assign and key in state_dict:
                wanted = isinstance(held, Parameter) and not isinstance(value, Parameter)
                setattr(module, name, Parameter(value, held._rg) if wanted else value)
            elif value is not held:
                with no_grad():
                    held.copy_(value)
        title = f"Error(s) in loading state_dict for {type(self).__name__}:"
        check(not errors, "\n\t".join([title, *errors]))
        return IncompatibleKeys(missing, unexpected)

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands in the brackets of the repr, before the submodules."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr().split("\n")
        lines = [f"({name}): {m!r}".replace("\n", "\n  ") for name, m in self._modules.items()]
        if lines or len(extra) > 1:
            extra = ["\n  ".join(["", *filter(None, extra), *lines]) + "\n"]
        return f"{self._get_name()}({extra[0]})"


_TYPES = {"_parameters": ("parameter", Parameter), "_modules": ("module", Module)}
_TYPES |= {"_buffers": ("buffer", Tensor)}


def _checked(kind: str, name: str, value: Any) -> Any:
    what, wanted = _TYPES[kind]
    fits = value is None or isinstance(value, wanted)
    check(fits, f"cannot assign a {type(value).__name__} as {what} {name!r}", TypeError)
    return value
