"""A GRU that is one operator a layer (float32, unseen) gives what one of single steps does.

The latter, in float64, is held to PyTorch's answers in test_golden.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tidy.runtime as torch
from tidy.profiler import profile


def _model(dtype: Any, **options: Any) -> Any:
    stream = np.random.default_rng(0)
    model = torch.nn.GRU(4, 5, 2, dtype=dtype, **options)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.tensor(stream.standard_normal(tuple(p.shape)) / 2))
    return model


def _answers(dtype: Any, double: bool, given: bool, **options: Any) -> list[Any]:
    model, stream = _model(dtype, **options), np.random.default_rng(1)
    shapes = [(3, 6, 4), *[(2 * (1 + options["bidirectional"]), 6, 5)] * given]
    leaves = [torch.tensor(stream.standard_normal(s), dtype=dtype) for s in shapes]
    x, *states = [leaf.requires_grad_() for leaf in leaves]
    out, hidden = model(x, *states)
    loss = (out**3).sum() + (hidden**2).sum()
    asked = [x, *states, *model.parameters()]
    if double:
        loss = sum((g**2).sum() for g in torch.autograd.grad(loss, asked, create_graph=True))
    grads = torch.autograd.grad(loss, asked)
    return [t.detach().numpy() for t in (out, hidden, *grads)]


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("double", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("how", ["plain", "without bias", "given state"])
def test_it_is_the_gru_of_single_steps(bidirectional: bool, double: bool, how: str) -> None:
    """Outputs, gradients, and gradients of gradients."""
    options: Any = {"bidirectional": bidirectional, "bias": how != "without bias"}
    found = _answers(torch.float32, double, how == "given state", **options)
    wanted = _answers(torch.float64, double, how == "given state", **options)
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-4, atol=1e-5 * (1 + np.abs(theirs).max()))


def test_observers_see_single_steps() -> None:
    """As PyTorch's CPU build shows them."""
    model, x = _model(torch.float32), torch.randn(3, 6, 4)
    with profile() as profiler:
        seen = model(x)[0]
        seen.sum().backward()
    names = [event.name for event in profiler.trace.dfs()]
    assert names.count("aten::gru") == 1
    assert names.count("aten::tanh") == 6
    assert names.count("TanhBackward0") == 6
    np.testing.assert_allclose(seen.detach(), model(x)[0].detach(), atol=1e-6)


def test_what_it_saved_is_guarded() -> None:
    """Outputs and biases may change until backward; weights may not."""
    model, x = _model(torch.float32), torch.randn(3, 6, 4)
    model(x)[0].sum().backward()
    wanted = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    out, hidden = model(x)
    loss = out.sum()
    with torch.no_grad():
        out.zero_()
        hidden.zero_()
        model.bias_hh_l0.zero_()
    loss.backward()
    for p, grad in zip(model.parameters(), wanted, strict=True):
        assert torch.equal(p.grad, grad)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
    loss = model(x)[0].sum()
    with torch.no_grad():
        model.weight_hh_l1.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        loss.backward()
