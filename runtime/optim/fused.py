"""`fused=True`: one operator updates all parameters of a group that share a device and a dtype.

The operators are `_fused_adam_`, `_fused_adamw_`, `_fused_sgd_` and `_fused_adagrad_`. Each runs an
update of updates.py on arrays, which gives the numbers of the single-tensor form to the last bit,
and returns the tensors that it wrote to.

`step` of a fused Adam or Adagrad lies on the parameter's device: nothing on the host reads it.

Source: torch/optim/adam.py, sgd.py, adagrad.py; native/cuda/fused_adam_impl.cu, FusedSgdKernel.cu.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.aten import aten
from ..core.dtypes import in_float32
from ..engine.hooks import check
from ..engine.tensor import Tensor, bump_version
from ..ops.creation import tensor
from ..ops.foreach import OPERATORS
from ..ops.make import composite
from . import updates
from .forms import ArrayForm

Group = dict[str, Any]
Tensors = Sequence[Tensor]
MOMENTS = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")


def refuse_unfit(group: Group) -> None:
    """Refuse `fused=True` beside `foreach`, and for parameters that are not floating point."""
    check(not group.get("foreach"), "`fused` and `foreach` cannot be `True` together.")
    for p in group["params"]:
        text = "`fused=True` requires all the params to be floating point Tensors"
        check(p.is_floating_point(), f"{text}, but one is {p.dtype} and {p.device}")


def step_zero(param: Tensor, group: Group) -> Tensor:
    """Return the number of steps done, before the first."""
    if not group.get("fused"):
        return tensor(0.0)
    found: Tensor = aten.zeros((), dtype=np.float32, device=param.device)
    return found


def update(group: Group, params: list[Tensor], states: list[dict[str, Any]]) -> None:
    """Make one step of parameters of one device and dtype, whose states have the same keys."""
    grads: list[Any] = [p._grad for p in params]
    check(not any(g.is_sparse for g in grads), "`fused` does not support sparse gradients")
    if "lr_decay" in group:
        operator, own = _fused_adagrad_, dict[str, Any]()
    elif "betas" in group:
        operator = _fused_adamw_ if group["decoupled_weight_decay"] else _fused_adam_
        own = {"beta1": group["betas"][0], "beta2": group["betas"][1]}
    else:
        first = bool(group["momentum"]) and "momentum_buffer" not in states[0]
        operator, own = _fused_sgd_, {"is_first_step": first}
        for state, grad in zip(states, grads, strict=True) if first else ():
            state["momentum_buffer"] = aten.empty_like(grad)
    if "step" in states[0]:
        OPERATORS["_foreach_add_"]([state["step"] for state in states], 1)
    lists = [[state[name] for state in states if name in state] for name in operator.states]
    known = {**group, **own}
    operator(params, grads, *lists, **{name: known[name] for name in operator.options})


def _operator(
    name: str, run: Callable[..., None], states: Sequence[str], options: str, **fixed: Any
) -> Any:
    """`_fused_<name>_(params, grads, *lists, **options)`: `run`, an update, on arrays.

    There is a list for each of `states`, empty where the options ask for no such state. The
    operator returns the tensors that it wrote to: parameters and states.
    """

    @np.errstate(all="ignore")
    def call(params: Tensors, grads: Tensors, *lists: Tensors, **group: Any) -> list[Tensor]:
        group |= fixed
        given = {key: rows for key, rows in zip(states, lists, strict=True) if rows}
        steps = given.pop("step", None)
        if "beta1" in group:
            group["betas"] = (group["beta1"], group["beta2"])
        if group.get("is_first_step"):  # the update finds zeros, and adds the whole gradient
            group["dampening"] = 0.0
            for buffer in given["momentum_buffer"]:
                buffer.array[...] = 0
        for row, (param, grad) in enumerate(zip(params, grads, strict=True)):
            written = [param, *(rows[row] for rows in given.values())]
            own = [ArrayForm(in_float32(x.array)) for x in written]
            state: Group = dict(zip(given, own[1:], strict=True))
            if steps is not None:
                state["step"] = float(steps[row].array)
            run(own[0], ArrayForm(in_float32(grad.array)), state, group)
            for one, form in zip(written, own, strict=True):
                if one.array.dtype is not form.array.dtype:
                    one.array[...] = form.array  # rounded to 16 bits
        written = list(itertools.chain(params, *given.values()))
        for each in written:
            bump_version(each)
        return written

    call.__name__, call.__doc__ = f"_fused_{name}_", f"{run.__doc__}\n\nLists: {', '.join(states)}."
    made: Any = composite("torch", f"aten::_fused_{name}_")(call)
    made.states, made.options = states, ["lr", "weight_decay", "maximize", *options.split()]
    return made


_fused_sgd_ = _operator(
    "sgd", updates.sgd, ["momentum_buffer"], "momentum dampening nesterov is_first_step"
)
_of_adam: Any = ((*MOMENTS, "step"), "beta1 beta2 eps amsgrad")
_fused_adam_ = _operator("adam", updates.adam, *_of_adam, decoupled_weight_decay=False)
_fused_adamw_ = _operator("adamw", updates.adam, *_of_adam, decoupled_weight_decay=True)
_fused_adagrad_ = _operator("adagrad", updates.adagrad, ["sum", "step"], "lr_decay eps")
