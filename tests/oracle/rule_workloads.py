"""Anti-patterns, their corrected forms, and harmless code that looks like them; they need PyTorch.

`workloads()` prepares what they need and gives back what is to be recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from .loop_workloads import loaders, loops
from .optimizers import OPTIMIZERS

Workloads = dict[str, Callable[[], None]]


def functional_conv_bn(x: Tensor, w: Tensor, b: Tensor | None, training: bool, relu: bool) -> None:
    mean, variance = torch.zeros(8), torch.ones(8)
    for _ in range(2):
        y = F.conv2d(x, w, b, padding=1)
        F.batch_norm(y.relu() if relu else y, mean, variance, training=training)


def module_conv_bn(model: nn.Module, x: Tensor) -> None:
    for _ in range(2):
        model(x)


def train(
    model: nn.Module, opt: torch.optim.Optimizer, zero: Callable[[], None], x: Tensor
) -> None:
    for _ in range(3):
        zero()
        model(x).pow(2).mean().backward()
        opt.step()


def multiply(a: Tensor, b: Tensor) -> None:
    for _ in range(2):
        a @ b


def copy_on_the_cpu() -> None:
    torch.ones(64).to("cpu", copy=True)


def _mlp(kind: str, **options: Any) -> tuple[nn.Module, torch.optim.Optimizer]:
    layers = [nn.Linear(16, 16, bias=kind != "Muon") for _ in range(3)]
    model = nn.Sequential(*layers)
    return model, getattr(torch.optim, kind)(model.parameters(), **options)


def workloads() -> Workloads:
    """All workloads by name, ready to run once."""
    return {**loops(), **loaders(), **_convolutions(), **_optimizers(), **_products()}


def _convolutions() -> Workloads:
    x, w, b = torch.ones(4, 3, 9, 9), torch.ones(8, 3, 3, 3), torch.zeros(8)
    frozen = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)).eval()
    found: Workloads = {
        "functional": partial(functional_conv_bn, x, w, b, True, False),
        "functional-eval": partial(functional_conv_bn, x, w, b, False, False),
        "functional-no-bias": partial(functional_conv_bn, x, w, None, True, False),
        "functional-relu": partial(functional_conv_bn, x, w, b, True, True),
        "Conv2d-eval": partial(torch.no_grad()(module_conv_bn), frozen, x),
    }
    for conv, norm, dims in (
        (nn.Conv1d, nn.BatchNorm1d, 1),
        (nn.Conv2d, nn.BatchNorm2d, 2),
        (nn.Conv3d, nn.BatchNorm3d, 3),
        (nn.ConvTranspose2d, nn.BatchNorm2d, 2),
    ):
        image = torch.ones(4, 3, *[8] * dims)
        for bias in (True, False):
            modules = nn.Sequential(conv(3, 8, 3, bias=bias), norm(8))
            form = "bias" if bias else "no-bias"
            found[f"{conv.__name__}-{form}"] = partial(module_conv_bn, modules, image)
    return found


def _optimizers() -> Workloads:
    batch = torch.ones(8, 16)
    muon, opt = _mlp("Muon")
    found: Workloads = {"Muon": partial(train, muon, opt, opt.zero_grad, batch)}
    for foreach, form in ((False, "single"), (True, "foreach")):
        for kind in OPTIMIZERS:
            model, opt = _mlp(kind, lr=0.01, foreach=foreach)
            found[f"{kind}-{form}"] = partial(train, model, opt, opt.zero_grad, batch)
        for to_none, kept in ((True, "none"), (False, "zeros")):
            model, opt = _mlp("SGD", lr=0.01, foreach=foreach)
            zero = partial(opt.zero_grad, set_to_none=to_none)
            found[f"optimizer-{kept}-{form}"] = partial(train, model, opt, zero, batch)
            zero = partial(model.zero_grad, set_to_none=to_none)
            found[f"model-{kept}-{form}"] = partial(train, model, opt, zero, batch)
    return found


def _products() -> Workloads:
    def matrices(inner: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        return torch.ones(64, inner, dtype=dtype), torch.ones(inner, 64, dtype=dtype)

    return {
        "misaligned": partial(multiply, *matrices(63, torch.bfloat16)),
        "aligned": partial(multiply, *matrices(64, torch.bfloat16)),
        "float32": partial(multiply, *matrices(63, torch.float32)),
        "copy-on-the-cpu": copy_on_the_cpu,
    }
