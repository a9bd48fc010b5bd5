"""What indices and statistics write; samples_exact_tensors.py has what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tidy.runtime as torch

from .tables import calls

F = torch.nn.functional


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gelu_of_large_numbers(approximate: str, dtype: Any) -> None:
    """They stay, or become 0, without an overflow that numpy warns of."""
    large = torch.finfo(dtype).max
    x = torch.tensor([-large, -5000.0, 5000.0, large], dtype=dtype, requires_grad=True)
    with np.errstate(over="raise"):
        found = F.gelu(x, approximate=approximate)
        found.backward(torch.ones(4, dtype=dtype))
    assert torch.equal(found, x.clamp(min=0))
    assert x.grad.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    "code",
    calls("""
x.as_strided((2,), (1,), 1); x.expand(2, 4)[1, 2:]; x.unfold(0, 2, 2)[1]; x.broadcast_to(4)[1:]
x.view(2, 2).diagonal(); x.view(2, 2).diagonal(1); x[1:].view(torch.int32).view(torch.float32)
    """),
)
def test_as_strided_is_of_the_whole_memory(code: str) -> None:
    """Whatever view it is taken of."""
    view = eval(code, {"torch": torch, "x": torch.arange(4.0)})  # noqa: S307
    assert view.as_strided((4,), (1,), 0).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("dtype", "written"),
    [
        (torch.float16, {65519.0: 65504.0, 65520.0: math.inf, -1e39: -math.inf}),
        (torch.bfloat16, {torch.finfo(torch.float32).min: -math.inf, 1e300: math.inf, 0.1: 0.1001}),
    ],
)
@pytest.mark.parametrize("key", [0, slice(None), torch.tensor([0]), torch.tensor([True])])
def test_an_index_writes_numbers_beyond_16_bits(dtype: Any, written: Any, key: Any) -> None:
    """They are rounded, to infinity where that is nearer; float32 refuses what it has not."""
    if dtype is torch.bfloat16:
        pytest.importorskip("ml_dtypes")
    x = torch.zeros(1, dtype=dtype)
    for number, wanted in written.items():
        x[key] = number
        assert x.item() == pytest.approx(wanted, rel=1e-3)
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.zeros(1)[key] = 1e39


def test_what_was_expanded_and_arrays_of_numpy_may_be_written_to() -> None:
    """Whoever shares the element sees it; sums are refused."""
    x = torch.zeros(1, 3).expand(2, 3)
    x[torch.tensor([0])] = torch.tensor([1.0, 2.0, 3.0])
    assert x.tolist() == [[1, 2, 3]] * 2
    x[torch.tensor([True, False])] = 4.0
    assert x.tolist() == [[4] * 3] * 2
    with pytest.raises(RuntimeError, match="single memory location"):
        x.index_put_((torch.tensor([0, 1]),), torch.ones(3), accumulate=True)
    array = np.arange(6.0)  # what arrays share PyTorch does not see: it looks at storages
    x, y = torch.from_numpy(array[2:]), torch.as_tensor(array[:4])
    x.add_(y)
    assert array[:4].tolist() == [0, 1, 2, 4]
    with pytest.raises(RuntimeError, match=r"input tensor and the written-to tensor"):
        x[1:].add_(x[:-1])
    x = torch.from_numpy(array[::2])
    assert torch.equal(x.as_strided(x.shape, x.stride()), x)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", ["running_mean", "running_var"])
def test_running_statistics_that_were_used_may_not_change(name: str, training: bool) -> None:
    """In training, too; saved-tensor hooks keep what they were."""
    norm, x = torch.nn.BatchNorm1d(3).train(training), torch.randn(4, 3, requires_grad=True)
    loss = norm(x).sum()
    getattr(norm, name).fill_(5.0)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        loss.backward()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        loss = norm(x).sum()
    getattr(norm, name).fill_(20.0)
    loss.backward()
    scale = 5.0**-0.5 if name == "running_var" else 1.0
    np.testing.assert_allclose(x.grad, 0.0 if training else scale, rtol=1e-4, atol=1e-5)


def test_a_batch_norm_that_moves_its_statistics_changes_none_for_backward() -> None:
    """Evaluation before training, and training twice; both backwards run."""
    norm, x = torch.nn.BatchNorm1d(3).eval(), torch.randn(4, 3, requires_grad=True)
    losses = [norm(x).sum(), norm.train()(x + 1).sum(), norm(x).sum()]
    assert norm.running_mean.abs().sum() > 0
    assert norm.running_mean._version == torch.nn.BatchNorm1d(3).running_mean._version
    for loss in losses:
        loss.backward()
