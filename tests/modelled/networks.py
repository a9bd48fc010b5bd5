"""Small networks whose gradients are sums of whole numbers: exact, in whatever order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

import tidy.runtime as rt
from tidy.runtime import nn
from tidy.runtime.modelled import activity


def whole(*shape: int, seed: int = 0, dtype: str = "float32") -> Any:
    """Small whole numbers, on the CPU."""
    return rt.tensor(np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype))


def whole_network(sizes: tuple[int, ...] = (6, 8, 4), dtype: str = "float32") -> Any:
    """Linear layers with whole numbers, and ReLU between them, on the first device."""
    layers: list[Any] = []
    for seed, (a, b) in enumerate(pairwise(sizes)):
        layer = nn.Linear(a, b, dtype=getattr(rt, dtype))
        with rt.no_grad():
            layer.weight.copy_(whole(b, a, seed=seed, dtype=dtype))
            layer.bias.copy_(whole(b, seed=seed + 100, dtype=dtype))
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1]).cuda()


def values(tensors: Any) -> list[Any]:
    """Copies as arrays; None stays."""
    return [None if x is None else x.detach().cpu().numpy().copy() for x in tensors]


def gradients(module: Any) -> list[Any]:
    return values(p.grad for p in module.parameters())


def gradients_alone(module: Any, x: Any, loss: Any = lambda out: out.sum()) -> list[Any]:
    """Those of the module on its own device, with the whole batch; none are left."""
    module.zero_grad()
    loss(module(x.to("cuda:0"))).backward()
    found = gradients(module)
    module.zero_grad()
    return found


def assert_same(found: list[Any], wanted: list[Any]) -> None:
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


@contextmanager
def logged() -> Iterator[activity.ActivityLog]:
    log = activity.ActivityLog()
    activity.add_log(log)
    try:
        yield log
    finally:
        activity.remove_log(log)


@contextmanager
def named_records() -> Iterator[list[str]]:
    """Names of operators and ranges, as they begin."""
    names: list[str] = []
    handle = rt.add_callback(lambda record: names.append(record.name))
    try:
        yield names
    finally:
        handle.remove()


def assert_replicas_equal(model: Any) -> None:
    first, *others = model.replicas
    for other in others:
        assert_same(values(other.parameters()), values(first.parameters()))
        assert_same(gradients(other), gradients(first))
