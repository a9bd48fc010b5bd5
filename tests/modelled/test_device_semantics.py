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


def _names() -> dict[str, Any]:
    """`h` is on the host, `x` on the first device and `y` on the second."""
    number = torch.tensor(2.0)
    return {
        "torch": torch, "nn": nn, "F": F, "np": np, "copy": copy, "cuda": cuda, "number": number,
        "h": _host(), "x": _there(), "y": _there("cuda:1"), "SECOND": SECOND,
        "leaf": torch.ones(1, device="cuda", requires_grad=True),
        "n": torch.arange(3, device="cuda"),
    }  # fmt: skip


MIXED = calls("""
x + h; h + x; x.add_(h); h.add_(x); x @ h.T; F.linear(x, torch.ones(4, 3)); torch.cat([x, h])
torch.where(x > 0, x, h); nn.Linear(3, 2).cuda()(h); nn.Linear(3, 2)(x); nn.BatchNorm1d(3)(x)
F.embedding(torch.tensor([0]), torch.ones(3, 4, device='cuda'))
h * torch.tensor(2.0, device='cuda'); F.cross_entropy(x, torch.tensor([0, 1]))
""")


@pytest.mark.parametrize(
    ("code", "other"), [*((c, "cpu") for c in MIXED), ("x + y", 1), ("torch.stack([x, y])", 1)]
)
def test_devices_do_not_mix(code: str, other: Any) -> None:
    with pytest.raises(RuntimeError) as caught:
        eval(code, _names())  # noqa: S307
    assert str(caught.value).startswith(
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"cuda:0 and {other if other == 'cpu' else SECOND}!"
    )


FACTORIES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys("zeros ones empty rand randn arange eye randperm".split(), (3,)),
    "full": ((3,), 1.0), "linspace": (0, 1, 3), "randint": (0, 5, (3,)), "tensor": ([1, 2],),
    "as_tensor": ([1.0],),
}  # fmt: skip


@pytest.mark.parametrize("name", FACTORIES)
def test_factories(name: str) -> None:
    """The functions, and what of them is also a method or takes the place of another tensor."""
    make, args = getattr(torch, name), FACTORIES[name]
    assert make(*args, device="cuda:1").device == SECOND
    assert make(*args, device=torch.device("cuda")).device == FIRST
    assert make(*args, device="cpu").device == CPU
    with cuda.device(1):
        assert make(*args, device="cuda").device == SECOND
    x = _there("cuda:1")
    if name in "zeros ones empty full tensor".split():
        assert getattr(x, f"new_{name}")(*args).device == SECOND
        assert getattr(x, f"new_{name}")(*args, device="cuda:0").device == FIRST
    if name in "zeros ones empty rand randn full".split():
        make, args = getattr(torch, f"{name}_like"), args[1:]
        assert make(x, *args).device == SECOND
        assert make(x, *args, device="cpu").device == CPU
        assert make(_host(), *args, device="cuda").device == FIRST


# Where things are, and of which dtype.
PLACES = {
    (CPU, torch.float32): "number",
    (FIRST, torch.float32): """
        number * torch.tensor(3.0, device='cuda'); h.to('cuda'); h.to('cuda', torch.float32, True)
        h.cuda(non_blocking=True)
    """,
    (SECOND, torch.float32): """
        y * number + 1 - number; h.to(1); h.to(SECOND); h.cuda(1); h.cuda('cuda:1')
        nn.Linear(2, 2, device='cuda:1').weight; copy.deepcopy(y)
    """,
    (SECOND, torch.float16): "h.to('cuda:1', torch.float16)",
    (SECOND, torch.float64): "h.to(torch.zeros(1, dtype=torch.float64, device='cuda:1'))",
    (FIRST, torch.int64): "h.to(device='cuda', dtype=torch.int64, non_blocking=True)",
    (FIRST, torch.float16): "nn.Linear(2, 2).to('cuda', torch.float16).weight",
}
# What is true: of copies and layouts (dense ones stay), pinned memory, text, and Python's numbers.
HOLDS = calls("""
h.to('cpu') is h.cpu() is h; x.to('cuda') is x.to('cuda:0') is x.cuda() is x.to(torch.float32) is x
x.to('cuda', copy=True) is not x; torch.ones(3, 4).t().cuda().stride() == (1, 4)
torch.ones(1, 4).expand(3, 4).cuda().stride() == (4, 1)
torch.ones(3, 8)[:, ::2].cuda().stride() == (4, 1)
torch.ones(3, 8, device='cuda')[:, ::2].cpu().stride() == (4, 1)
(y * number + 1 - number).tolist() == [[1.0] * 3] * 2; not leaf.cpu().detach().cuda().requires_grad
not h.is_pinned(); h.pin_memory().is_pinned() and h.pin_memory()[0].is_pinned()
(p := h.pin_memory()).pin_memory() is p; not x.is_pinned(); not (h.pin_memory() + 1).is_pinned()
torch.zeros(3, pin_memory=True).is_pinned()
repr(torch.tensor([1.0], device='cuda:1')) == "tensor([1.], device='cuda:1')"
repr(leaf) == "tensor([1.], device='cuda:0', requires_grad=True)"
repr(leaf * 2) == "tensor([2.], device='cuda:0', grad_fn=<MulBackward0>)"
n.tolist() == [int(x) for x in n] == [0, 1, 2]; f"{n[1]}" == "1"; 2 in n; list(range(5))[n[2]] == 2
(y.is_cuda, y.is_cpu, y.get_device(), y.device.index) == (True, False, 1, 1)
(h.is_cuda, h.is_cpu, h.get_device(), h.device.index) == (False, True, -1, None)
y.device != torch.device('cuda')
""")


@pytest.mark.parametrize(
    ("code", "device", "dtype"), [(c, *place) for place in PLACES for c in calls(PLACES[place])]
)
def test_places(code: str, device: Any, dtype: Any) -> None:
    found = eval(code, _names())  # noqa: S307
    assert (found.device, found.dtype) == (device, dtype)


@pytest.mark.parametrize("code", HOLDS)
def test_holds(code: str) -> None:
    assert eval(code, _names())  # noqa: S307


class TestTo:
    def test_gradients_and_copies(self) -> None:
        x = torch.ones(3, requires_grad=True)
        y = x.to("cuda:0").to("cuda:1", torch.float64)
        (y * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, device="cuda:1")).sum().backward()
        assert (x.grad.device, x.grad.dtype, x.grad.tolist()) == (CPU, torch.float32, [1, 2, 3])
        with torch.no_grad():
            assert not x.cuda().requires_grad
        x, y, z = _host(), torch.zeros(2, 3, device="cuda"), torch.zeros(2, 3, device="cuda:1")
        y.copy_(x)
        z[0].copy_(y[1] * 2)
        x[1].copy_(z[0])
        assert x.tolist() == [[1, 1, 1], [2, 2, 2]]
        assert [each.device for each in (x, y, z)] == [CPU, FIRST, SECOND]
        with cuda.device(1):
            assert _there("cuda:0").to("cuda").device == SECOND


@pytest.mark.parametrize("pins", [True, False])
def test_batches_are_pinned_if_asked_for(pins: bool) -> None:
    data = [(torch.ones(2) * n, n) for n in range(6)]
    batches = list(DataLoader(data, batch_size=3, pin_memory=pins))
    assert [each.is_pinned() for batch in batches for each in batch] == [pins] * 4


@pytest.mark.parametrize("convert", [lambda x: x.numpy(), np.asarray, np.array])
def test_numpy(convert: Any) -> None:
    with pytest.raises(TypeError) as caught:
        convert(_there("cuda:1"))
    assert str(caught.value) == (
        "can't convert cuda:1 device type tensor to numpy. "
        "Use Tensor.cpu() to copy the tensor to host memory first."
    )
    x = torch.ones(3, device="cuda", requires_grad=True)
    x.numpy(force=True)[:] = 7
    assert x.tolist() == [1, 1, 1]


class TestModules:
    def test_to(self) -> None:
        model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
        for device in (FIRST, SECOND, CPU):
            assert (model.cpu() if device == CPU else model.to(device)) is model
            assert {x.device for x in (*model.parameters(), *model.buffers())} == {device}

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
        one, on_cpu, there = nn.Linear(3, 2).cuda(), nn.Linear(3, 2), nn.Linear(3, 2).to("cuda:1")
        assert {x.device for x in one.state_dict().values()} == {FIRST}
        on_cpu.load_state_dict(one.state_dict())
        there.load_state_dict(on_cpu.state_dict())
        assert (on_cpu.weight.device, there.weight.device) == (CPU, SECOND)
        assert there.weight.tolist() == one.weight.tolist()
        assert number_of(there.weight) != number_of(one.weight)


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


def test_memory_is_kept_or_copied() -> None:
    x = torch.ones(3, device="cuda:1")
    number = number_of(x)
    x += 1
    x.mul_(2).clamp_(max=3).sqrt_()
    x[0] = 7
    assert (number_of(x), x.device) == (number, SECOND)
    with torch.inference_mode():
        x = torch.ones(3, device="cuda:1") * 2
        assert (x.is_inference(), x.device) == (True, SECOND)
        assert x[1:].cpu().tolist() == [2, 2]
    x = torch.ones(3, device="cuda:1", requires_grad=True)
    (x * 2).sum().backward()
    y = copy.deepcopy(x)
    assert (y.device, y.grad.device, y.requires_grad) == (SECOND, SECOND, True)
    assert number_of(x) != number_of(y)


def test_without_devices() -> None:
    cuda.configure(None)
    assert (cuda.is_available(), cuda.device_count()) == (False, 0)
    with pytest.raises(RuntimeError, match=r"^tidy.runtime has no device 'cuda'[^\n]*$"):
        torch.ones(1).cuda()


def test_what_tensors_of_devices_forbid() -> None:
    x = _there()
    with pytest.raises(RuntimeError, match="tensors are on the devices already"):
        cuda.configure("a100")
    assert (x + 1).sum().item() == 12
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        _there().pin_memory()
