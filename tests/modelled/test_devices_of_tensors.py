"""Where tensors end up that nobody moves by hand."""

from __future__ import annotations

import pickle
from io import BytesIO
from typing import Any

import pytest

import tidy.runtime as torch
from tidy.profiler import profile

pytestmark = pytest.mark.usefixtures("a100")
CUDA = torch.device("cuda", 0)


class _Two(torch.autograd.Function):
    @staticmethod
    def forward(_: Any, x: Any) -> Any:
        return x * 2, x * 3

    @staticmethod
    def backward(_: Any, first: Any, second: Any) -> Any:
        assert first.device == second.device == CUDA
        return first * 2 + second * 3


def test_zeros_for_a_gradient_that_did_not_come() -> None:
    x = torch.ones(3, device="cuda", requires_grad=True)
    _Two.apply(x)[1].sum().backward()
    assert x.grad.tolist() == [3.0] * 3


def test_a_gradient_that_is_assigned_has_to_be_there() -> None:
    x = torch.ones(3, device="cuda", requires_grad=True)
    with pytest.raises(RuntimeError, match="device type 'cpu' to a tensor with device type 'cuda'"):
        x.grad = torch.ones(3)
    x.grad = torch.ones(3, device="cuda")


def test_a_copy_is_where_the_tensor_is() -> None:
    assert torch.tensor(torch.ones(3, device="cuda")).device == CUDA
    assert torch.tensor(torch.ones(3, device="cuda"), device="cpu").device == torch.device("cpu")


def test_what_was_saved_is_read_where_it_was_unless_told() -> None:
    made = {"weight": torch.ones(3, device="cuda"), "epochs": [1, torch.zeros(2)]}
    file = BytesIO()
    torch.save(made, file)
    found = torch.load(file)
    assert (found["weight"].device, found["epochs"][1].device) == (CUDA, torch.device("cpu"))
    assert torch.load(file, map_location="cpu")["weight"].device == torch.device("cpu")
    found = torch.load(file, map_location="cuda")
    assert (found["weight"].device, found["epochs"][1].device) == (CUDA, CUDA)
    assert found["weight"].tolist() == [1.0] * 3


def test_pickle_brings_the_numbers() -> None:
    model = torch.nn.Linear(2, 2).cuda()
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert again.weight.tolist() == model.weight.tolist()


def test_autocast_computes_in_half() -> None:
    x = torch.ones(8, 8, device="cuda")
    with torch.autocast("cuda"):
        assert (x @ x).dtype == torch.float16
        assert (torch.ones(8, 8) @ torch.ones(8, 8)).dtype == torch.float32
    assert (x @ x).dtype == torch.float32


@pytest.mark.parametrize(("device", "together"), [("cpu", False), ("cuda", True)])
def test_optimizers_group_tensors_of_a_device_unless_told_not_to(
    device: str, together: bool
) -> None:
    weights = [torch.ones(3, device=device, requires_grad=True) for _ in range(5)]
    optimizer = torch.optim.AdamW(weights)
    sum(w.sum() for w in weights).backward()
    with profile() as prof:
        optimizer.step()
    names = {event.name for event in prof.piece.events}
    assert any(name.startswith("aten::_foreach_") for name in names) == together


def test_data_parallel_takes_inputs_to_its_module() -> None:
    layer, x = torch.nn.Linear(2, 2), torch.ones(3, 2)
    alone = torch.nn.DataParallel(layer)
    wanted = layer(x)
    assert alone(x).tolist() == wanted.tolist()
    assert alone.cuda()(x).device == CUDA
    assert [*alone.state_dict()] == ["module.weight", "module.bias"]
    with pytest.raises(NotImplementedError, match="one process"):
        torch.nn.parallel.DistributedDataParallel(layer)
