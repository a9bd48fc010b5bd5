"""Recorded inputs of operators are those that PyTorch writes for the same calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tidy.runtime as rt

# `t` is the module of tensors, `x` is (2, 3), `y` (3, 4), `b` of bools.
_CALLS = [
    "x @ y",
    "t.mm(x, y)",
    "x + 1",
    "x + x",
    "x.add(x, alpha=2)",
    "x.sub(1.5)",
    "x * 2",
    "x / 2",
    "x.t().exp()",
    "x.sum()",
    "x.sum(1)",
    "x.sum((0, 1), keepdim=True)",
    "x.mean(0)",
    "x.view(3, 2)",
    "x.reshape(6)",
    "x.transpose(0, 1)",
    "x.permute(1, 0)",
    "x.unsqueeze(0)",
    "x.expand(4, 2, 3)",
    "x.clone()",
    "x.to(t.float64)",
    "x.to(t.int64)",
    "x.clamp(0, 1)",
    "x.clamp(min=0.5)",
    "x.max()",
    "x.argmax(1)",
    "x.softmax(1)",
    "x.log_softmax(-1)",
    "x.pow(2)",
    "x ** 2.5",
    "x.sqrt()",
    "x.tanh()",
    "x.sigmoid()",
    "x.relu()",
    "x > 1",
    "x == x",
    "b & b",
    "~b",
    "x[b]",
    "x[0]",
    "x[:, 1:2]",
    "t.zeros(2, 3)",
    "t.ones(2, dtype=t.int64)",
    "t.full((2, 3), 4.0)",
    "t.arange(5)",
    "t.cat([x, x], 1)",
    "t.stack([x, x])",
    "t.where(b, x, x)",
    "t.nn.functional.linear(x, y.t())",
    "t.nn.functional.linear(x, y.t(), t.zeros(4))",
    "t.nn.functional.mse_loss(x, x)",
    "t.nn.functional.layer_norm(x, (3,))",
    "t.nn.functional.conv2d(t.ones(1, 1, 4, 4), t.ones(2, 1, 3, 3), padding=1)",
    "t.nn.functional.max_pool2d(t.ones(1, 1, 4, 4), 2)",
    "t.nn.functional.dropout(x, 0.5, True)",
    "t.nn.functional.embedding(t.tensor([0, 1]), x)",
    "x.masked_fill(b, 0.0)",
    "x.gather(1, t.tensor([[0], [1]]))",
    "x.cumsum(0)",
    "x.norm()",
    "x.bool()",
    "x.fill_(1.0)",
    "x.zero_()",
    "x.add_(1)",
    "x.mul_(x)",
    "x.copy_(x)",
    "x.split(1)",
    "x.chunk(2)",
    "x.flip(0)",
    "x.repeat(2, 1)",
    "x.std()",
    "x.abs()",
    "x.half()",
    "x.contiguous()",
    "x.detach()",
    "x.item() if x.numel() == 1 else x[0, 0].item()",
]
_KEYS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")

_PYTHON_NUMBER = "PyTorch makes a tensor without dimensions of it; the number itself says more"
_DEFAULTS = "PyTorch adds the schema's defaults; here is what the operator was called with"
_OVERLOADS = "one operator here has all overloads of PyTorch's"
_SIZES = "sizes as they were given: one by one, or a number for a list"
_PLACES = "creation has no layout; its device, pin_memory and requires_grad are arguments"
_REDUCTION = "a name, where PyTorch has a number"
_FORM = "the operator has a form of its own"
# What is written otherwise than by PyTorch, and why.
_DEVIATIONS = {
    "x + 1": _PYTHON_NUMBER,
    "x.sub(1.5)": _PYTHON_NUMBER,
    "x * 2": _PYTHON_NUMBER,
    "x / 2": _PYTHON_NUMBER,
    "x.add_(1)": _PYTHON_NUMBER,
    "x + x": _DEFAULTS,
    "x.gather(1, t.tensor([[0], [1]]))": _DEFAULTS,
    "x.norm()": _DEFAULTS,
    "t.nn.functional.layer_norm(x, (3,))": _DEFAULTS,
    "x.sum()": _OVERLOADS,
    "x.std()": _OVERLOADS,
    "x.to(t.float64)": _OVERLOADS,
    "x.to(t.int64)": _OVERLOADS,
    "x.bool()": _OVERLOADS,
    "x.half()": _OVERLOADS,
    "x.sum(1)": _SIZES,
    "x.mean(0)": _SIZES,
    "x.reshape(6)": _SIZES,
    "x.permute(1, 0)": _SIZES,
    "x.expand(4, 2, 3)": _SIZES,
    "x.flip(0)": _SIZES,
    "x.repeat(2, 1)": _SIZES,
    "x.split(1)": _SIZES,
    "t.nn.functional.conv2d(t.ones(1, 1, 4, 4), t.ones(2, 1, 3, 3), padding=1)": _SIZES,
    "t.nn.functional.max_pool2d(t.ones(1, 1, 4, 4), 2)": _SIZES,
    "t.zeros(2, 3)": _PLACES,
    "t.ones(2, dtype=t.int64)": _PLACES,
    "t.full((2, 3), 4.0)": _PLACES,
    "t.arange(5)": _PLACES,
    "t.nn.functional.mse_loss(x, x)": _REDUCTION,
    "t.nn.functional.embedding(t.tensor([0, 1]), x)": _FORM,
}
_NO_OPERATOR = {"x.contiguous()", "x.detach()"}  # here these give the same memory


def _recorded(module: Any, t: Any, call: str, path: Path) -> dict[str, list[tuple[str, ...]]]:
    """By operator: its inputs, one tuple of JSON texts a call."""
    x = t.arange(6.0).view(2, 3)
    names = {"t": t, "x": x, "y": t.ones(3, 4), "b": x > 2}
    code = compile(call, "<call>", "eval")
    with module.profile(record_shapes=True) as prof:
        eval(code, names)  # noqa: S307
    prof.export_chrome_trace(str(path))
    found: dict[str, list[tuple[str, ...]]] = {}
    for event in json.loads(path.read_text("utf-8"))["traceEvents"]:
        if event.get("cat") == "cpu_op":
            args = event["args"]
            texts = tuple(json.dumps(args.get(key, [])) for key in _KEYS)
            found.setdefault(event["name"], []).append(texts)
    return found


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", _CALLS)
def test_inputs(tmp_path: Path, call: str) -> None:
    torch = pytest.importorskip("torch")
    import tidy.profiler

    theirs = _recorded(torch.profiler, torch, call, tmp_path / "theirs.json")
    ours = _recorded(tidy.profiler, rt, call, tmp_path / "ours.json")
    if call in _NO_OPERATOR:
        assert not ours
        return
    name = next(iter(ours)) if "ones(1" not in call else next(n for n in ours if n != "aten::ones")
    mine, other = ours[name][0], theirs[name][0]
    if call != "t.nn.functional.embedding(t.tensor([0, 1]), x)":  # the other way round
        assert _tensors(mine) == _tensors(other)
    if call in _DEVIATIONS:
        assert mine != other, f"no longer a deviation: {_DEVIATIONS[call]}"
    else:
        assert dict(zip(_KEYS, mine, strict=True)) == dict(zip(_KEYS, other, strict=True))


def _tensors(inputs: tuple[str, ...]) -> list[Any]:
    """(dims, type, strides) of what has dimensions."""
    columns = [json.loads(text) for text in inputs[:3]]
    return [each for each in zip(*columns, strict=True) if each[0]]
