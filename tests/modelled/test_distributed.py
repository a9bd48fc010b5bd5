"""DistributedDataParallel: replicas that stay equal, with the gradients of the whole batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tidy.runtime as rt
from tidy.runtime import cuda, nn
from tidy.runtime.nn.parallel import DistributedDataParallel

from .networks import (
    assert_replicas_equal,
    assert_same,
    gradients,
    gradients_alone,
    named_records,
    values,
    whole,
    whole_network,
)


@pytest.mark.parametrize(("devices", "batch"), [(2, 8), (2, 5), (4, 7), (4, 8), (2, 1), (4, 2)])
@pytest.mark.parametrize("as_view", [True, False])
def test_gradients_are_those_of_the_whole_batch(devices: int, batch: int, as_view: bool) -> None:
    """Some devices get less of the batch, or nothing."""
    cuda.configure("a100", devices)
    module, x = whole_network(), whole(batch, 6)
    wanted, expected = gradients_alone(module, x), values([module(x.cuda())])
    model = DistributedDataParallel(module, gradient_as_bucket_view=as_view)
    for _ in range(2):
        model.zero_grad()
        out = model(x)
        assert_same(values([out]), expected)
        out.sum().backward()
        for index, replica in enumerate(model.replicas):
            assert_same(gradients(replica), wanted)
            assert {p.grad.get_device() for p in replica.parameters()} == {index}


def test_three_devices_are_equal_to_rounding() -> None:
    """A third of a whole number is none: the gradients are the batch's to rounding."""
    cuda.configure("a100", 3)
    module, x = whole_network(), whole(9, 6)
    wanted = gradients_alone(module, x)
    model = DistributedDataParallel(module)
    model(x).sum().backward()
    assert_replicas_equal(model)
    for a, b in zip(gradients(module), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_gradients_of_inputs(two_devices: None) -> None:
    module, x = whole_network(), whole(6, 6).cuda().requires_grad_()
    module(x).sum().backward()
    wanted, x.grad = values([x.grad]), None
    DistributedDataParallel(module)(x).sum().backward()
    assert_same(values([x.grad]), wanted)


@pytest.mark.parametrize("make", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_replicas_stay_equal_bit_for_bit(two_devices: None, make: str) -> None:
    rt.manual_seed(0)
    x, y = rt.randn(12, 5), rt.randn(12, 3)
    found = []
    for wrap in (lambda m: m, DistributedDataParallel):
        rt.manual_seed(1)
        module = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 3)).cuda()
        model = wrap(module)
        optimizer = getattr(rt.optim, make)(model.parameters(), lr=0.01)
        for _ in range(6):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x.cuda()), y.cuda()).backward()
            optimizer.step()
        found.append(values(module.parameters()))
    assert_replicas_equal(model)
    for a, b in zip(*found, strict=True):  # the sums over the batch are taken in another order
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=1e-5)


def test_an_optimizer_of_the_module_alone(two_devices: None) -> None:
    """It updates the first replica; the others follow with the next forward."""
    module, other, x = whole_network(), whole_network(), whole(8, 6)
    optimizer = rt.optim.SGD(module.parameters(), lr=0.5)
    alone = rt.optim.SGD(other.parameters(), lr=0.5)
    model = DistributedDataParallel(module)
    for _ in range(3):
        for one, net in ((optimizer, model), (alone, other)):
            out = net(x.cuda())
            one.zero_grad()
            out.mean().backward()
            one.step()
        assert_same(gradients(module), gradients(other))
    assert_same(values(module.parameters()), values(other.parameters()))
    assert_same(values([model(x)]), values([other(x.cuda())]))


def test_outputs_as_a_list(two_devices: None) -> None:
    """Each replica has its own loss then, and gradients are averaged."""
    module, x = whole_network(), whole(8, 6)
    wanted = gradients_alone(module, x)
    model = DistributedDataParallel(module, gather_outputs=False)
    first, second = model(x)
    assert (first.get_device(), second.get_device()) == (0, 1)
    (first.sum() + second.sum().to("cuda:0")).backward()
    for replica in model.replicas:
        assert_same(gradients(replica), [grad / 2 for grad in wanted])


class _Part(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used, self.left = whole_network((6, 4)), whole_network((6, 4))
        self.frozen = whole_network((6, 4)).requires_grad_(False)
        self.takes = "used"

    def forward(self, x: Any) -> Any:
        out = self.used(x) + self.frozen(x)
        return out + self.left(x) if self.takes == "both" else out


def test_a_parameter_without_a_gradient_is_an_error(two_devices: None) -> None:
    model, x = DistributedDataParallel(_Part()), whole(8, 6)
    model(x).sum().backward()
    with pytest.raises(RuntimeError, match="finished reduction in the prior iteration") as caught:
        model(x)
    assert "left.0.weight, left.0.bias" in str(caught.value)
    assert "find_unused_parameters=True" in str(caught.value)


@pytest.mark.parametrize("as_view", [True, False])
def test_unused_parameters_are_found(two_devices: None, as_view: bool) -> None:
    module, x = _Part(), whole(8, 6)
    module.takes = "both"
    wanted_of_both = gradients_alone(module, x)
    module.takes = "used"
    wanted = gradients_alone(module, x)
    assert [grad is None for grad in wanted] == [False] * 2 + [True] * 4
    model = DistributedDataParallel(
        module, find_unused_parameters=True, gradient_as_bucket_view=as_view
    )
    for takes, grads in (("used", wanted), ("used", wanted), ("both", wanted_of_both)):
        model.zero_grad()
        for replica in model.replicas:
            replica.takes = takes
        model(x).sum().backward()
        for replica in model.replicas:
            assert_same(gradients(replica), grads)


@pytest.mark.parametrize("as_view", [True, False])
def test_parameters_that_one_replica_uses(two_devices: None, as_view: bool) -> None:
    module, x = _Part(), whole(8, 6)
    module.takes = "both"
    wanted = gradients_alone(module, x)
    wanted[2:4] = gradients_alone(module, x[4:])[2:4]
    model = DistributedDataParallel(
        module, find_unused_parameters=True, gradient_as_bucket_view=as_view
    )
    module.takes = "used"  # while the second replica takes both
    for _ in range(2):
        model.zero_grad()
        model(x).sum().backward()
        for replica in model.replicas:
            assert_same(gradients(replica), wanted)


def test_gradients_that_come_twice_are_an_error(two_devices: None) -> None:
    x = whole(8, 6)
    model = DistributedDataParallel(_Part())
    loss = model(x).sum()
    loss.backward(retain_graph=True)  # `left` has none yet
    with pytest.raises(RuntimeError, match=r"ready only once, but used\.0\.\w+ got its"):
        loss.backward()
    model = DistributedDataParallel(whole_network(), find_unused_parameters=True)
    with pytest.raises(RuntimeError, match="though the last forward did not use it"):
        (model(x).sum() + model(x[:1]).sum()).backward()  # the second is for one device


def test_a_module_without_parameters_to_learn(two_devices: None) -> None:
    with pytest.raises(RuntimeError, match="requires a gradient"):
        DistributedDataParallel(whole_network().requires_grad_(False))
    with pytest.raises(RuntimeError, match=r"on device cuda:0 \(device_ids\[0\]\)"):
        DistributedDataParallel(whole_network().cpu())
    with pytest.raises(ValueError, match="different devices"):
        DistributedDataParallel(whole_network(), [0, 0])
    with pytest.raises(ValueError, match="greater than 0"):
        DistributedDataParallel(whole_network(), bucket_cap_mb=0)


def test_state_dict_is_of_one_module(two_devices: None) -> None:
    model, x = DistributedDataParallel(whole_network()), whole(8, 6)
    names = ["module.0.weight", "module.0.bias", "module.2.weight", "module.2.bias"]
    assert list(model.state_dict()) == names
    assert len(list(model.parameters())) == 8
    assert [n for n, _ in model.named_parameters()][4:] == [
        name.replace("module", "replica_1") for name in names
    ]
    state = {name: value * 2 for name, value in model.state_dict().items()}
    model.load_state_dict(state)
    model(x)
    assert_replicas_equal(model)
    assert_same(values(model.replicas[1].parameters()), values(state.values()))


def test_modes_and_buffers(two_devices: None) -> None:
    model = DistributedDataParallel(nn.BatchNorm1d(6).cuda())
    assert all(not replica.training for replica in model.eval().replicas)
    assert all(replica.training for replica in model.train().replicas)
    first, second = (list(replica.buffers()) for replica in model.replicas)
    model(whole(8, 6))
    assert not np.array_equal(*values([first[0], second[0]]))
    model.eval()(whole(8, 6))
    assert_same(values(first), values(second))
    with pytest.raises(RuntimeError, match="replicas stay on their devices"):
        model.half()


def test_one_device_and_none() -> None:
    layer, x = nn.Linear(6, 4), whole(4, 6)
    wanted = gradients_of(DistributedDataParallel(layer), x)
    layer.zero_grad()
    cuda.configure("a100", 2)
    layer.cuda()
    with named_records() as names:
        found = gradients_of(DistributedDataParallel(layer, [0]), x)
    assert "c10d::allreduce_" not in names
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def gradients_of(model: Any, x: Any) -> list[Any]:
    model(x).sum().backward()
    return gradients(model)
