"""How one parameter is updated, stated once for each algorithm and run in any form (forms.py).

Each takes the parameter, its gradient, its state by name and the options of its group, and writes
to the parameter and its state.

Source: torch/optim/sgd.py, adam.py, rmsprop.py, adagrad.py, adadelta.py, adamax.py, nadam.py,
radam.py, rprop.py, asgd.py, _functional.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor, bump_version
from ..ops.creation import as_tensor
from .forms import TensorList, each

State = dict[str, Any]
Group = dict[str, Any]


def _begin(param: Any, grad: Any, state: State, group: Group) -> Any:
    """Count the step and decay the weights; give the gradient to descend along.

    It has the decay as an L2 penalty where that is not decoupled from it.

    Where a step is a plain number it is counted already: those of the `_fused_` operators.
    """
    if group["maximize"]:
        grad = grad.neg()
    if "step" in state and state["step"].__class__ is not float:
        state["step"].add_(1.0)
    decay = group.get("weight_decay")
    if decay and group.get("decoupled_weight_decay"):
        param.mul_(1 - group["lr"] * decay)
    elif decay:
        grad = grad.add(param, alpha=decay)
    return grad


def _moments(grad: Any, state: State, group: Group) -> tuple[Any, Any]:
    """The averages of the gradient and of its square, with this gradient."""
    beta1, beta2 = group["betas"]
    mean = state["exp_avg"].lerp_(grad, 1 - beta1)
    return mean, state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)


def _raised(state: State, key: str, other: Any) -> Any:
    """The greater of a state and `other`, which becomes that state."""
    now = state[key]
    state[key] = now.maximum(other) if isinstance(now, Tensor) else now.maximum_(other)
    return state[key]


def sgd(param: Any, grad: Any, state: State, group: Group) -> None:
    """Gradient descent; with momentum, the rate stays outside the buffer."""
    grad, momentum = _begin(param, grad, state, group), group["momentum"]
    if momentum:
        if "momentum_buffer" in state:
            buffer = state["momentum_buffer"].mul_(momentum)
            buffer.add_(grad, alpha=1 - group["dampening"])
        else:
            state["momentum_buffer"] = buffer = grad.clone()
        grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
    param.add_(grad, alpha=-group["lr"])


def adam(param: Any, grad: Any, state: State, group: Group) -> None:
    """Adam (Kingma and Ba, 2014), AMSGrad (Reddi et al., 2018) and AdamW."""
    grad, rate, (beta1, beta2) = _begin(param, grad, state, group), group["lr"], group["betas"]
    mean, square = _moments(grad, state, group)
    if group["amsgrad"]:
        square = _raised(state, "max_exp_avg_sq", square)
    correction = each(lambda t: (1 - beta2**t) ** 0.5, state["step"])
    spread = square.sqrt().div(correction).add_(group["eps"])
    param.addcdiv_(mean, spread, value=each(lambda t: -rate / (1 - beta1**t), state["step"]))


def rmsprop(param: Any, grad: Any, state: State, group: Group) -> None:
    """RMSprop (Hinton's lecture 6e), centered as in Graves, 2013."""
    grad, alpha = _begin(param, grad, state, group), group["alpha"]
    square = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
    if group["centered"]:
        mean = state["grad_avg"].lerp_(grad, 1 - alpha)
        square = square.addcmul(mean, mean, value=-1)
    spread = (square.sqrt_() if group["centered"] else square.sqrt()).add_(group["eps"])
    if group["momentum"]:
        buffer = state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, spread)
        param.add_(buffer, alpha=-group["lr"])
    else:
        param.addcdiv_(grad, spread, value=-group["lr"])


def adagrad(param: Any, grad: Any, state: State, group: Group) -> None:
    """Adagrad (Duchi et al., 2011)."""
    if isinstance(grad, Tensor) and grad.is_sparse:
        _adagrad_of_rows(param, grad, state, group)
        return
    grad, rate, decay = _begin(param, grad, state, group), -group["lr"], group["lr_decay"]
    slowed = each(lambda t: rate / (1 + (t - 1) * decay), state["step"])
    spread = state["sum"].addcmul_(grad, grad, value=1).sqrt().add_(group["eps"])
    if isinstance(param, TensorList):
        param.addcdiv_(grad.mul(slowed), spread)
    else:
        param.addcdiv_(grad, spread, value=slowed)


def adadelta(param: Any, grad: Any, state: State, group: Group) -> None:
    """Adadelta (Zeiler, 2012)."""
    grad, rho, eps = _begin(param, grad, state, group), group["rho"], group["eps"]
    square = state["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho)
    spread = square.add(eps).sqrt_()
    change = state["acc_delta"].add(eps).sqrt_().div_(spread).mul_(grad)
    state["acc_delta"].mul_(rho).addcmul_(change, change, value=1 - rho)
    param.add_(change, alpha=-group["lr"])


def adamax(param: Any, grad: Any, state: State, group: Group) -> None:
    """Adamax (Kingma and Ba, 2014): Adam with the greatest gradient for the mean square."""
    grad, rate, (beta1, beta2) = _begin(param, grad, state, group), group["lr"], group["betas"]
    mean = state["exp_avg"].lerp_(grad, 1 - beta1)
    state["exp_inf"].mul_(beta2)
    spread = _raised(state, "exp_inf", grad.abs().add_(group["eps"]))
    param.addcdiv_(mean, spread, value=each(lambda t: -rate / (1 - beta1**t), state["step"]))


def nadam(param: Any, grad: Any, state: State, group: Group) -> None:
    """Adam with Nesterov momentum (Dozat, 2016)."""
    grad, rate, (beta1, beta2) = _begin(param, grad, state, group), group["lr"], group["betas"]
    many, step, psi = isinstance(param, TensorList), state["step"], group["momentum_decay"]
    now = each(lambda t: beta1 * (1 - 0.5 * 0.96 ** (t * psi)), step)
    then = each(lambda t: beta1 * (1 - 0.5 * 0.96 ** ((t + 1) * psi)), step)
    product = each(float, state["mu_product"].mul_(now))
    mean, square = _moments(grad, state, group)
    if many:
        spread = square.sqrt().div_(each(lambda t: (1 - beta2**t) ** 0.5, step))
    else:
        spread = square.div(each(lambda t: 1 - beta2**t, step)).sqrt()
    spread.add_(group["eps"])
    rows = zip(now, then, product, strict=True) if many else [(now, then, product)]
    shares = [(-rate * (1 - a) / (1 - p), -rate * b / (1 - p * b)) for a, b, p in rows]
    of_grad, of_mean = map(list, zip(*shares, strict=True)) if many else shares[0]
    param.addcdiv_(grad, spread, value=of_grad)
    param.addcdiv_(mean, spread, value=of_mean)


def radam(param: Any, grad: Any, state: State, group: Group) -> None:
    """Rectified Adam (Liu et al., 2019): plain momentum until the mean square can be trusted."""
    grad, rate, (beta1, beta2) = _begin(param, grad, state, group), group["lr"], group["betas"]
    (mean, square), step, eps = _moments(grad, state, group), state["step"], group["eps"]
    longest = 2 / (1 - beta2) - 1

    def trust(t: float) -> float:
        length = longest - 2 * t * beta2**t / (1 - beta2**t)
        if length <= 5:
            return 0.0
        full = (longest - 4) * (longest - 2) * length
        return float(((length - 4) * (length - 2) * longest / full) ** 0.5)

    if isinstance(param, TensorList):
        rates = each(lambda t: -rate / (1 - beta1**t), step)
        trusted = each(lambda t: (1 - beta2**t) ** 0.5 * trust(t), step)
        adaptive = [a * b for a, b in zip(rates, trusted, strict=True)]
        plain = [0 if b else a for a, b in zip(rates, trusted, strict=True)]
        spread = square.sqrt().add_(eps).div_(adaptive).reciprocal_().add_(plain)
        param.addcmul_(mean, spread)
        return
    t = step.item()
    change = mean.div(1 - beta1**t).mul(rate)
    if trust(t):
        adaptive = square.sqrt().add_(eps).reciprocal().mul((1 - beta2**t) ** 0.5)
        change = change.mul(adaptive).mul(trust(t))
    param.add_(change, alpha=-1.0)


def rprop(param: Any, grad: Any, state: State, group: Group) -> None:
    """Resilient backpropagation (Riedmiller and Braun, 1993): each number has a step of its own.

    That grows while the gradient keeps its sign, and shrinks when it changes.
    """
    (less, more), prev, size = group["etas"], state["prev"], state["step_size"]
    many = isinstance(param, TensorList)
    if many:
        state["step"].add_(1.0)
        signs, grad = grad.mul(prev), prev.copy_(grad)
        for each_list in (signs, grad) if group["maximize"] else ():
            each_list.neg_()
        signs.sign_()
    else:
        grad = _begin(param, grad, state, group)
        signs = grad.mul(prev).sign()
    one = signs.tensors if many else [signs]
    for sign in one:
        for compare, factor in (("gt", more), ("lt", less), ("eq", 1)):
            sign[getattr(sign, compare)(0)] = factor
    size.mul_(signs)
    for each_size in size.tensors if many else [size]:
        each_size.clamp_(*group["step_sizes"])
    if many:
        for g, sign in zip(grad.tensors, one, strict=True):
            g.copy_(aten.where(sign.eq(less), 0, g))
        param.addcmul_(TensorList(g.sign() for g in grad.tensors), size, value=-1)
    else:
        grad = grad.clone()
        grad[signs.eq(less)] = 0
        param.addcmul_(grad.sign(), size, value=-1)
        prev.copy_(grad)


def asgd(param: Any, grad: Any, state: State, group: Group) -> None:
    """Averaged gradient descent (Polyak and Juditsky, 1992); `ax` is the average."""
    grad, rate, decay = _begin(param, grad, state, group), group["lr"], group["lambd"]
    eta, mu, mean, step = (state[key] for key in ("eta", "mu", "ax", "step"))
    many = isinstance(param, TensorList)
    if many:
        made = grad if group["weight_decay"] else TensorList(grad.tensors)
        param.addcmul_(made.add(param, alpha=decay), eta, value=-1)
        mean.addcmul_(param.sub(mean), mu)
        # From a number in float32, as PyTorch's.
        etas = TensorList(
            ((1 + decay * rate * t) ** group["alpha"]).reciprocal() * rate for t in step.tensors
        )
    else:
        param.mul_(1 - decay * eta.item()).add_(grad, alpha=-eta.item())
        mean.copy_(param) if mu.item() == 1 else mean.add_(param.sub(mean).mul_(mu))
        etas = as_tensor(rate / (1 + decay * rate * step.item()) ** group["alpha"])
    eta.copy_(etas)
    mus = each(lambda t: 1 / max(1, t - group["t0"]), step)
    if many:
        mus = [as_tensor(x, device=t.device) for x, t in zip(mus, step.tensors, strict=True)]
    mu.copy_(TensorList(mus) if many else as_tensor(mus))


def _rows(grad: Any, group: Group) -> tuple[Any, Any]:
    """Which rows there are, each once, and their values."""
    coo = grad.coalesce().array
    return coo.indices[0], -coo.values if group["maximize"] else coo.values


def _adagrad_of_rows(param: Tensor, grad: Tensor, state: State, group: Group) -> None:
    """Adagrad along a sparse gradient: of the rows that it has, and no others."""
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
    """Adam (Kingma and Ba, 2014) of the rows that a sparse gradient has."""
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
