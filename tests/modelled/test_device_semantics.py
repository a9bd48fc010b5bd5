"""Tensors on devices, as PyTorch has them: where things are made, moved, mixed and refused."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import tidy.runtime as torch
from tidy.runtime import cuda
from tidy.runtime.utils.data import DataLoader

from ..runtime.tables import calls
from .recording import number_of

pytestmark = pytest.mark.usefixtures("two_t4")
nn, F = torch.nn, torch.nn.functional
CPU, FIRST, SECOND = (torch.device(name) for name in ("cpu", "cuda:0", "cuda:1"))


def _host() -> Any:
    return torch.ones(2, 3)


def _there(device: str = "cuda") -> Any:
    return torch.ones(2, 3, device=device)


# `x` is on a device and `y` on the host.
MIXED = calls("""
x + y; y + x; x.add_(y); y.add_(x); x @ y.T; F.linear(x, torch.ones(4, 3)); torch.cat([x, y])
torch.where(x > 0, x, y); nn.Linear(3, 2).cuda()(y); nn.Linear(3, 2)(x); nn.BatchNorm1d(3)(x)
F.embedding(torch.tensor([0]), torch.ones(3, 4, device='cuda'))
y * torch.tensor(2.0, device='cuda'); F.cross_entropy(x, torch.tensor([0, 1]))
""")


@pytest.mark.parametrize("code", MIXED)
def test_host_and_device(code: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        eval(code, {"x": _there(), "y": _host(), "torch": torch, "nn": nn, "F": F})  # noqa: S307
    assert str(caught.value).startswith(
        "Expected all tensors to be on the same device, but found at least two devices, "
        "cuda:0 and cpu!"
    )


@pytest.mark.parametrize("call", [lambda x, y: x + y, lambda x, y: torch.stack([x, y])])
def test_two_devices(call: Any) -> None:
    with pytest.raises(RuntimeError, match="two devices, cuda:0 and cuda:1!"):
        call(_there(), _there("cuda:1"))


def test_a_number_goes_anywhere() -> None:
    number = torch.tensor(2.0)
    x = _there("cuda:1") * number + 1 - number
    assert (x.device, x.tolist()) == (SECOND, [[1.0] * 3] * 2)
    assert (number * torch.tensor(3.0, device="cuda")).device == FIRST
    assert number.device == CPU


FACTORIES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys("zeros ones empty rand randn arange eye randperm".split(), (3,)),
    "full": ((3,), 1.0),
    "linspace": (0, 1, 3),
    "randint": (0, 5, (3,)),
    "tensor": ([1, 2],),
    "as_tensor": ([1.0],),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories(name: str) -> None:
    make, args = getattr(torch, name), FACTORIES[name]
    assert make(*args, device="cuda:1").device == SECOND
    assert make(*args, device=torch.device("cuda")).device == FIRST
    assert make(*args, device="cpu").device == CPU
    with cuda.device(1):
        assert make(*args, device="cuda").device == SECOND


@pytest.mark.parametrize("name", "zeros ones empty rand randn full".split())
def test_like(name: str) -> None:
    make, args = getattr(torch, f"{name}_like"), ((2.0,) if name == "full" else ())
    x = _there("cuda:1")
    assert make(x, *args).device == SECOND
    assert make(x, *args, device="cpu").device == CPU
    assert make(_host(), *args, device="cuda").device == FIRST


@pytest.mark.parametrize("name", "zeros ones empty full tensor".split())
def test_new(name: str) -> None:
    x, args = _there("cuda:1"), FACTORIES[name]
    assert getattr(x, f"new_{name}")(*args).device == SECOND
    assert getattr(x, f"new_{name}")(*args, device="cuda:0").device == FIRST


class TestTo:
    def test_forms(self) -> None:
        x, other = _host(), torch.zeros(1, dtype=torch.float64, device="cuda:1")
        assert x.to("cuda").device == FIRST
        assert x.to(1).device == SECOND
        assert x.to(SECOND).device == SECOND
        half = x.to("cuda:1", torch.float16)
        assert (half.device, half.dtype) == (SECOND, torch.float16)
        like = x.to(other)
        assert (like.device, like.dtype) == (SECOND, torch.float64)
        positional = x.to("cuda", torch.float32, True)
        assert (positional.device, positional.dtype) == (FIRST, torch.float32)
        assert x.to(device="cuda", dtype=torch.int64, non_blocking=True).dtype == torch.int64
        assert x.cuda(1).device == x.cuda("cuda:1").device == SECOND
        assert x.cuda(non_blocking=True).device == FIRST
        assert x.device == CPU

    def test_itself(self) -> None:
        x, y = _host(), _there()
        assert x.to("cpu") is x.cpu() is x
        assert y.to("cuda") is y.to("cuda:0") is y.cuda() is y.to(torch.float32) is y
        assert y.to("cuda", copy=True) is not y
        with cuda.device(1):
            assert y.to("cuda").device == SECOND

    @pytest.mark.parametrize("dtype", [None, torch.float64, torch.int64])
    def test_values_come_back(self, dtype: Any) -> None:
        x = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
        y = x.to("cuda:1", dtype).to("cuda:0").cpu()
        np.testing.assert_array_equal(y.numpy(), x.to(dtype or torch.float32).numpy())

    def test_layout(self) -> None:
        """Of dense tensors it stays; others become contiguous."""
        assert torch.ones(3, 4).t().cuda().stride() == (1, 4)
        assert torch.ones(1, 4).expand(3, 4).cuda().stride() == (4, 1)
        assert torch.ones(3, 8)[:, ::2].cuda().stride() == (4, 1)
        assert torch.ones(3, 8, device="cuda")[:, ::2].cpu().stride() == (4, 1)

    def test_gradients_go_back(self) -> None:
        x = torch.ones(3, requires_grad=True)
        y = x.to("cuda:0").to("cuda:1", torch.float64)
        (y * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, device="cuda:1")).sum().backward()
        assert (x.grad.device, x.grad.dtype, x.grad.tolist()) == (CPU, torch.float32, [1, 2, 3])
        assert not x.detach().cuda().requires_grad
        with torch.no_grad():
            assert not x.cuda().requires_grad

    def test_copies_between_tensors(self) -> None:
        x, y, z = _host(), torch.zeros(2, 3, device="cuda"), torch.zeros(2, 3, device="cuda:1")
        y.copy_(x)
        z[0].copy_(y[1] * 2)
        x[1].copy_(z[0])
        assert x.tolist() == [[1, 1, 1], [2, 2, 2]]
        assert [each.device for each in (x, y, z)] == [CPU, FIRST, SECOND]


class TestPinned:
    def test_is_pinned(self) -> None:
        x = _host()
        y = x.pin_memory()
        assert (x.is_pinned(), y.is_pinned(), y[0].is_pinned()) == (False, True, True)
        assert y.pin_memory() is y
        assert not _there().is_pinned()
        assert not (y + 1).is_pinned()
        assert torch.zeros(3, pin_memory=True).is_pinned()

    def test_a_devices_tensor(self) -> None:
        with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
            _there().pin_memory()

    def test_data_loader(self) -> None:
        data = [(torch.ones(2) * n, n) for n in range(6)]
        for pins in (True, False):
            batches = list(DataLoader(data, batch_size=3, pin_memory=pins))
            assert len(batches) == 2
            for x, number in batches:
                assert x.is_pinned() is number.is_pinned() is pins


class TestShown:
    def test_repr(self) -> None:
        assert repr(torch.tensor([1.0], device="cuda:1")) == "tensor([1.], device='cuda:1')"
        x = torch.ones(1, device="cuda", requires_grad=True)
        assert repr(x) == "tensor([1.], device='cuda:0', requires_grad=True)"
        assert repr(x * 2) == "tensor([2.], device='cuda:0', grad_fn=<MulBackward0>)"

    def test_to_python(self) -> None:
        x = torch.arange(3, device="cuda")
        assert x.tolist() == [0, 1, 2]
        assert f"{x[1]}" == "1"
        assert [int(n) for n in x] == [0, 1, 2]
        assert 2 in x
        assert list(range(5))[x[2]] == 2

    @pytest.mark.parametrize("convert", [lambda x: x.numpy(), np.asarray, np.array])
    def test_numpy(self, convert: Any) -> None:
        with pytest.raises(TypeError) as caught:
            convert(_there("cuda:1"))
        assert str(caught.value) == (
            "can't convert cuda:1 device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )

    def test_numpy_by_force(self) -> None:
        x = torch.ones(3, device="cuda", requires_grad=True)
        found = x.numpy(force=True)
        found[:] = 7
        assert x.tolist() == [1, 1, 1]

    def test_properties(self) -> None:
        x, y = _there("cuda:1"), _host()
        assert (x.is_cuda, x.is_cpu, x.get_device(), x.device.index) == (True, False, 1, 1)
        assert (y.is_cuda, y.is_cpu, y.get_device(), y.device.index) == (False, True, -1, None)
        assert x.device != torch.device("cuda")


class TestModules:
    def test_to(self) -> None:
        model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).cuda()
        tensors = [*model.parameters(), *model.buffers()]
        assert {x.device for x in tensors} == {FIRST}
        assert model.to("cuda:1") is model
        assert {x.device for x in (*model.parameters(), *model.buffers())} == {SECOND}
        model.cpu()
        assert {x.device for x in (*model.parameters(), *model.buffers())} == {CPU}
        half = nn.Linear(2, 2).to("cuda", torch.float16)
        assert (half.weight.device, half.weight.dtype) == (FIRST, torch.float16)
        assert nn.Linear(2, 2, device="cuda:1").weight.device == SECOND

    def test_parameters_stay_what_they_are(self) -> None:
        """So an optimizer that was made before has them still, and gradients go along."""
        model = nn.Linear(3, 1)
        before = list(model.parameters())
        model(_host()).sum().backward()
        model.cuda()
        assert all(a is b for a, b in zip(model.parameters(), before, strict=True))
        assert model.weight.grad.device == FIRST
        model(_there()).sum().backward()
        assert model.weight.grad.tolist() == [[4.0, 4.0, 4.0]]

    def test_state_dict(self) -> None:
        one = nn.Linear(3, 2).cuda()
        state = one.state_dict()
        assert {x.device for x in state.values()} == {FIRST}
        on_cpu, there = nn.Linear(3, 2), nn.Linear(3, 2).to("cuda:1")
        on_cpu.load_state_dict(state)
        there.load_state_dict(on_cpu.state_dict())
        assert (on_cpu.weight.device, there.weight.device) == (CPU, SECOND)
        assert there.weight.tolist() == one.weight.tolist()
        assert number_of(there.weight) != number_of(one.weight)


def test_deepcopy() -> None:
    x = torch.ones(3, device="cuda:1", requires_grad=True)
    (x * 2).sum().backward()
    y = copy.deepcopy(x)
    assert (y.device, y.grad.device, y.requires_grad) == (SECOND, SECOND, True)
    assert number_of(x) != number_of(y)


def test_views_share_memory() -> None:
    x = torch.zeros(4, 6, device="cuda")
    views = [x[1], x.t(), x.view(-1), x[:, ::2], x.detach(), x.reshape(2, 12), x.unsqueeze(0)]
    before = cuda.memory_allocated()
    assert {number_of(v) for v in views} == {number_of(x)}
    views[0].fill_(1)
    views[3].add_(1)
    x[2:, 0] = 5
    assert x.sum().item() == 6 + 12 + 2 * 4
    assert views[1].device == views[3].device == FIRST
    assert cuda.memory_allocated() == before


def test_in_place_keeps_the_memory() -> None:
    x = torch.ones(3, device="cuda:1")
    number = number_of(x)
    x += 1
    x.mul_(2).clamp_(max=3).sqrt_()
    x[0] = 7
    assert (number_of(x), x.device) == (number, SECOND)


def test_inference_mode() -> None:
    with torch.inference_mode():
        x = torch.ones(3, device="cuda:1") * 2
        assert (x.is_inference(), x.device) == (True, SECOND)
        assert x[1:].cpu().tolist() == [2, 2]


def test_without_devices() -> None:
    cuda.configure(None)
    assert not cuda.is_available()
    assert cuda.device_count() == 0
    with pytest.raises(RuntimeError, match=r"^tidy.runtime has no device 'cuda'[^\n]*$"):
        torch.ones(1).cuda()


def test_devices_cannot_be_changed_under_tensors() -> None:
    x = _there()
    with pytest.raises(RuntimeError, match="tensors are on the devices already"):
        cuda.configure("a100")
    assert (x + 1).sum().item() == 12
