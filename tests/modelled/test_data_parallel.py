"""DataParallel, and torch.cuda.comm that it is made of."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime import cuda, nn
from tidy.runtime.modelled import communication as comm
from tidy.runtime.modelled.current_device import StreamContext
from tidy.runtime.nn import parallel

from .networks import (
    assert_same,
    gradients,
    gradients_alone,
    logged,
    named_records,
    values,
    whole,
    whole_network,
)
from .parallel_logs import compute, hazards, shared_ns


@pytest.mark.parametrize(("devices", "batch"), [(2, 8), (2, 5), (3, 7), (4, 3), (2, 1)])
@pytest.mark.parametrize("source", ["cpu", "cuda:0", "cuda:1"])
def test_gradients_are_those_of_the_whole_batch(devices: int, batch: int, source: str) -> None:
    cuda.configure("a100", devices)
    module, x = whole_network(), whole(batch, 6)
    wanted, expected = gradients_alone(module, x), values([module(x.cuda())])
    out = nn.DataParallel(module)(x.to(source))
    assert out.device == rt.device("cuda", 0)
    assert_same(values([out]), expected)
    out.sum().backward()
    assert_same(gradients(module), wanted)
    assert all(p.grad.device == rt.device("cuda", 0) for p in module.parameters())


def test_gradients_of_inputs(two_devices: None) -> None:
    module, x = whole_network(), whole(6, 6).cuda().requires_grad_()
    module(x).sum().backward()
    wanted, x.grad = values([x.grad]), None
    nn.DataParallel(module)(x).sum().backward()
    assert_same(values([x.grad]), wanted)


def test_training_is_that_of_one_device(two_devices: None) -> None:
    """To rounding: the sums over the batch are taken in another order."""
    rt.manual_seed(0)
    x, y = rt.randn(12, 5), rt.randn(12, 3)
    found = []
    for wrap in (lambda m: m, nn.DataParallel):
        rt.manual_seed(1)
        module = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 3)).cuda()
        model, optimizer = wrap(module), rt.optim.Adam(module.parameters(), lr=0.01)
        for _ in range(5):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x.cuda()), y.cuda()).backward()
            optimizer.step()
        found.append(values(module.parameters()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_ranges_and_functions(two_devices: None) -> None:
    module = nn.DataParallel(whole_network())
    with named_records() as names:
        module(whole(4, 6)).sum().backward()
    order = ["DataParallel.forward", "Scatter", "Broadcast", "aten::linear", "Gather"]
    places = [names.index(name) for name in (*order, "ReduceAddCoalesced")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("source", "copies"),
    [
        ("cpu", ["Memcpy HtoD (Pageable -> Device)"] * 2),
        ("cuda:0", ["Memcpy PtoP (Device -> Device)"]),
    ],
)
def test_copies_in_the_log(two_devices: None, source: str, copies: list[str]) -> None:
    x = whole(8, 6).to(source)
    with logged() as log:
        parallel.scatter(x, [0, 1])
    assert [w.name for w in log.work if w.kind == "gpu_memcpy"] == copies
    assert all(w.nbytes == x.nbytes // 2 for w in log.work if w.kind == "gpu_memcpy")


def test_broadcast_and_reduction_in_the_log(two_devices: None) -> None:
    module, x = nn.DataParallel(whole_network()), whole(8, 6)
    with logged() as log:
        module(x).sum().backward()
        nbytes = sum(p.nbytes for p in module.parameters())
    for name in ("Broadcast", "Reduce_Sum_f32"):
        kernels = [w for w in log.work if w.name.startswith(f"ncclDevKernel_{name}_RING_LL(")]
        assert [w.device for w in kernels] == [0, 1]
        assert len({w.end_ns for w in kernels}) == 1
        assert {4 * w.args["In msg nelems"] for w in kernels} == {nbytes}


def test_no_hazards(two_devices: None) -> None:
    module = whole_network((6, 8, 8, 4))
    model, optimizer = nn.DataParallel(module), rt.optim.SGD(module.parameters(), lr=1)
    with logged() as log:
        for step in range(3):
            optimizer.zero_grad()
            model(whole(8, 6, seed=step).pin_memory()).sum().backward()
            optimizer.step()
    assert len(log.work) > 100
    assert hazards(log) == []


@pytest.mark.parametrize("wrap", [nn.DataParallel, parallel.DistributedDataParallel])
def test_no_hazards_where_the_devices_lag_behind(wrap: Any) -> None:
    cuda.configure("t4", 3)  # slow in float64
    layers = [nn.Linear(256, 256, dtype=rt.float64) for _ in range(3)]
    module = nn.Sequential(*layers, nn.BatchNorm1d(256, dtype=rt.float64)).cuda()
    model = wrap(module)
    optimizer = rt.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    with logged() as log:
        for step in range(2):
            out = model(whole(1200, 256, seed=step, dtype="float64").pin_memory())
            optimizer.zero_grad()
            out.square().sum().backward()
            optimizer.step()
    launched = {call.correlation: call.end_ns for call in log.calls}
    assert max(work.start_ns - launched[work.correlation] for work in log.work) > 500_000
    assert hazards(log) == []


def test_a_hazard_is_seen() -> None:
    """The check itself: without waiting, another stream writes what is not finished yet."""
    cuda.configure("t4")
    x = rt.zeros(512, 512, dtype=rt.float64).cuda()
    with logged() as log:
        y = x @ x @ x @ x @ x
        with StreamContext(cuda.Stream()):
            y.add_(1)
    assert hazards(log)


def test_the_devices_run_at_one_time() -> None:
    cuda.configure("t4", 2)  # whose float64 is slow: kernels take longer than launching them
    module = nn.Sequential(*[nn.Linear(384, 384, dtype=rt.float64) for _ in range(4)]).cuda()
    model, x = nn.DataParallel(module), rt.ones(512, 384, dtype=rt.float64).cuda()
    with rt.no_grad(), logged() as log:
        model(x)
    first, second = (
        [w for w in compute(log, device) if "gemm" in w.name.lower()] for device in (0, 1)
    )
    assert len(first) == len(second) == 4
    assert shared_ns(first, second) > 0


def test_a_module_elsewhere_is_refused(two_devices: None) -> None:
    message = r"parameters and buffers on device cuda:0 \(device_ids\[0\]\) but found .*: cuda:1"
    with pytest.raises(RuntimeError, match=message):
        nn.DataParallel(whole_network().to("cuda:1"))(whole(4, 6))
    assert nn.DataParallel(whole_network().to("cuda:1"), [1, 0])(whole(4, 6)).get_device() == 1


def test_one_device_and_none() -> None:
    with rt.no_grad():
        layer, x = nn.Linear(6, 4), whole(4, 6)
        wanted = values([layer(x)])
        assert_same(values([nn.DataParallel(layer)(x)]), wanted)  # no devices: on the CPU
        cuda.configure("a100", 2)
        one = nn.DataParallel(layer, [1])
        assert layer.weight.get_device() == 1
        with named_records() as names:
            out = one(x)
        assert out.get_device() == 1
        assert "Broadcast" not in names
    np.testing.assert_allclose(values([out])[0], wanted[0], rtol=1e-6)


def test_the_output_device(two_devices: None) -> None:
    module, x = whole_network(), whole(4, 6)
    assert nn.DataParallel(module, output_device=1)(x).get_device() == 1
    assert nn.DataParallel(module, output_device=-1)(x).get_device() == -1
    found = parallel.data_parallel(module, x, [0, 1], "cuda:1")
    assert found.get_device() == 1
    assert_same(values([found]), values([module(x.cuda())]))


Pair = namedtuple("Pair", "left right")


class _Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(rt.ones(1))
        self.seen: list[Any] = []

    def forward(self, pair: Any, *, extra: Any = None, label: str = "") -> Any:
        self.seen.append((cuda.current_device(), label))
        left = pair.left * self.scale
        return {"out": Pair(left, [pair.right + extra["bias"]]), "none": None}


def test_nested_inputs_and_outputs(two_devices: None) -> None:
    module = _Nested().cuda()
    pair = Pair(whole(4, 3), whole(4, 2, seed=1))
    out = nn.DataParallel(module)(pair, extra={"bias": whole(4, 1)}, label="x")
    assert out["none"] is None
    assert_same(values([out["out"].left]), values([pair.left]))
    assert_same(values(out["out"].right), values([pair.right + whole(4, 1)]))
    assert module.seen == [(0, "x"), (1, "x")]


def test_numbers_are_gathered_into_a_vector(two_devices: None) -> None:
    parts = [whole(3).to(f"cuda:{i}").requires_grad_() for i in range(2)]
    with pytest.warns(UserWarning, match="vector"):
        out = parallel.gather([p.sum() for p in parts], 0)
    assert out.shape == (2,)
    (out * rt.tensor([1.0, 2.0]).cuda()).sum().backward()
    assert [p.grad.cpu().tolist() for p in parts] == [[1] * 3, [2] * 3]


def test_replicas(two_devices: None) -> None:
    module = whole_network()
    for detach in (False, True):
        first, second = parallel.replicate(module, [0, 1], detach)
        assert list(first.parameters()) == []
        for name, param in module.named_parameters():
            layer, _, leaf = name.partition(".")
            here, there = (getattr(each[int(layer)], leaf) for each in (first, second))
            assert (here.get_device(), there.get_device()) == (0, 1)
            assert_same(values([here, there]), values([param, param]))
            assert there.requires_grad is not detach
            assert there.is_leaf is detach
    assert [name for name, _ in module.named_parameters()] == [
        "0.weight", "0.bias", "2.weight", "2.bias"
    ]  # fmt: skip


def test_parameters_that_need_no_gradient_or_get_none(two_devices: None) -> None:
    class Part(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.left = nn.Linear(6, 2), nn.Linear(6, 2)
            self.frozen = nn.Linear(6, 2).requires_grad_(False)

        def forward(self, x: Any) -> Any:
            return self.used(x) + self.frozen(x)

    module = Part().cuda()
    nn.DataParallel(module)(whole(4, 6)).sum().backward()
    assert module.frozen.weight.grad is None
    assert module.left.weight.grad.abs().max().item() == 0  # zeros, as Broadcast's backward has
    assert module.used.weight.grad.abs().max().item() > 0


def test_buffers_of_the_first_replica_are_the_modules(two_devices: None) -> None:
    module, alone = nn.BatchNorm1d(6).cuda(), nn.BatchNorm1d(6).cuda()
    x = whole(8, 6)
    nn.DataParallel(module)(x)
    alone(x[:4].cuda())
    assert_same(values(module.buffers()), values(alone.buffers()))


def test_an_error_names_the_replica(two_devices: None) -> None:
    class Fails(nn.Module):
        def forward(self, x: Any) -> Any:
            if x.get_device() == 1:
                raise KeyError("there")
            return x

    with pytest.raises(KeyError) as caught:
        nn.DataParallel(Fails())(whole(4, 6))
    assert getattr(caught.value, "__notes__", ["in replica 1 on device 1"])[-1].endswith("device 1")
    assert cuda.current_device() == 0


@pytest.mark.parametrize("wrap", [nn.DataParallel, parallel.DistributedDataParallel])
def test_sparse_gradients_are_refused(two_devices: None, wrap: Any) -> None:
    loss = wrap(nn.Embedding(5, 3, sparse=True).cuda())(rt.tensor([1, 2, 3, 0])).sum()
    with pytest.raises(NotImplementedError, match="sparse=False"):
        loss.backward()


def test_parallel_apply_finds_devices_by_inputs(two_devices: None) -> None:
    modules = [nn.Linear(6, 2).to(f"cuda:{i}") for i in (1, 0)]
    outs = parallel.parallel_apply(modules, [whole(2, 6).to(f"cuda:{i}") for i in (1, 0)])
    assert [out.get_device() for out in outs] == [1, 0]
    with pytest.raises(RuntimeError, match="no device was provided"):
        parallel.parallel_apply(modules, [(), ()])
    with pytest.raises(AssertionError, match="2 modules, 1 inputs"):
        parallel.parallel_apply(modules, [()])


# -- torch.cuda.comm -----------------------------------------------------------------------------


def test_broadcast_coalesced_in_small_buffers(two_devices: None) -> None:
    tensors = [whole(n, seed=n, dtype=d).cuda() for n in (3, 5, 7) for d in ("float32", "int64")]
    found = comm.broadcast_coalesced(tensors, [0, 1], buffer_size=32)
    assert all(x is y for x, y in zip(found[0], tensors, strict=True))
    assert_same(values(found[1]), values(tensors))
    assert {x.get_device() for x in found[1]} == {1}
    with pytest.raises(ValueError, match=r"tensor 0 is on cuda:0, but devices\[0\] is cuda:1"):
        comm.broadcast_coalesced(tensors, [1, 0])


def test_broadcast_reduce_scatter_gather(two_devices: None) -> None:
    x = whole(5, 4).cuda()
    both = cuda.comm.broadcast(x, ["cuda:0", "cuda:1"])
    assert both[0] is x
    assert_same(values(both), values([x, x]))
    total = comm.reduce_add(both, 1)
    assert total.get_device() == 1
    assert_same(values([total]), values([x + x]))
    parts = comm.scatter(x, [1, 0], [1, 3], dim=1)
    assert [tuple(p.shape) for p in parts] == [(5, 1), (5, 3)]
    assert [p.get_device() for p in parts] == [1, 0]
    assert_same(values([comm.gather(parts, 1, "cpu")]), values([x]))
    out = rt.empty(5, 4).to("cuda:1")
    assert comm.gather(parts, -1, out=out) is out
    assert_same(values([out]), values([x]))
    with pytest.raises(ValueError, match="input 1 has invalid size: got 5x3, but expected 5x1"):
        comm.reduce_add(parts)
    with pytest.raises(RuntimeError, match="same length"):
        comm.scatter(x, [0, 1], [5])
    with pytest.raises(RuntimeError, match="index 1 has invalid shape"):
        comm.gather(parts, 0)
    with pytest.raises(RuntimeError, match="Exactly one"):
        comm.broadcast(x)
