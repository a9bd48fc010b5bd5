"""An LSTM and a GRU that are one operator a layer (float32) give what those of single steps do.

The latter, in float64, are held to PyTorch's answers in test_golden.py. PyTorch's CPU build has an
operator for a layer of an LSTM; that of a GRU is made of others, which is what observers see.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tidy.runtime as torch
from tidy.profiler import profile


def _model(name: str, dtype: Any = torch.float32, width: int = 4, **options: Any) -> Any:
    stream = np.random.default_rng(0)
    model = getattr(torch.nn, name)(4, width, 2, dtype=dtype, **options)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.tensor(stream.standard_normal(tuple(p.shape)) / 2))
    return model


def _answers(name: str, dtype: Any, double: bool, how: str, **options: Any) -> list[Any]:
    width = 4 if name == "LSTM" else 5
    model, stream = _model(name, dtype, width, **options), np.random.default_rng(1)
    if how == "tied":
        model.bias_hh_l0 = model.bias_ih_l0
    count = (2 if name == "LSTM" else 1) * (how == "given states")
    shapes = [(3, 5, 4), *[(2 * (1 + options["bidirectional"]), 5, width)] * count]
    leaves = [torch.tensor(stream.standard_normal(s), dtype=dtype) for s in shapes]
    x, *states = [leaf.requires_grad_() for leaf in leaves]
    given = (tuple(states) if name == "LSTM" else states[0],) if states else ()
    out, hidden = model(x, *given)
    outs = (out, *hidden) if name == "LSTM" else (out, hidden)
    loss = (out**3).sum() + (outs[1] ** 2).sum() + outs[-1].sin().sum()
    asked = [x, *states, *model.parameters()]
    if double:
        loss = sum((g**2).sum() for g in torch.autograd.grad(loss, asked, create_graph=True))
    grads = torch.autograd.grad(loss, asked)
    return [t.detach().numpy() for t in (*outs, *grads)]


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("double", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("how", ["plain", "without bias", "tied", "given states"])
@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_it_is_that_of_single_steps(name: str, how: str, double: bool, bidirectional: bool) -> None:
    """Outputs, gradients, and gradients of gradients."""
    options: Any = {"bidirectional": bidirectional, "bias": how != "without bias"}
    found = _answers(name, torch.float32, double, how, **options)
    wanted = _answers(name, torch.float64, double, how, **options)
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-4, atol=1e-5 * (1 + np.abs(theirs).max()))


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_what_was_saved_is_used_once_and_hooks_may_copy_it(name: str) -> None:
    model, x = _model(name), torch.randn(3, 5, 4)
    loss = model(x)[0].sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        loss = model(x)[0].sum()
    with torch.no_grad():
        model.bias_hh_l0.zero_()
    again = torch.autograd.grad(loss, [*model.parameters()])
    assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), again, strict=True))


@pytest.mark.parametrize("changed", ["weight", "output"])
def test_what_an_lstm_saved_is_guarded(changed: str) -> None:
    model = _model("LSTM")
    out = model(torch.randn(3, 5, 4))[0]
    with torch.no_grad():
        (model.weight_hh_l1 if changed == "weight" else out).add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        out.sum().backward()


def test_observers_see_single_steps_of_a_gru_and_other_ways_of_an_lstm() -> None:
    model, x = _model("LSTM"), torch.randn(3, 5, 4)
    with profile() as profiler, torch.autocast("cpu", dtype=torch.float16):
        model(x)
    assert all(event.name != "aten::mkldnn_rnn_layer" for event in profiler.trace.dfs())
    assert model(x[:, :0])[0].shape == (3, 0, 4)
    model, x = _model("GRU"), torch.randn(3, 5, 4)  # as PyTorch's CPU build shows it
    with profile() as profiler:
        seen = model(x)[0]
        seen.sum().backward()
    names = [event.name for event in profiler.trace.dfs()]
    assert (names.count("aten::gru"), names.count("aten::tanh")) == (1, 6)
    assert names.count("TanhBackward0") == 6
    np.testing.assert_allclose(seen.detach(), model(x)[0].detach(), atol=1e-6)


_CHANGED = [  # steps, what needs no gradient, what changes, whether that is refused
    (3, ["x"], "weight_ih_l0", False), (3, [], "weight_ih_l0", True),
    (3, ["weight_ih_l0"], "x", False), (3, ["x"], "x", True), (1, ["h"], "weight_hh_l0", False),
    (1, [], "weight_hh_l0", True), (3, ["h"], "weight_hh_l0", True), (3, [], "weight_hh_l1", True),
    (3, [], "bias_hh_l0", False), (3, [], "outputs", False),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "frozen", "changed", "refused"), _CHANGED)
def test_a_gru_guards_what_its_steps_save(
    steps: int, frozen: list[str], changed: str, refused: bool
) -> None:
    """A factor is saved for the gradient of the other one."""
    model = _model("GRU")
    leaves = {
        "x": torch.randn(steps, 5, 4), "h": torch.randn(2, 5, 4), **dict(model.named_parameters()),
    }  # fmt: skip
    for name, leaf in leaves.items():
        leaf.requires_grad_(name not in frozen)
    asked = [leaf for leaf in leaves.values() if leaf.requires_grad]
    wanted = torch.autograd.grad(model(leaves["x"], leaves["h"])[0].sum(), asked)
    outputs = model(leaves["x"], leaves["h"])
    loss = outputs[0].sum()
    with torch.no_grad():
        for each in outputs if changed == "outputs" else [leaves[changed]]:
            each.zero_()
    if refused:
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            torch.autograd.grad(loss, asked)
        return
    if changed != "outputs":  # a second derivative needs all else
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            torch.autograd.grad(loss, asked, create_graph=True)
    for mine, theirs in zip(torch.autograd.grad(loss, asked), wanted, strict=True):
        assert torch.equal(mine, theirs)
