"""Module: parameters, buffers and submodules by name, and what is done to all of them.

Each stands in two dicts: in the instance's `__dict__`, so that reading `self.weight` is a plain
attribute read, and in `_parameters`, `_buffers` or `_modules`, where a change made by `[name] =`,
`del` or `pop` reaches the first too.

Source: torch/nn/modules/module.py.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ..hooks import Hook, RemovableHandle
from ..tensor import Tensor, shape_name
from .module_hooks import ModuleHooks
from .parameter import Parameter
from .state import Stateful

T = TypeVar("T", bound="Module")
Named = Iterator[tuple[str, Any]]


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


def _named(kind: str) -> Callable[..., Named]:
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

    return named


def _hook(kind: str) -> Callable[..., RemovableHandle]:
    def register_hook(
        self: Module, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Add a hook behind the others of its kind, or before them; see ModuleHooks."""
        if self._hooks is None:
            self.__dict__["_hooks"] = ModuleHooks()
        return self._hooks.add(kind, hook, prepend, with_kwargs)  # type: ignore[union-attr]

    return register_hook


class Module(Stateful):
    """A part of a model: what it computes (`forward`), and what it has learned."""

    training = True
    _hooks: ModuleHooks | None = None  # made with the first hook
    forward: Callable[..., Any]

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

    # Names

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        kind = next((kind for kind in _TYPES if name in own.get(kind, ())), None)
        wanted = "_parameters" if isinstance(value, Parameter) else kind
        if kind != "_parameters" and isinstance(value, Module):
            wanted = "_modules"
        if wanted != kind:
            if wanted not in own:
                what = "module" if wanted == "_modules" else "parameters"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            self._forget(name)
            kind = wanted
        if kind is None:
            object.__setattr__(self, name, value)
        else:
            own[kind][name] = _checked(kind, name, value)

    def __delattr__(self, name: str) -> None:
        if not self._forget(name):
            object.__delattr__(self, name)

    def _forget(self, name: str) -> bool:
        found = self.__dict__.pop(name, _TYPES) is not _TYPES
        for kind in _TYPES:
            self.__dict__[kind].pop(name, None)
        self._non_persistent_buffers_set.discard(name)
        return found

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name[0].isdigit()]

    def _register(self, kind: str, name: str, value: Any) -> None:
        what = _TYPES[kind][0].split()[-1]
        if kind not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if not name or "." in name:
            wrong = 'contain "."' if name else 'be empty string ""'
            raise KeyError(f"{what} name can't {wrong}, got: {name}")
        if hasattr(self, name) and name not in self.__dict__[kind]:
            raise KeyError(f"attribute '{name}' already exists")
        self.__dict__[kind][name] = _checked(kind, name, value)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter; None stands for one that is left out.

        Raises:
            TypeError: not a Parameter.
            KeyError: the name is taken, empty, or has a dot. So also of the two below.
        """
        self._register("_parameters", name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is not learned; in the state_dict if `persistent`."""
        self._register("_buffers", name, tensor)
        (set.discard if persistent else set.add)(self._non_persistent_buffers_set, name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule."""
        self._register("_modules", name, module)

    register_module = add_module

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

    def named_children(self) -> Named:
        """The direct submodules with their names."""
        return _named("_modules")(self, recurse=False)

    named_parameters, named_buffers = _named("_parameters"), _named("_buffers")

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """As named_parameters, without names. So also the three below."""
        return (found for _, found in self.named_parameters(recurse=recurse))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        return (found for _, found in self.named_buffers(recurse=recurse))

    def children(self) -> Iterator[Module]:
        return (found for _, found in self.named_children())

    def modules(self) -> Iterator[Module]:
        return (found for _, found in self.named_modules())

    def get_submodule(self, target: str, kind: str = "_modules") -> Any:
        """What has that dotted name; the module itself for "".

        Raises:
            AttributeError: there is none. So also of the two below.
        """
        found: Any = self
        path = target.split(".") if target else []
        for name, registry in zip(path, ["_modules"] * (len(path) - 1) + [kind], strict=False):
            if found.__dict__.get(registry, {}).get(name) is None:
                here = f"{type(found).__name__} has no attribute `{name}`"
                raise AttributeError(here + f" that is a {_TYPES[registry][0]}")
            found = found.__dict__[registry][name]
        return found

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of that dotted name."""
        return self.get_submodule(target, "_parameters")  # type: ignore[no-any-return]

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of that dotted name."""
        return self.get_submodule(target, "_buffers")  # type: ignore[no-any-return]

    register_forward_pre_hook, register_forward_hook = _hook("forward_pre"), _hook("forward")
    register_full_backward_pre_hook = _hook("backward_pre")
    register_full_backward_hook = _hook("backward")

    # All at once

    def apply(self: T, fn: Callable[[Module], Any]) -> T:
        """Call `fn` on every submodule, children first, and on the module itself."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self: T, mode: bool = True) -> T:
        """Set `training` here and below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: T) -> T:
        """`train(False)`."""
        return self.train(False)

    def requires_grad_(self: T, requires_grad: bool = True) -> T:
        """Set `requires_grad` of all parameters."""
        for param in self.parameters():
            param.requires_grad = requires_grad
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients, or fill them with zeros."""
        for param in self.parameters():
            if param.grad is not None:
                param.grad = None if set_to_none else param.grad.detach().zero_()

    # Text

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands in the brackets of the repr, before the submodules."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr().split("\n")
        lines = [f"({name}): {m!r}".replace("\n", "\n  ") for name, m in self._modules.items()]
        if lines or len(extra) > 1:
            lines = ["", *filter(None, extra), *lines]
            extra = ["\n  ".join(lines) + "\n"]
        return f"{self._get_name()}({extra[0]})"


def _unimplemented(self: Module, *args: Any) -> Any:
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function'
    )


Module.forward = _unimplemented
_TYPES = {
    "_parameters": ("parameter", Parameter, "torch.nn.Parameter"),
    "_modules": ("child module", Module, "torch.nn.Module"),
    "_buffers": ("buffer", Tensor, "torch.Tensor"),
}


def _checked(kind: str, name: str, value: Any) -> Any:
    what, wanted, told = _TYPES[kind]
    if value is not None and not isinstance(value, wanted):
        tensor = isinstance(value, Tensor)
        given = shape_name(value.array).split()[0] if tensor else type(value).__name__
        raise TypeError(f"cannot assign '{given}' as {what} '{name}' ({told} or None expected)")
    return value
