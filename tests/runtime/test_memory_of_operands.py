"""Where results lie in memory, and what may be written to; expected is what PyTorch 2.13 does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tidy.runtime as torch

F = torch.nn.functional
LAST = (60, 1, 15, 3)  # the strides of (2, 3, 4, 5) in channels_last


def _image() -> Any:
    return torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    ("run", "strides"),
    [
        (torch.nn.BatchNorm2d(3), LAST),
        (torch.nn.BatchNorm2d(3).eval(), LAST),
        (torch.nn.GroupNorm(1, 3), LAST),
        (torch.nn.InstanceNorm2d(3), (60, 20, 5, 1)),
        (torch.nn.LayerNorm(5), (60, 20, 5, 1)),
        (torch.nn.Dropout(), LAST),
        (lambda x: torch.cat([x, x], 1), (120, 1, 30, 6)),
        (lambda x: torch.cat([x, x.contiguous()], 1), (120, 20, 5, 1)),
        (lambda x: F.pad(x, (1, 1)), (84, 1, 21, 3)),
        (lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"), (126, 1, 21, 3)),
        (lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"), (126, 1, 21, 3)),
        (lambda x: F.pad(x, (1, 1, 1, 1), mode="circular"), (126, 42, 7, 1)),
        (lambda x: F.adaptive_avg_pool2d(x, 2), (12, 1, 6, 3)),
        (lambda x: F.adaptive_max_pool2d(x, 2), (12, 1, 6, 3)),
        (lambda x: F.adaptive_avg_pool3d(x, 2), (8, 4, 2, 1)),
        (lambda x: torch.cat([x, torch.zeros(0)], 1), (60, 20, 5, 1)),
        (lambda x: torch.cat(x.chunk(3, 1), 1), LAST),
        (lambda x: torch.cat([x, x[:, :1]], 1), (80, 1, 20, 4)),
        (lambda x: F.avg_pool2d(x[0], 2), (4, 2, 1)),
        (lambda x: F.max_pool2d(x[0], 2), (4, 2, 1)),
        (lambda x: F.max_pool2d(x[0], 2, return_indices=True)[0], (4, 2, 1)),
    ],
)
def test_images_in_channels_last(run: Any, strides: tuple[int, ...]) -> None:
    """The numbers are those of a contiguous image."""
    x = _image()
    torch.manual_seed(0)
    found = run(x)
    torch.manual_seed(0)
    wanted = run(x.contiguous())
    assert tuple(found.stride()) == strides
    if not isinstance(run, torch.nn.Dropout):  # which draws in the order of memory
        np.testing.assert_allclose(found.detach(), wanted.detach(), atol=1e-5)


@pytest.mark.parametrize("name", ["avg_pool3d", "adaptive_avg_pool3d", "adaptive_max_pool3d"])
def test_means_and_bins_of_volumes_are_contiguous(name: str) -> None:
    """Whatever the layout; `max_pool3d` keeps it."""
    x = torch.randn(2, 3, 4, 4, 4).to(memory_format=torch.channels_last_3d)
    found = getattr(F, name)(x, 2)
    assert found.is_contiguous()
    assert torch.allclose(found, getattr(F, name)(x.contiguous(), 2))
    assert F.max_pool3d(x, 2).is_contiguous(memory_format=torch.channels_last_3d)


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bool])
def test_dropout_of_all_integers_is_zero(dtype: Any) -> None:
    """No float comes in; with another probability it is refused."""
    assert not F.dropout(torch.ones(3, dtype=dtype), 1.0).any()
    with pytest.raises(RuntimeError, match="result type Float"):
        F.dropout(torch.ones(3, dtype=dtype), 0.5)


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


# What each statement makes of 0, 1, 2, 3; None where it is refused.
OVERLAPPING: dict[str, list[int] | None] = {
    "x[1:].copy_(x[:-1])": None,
    "x[1:].add_(x[:-1])": None,
    "x[1:].add_(x[:-1], alpha=2)": None,
    "x[1:].mul_(x[:-1])": None,
    "x.mul_(x[0])": None,
    "x[1:].lerp_(x[:-1], 0.5)": None,
    "x[1:].clamp_(min=x[:-1])": None,
    "x[1:].addcmul_(x[:-1], x[:-1])": None,
    "x.view(2, 2).add_(x.view(2, 2).t())": None,
    "x.index_add_(0, i, x[1:3])": None,
    "x.scatter_(0, i, x[1:3])": None,
    "x.__setitem__(slice(1, None), x[:-1])": None,
    "x.copy_(x[0])": None,
    "x.__setitem__(i, x[1])": None,
    "x.__setitem__(x > 1, x[:2])": None,
    "x.__setitem__((False, x > 1), x[0])": None,
    "x.add_(x)": [0, 2, 4, 6],
    "x[:2].add_(x[2:])": [2, 4, 2, 3],
    "x[0].add_(x[0])": [0, 1, 2, 3],
    "x[::2].add_(x[1:3])": [1, 1, 4, 3],
    "x.fill_(x[1])": [1, 1, 1, 1],
    "x.masked_fill_(x > 1, x[0])": [0, 1, 0, 0],
    "x[1:].mul_(x[:-1].clone())": [0, 0, 2, 6],
    "x.__setitem__(slice(None), x[1])": [1, 1, 1, 1],
    "x.__setitem__(..., x[1:2])": [1, 1, 1, 1],
    "x.__setitem__(x > 2, x[1])": [0, 1, 2, 1],
    "x.__setitem__([False, False, True, True], x[1:2])": [0, 1, 1, 1],
    "x.view(2, 2).__setitem__((slice(None), x[:2] > 0), x[3])": [0, 3, 2, 3],
    "x.view(2, 2).__setitem__(slice(None), x.view(2, 2)[1])": [2, 3, 2, 3],
}


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("code", [code for code, wanted in OVERLAPPING.items() if wanted is None])
def test_operands_that_overlap_in_part_are_refused(code: str, recorded: bool) -> None:
    """With and without a graph; the tensor stays as it was."""
    x = torch.arange(4.0)
    x = x.requires_grad_().clone() if recorded else x
    with pytest.raises(RuntimeError, match=r"input tensor and the written-to tensor"):
        eval(code, {"x": x, "i": torch.tensor([0, 1])})  # noqa: S307
    assert x.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("code", [code for code, wanted in OVERLAPPING.items() if wanted])
def test_other_operands_in_the_same_memory_are_read(code: str) -> None:
    """Those that are equal, apart, not dense, or one number of a fill."""
    x = torch.arange(4.0)
    eval(code, {"x": x})  # noqa: S307
    assert x.tolist() == OVERLAPPING[code]


@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1)])
def test_operands_of_another_order_are_refused(order: tuple[int, ...]) -> None:
    """The whole memory, neither contiguous nor transposed as a whole; part of it is not dense."""
    x = torch.arange(8.0).view(2, 2, 2)
    for write in (x.add_, x.copy_, x.addcmul_, lambda y, *_: torch.neg(y, out=x)):
        with pytest.raises(RuntimeError, match=r"input tensor and the written-to tensor"):
            write(x.permute(order), *[x] * (write == x.addcmul_))
    x[:, :1].add_(x.permute(order)[:, :1])
    x.permute(order).add_(x.permute(order))


def test_arrays_of_numpy_have_memory_of_their_own() -> None:
    """Whatever they share: PyTorch does not look behind a tensor's storage."""
    array = np.arange(6.0)
    x, y = torch.from_numpy(array[2:]), torch.as_tensor(array[:4])
    x.add_(y)
    assert array[:4].tolist() == [0, 1, 2, 4]
    with pytest.raises(RuntimeError, match=r"input tensor and the written-to tensor"):
        x[1:].add_(x[:-1])


@pytest.mark.parametrize("value", [torch.tensor(2), torch.tensor([2.7])])
def test_a_mask_takes_one_number_of_any_dtype(value: Any) -> None:
    """Several have to be of the tensor's own."""
    x = torch.arange(3)
    x[x > 0] = value
    assert x.tolist() == [0, 2, 2]
    with pytest.raises(RuntimeError):
        x[x > 0] = torch.ones(2)


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


def test_an_index_writes_to_what_was_expanded() -> None:
    """Whoever shares the element sees it; sums are refused."""
    x = torch.zeros(1, 3).expand(2, 3)
    x[torch.tensor([0])] = torch.tensor([1.0, 2.0, 3.0])
    assert x.tolist() == [[1, 2, 3]] * 2
    x[torch.tensor([True, False])] = 4.0
    assert x.tolist() == [[4] * 3] * 2
    with pytest.raises(RuntimeError, match="single memory location"):
        x.index_put_((torch.tensor([0, 1]),), torch.ones(3), accumulate=True)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_window_of_lowest_numbers_points_to_its_first(n: int) -> None:
    """Not to padding, nor to another window's."""
    x = torch.full((1, 1, *[4] * n), -math.inf)
    found = getattr(F, f"max_pool{n}d")(x, 3, 2, 1, return_indices=True)[1]
    begins = np.array([0, 1])
    wanted = sum(np.ix_(*(begins * 4**k for k in reversed(range(n)))))
    assert found[0, 0].tolist() == np.asarray(wanted).tolist()


def test_heads_of_keys_are_shared() -> None:
    """With `enable_gqa` each serves as many heads of the query, in order."""
    q, k, v = torch.randn(2, 6, 5, 4), torch.randn(2, 2, 5, 4), torch.randn(2, 3, 5, 4)
    found = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    k, v = k.repeat_interleave(3, 1), v.repeat_interleave(2, 1)
    assert torch.equal(found, F.scaled_dot_product_attention(q, k, v))
    with pytest.raises(RuntimeError, match="must divide the number of heads in query"):
        F.scaled_dot_product_attention(q[:, :4], k[:, :3], v[:, :3], enable_gqa=True)


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
