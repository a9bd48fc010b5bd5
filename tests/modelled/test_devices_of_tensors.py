"""Where tensors end up that nobody moves by hand."""

from __future__ import annotations

import pickle
from argparse import Namespace
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


def _again(x: Any, **how: Any) -> Any:
    """Saved and loaded."""
    file = BytesIO()
    torch.save(x, file)
    return torch.load(file, **how)


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_what_is_shared_on_a_device_is_shared_where_it_is_read(kind: str) -> None:
    if kind == "bfloat16":
        pytest.importorskip("ml_dtypes")
    x = torch.zeros(4, device="cuda", dtype=getattr(torch, kind))
    for where in (None, "cuda", "cpu", {"cuda:0": "cpu"}, lambda storage, _: storage):
        found = _again({"a": x, "again": x, "row": x[2:]}, map_location=where)
        assert found["a"] is found["again"]
        found["row"].fill_(7)
        assert found["a"].tolist() == [0, 0, 7, 7]
        assert found["row"].is_cuda == found["a"].is_cuda == (where in (None, "cuda"))
    y = torch.zeros(4)
    found = _again({"a": y, "b": y[2:], "c": y}, map_location="cpu")
    assert found["a"] is found["c"]
    found["b"].fill_(7)
    assert found["a"].tolist() == [0, 0, 7, 7]
    weight = torch.nn.Parameter(torch.ones(2, device="cuda"))
    one, other = _again([weight, weight])
    assert one is other
    assert (one.is_leaf, one.requires_grad) == (True, True)


@pytest.mark.parametrize("where", [None, "cpu", "cuda"])
def test_a_module_comes_back_on_its_device_unless_told(where: str | None) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).cuda()
    net.append(net[0])
    arguments = Namespace(x=torch.ones(2, device="cuda"))
    value = {"net": net, "arguments": arguments, "w": net[0].weight, "host": [1, torch.zeros(2)]}
    found = _again(value, map_location=where, weights_only=False)
    every = [*found["net"].state_dict().values(), found["arguments"].x, found["w"]]
    assert {x.device.type for x in every} == {where or "cuda"}
    assert found["host"][1].device.type == (where or "cpu")
    assert found["net"][0] is found["net"][2]
    assert type(found["net"][0].weight) is torch.nn.Parameter
    found["w"].data.fill_(3)
    assert found["net"][2].weight.tolist() == [[3, 3], [3, 3]]
    moved = _again(torch.nn.Linear(2, 2), map_location="cuda", weights_only=False)
    assert moved.weight.is_cuda


def test_a_tensor_of_a_device_that_is_not_here_is_told() -> None:
    file = BytesIO()
    torch.save(torch.ones(2, device="cuda"), file)
    torch.cuda.configure(None)
    assert torch.load(file, map_location="cpu").tolist() == [1, 1]
    with pytest.raises(RuntimeError, match=r"^Attempting to deserialize object on a CUDA"):
        torch.load(file)


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
