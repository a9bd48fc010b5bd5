"""Gradients in the memory of buckets, and their reduction while backward goes on."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime import cuda, nn
from tidy.runtime.modelled.parallel.buckets import assign
from tidy.runtime.nn.parallel import DistributedDataParallel
from tidy.runtime.utils.checkpoint import checkpoint

from .networks import (
    assert_replicas_equal,
    assert_same,
    gradients,
    gradients_alone,
    logged,
    named_records,
    whole,
    whole_network,
)
from .parallel_logs import compute, hazards, nccl, shared_ns


def _memory(model: Any) -> list[Any]:
    """By replica: the flat memory of its buckets."""
    return [[b.flats[row].array for b in model.reducer.buckets] for row in range(2)]


def _assert_in_buckets(model: Any) -> None:
    for replica, flats in zip(model.replicas, _memory(model), strict=True):
        for param in replica.parameters():
            assert sum(np.shares_memory(param.grad.array, flat) for flat in flats) == 1
            assert param.grad.shape == param.shape


@pytest.mark.parametrize("to_none", [True, False])
def test_gradients_are_views_of_buckets(two_devices: None, to_none: bool) -> None:
    module, batches = whole_network(), [whole(8, 6, seed=n) for n in range(3)]
    wanted = [gradients_alone(module, x) for x in batches]
    model = DistributedDataParallel(module)
    optimizer = rt.optim.SGD(model.parameters(), lr=1.0)
    for x, grads in zip(batches, wanted, strict=True):
        optimizer.zero_grad(set_to_none=to_none)
        model(x).sum().backward()
        _assert_in_buckets(model)
        assert_replicas_equal(model)
        assert_same(gradients(module), grads)


def test_a_backward_through_the_module_alone(two_devices: None) -> None:
    """Its gradients would stay on one device: the next forward says so."""
    module, x = whole_network(), whole(8, 6)
    model = DistributedDataParallel(module)
    model(x).sum().backward()
    module(x.cuda()).sum().backward()
    with pytest.raises(RuntimeError, match="no backward through the module on its own"):
        model(x)


@pytest.mark.parametrize("as_view", [True, False])
def test_gradients_add_up_over_backwards(two_devices: None, as_view: bool) -> None:
    module, batches = whole_network(), [whole(8, 6, seed=n) for n in range(3)]
    each = [gradients_alone(module, x) for x in batches]
    model = DistributedDataParallel(module, gradient_as_bucket_view=as_view)
    for x in batches:
        model(x).sum().backward()
    assert_same(gradients(module), [sum(grads) for grads in zip(*each, strict=True)])
    assert_replicas_equal(model)


def test_a_forward_for_two_backwards(two_devices: None) -> None:
    module, x = whole_network(), whole(8, 6)
    wanted = gradients_alone(module, x)
    loss = DistributedDataParallel(module)(x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert_same(gradients(module), [2 * grad for grad in wanted])


def test_two_forwards_for_one_backward(two_devices: None) -> None:
    module, x, y = whole_network(), whole(8, 6), whole(8, 6, seed=1)
    wanted = [
        a + b for a, b in zip(gradients_alone(module, x), gradients_alone(module, y), strict=True)
    ]
    model = DistributedDataParallel(module)
    (model(x).sum() + model(y).sum()).backward()
    assert_same(gradients(module), wanted)
    assert_replicas_equal(model)


def test_gradients_from_before(two_devices: None) -> None:
    module, x, y = whole_network(), whole(8, 6), whole(8, 6, seed=1)
    module(x.cuda()).sum().backward()
    module(y.cuda()).sum().backward()
    wanted = gradients(module)
    module.zero_grad()
    module(x.cuda()).sum().backward()
    DistributedDataParallel(module)(y).sum().backward()
    assert_same(gradients(module), wanted)


def test_a_loss_in_the_module(two_devices: None) -> None:
    """Each replica's mean: the gradient of their mean is that of the whole batch's mean."""

    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = whole_network()

        def forward(self, x: Any) -> Any:
            return self.inner(x).mean()

    module, x = Loss(), whole(8, 6)
    wanted = gradients_alone(module, x, lambda out: out)
    with pytest.warns(UserWarning, match="vector"):
        out = DistributedDataParallel(module)(x)
    out.mean().backward()
    assert_same(gradients(module), wanted)


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpointed_layers(two_devices: None, reentrant: bool) -> None:
    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = whole_network((6, 8)), whole_network((8, 4))

        def forward(self, x: Any) -> Any:
            return checkpoint(self.second, self.first(x), use_reentrant=reentrant)

    module, x = Checkpointed(), whole(8, 6)
    wanted = gradients_alone(module, x)
    model = DistributedDataParallel(module, bucket_cap_mb=1e-6)
    with logged() as log:
        for _ in range(2):
            model.zero_grad()
            model(x).sum().backward()
            assert_same(gradients(module), wanted)
            assert_replicas_equal(model)
    assert len(nccl(log)) == 8
    assert hazards(log) == []


@pytest.mark.parametrize("to_none", [True, False])
@pytest.mark.parametrize("as_view", [True, False])
def test_no_sync(two_devices: None, to_none: bool, as_view: bool) -> None:
    module, batches = whole_network(), [whole(8, 6, seed=n) for n in range(3)]
    each = [gradients_alone(module, x) for x in batches]
    model = DistributedDataParallel(module, gradient_as_bucket_view=as_view)
    model(batches[0]).sum().backward()
    model.zero_grad(set_to_none=to_none)
    with logged() as log, model.no_sync():
        for x in batches[:2]:
            model(x).sum().backward()
    assert nccl(log) == []
    assert not np.array_equal(*[gradients(replica)[0] for replica in model.replicas])
    with logged() as log:
        model(batches[2]).sum().backward()
    assert len(nccl(log)) == 1
    assert_same(gradients(module), [sum(grads) for grads in zip(*each, strict=True)])
    assert_replicas_equal(model)


def test_parameters_in_buckets() -> None:
    sizes = [3, 4, 5, 2, 1]
    params = [rt.zeros(n, dtype=rt.float32) for n in sizes]
    assert assign(params, [4]) == [[4], [3], [2], [1], [0]]
    assert assign(params, [12]) == [[4, 3], [2], [1], [0]]
    assert assign(params, [4, 20]) == [[4], [3, 2], [1, 0]]
    assert assign(params, [1 << 20]) == [[4, 3, 2, 1, 0]]
    mixed = [rt.zeros(n, dtype=d) for n in (1, 2) for d in (rt.float32, rt.float64)]
    assert assign(mixed, [1 << 20]) == [[3, 1], [2, 0]]


@pytest.mark.oracle
@pytest.mark.parametrize("limits", [[4], [64], [16, 256], [1 << 20, 25 << 20]])
def test_buckets_are_pytorchs(limits: list[int]) -> None:
    import torch
    from torch import distributed

    if not distributed.is_available():
        pytest.skip("PyTorch without torch.distributed")
    random = np.random.default_rng(0)
    for _ in range(50):
        sizes = random.integers(1, 40, 20)
        dtypes = random.choice(["float32", "float64", "float16"], 20)
        ours = [rt.zeros(int(n), dtype=getattr(rt, d)) for n, d in zip(sizes, dtypes, strict=True)]
        theirs = [
            torch.zeros(int(n), dtype=getattr(torch, d)) for n, d in zip(sizes, dtypes, strict=True)
        ]
        found, _ = distributed._compute_bucket_assignment_by_size(theirs[::-1], limits)
        assert assign(ours, limits) == [[19 - number for number in bucket] for bucket in found]


def test_number_and_sizes_of_collectives(two_devices: None) -> None:
    module = whole_network((6, 8, 8, 4))
    model = DistributedDataParallel(module, bucket_cap_mb=160 / (1 << 20))
    with logged() as log, named_records() as names:
        model(whole(8, 6)).sum().backward()
    weights = [p.array.size for p in module.parameters()]  # 48 8 64 8 32 4
    expected = [weights[5] + weights[4] + weights[3], weights[2], weights[1] + weights[0]]
    for device in (0, 1):
        kernels = nccl(log, device=device)
        assert [w.args["In msg nelems"] for w in kernels] == expected
        for work in kernels:
            assert work.name == (
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"
            )
            args = work.args
            assert args["Out msg nelems"] == args["In msg nelems"]
            assert (args["Collective name"], args["Group size"]) == ("allreduce", 2)
            assert (args["dtype"], args["Process Group Ranks"]) == ("Float", "[0, 1]")
            assert work.reads == work.writes != ()
    calls = {call.correlation: call.name for call in log.calls}
    assert {calls[w.correlation] for w in nccl(log)} == {"cudaLaunchKernelExC"}
    assert "DistributedDataParallel.forward" in names
    assert names.count("c10d::allreduce_") == names.count("nccl:all_reduce") == 3


def test_collectives_end_together_and_wait_in_their_own_time(two_devices: None) -> None:
    model = DistributedDataParallel(whole_network((6, 8, 8, 4)), bucket_cap_mb=1e-6)
    with logged() as log:
        model(whole(8, 6)).sum().backward()
    pairs = list(zip(nccl(log, device=0), nccl(log, device=1), strict=True))
    assert len(pairs) == 6  # a bucket for each parameter
    assert all(max(a.start_ns, b.start_ns) < a.end_ns == b.end_ns for a, b in pairs)
    launched = {call.correlation: call.end_ns for call in log.calls}
    assert all(w.start_ns > launched[w.correlation] for pair in pairs for w in pair)
    streams = {(w.device, w.stream) for pair in pairs for w in pair}
    assert not streams & {(w.device, w.stream) for d in (0, 1) for w in compute(log, d)}


@pytest.mark.parametrize("as_view", [True, False])
@pytest.mark.parametrize("to_none", [True, False])
def test_no_hazards(two_devices: None, as_view: bool, to_none: bool) -> None:
    module = nn.Sequential(whole_network((6, 8, 8)), nn.BatchNorm1d(8).cuda())
    model = DistributedDataParallel(module, gradient_as_bucket_view=as_view, bucket_cap_mb=1e-6)
    optimizer = rt.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with logged() as log:
        for step in range(3):
            optimizer.zero_grad(set_to_none=to_none)
            model(whole(8, 6, seed=step).pin_memory()).sum().backward()
            optimizer.step()
    assert len(nccl(log)) == 3 * len(model.reducer.buckets) > 9
    assert hazards(log) == []


def _exposed_ns(bucket_cap_mb: float) -> tuple[int, int]:
    """Of one backward: time of collectives beside backward's kernels, and alone; on device 0."""
    sizes = [nn.Linear(384, 384, dtype=rt.float64) for _ in range(4)]
    module = nn.Sequential(*sizes).cuda()
    model = DistributedDataParallel(module, bucket_cap_mb=bucket_cap_mb)
    x = rt.ones(512, 384, dtype=rt.float64).cuda()
    loss = model(x).sum()
    cuda.synchronize(0)
    with logged() as log:
        loss.backward()
    collectives, kernels = nccl(log), compute(log)
    assert hazards(log) == []
    total = sum(w.end_ns - w.start_ns for w in collectives)
    beside = shared_ns(collectives, kernels)
    return beside, total - beside


def test_communication_overlaps_with_backward() -> None:
    """A T4 is slow in float64: kernels take longer than launching them, and than communication."""
    cuda.configure("t4", 2)
    beside, alone = _exposed_ns(bucket_cap_mb=1)  # one for each layer's weight
    assert beside > 0
    gc.collect()
    beside_in_one, alone_in_one = _exposed_ns(bucket_cap_mb=1000)
    assert beside_in_one == 0
    assert alone < alone_in_one
