"""LBFGS, averaged models and clipping on a device: the numbers of the CPU, and few launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tidy.runtime as torch

from .recording import assert_same, kernels, recording

pytestmark = pytest.mark.usefixtures("two_t4")
nn = torch.nn


def _model() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))


def test_lbfgs() -> None:
    def losses(device: str) -> list[float]:
        torch.manual_seed(0)
        model, x = _model().to(device), torch.randn(8, 6).to(device)
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=5, line_search_fn="strong_wolfe")

        def closure() -> Any:
            optimizer.zero_grad()
            loss = (model(x) - 1).square().mean()
            loss.backward()
            return loss

        return [optimizer.step(closure).item() for _ in range(3)]

    assert losses("cpu") == losses("cuda:1")


@pytest.mark.parametrize("multi", [False, True])
def test_averaged_model(multi: bool) -> None:
    utils = torch.optim.swa_utils

    def mean(device: str) -> list[Any]:
        model = _model().to(device)
        how = {"multi_avg_fn" if multi else "avg_fn": None}
        how = {key: getattr(utils, f"get_ema_{key}")(0.9) for key in how}
        averaged = utils.AveragedModel(model, **how)
        for _ in range(3):
            averaged.update_parameters(model)
            with torch.no_grad():
                for p in model.parameters():
                    p.mul_(0.5)
        return [p.numpy(force=True) for p in averaged.parameters()]

    assert_same(mean("cuda:1"), mean("cpu"))


@pytest.mark.parametrize("name", ["Adam", "Adamax", "ASGD"])
def test_capturable_is_refused(name: str) -> None:
    params = [torch.ones(1, device="cuda", requires_grad=True)]
    with pytest.raises(RuntimeError, match="capturable"):
        getattr(torch.optim, name)(params, capturable=True)


def _step(params: list[Any], foreach: bool | None) -> None:
    torch.optim.SGD(params, lr=0.1, foreach=foreach).step()


def _clip(params: list[Any], foreach: bool | None) -> None:
    total = nn.utils.clip_grad_norm_(params, 0.1, foreach=foreach)
    assert total.device == params[0].device
    nn.utils.clip_grad_value_(params, 0.02, foreach=foreach)


@pytest.mark.parametrize("work", [_step, _clip])
def test_lists_are_few_launches(work: Callable[[list[Any], bool | None], None]) -> None:
    """Of the same numbers, which are those of the CPU."""

    def run(device: str, foreach: bool | None) -> tuple[int, list[Any]]:
        params = [torch.full((8,), n / 9, device=device).requires_grad_() for n in range(20)]
        for p in params:
            p.grad = p.detach() * 2
        with recording() as log:
            work(params, foreach)
        return len(kernels(log)), [t.numpy(force=True) for p in params for t in (p, p.grad)]

    by_default, together, apart = (run("cuda", foreach) for foreach in (None, True, False))
    assert by_default[0] == together[0] < 20 <= apart[0]
    assert_same(together[1], run("cpu", True)[1])
    assert_same(apart[1], run("cpu", False)[1])
