"""Scripts that multiply or subtract rows in all pairs, by broadcasting or otherwise."""

from .cases import Case
from .look_alikes import LookAlike

_TRAINED = """\
import torch
from torch import nn

torch.manual_seed(0)
weight = nn.Parameter(0.1 * torch.randn(128, 96))
optimizer = torch.optim.SGD([weight], lr=0.001)
x = torch.randn(64, 96)
for step in range(12):
    {}
    optimizer.zero_grad()
    out.square().mean().backward()
    optimizer.step()
"""
_BROADCAST = "out = (x.unsqueeze(1) * weight).sum(2)  #!"
_SUBTRACTED = "out = (x[:, None] - weight[None]).pow(2).sum(-1)  #!"
_EXPANDED = "out = x.square().sum(1, keepdim=True) + weight.square().sum(1) - 2 * x @ weight.t()"

PAIR_CASES = [
    Case(
        "a-layer-by-broadcasting",
        "TDY416",
        _TRAINED.format(_BROADCAST),
        ((_BROADCAST, "out = x @ weight.t()"),),
    ),
    Case(
        "distances-by-broadcasting",
        "TDY416",
        _TRAINED.format(_SUBTRACTED),
        ((_SUBTRACTED, _EXPANDED),),
    ),
]


def _look_alike(name: str, lines: str, made: str = "aten::mul") -> LookAlike:
    return LookAlike("TDY416", name, _TRAINED.format(lines), {made: 8, "aten::sum": 8})


PAIR_LOOK_ALIKES = [
    _look_alike(
        "three-factors",
        "pairs = x.unsqueeze(1) * weight * (x.unsqueeze(1) + weight).sigmoid()\n"
        "    out = pairs.sum(2)",
    ),
    _look_alike("something-between", "out = (x.unsqueeze(1) * weight).relu().sum(2)"),
    _look_alike(
        "the-products-are-used-again",
        "pairs = x.unsqueeze(1) * weight\n    out = pairs.sum(2) + pairs.amax(2)",
    ),
    _look_alike(
        "the-products-are-used-in-the-loss",
        "pairs = x.unsqueeze(1) * weight\n    out = pairs.sum(2)\n"
        "    out = torch.cat([out.mean()[None], torch.stack([pairs, pairs]).mean()[None]])",
    ),
    _look_alike("summed-over-what-one-factor-has-alone", "out = (x.unsqueeze(1) * weight).sum(1)"),
    _look_alike("summed-in-all", "out = (x.unsqueeze(1) * weight).sum()"),
    _look_alike("scaled-by-a-number-a-row", "out = (x * weight[:64, :1]).sum(1)"),
    _look_alike("few-numbers", "out = (x[:8, None, :16] * weight[:16, :16]).sum(2)"),
    _look_alike(
        "another-power",
        "out = (x[:, None] - weight[None]).pow(4).sum(-1)",
        "aten::sub",
    ),
    _look_alike(
        "distances-of-another-norm",
        "out = (x[:, None] - weight[None]).abs().sum(-1)",
        "aten::sub",
    ),
    _look_alike(
        "another-tensor-is-summed",
        "other = torch.ones(64, 128, 96)\n    pairs = x.unsqueeze(1) * weight\n"
        "    out = other.sum(2) * pairs.mean()",
    ),
    _look_alike(
        "a-few-points-turned",
        "turn = weight[:3, :3] + torch.eye(3)\n"
        "    points = torch.ones(40000, 1, 3)\n    out = (points * turn).sum(2)",
    ),
]
