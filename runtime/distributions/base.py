"""What distributions share. Source: torch/distributions/distribution.py, constraints.py."""

# mypy: disable-error-code="attr-defined, no-any-return, misc"

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar

from ..core.aten import aten
from ..core.dtypes import get_default_dtype
from ..engine.grad_mode import no_grad
from ..engine.hooks import check
from ..engine.tensor import Size, Tensor
from ..ops.make import device_like

Shape = Any


def tensors(*values: Any) -> list[Tensor]:
    """Numbers and tensors as tensors of one shape."""
    given = [x for x in values if isinstance(x, Tensor)]
    dtype = given[0].dtype if given else get_default_dtype()
    kind = {"dtype": dtype, "device": device_like(given[0]) if given else None}
    made = [x if isinstance(x, Tensor) else aten.full((), x, **kind) for x in values]
    return list(aten.broadcast_tensors(*made))


class Distribution:
    """What a subclass says: its parameters, `log_prob`, and how a sample is drawn."""

    has_rsample = False
    rules: ClassVar[dict[str, str]] = {}  # what holds of parameters, for those who check
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions made from now on check their arguments by default."""
        check(value in (True, False), f"a bool is needed, not {value!r}", ValueError)
        Distribution._validate_args = value

    def __init__(self, batch_shape: Shape = (), event_shape: Shape = (), validate_args: Any = None):
        self.batch_shape, self.event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        for name, rule in self.rules.items() if self._validate_args else ():
            if isinstance(vars(self).get(name), Tensor):
                hold(rule, getattr(self, name), f"parameter {name}", type(self).__name__)

    def _shaped(self, sample_shape: Shape = ()) -> tuple[int, ...]:
        return (*sample_shape, *self.batch_shape, *self.event_shape)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Drawn without a graph."""
        with no_grad():
            return self._drawn(sample_shape)

    def _drawn(self, sample_shape: Shape) -> Tensor:
        return self.rsample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        raise NotImplementedError

    def expand(self, batch_shape: Shape) -> Any:
        """Return the same with its parameters expanded to this batch."""
        made, have = copy.copy(self), len(self.batch_shape)
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                made.__dict__[name] = value.expand((*batch_shape, *value.array.shape[have:]))
            elif isinstance(value, Distribution):
                inner = len(value.batch_shape) - have
                last = tuple(value.batch_shape)[len(value.batch_shape) - inner :] if inner else ()
                made.__dict__[name] = value.expand((*batch_shape, *last))
        made.batch_shape = Size(batch_shape)
        return made

    def _valid(self, rule: str, value: Any) -> Any:
        if self._validate_args:
            told = "The value argument to log_prob must be a Tensor"
            check(isinstance(value, Tensor), told, ValueError)
            hold(rule, value, "the value argument", type(self).__name__)
        return value

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    def __repr__(self) -> str:
        shown = [(n, x) for n in self.rules if isinstance(x := vars(self).get(n), Tensor)]
        texts = [f"{n}: {x.item() if x.numel() == 1 else x.size()}" for n, x in shown]
        return f"{type(self).__name__}({', '.join(texts)})"


_RULES: dict[str, Callable[[Any], Any]] = {
    "real": lambda x: x == x,  # noqa: PLR0124  (NaN is not)
    "positive": lambda x: x > 0,
    "nonnegative": lambda x: x >= 0,
    "unit": lambda x: (x >= 0) & (x <= 1),
    "boolean": lambda x: (x == 0) | (x == 1),
    "count": lambda x: (x >= 0) & (x % 1 == 0),
    "simplex": lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6),
    "rows": lambda x: (x == x).all(-1),  # noqa: PLR0124
}


def hold(rule: str, value: Tensor, what: str, name: str) -> None:
    if not _RULES[rule](value).all():  # of a device the host waits for it, as PyTorch has it
        told = f"Expected {what} ({value.shape}) of distribution {name}"
        raise ValueError(f"{told} to be {rule}, but got {value}")


def random(shape: Shape, like: Tensor, normal: bool = False) -> Tensor:
    draw = aten.randn if normal else aten.rand
    return draw(tuple(shape), dtype=like.dtype, device=device_like(like))
