# ruff: noqa: PLR0912  (a maker is one function with its operator inside)
# mypy: disable-error-code="no-any-return"
"""The maker of in-place operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import result_dtype
from ..grad_mode import is_grad_enabled
from ..tensor import Tensor, bump_version, gradient_edge
from ..view import check_inplace, rebase_history
from .table import Call, Op, _finished, _save_result, bind, gather, interpose, needs_grad, raw


def inplace(name: str, source: Call) -> Call:
    """The in-place form of an operator: writes to `self`, and counts its version up."""
    base: Op = source.op  # type: ignore[attr-defined]
    forward, plans = base.forward, base.plans
    ufunc = isinstance(forward, np.ufunc)
    declared = Op(name, forward, base.inputs, {})
    declared.plans, declared.node_class, declared.params = plans, base.node_class, base.params
    count = len(base.inputs)

    def make(active: Any, inner: Call | None) -> Call:
        def call(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
            if ufunc and not active and len(args) == 1 and not is_grad_enabled():
                other, array = args[0], self.array
                if other.__class__ is Tensor and other.array.dtype is array.dtype:
                    other = other.array
                    quick = array.dtype.kind == "f" and other.shape == array.shape
                else:
                    quick = other.__class__ is float and array.dtype.kind == "f"
                if quick:
                    forward(array, other, array)
                    bump_version(self)
                    return self
            if not ufunc and (kwargs or len(args) + 1 < len(base.params)):
                args = bind(forward, (self, *args), kwargs)[1:]
            if active:
                return interpose(name, inner, (self, *args))  # type: ignore[arg-type]
            every = (self, *args)
            needs = [needs_grad(x) for x in every[:count]]
            recording = True in needs and is_grad_enabled()
            check_inplace(self, recording)
            if recording:
                values = gather(base, every, needs, copy_self=True)
                edges = tuple(
                    gradient_edge(x) if n else (None, 0)
                    for x, n in zip(every, needs)  # noqa: B905
                )
            array = self.array
            arrays = [raw(x) for x in every]
            for other in arrays[1:count]:
                if other is not None and other.__class__ is not bool:
                    _same_kind(name, array, other)
            try:
                if ufunc:
                    forward(*arrays, out=array, casting="unsafe")
                else:
                    result = forward(*arrays)
                    if np.shape(result) != array.shape:
                        raise ValueError(
                            f"output with shape {list(array.shape)} doesn't match the "
                            f"broadcast shape {list(np.shape(result))}"
                        )
                    array[...] = result
            except (ValueError, TypeError) as error:
                raise RuntimeError(f"{name}: {error}") from None
            bump_version(self)
            if recording:
                _save_result(base, needs, values, self)
                node = base.node_class(edges, ((array.shape, array.dtype),), values)
                rebase_history(self, node)
            return self

        return call

    return _finished(declared, make)


def _same_kind(name: str, array: Any, other: Any) -> None:
    found = result_dtype(array, other)
    order = "buifc"
    if order.index(found.kind.replace("u", "i")) > order.index(array.dtype.kind.replace("u", "i")):
        raise RuntimeError(
            f"{name}: result type {found} can't be cast to the desired output type {array.dtype}"
        )
