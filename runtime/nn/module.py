"""Module: parameters, buffers and submodules by name, and what is done to all of them.

Each stands in two dicts: in the instance's `__dict__`, so that reading `self.weight` is a plain
attribute read, and in `_parameters`, `_buffers` or `_modules`, where a change made by `[name] =`,
`del` or `pop` reaches the first too.

Source: torch/nn/modules/module.py.
"""

# mypy: disable-error-code="attr-defined"

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import partialmethod
from typing import Any, TypeVar

from ..core import dtypes
from ..core.device import Device
from ..core.dtypes import float16, float32, float64
from ..engine.hooks import Hook, HookDict, RemovableHandle, check
from ..engine.tensor import Tensor
from ..ops.conversion import _dtype_of
from .module_hooks import ModuleHooks
from .module_state import ModuleState
from .parameter import Parameter

T = TypeVar("T", bound="Module")
Named = Iterator[tuple[str, Any]]
# Called with the module, the name and what it is given, in place of which they may return another.
_global_parameter_registration_hooks, _global_module_registration_hooks = HookDict(), HookDict()
_global_buffer_registration_hooks = HookDict()


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
        """Return pairs of dotted name and tensor, here and below; a shared tensor once."""
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


class Module(ModuleState):
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

    def __getattr__(self, name: str) -> Any:
        """What stands in a registry alone: a module may be given a dict in place of one."""
        for kind in _TYPES:
            if name in self.__dict__.get(kind, ()):
                return self.__dict__[kind][name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if name in _TYPES:
            for old in own.get(name, ()):
                own.pop(old, None)
            own[name] = registry = _Registry(self, value)
            own.update(registry)
            return
        kind = next((kind for kind in _TYPES if name in own.get(kind, ())), None)
        wanted = "_parameters" if isinstance(value, Parameter) else kind
        if kind != "_parameters" and isinstance(value, Module):
            wanted = "_modules"
        if wanted != kind:
            check(wanted in own, "cannot assign before Module.__init__() call", AttributeError)
            self._forget(name)
            if wanted == "_parameters" and isinstance(getattr(type(self), name, None), property):
                raise KeyError(f"attribute '{name}' already exists")
        if wanted is None:
            object.__setattr__(self, name, value)
        else:
            own[wanted][name] = _checked(self, wanted, name, value)

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
        """Add a parameter, buffer or module, or None; KeyError if its name is taken or dotted."""
        check(kind in self.__dict__, "cannot assign before Module.__init__() call", AttributeError)
        check(isinstance(name, str), f"name should be a string, not {name!r}", TypeError)
        fits = name in self.__dict__[kind] or not hasattr(self, name)
        check(fits and "." not in name != "", f"name {name!r} is taken, empty or dotted", KeyError)
        self.__dict__[kind][name] = _checked(self, kind, name, value)

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
        """Return what has that dotted name, itself for ""; AttributeError if there is none."""
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

    _forward_pre_hooks = property(lambda self: self._hooks.forward_pre if self._hooks else {})
    _forward_hooks = property(lambda self: self._hooks.forward if self._hooks else {})
    _backward_hooks = property(lambda self: self._hooks.backward if self._hooks else {})
    register_forward_pre_hook = partialmethod(_add_hook, "forward_pre")
    register_forward_hook = partialmethod(_add_hook, "forward")
    register_full_backward_pre_hook = partialmethod(_add_hook, "backward_pre")
    register_full_backward_hook = partialmethod(_add_hook, "backward")
    register_backward_hook = register_full_backward_hook
    register_state_dict_pre_hook = partialmethod(_add_hook, "state_dict_pre")
    register_state_dict_post_hook = _register_state_dict_hook = partialmethod(
        _add_hook, "state_dict"
    )
    register_load_state_dict_pre_hook = partialmethod(_add_hook, "load_pre")
    register_load_state_dict_post_hook = partialmethod(_add_hook, "load_post")

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
        told = f"nn.Module.to only accepts floating point or complex, not {dtype}"
        check(dtype is None or dtype.kind in "fcV", told, TypeError)
        layout = kwargs.pop("memory_format", None)

        def moved(x: Tensor) -> Tensor:
            found = x if dtype and x.array.dtype.kind not in "fcV" else x.to(*args, **kwargs)
            return found.to(memory_format=layout) if layout and x.array.ndim in (4, 5) else found

        return self._apply(moved)

    float, double = partialmethod(to, float32), partialmethod(to, float64)
    half, cpu = partialmethod(to, float16), partialmethod(to, "cpu")

    def type(self: T, dst_type: Any) -> T:
        """Convert all parameters and buffers, in place."""
        return self._apply(lambda x: x.to(dst_type))

    def share_memory(self: T) -> T:
        return self._apply(lambda x: x.share_memory_())

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Nothing is compiled here."""

    def bfloat16(self: T) -> T:
        return self.to(dtypes.bfloat16)

    def cuda(self: T, device: Any = None) -> T:
        """To a CUDA device, the current one by default."""
        return self.to(Device("cuda" if device is None else device))

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return what stands in the brackets of the repr, before the submodules."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr().split("\n")
        lines = [f"({name}): {m!r}".replace("\n", "\n  ") for name, m in self._modules.items()]
        if lines or len(extra) > 1:
            extra = ["\n  ".join(["", *filter(None, extra), *lines]) + "\n"]
        return f"{self._get_name()}({extra[0]})"


_TYPES = {"_parameters": ("parameter", Parameter), "_modules": ("module", Module)}
_TYPES |= {"_buffers": ("buffer", Tensor)}


_GIVEN = {
    "_parameters": _global_parameter_registration_hooks,
    "_modules": _global_module_registration_hooks,
    "_buffers": _global_buffer_registration_hooks,
}


def _checked(owner: Module, kind: str, name: str, value: Any) -> Any:
    """Return what a module gets under a name: `value`, or what a hook makes of it."""
    what, wanted = _TYPES[kind]
    fits = value is None or isinstance(value, wanted)
    check(fits, f"cannot assign a {type(value).__name__} as {what} {name!r}", TypeError)
    if value is not None:
        for hook in tuple(_GIVEN[kind].values()):
            found = hook(owner, name, value)
            value = value if found is None else found
    return value
