"""What of a module is saved in a state_dict, and how it comes back.

Source: torch/nn/modules/module.py.
"""

# mypy: disable-error-code="attr-defined"

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

from ..engine.grad_mode import no_grad
from ..engine.hooks import Hook, RemovableHandle, check
from ..engine.tensor import Tensor
from .parameter import Parameter


class IncompatibleKeys(NamedTuple):
    """What load_state_dict did without, on either side."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        told = f"_IncompatibleKeys(missing_keys={self[0]}, unexpected_keys={self[1]})"
        return told if any(self) else "<All keys matched successfully>"


class ModuleState:
    """The part of Module that saves and loads."""

    _hooks: Any

    def _saved(self) -> dict[str, Tensor]:
        """Its own parameters and persistent buffers, by name."""
        every = {**self._parameters, **self._buffers}
        hidden = self._non_persistent_buffers_set
        return {k: x for k, x in every.items() if x is not None and k not in hidden}

    def state_dict(
        self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """Parameters and persistent buffers by dotted name, detached unless `keep_vars`."""
        found = OrderedDict() if destination is None else destination
        self._run("state_dict_pre", prefix, keep_vars)
        self._save_to_state_dict(found, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=found, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        self._run("state_dict", found, prefix, {})
        return found

    def _run(self, kind: str, *args: Any) -> None:
        for hook in tuple(getattr(self._hooks, kind).values()) if self._hooks else ():
            hook(self, *args)

    def _register_load_state_dict_pre_hook(
        self, hook: Hook, with_module: bool = False
    ) -> RemovableHandle:
        """A hook that may change what is loaded; see `_load_from_state_dict` for what it gets."""
        made = hook if with_module else lambda module, *args: hook(*args)
        return self._add_hook("load_pre", made)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put what is this module's own into `destination`; for subclasses that have more."""
        for name, value in self._saved().items():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not ModuleState.get_extra_state:
            destination[f"{prefix}_extra_state"] = self.get_extra_state()

    def get_extra_state(self, state: Any = None) -> Any:
        """Return what a subclass saves beside tensors; `set_extra_state` gets it back."""
        raise RuntimeError("get/set_extra_state() is called, but not implemented by this module")

    set_extra_state = get_extra_state

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Copy the values of a state_dict in, or put them in place of the tensors (`assign`)."""
        check(hasattr(state_dict, "keys"), f"not dict-like: {type(state_dict)}", TypeError)
        found = IncompatibleKeys([], [])
        errors, metadata = list[str](), {"assign_to_params_buffers": assign}
        state = OrderedDict(state_dict)
        whole = list(self.named_modules(None, "", False))
        for path, module in whole:
            args = state, f"{path}." if path else "", metadata, True, *found, errors
            module._run("load_pre", *args)
            module._load_from_state_dict(*args)
        for _, module in whole[::-1]:
            module._run("load_post", found)
        for what, keys in zip(("Missing", "Unexpected"), found if strict else (), strict=False):
            if keys:
                errors.insert(0, f"{what} key(s) in state_dict: {str(keys)[1:-1]}. ")
        title = f"Error(s) in loading state_dict for {type(self).__name__}:"
        check(not errors, "\n\t".join([title, *errors]))
        return found

    def _load_from_state_dict(
        self,
        state_dict: Any, prefix: str, local_metadata: dict[str, Any], strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Take what is this module's own; note keys that are missing, unexpected or do not fit."""
        own = self._saved()
        for name, held in own.items():
            if prefix + name not in state_dict:
                missing_keys.append(prefix + name)
                continue
            value = state_dict[prefix + name]
            if not isinstance(value, Tensor):
                error_msgs.append(f'expected a Tensor as "{prefix + name}", not {type(value)}')
            elif value.shape != held.shape:
                sizes = f"{value.shape} from checkpoint, {held.shape} in current model"
                error_msgs.append(f"size mismatch for {prefix + name}: {sizes}.")
            elif local_metadata.get("assign_to_params_buffers"):
                wanted = isinstance(held, Parameter) and not isinstance(value, Parameter)
                setattr(self, name, Parameter(value, held._rg) if wanted else value)
            elif value is not held:
                with no_grad():
                    held.copy_(value)
        extra = f"{prefix}_extra_state"
        takes = type(self).set_extra_state is not ModuleState.set_extra_state
        if takes and extra in state_dict:
            self.set_extra_state(state_dict[extra])
        elif takes:
            missing_keys.append(extra)
        for key in state_dict if strict else ():
            if key.startswith(prefix) and (key != extra or not takes):
                first, dot, _ = key[len(prefix) :].partition(".")
                if not ((dot and first in self._modules) or (not dot and first in own)):
                    unexpected_keys.append(key)
