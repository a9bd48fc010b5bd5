"""An LSTM that is one operator a layer (float32) gives what one of single steps (float64) does.

The latter is held to PyTorch's answers in test_golden.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tidy.runtime as torch
from tidy.profiler import profile


def _model(dtype: Any, **options: Any) -> Any:
    stream = np.random.default_rng(0)
    model = torch.nn.LSTM(4, 4, 2, dtype=dtype, **options)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.tensor(stream.standard_normal(tuple(p.shape)) / 2))
    return model


def _answers(dtype: Any, double: bool, tied: bool, given: bool, **options: Any) -> list[Any]:
    model, stream = _model(dtype, **options), np.random.default_rng(1)
    if tied:
        model.bias_hh_l0 = model.bias_ih_l0
    shapes = [(3, 5, 4), *[(2 * (1 + options["bidirectional"]), 5, 4)] * (2 * given)]
    leaves = [torch.tensor(stream.standard_normal(s), dtype=dtype) for s in shapes]
    x, *states = [leaf.requires_grad_() for leaf in leaves]
    out, (hidden, cell) = model(x, tuple(states)) if given else model(x)
    loss = (out**3).sum() + (hidden**2).sum() + cell.sin().sum()
    asked = [x, *states, *model.parameters()]
    if double:
        loss = sum((g**2).sum() for g in torch.autograd.grad(loss, asked, create_graph=True))
    grads = torch.autograd.grad(loss, asked)
    return [t.detach().numpy() for t in (out, hidden, cell, *grads)]


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("double", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("how", ["plain", "without bias", "tied", "given states"])
def test_it_is_the_lstm_of_single_steps(bidirectional: bool, double: bool, how: str) -> None:
    tied, given, bias = how == "tied", how == "given states", how != "without bias"
    options: Any = {"bidirectional": bidirectional, "bias": bias}
    found = _answers(torch.float32, double, tied, given, **options)
    wanted = _answers(torch.float64, double, tied, given, **options)
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-4, atol=1e-5 * (1 + np.abs(theirs).max()))


def test_observers_see_one_operator_a_layer() -> None:
    model, x = _model(torch.float32), torch.randn(3, 5, 4)
    with profile() as profiler:
        model(x)[0].sum().backward()
    names = [event.name for event in profiler.trace.dfs()]
    assert names.count("aten::lstm") == 1
    assert names.count("aten::mkldnn_rnn_layer") == 2
    assert names.count("MkldnnRnnLayerBackward0") == 2
    assert names.count("aten::mkldnn_rnn_layer_backward") == 2
    assert "aten::sigmoid" not in names


def test_what_it_saved_is_guarded() -> None:
    model, x = _model(torch.float32), torch.randn(3, 5, 4)
    out = model(x)[0]
    out.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        out.sum().backward()
    out = model(x)[0]
    with torch.no_grad():
        model.weight_hh_l1.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        out.sum().backward()
    out = model(x)[0]
    out.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        out.sum().backward()


def test_other_ways_run_step_by_step() -> None:
    model, x = _model(torch.float32), torch.randn(3, 5, 4)
    with profile() as profiler, torch.autocast("cpu", dtype=torch.float16):
        model(x)
    assert all(event.name != "aten::mkldnn_rnn_layer" for event in profiler.trace.dfs())
    assert model(x[:, :0])[0].shape == (3, 0, 4)
