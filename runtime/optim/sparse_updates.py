"""How a parameter is updated along a sparse gradient: in the rows that it has, and no others.

Source: torch/optim/_functional.py, adagrad.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.hooks import check
from ..engine.tensor import Tensor, bump_version

State = dict[str, Any]
Group = dict[str, Any]


def _rows(grad: Any, group: Group) -> tuple[Any, Any]:
    """Which rows there are, each once, and their values."""
    coo = grad.coalesce().array
    return coo.indices[0], -coo.values if group["maximize"] else coo.values


def adagrad(param: Tensor, grad: Tensor, state: State, group: Group) -> None:
    """Adagrad (Duchi et al., 2011)."""
    check(not group["weight_decay"], "weight_decay is not compatible with sparse gradients")
    state["step"].add_(1.0)
    rate = group["lr"] / (1 + (state["step"].item() - 1) * group["lr_decay"])
    rows, values = _rows(grad, group)
    total = state["sum"].array
    total[rows] += values * values
    param.array[rows] -= rate * (values / (np.sqrt(total[rows]) + group["eps"]))
    bump_version(state["sum"])
    bump_version(param)


def sparse_adam(param: Tensor, grad: Any, state: State, group: Group) -> None:
    """Adam (Kingma and Ba, 2014)."""
    check(grad.is_sparse, "SparseAdam does not support dense gradients, please consider Adam")
    state["step"] += 1
    (beta1, beta2), step = group["betas"], state["step"]
    rows, values = _rows(grad, group)
    mean, square = state["exp_avg"].array, state["exp_avg_sq"].array
    mean[rows] += (values - mean[rows]) * (1 - beta1)
    square[rows] += (values * values - square[rows]) * (1 - beta2)
    rate = group["lr"] * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
    param.array[rows] -= rate * mean[rows] / (np.sqrt(square[rows]) + group["eps"])
    for written in (state["exp_avg"], state["exp_avg_sq"], param):
        bump_version(written)
