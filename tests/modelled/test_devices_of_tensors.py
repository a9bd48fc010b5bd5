"""What functions and layers make of a device's tensors is there too, and what nobody moves."""

from __future__ import annotations

import pickle
from argparse import Namespace
from io import BytesIO
from typing import Any

import pytest

import tidy.runtime as torch
from tidy.profiler import profile

from ..runtime.scripts_of_functions import function_of
from ..runtime.tables import calls
from .recording import recording

pytestmark = pytest.mark.usefixtures("two_t4")
nn, F, D = torch.nn, torch.nn.functional, torch.distributions

ON_DEVICE = calls("""
# Masks of attention.
attention(x, x, x, key_padding_mask=hidden); attention(x, x, x, attn_mask=later)
attention(x, x, x, attn_mask=later, key_padding_mask=hidden, need_weights=False)[0]
encoder(x, src_key_padding_mask=hidden); encoder(x, mask=later)
# Distributions.
D.Normal(v, v).sample((2,)); D.Normal(v, v).rsample(); D.Normal(v, 1.0).sample()
D.Normal(0.0, v).sample(); D.Normal(0.0, v).entropy(); D.Normal(v, 1).log_prob(v)
D.Laplace(v, v).sample(); D.Uniform(v, v + 1).sample((2,))
D.Uniform(0.0, v).sample(); D.MultivariateNormal(v, torch.eye(3, device="cuda")).sample()
D.MixtureSameFamily(D.Categorical(v), D.Normal(v, v)).sample(); D.Gamma(v, v).sample()
D.Beta(v, v).sample(); D.Dirichlet(v).sample(); D.Bernoulli(v / 4).sample()
D.kl_divergence(D.Normal(v, 1.0), D.Normal(v, v)); D.Independent(D.Normal(v, 1.0), 1).sample()
# CTC, with lengths on the CPU or not.
F.ctc_loss(logs, labels, torch.tensor([4]), torch.tensor([1])); F.ctc_loss(logs, labels, (4,), (1,))
nn.CTCLoss()(logs, labels, torch.tensor([4]), torch.tensor([1]))
F.ctc_loss(logs, labels, torch.tensor([4]).cuda(), torch.tensor([1]).cuda(), reduction="none")
# Norms of weights.
nn.utils.spectral_norm(nn.Linear(4, 2).cuda())(x)
nn.utils.parametrizations.spectral_norm(nn.Linear(4, 2).cuda())(x)
nn.utils.parametrizations.weight_norm(nn.Linear(4, 2).cuda())(x)
# Searching.
torch.unique(v); v.unique(return_inverse=True, return_counts=True); torch.unique(x[0], dim=0)
torch.searchsorted(v, v); torch.searchsorted(v, 2.0); torch.bucketize(v, v)
torch.searchsorted(x[0], x[0], out_int32=True)
torch.searchsorted(v, v, sorter=torch.tensor([0, 1, 2]).cuda())
torch.isin(v, v); torch.isin(v, 1.0); torch.isin(1.0, v)
# Made there.
torch.tril_indices(2, 3, device="cuda"); torch.triu_indices(2, 2, 1, device="cuda")
torch.normal(v, v); torch.normal(v); torch.normal(v, 1.0); torch.normal(0.0, v)
torch.normal(0.0, 1.0, (2,), device="cuda"); torch.logspace(0, 1, 3, device="cuda")
torch.fft.fftfreq(4, device="cuda"); torch.fft.rfftfreq(4, 0.5, device="cuda")
""")


def _names() -> dict[str, Any]:
    x = torch.arange(24.0, device="cuda").reshape(3, 2, 4)
    return {
        "torch": torch, "nn": nn, "F": F, "D": D, "x": x,
        "v": torch.tensor([1.0, 2.0, 3.0], device="cuda"),
        "hidden": torch.tensor([[False, True, False]] * 2, device="cuda"),
        "later": torch.ones(3, 3, device="cuda", dtype=torch.bool).triu(1),
        "attention": nn.MultiheadAttention(4, 2).cuda(),
        "encoder": nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 1).cuda(),
        "logs": torch.zeros(4, 1, 3, device="cuda").log_softmax(-1),
        "labels": torch.tensor([[1]], device="cuda"),
    }  # fmt: skip


@pytest.mark.parametrize("code", ON_DEVICE)
def test_a_result_is_on_the_device(code: str) -> None:
    found = eval(code, _names())  # noqa: S307
    assert all(x.is_cuda for x in (found if isinstance(found, tuple) else (found,)))


@pytest.mark.parametrize("where", ["cpu", "cuda:0"])
def test_a_number_of_another_device_fills(where: str) -> None:
    number = torch.tensor(3.0, device="cuda:1", requires_grad=True)
    x = torch.zeros(2, device=where)
    with profile() as seen:
        x.fill_(number.detach())
    assert (x.tolist(), str(x.device)) == ([3.0, 3.0], where)
    assert "aten::item" in [event.name for event in seen.piece.events]
    (torch.zeros(2, device=where).fill_(value=number) * 2).sum().backward()
    assert (number.grad.item(), str(number.grad.device)) == (4.0, "cuda:1")


@pytest.mark.parametrize(
    "code", ["torch.zeros(3).fill_(v)", "F.ctc_loss(logs.cpu(), labels, (4,), (1,))"]
)
def test_these_do_not_go_together(code: str) -> None:
    with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu!"):
        eval(code, _names())  # noqa: S307


@pytest.mark.parametrize(
    ("code", "waits"),
    [("torch.unique(v)", 1), ("D.Normal(v, v)", 2), ("D.Normal(v, v, validate_args=False)", 0)],
)
def test_the_host_waits_for_what_it_has_to_know(code: str, waits: int) -> None:
    names = _names()
    with recording() as log, profile() as seen:
        eval(code, names)  # noqa: S307
    assert [call.name for call in log.calls].count("cudaStreamSynchronize") == waits
    assert "aten::_to_copy" not in [event.name for event in seen.piece.events]


CUDA = torch.device("cuda", 0)


def test_gradients_are_there() -> None:
    def backward(_: Any, first: Any, second: Any) -> Any:
        assert first.device == second.device == CUDA
        return first * 2 + second * 3

    x = torch.ones(3, device="cuda", requires_grad=True)
    function_of(torch, lambda _, x: (x * 2, x * 3), backward).apply(x)[1].sum().backward()
    assert x.grad.tolist() == [3.0] * 3
    x = torch.ones(3, device="cuda", requires_grad=True)
    with pytest.raises(RuntimeError, match="device type 'cpu' to a tensor with device type 'cuda'"):
        x.grad = torch.ones(3)
    x.grad = torch.ones(3, device="cuda")
    logits = torch.zeros(4, 1, 3, device="cuda", requires_grad=True)
    labels, sizes = torch.tensor([[1]]), (torch.tensor([4]), torch.tensor([1]))
    F.ctc_loss(logits.log_softmax(-1), labels.cuda(), *sizes).backward()
    plain = torch.zeros(4, 1, 3, requires_grad=True)
    F.ctc_loss(plain.log_softmax(-1), labels, *sizes).backward()
    assert logits.grad.is_cuda
    assert logits.grad.tolist() == plain.grad.tolist()
    x = torch.rand(3, device="cuda", dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(torch.sin, (x,))
    assert torch.autograd.gradgradcheck(torch.sin, (x,))


def test_copies_pickles_and_autocast() -> None:
    assert torch.tensor(torch.ones(3, device="cuda")).device == CUDA
    assert torch.tensor(torch.ones(3, device="cuda"), device="cpu").device == torch.device("cpu")
    model = torch.nn.Linear(2, 2).cuda()
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert again.weight.tolist() == model.weight.tolist()
    x = torch.ones(8, 8, device="cuda")
    with torch.autocast("cuda"):
        assert (x @ x).dtype == torch.float16
        assert (torch.ones(8, 8) @ torch.ones(8, 8)).dtype == torch.float32
    assert (x @ x).dtype == torch.float32


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
    alone, wanted = torch.nn.DataParallel(layer), layer(x)
    assert (alone(x).tolist(), alone.cuda()(x).device) == (wanted.tolist(), CUDA)
    assert [*alone.state_dict()] == ["module.weight", "module.bias"]
    with pytest.raises(NotImplementedError, match="one process"):
        torch.nn.parallel.DistributedDataParallel(layer)


def test_a_typed_tensor_is_of_its_device() -> None:
    here, there = torch.FloatTensor(2), torch.cuda.FloatTensor(2)
    assert (here.device, there.device) == ("cpu", CUDA)
    assert isinstance(here, torch.FloatTensor) > isinstance(here, torch.cuda.FloatTensor)
    assert isinstance(there, torch.cuda.FloatTensor) > isinstance(there, torch.FloatTensor)
    assert not isinstance(there, torch.cuda.LongTensor)
