"""GradScaler: losses multiplied, so that small gradients are not lost in 16 bits.

    scaler.scale(loss).backward()
    scaler.step(optimizer)        # divides the gradients; leaves the step out where one overflowed
    scaler.update()               # the factor shrinks after an overflow, grows after many steps

Source: torch/amp/grad_scaler.py.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..accelerator import is_available
from ..core.aten import aten
from ..engine.grad_mode import no_grad
from ..engine.hooks import check
from ..engine.tensor import Tensor
from ..ops.make import composite

_TWICE = "unscale_() has already been called on this optimizer since the last update()."
_LATE = "unscale_() is being called after step()."
_STEPPED = "step() has already been called since the last update()."
_SAVED = {"scale": "_value", "growth_factor": "_growth", "backoff_factor": "_backoff"}
_SAVED |= {"growth_interval": "_interval", "_growth_tracker": "_steps"}


@composite(name="aten::_amp_foreach_non_finite_check_and_unscale_")
def _check_and_unscale(grads: list[Tensor], found_inf: Tensor, inverse: Tensor) -> None:
    """Multiply gradients by `inverse`; `found_inf` becomes 1 where one is not finite."""
    for grad in grads:
        array = grad.array
        if not np.isfinite(array).all():
            found_inf.array[...] = 1
        array *= inverse.array.astype(array.dtype)


class GradScaler:
    """Keeps the factor; on `cuda` without a device it is switched off, with a warning."""

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and device == "cuda" and not is_available():
            told = "GradScaler is enabled, but CUDA is not available.  Disabling."
            warnings.warn(told, stacklevel=2)
            enabled = False
        check(growth_factor > 1.0 or not enabled, "The growth factor must be > 1.0.", ValueError)
        check(backoff_factor < 1.0 or not enabled, "The backoff factor must be < 1.0.", ValueError)
        self._device, self._enabled = device, enabled
        self._value, self._steps = float(init_scale), 0
        self._growth, self._backoff, self._interval = growth_factor, backoff_factor, growth_interval
        self._found: dict[int, list[Tensor]] = {}  # by optimizer: 1 where gradients are not finite
        self._stepped: set[int] = set()
        self._overflowed = False  # in a step since the last update

    def scale(self, outputs: Any) -> Any:
        """Multiply losses by the factor: a tensor, or a list or tuple of them."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._tensor(outputs.device)
        several = hasattr(outputs, "__iter__")
        check(several, "outputs must be a Tensor or an iterable of Tensors", ValueError)
        return type(outputs)(self.scale(each) for each in outputs)

    def _tensor(self, device: Any) -> Tensor:
        found: Tensor = aten.full((), self._value, dtype=np.float32, device=device)
        return found

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of its parameters, once an update; else `step` does it."""
        if not self._enabled:
            return
        check(id(optimizer) not in self._stepped, _LATE)
        check(id(optimizer) not in self._found, _TWICE)
        grads: dict[Any, list[Tensor]] = {}
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    half = p.grad.array.dtype == np.float16
                    check(not half, "Attempting to unscale FP16 gradients.", ValueError)
                    grads.setdefault(p.grad.device, []).append(p.grad)
        check(bool(grads), "No inf checks were recorded for this optimizer.", AssertionError)
        with no_grad():
            several = []
            for device, each in grads.items():
                found_inf = aten.zeros((), dtype=np.float32, device=device)
                inverse = aten.full((), 1.0 / self._value, dtype=np.float32, device=device)
                _check_and_unscale(each, found_inf, inverse)
                several.append(found_inf)
        self._found[id(optimizer)] = several

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Make a step of the optimizer, unless a gradient is not finite: to know that the host
        waits for the device.
        """
        check("closure" not in kwargs, "Closure use is not currently supported", RuntimeError)
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        check(id(optimizer) not in self._stepped, _STEPPED)
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        overflows = any(x.item() for x in self._found[id(optimizer)])
        self._overflowed |= overflows
        return None if overflows else optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Adjust the factor, or set it."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._value = float(new_scale)
        else:
            check(bool(self._found), "No inf checks were recorded prior to update.", AssertionError)
            late = [each for key, each in self._found.items() if key not in self._stepped]
            if self._overflowed or any(found.item() for each in late for found in each):
                self._value, self._steps = self._value * self._backoff, 0
            else:
                self._steps += 1
                if self._steps == self._interval:
                    self._value, self._steps = self._value * self._growth, 0
        self._found.clear()
        self._stepped.clear()
        self._overflowed = False

    def get_scale(self) -> float:
        """Return the factor; 1 if it is not enabled."""
        return self._value if self._enabled else 1.0

    def is_enabled(self) -> bool:
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the factor and its rules; {} if it is not enabled."""
        if not self._enabled:
            return {}
        return {key: getattr(self, own) for key, own in _SAVED.items()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave; RuntimeError if that is empty (it was not enabled)."""
        if not self._enabled:
            return
        check(bool(state_dict), "The source state dict is empty")
        for key, own in _SAVED.items():
            setattr(self, own, state_dict[key])
