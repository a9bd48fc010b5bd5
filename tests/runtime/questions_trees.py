"""Which operators layers, passes and optimizers are made of: names and nesting, as profilers show.

Of each layer forward and backward are recorded apart. Where ours differ is listed at the end, by
reason; test_golden.py fails for one that is missing there or no longer true.
"""

from __future__ import annotations

from typing import Any

from .tables import calls, named

# By name: what is called, and the shape of what it takes.
LAYERS = named("""
Linear: nn.Linear(4, 3) of (2, 4); Linear of 3 dimensions: nn.Linear(4, 3) of (2, 5, 4)
Linear without bias: nn.Linear(4, 3, bias=False) of (2, 4)
Conv2d: nn.Conv2d(3, 4, 3) of (2, 3, 6, 6); BatchNorm2d: nn.BatchNorm2d(3) of (2, 3, 6, 6)
BatchNorm2d in evaluation: nn.BatchNorm2d(3).eval() of (2, 3, 6, 6)
GroupNorm: nn.GroupNorm(2, 4) of (2, 4, 6); LayerNorm: nn.LayerNorm(4) of (2, 5, 4)
MaxPool2d: nn.MaxPool2d(2) of (2, 3, 6, 6); AvgPool2d: nn.AvgPool2d(2) of (2, 3, 6, 6)
AdaptiveAvgPool2d: nn.AdaptiveAvgPool2d(1) of (2, 3, 6, 6); Dropout: nn.Dropout(0.5) of (2, 4)
ReLU: nn.ReLU() of (2, 4); GELU: nn.GELU() of (2, 4); Tanh: nn.Tanh() of (2, 4)
Sigmoid: nn.Sigmoid() of (2, 4); SiLU: nn.SiLU() of (2, 4); Softmax: nn.Softmax(1) of (2, 4)
LogSoftmax: nn.LogSoftmax(1) of (2, 4); Flatten: nn.Flatten() of (2, 3, 4)
LSTM: lambda x, m=nn.LSTM(4, 4): m(x)[0] of (5, 2, 4)
GRU: lambda x, m=nn.GRU(4, 4): m(x)[0] of (2, 2, 4)
attention: lambda x: F.scaled_dot_product_attention(x, x, x) of (2, 2, 5, 4)
Embedding: lambda x, m=nn.Embedding(5, 4): m((x * 0).long()) of (2, 4)
mse_loss: lambda x: F.mse_loss(x, x.detach()) of (2, 4)
cross_entropy: lambda x: F.cross_entropy(x, torch.tensor([0, 1])) of (2, 4)
matmul: lambda x: x @ x.transpose(1, 2) of (2, 5, 4); a residual: lambda x: x + x.relu() of (2, 4)
a slice: lambda x: x[:, 1:3] of (2, 4)
""")
OPTIMIZERS = named("""
SGD: torch.optim.SGD(p, lr=0.1); SGD with momentum: torch.optim.SGD(p, lr=0.1, momentum=0.9)
Adam: torch.optim.Adam(p, lr=0.1); AdamW one by one: torch.optim.AdamW(p, lr=0.1, foreach=False)
""")
TREES: dict[str, tuple[str, str]] = {
    f"{name}, {which}": (name, which) for name in LAYERS for which in ("forward", "backward")
}
TREES |= {f"{name}, step": (name, "step") for name in OPTIMIZERS}


def of(lib: Any, question: tuple[str, str]) -> list[str]:
    """The names of the operators, each behind a dot for every one that it is in."""
    name, which = question
    lib.manual_seed(0)
    spaces = {"torch": lib, "nn": lib.nn, "F": lib.nn.functional}
    if which == "step":
        p = [lib.ones(3, requires_grad=True)]
        spaces["p"] = p
        optimizer = eval(OPTIMIZERS[name], spaces)  # noqa: S307
        p[0].grad = lib.ones(3)
        optimizer.step()
        return recorded(lib, optimizer.step)
    code, _, shape = LAYERS[name].rpartition(" of ")
    layer = eval(code, spaces)  # noqa: S307
    x = lib.ones(eval(shape), requires_grad=True)  # noqa: S307
    weights = [x, *getattr(layer, "parameters", list)()]
    layer(x).sum().backward()
    for weight in weights:
        weight.grad = None
    if which == "forward":
        return recorded(lib, lambda: layer(x))
    out = layer(x)
    given = lib.ones_like(out.detach())
    return recorded(lib, lambda: out.backward(given))


# What small operators do all the time is not noted: to note it would take as long as they do.
_LEFT_OUT = {"aten::as_strided", "aten::resolve_conj"}


def recorded(lib: Any, work: Any) -> list[str]:
    """The operators of some work, each with a dot for each that it is in."""
    if lib.__name__ == "torch":
        with lib.profiler.profile(activities=[lib.profiler.ProfilerActivity.CPU]) as profiler:
            work()
        roots = profiler.profiler.kineto_results.experimental_event_tree()
        roots = [root for root in roots if root.tag.name == "TorchOp"]
    else:
        from tidy.profiler import profile

        with profile() as profiler:
            work()
        roots = [event for event in profiler.trace.dfs() if event.parent is None]
    return [line for root in roots for line in _lines(root, "")]


def _lines(event: Any, dots: str) -> list[str]:
    found = [dots + event.name]
    for child in event.children:
        beside = event.name == "aten::t" and child.name == "aten::transpose"
        if child.name not in _LEFT_OUT and not beside:
            found += _lines(child, dots + ".")
    return found


# Trees that are not PyTorch's, by reason.
DEVIATIONS = {
    "it is made of other operators": calls("""
        Conv2d, backward; AvgPool2d, forward; AdaptiveAvgPool2d, forward
        AdaptiveAvgPool2d, backward; GRU, forward; GRU, backward; Embedding, forward
        matmul, forward; matmul, backward; a slice, backward
    """),
    "where several gradients meet the engine adds them itself": [
        "attention, backward",
        "a residual, backward",
    ],
    "a number stays one, where PyTorch makes a tensor of it and casts that": calls("""
        SGD with momentum, step; Adam, step; AdamW one by one, step
    """),
    "the gradient of the weight comes last": ["Linear without bias, backward"],
    "it looks at its operands without operators": ["mse_loss, forward", "cross_entropy, forward"],
}
LISTED = frozenset(key for keys in DEVIATIONS.values() for key in keys)
