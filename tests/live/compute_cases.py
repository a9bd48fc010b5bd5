"""Scripts for the rules about what a device computes; see device_cases.py."""

from .cases import Case
from .device_cases import DeviceCase, train

_PRODUCT = """\
import torch

weight = torch.full(({inner}, 64), 0.01, device="cuda", dtype=torch.{dtype}, requires_grad=True)
inputs = torch.ones(256, {inner}, device="cuda", dtype=torch.{dtype})
optimizer = torch.optim.SGD([weight], lr=0.001)
for step in range(4):
    scores = inputs @ weight  #!
    scores.mean().backward()
    optimizer.step()
"""

_LARGE_PRODUCT = """\
import torch

weight = torch.full((1024, 1024), 0.01, device="cuda", requires_grad=True)
inputs = torch.ones(1024, 1024, device="cuda")
optimizer = torch.optim.SGD([weight], lr=0.001)
for step in range(4):
    scores = inputs @ weight  #!
    scores.mean().backward()
    optimizer.step()
"""

_ATTENTION = """\
import torch
from torch import nn

heads = torch.randn(4, 8, 256, 64, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([heads], lr=0.01)
for step in range(4):
    scores = heads @ heads.transpose(-2, -1) / 8
    out = torch.softmax(scores, -1) @ heads  #!
    optimizer.zero_grad()
    out.sum().backward()
    optimizer.step()
"""

_CHAIN = """\
import torch
from torch import nn

values = torch.randn(1024, 1024, device="cuda", requires_grad=True)
optimizer = torch.optim.SGD([values], lr=0.01)
for step in range(4):
    out = values * (torch.tanh((values * values * 0.04 + values) * 0.8) + 1)  #!
    optimizer.zero_grad()
    out.sum().backward()
    optimizer.step()
"""
_BY_HAND = "values * (torch.tanh((values * values * 0.04 + values) * 0.8) + 1)"

_CLIPPED = "norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)"

COMPUTE_CASES = [
    DeviceCase(
        Case(
            "norm",
            "TDY604",
            train(update=f"{_CLIPPED}.item()  #!\n    optimizer.step()"),
            ((".item()  #!", ""),),
        ),
    ),
    DeviceCase(Case("chain", "TDY403", _CHAIN, ((_BY_HAND, "nn.functional.gelu(values)"),)), "t4"),
    DeviceCase(
        Case(
            "float32",
            "TDY501",
            _PRODUCT.format(inner=64, dtype="float32"),
            (("weight =", 'torch.set_float32_matmul_precision("high")\nweight ='),),
        )
    ),
    DeviceCase(
        Case(
            "float32-on-a-v100",
            "TDY502",
            _LARGE_PRODUCT,
            (
                (
                    "    scores = inputs",
                    '    with torch.autocast("cuda", torch.float16):\n        scores = inputs',
                ),
            ),
        ),
        "v100",
    ),
    DeviceCase(
        Case(
            "attention",
            "TDY504",
            _ATTENTION,
            (
                ("    scores = heads @ heads.transpose(-2, -1) / 8\n", ""),
                (
                    "torch.softmax(scores, -1) @ heads",
                    "nn.functional.scaled_dot_product_attention(heads, heads, heads)",
                ),
            ),
        ),
        "t4",
    ),
    DeviceCase(Case("half", "TDY503", _PRODUCT.format(inner=63, dtype="float16"), (("63", "64"),))),
    DeviceCase(
        Case(
            "float64",
            "TDY505",
            _PRODUCT.format(inner=64, dtype="float64"),
            (("float64", "float32"),),
        )
    ),
]
