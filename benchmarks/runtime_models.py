"""Training steps, written once for `torch` and for `tidy.runtime`, and one for HIPS autograd.

To be imported before numpy: it has libraries compute with one thread each.
"""

from __future__ import annotations

import os

os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}

from itertools import pairwise
from typing import Any

import numpy as np
from runtime_timing import Step

RATE = 0.01
DEVICE = os.environ.get("BENCH_DEVICE", "cpu")
Torch = Any  # the module torch, or tidy.runtime
VOCABULARY, CONTEXT = 65, 32


def installed_torch() -> Any:
    """PyTorch with one thread; None where it is not installed."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    return torch


def _normal(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _pair(*shape: int) -> tuple[Any, Any]:
    """A batch, and what its outputs should be."""
    return _normal(*shape), _normal(*shape, seed=1)


def _labels(classes: int, *shape: int) -> Any:
    return np.random.default_rng(2).integers(0, classes, shape)


def _trainer(torch: Torch, model: Any, loss: Any, optimizer: Any, x: Any, y: Any) -> Step:
    model.to(DEVICE)
    x, y = torch.from_numpy(x).to(DEVICE), torch.from_numpy(y).to(DEVICE)

    def step() -> Any:
        optimizer.zero_grad()
        value = loss(model(x), y)
        value.backward()
        optimizer.step()
        return value

    return step


def _mlp(torch: Torch, width: int) -> Any:
    nn = torch.nn
    torch.manual_seed(0)
    layers = [m for _ in range(3) for m in (nn.Linear(width, width), nn.Tanh())]
    return nn.Sequential(*layers, nn.Linear(width, width))


def mlp(torch: Torch, width: int, batch: int) -> Step:
    """Four linear layers with tanh between them, as a user writes it."""
    model = _mlp(torch, width)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    return _trainer(torch, model, torch.nn.functional.mse_loss, optimizer, *_pair(batch, width))


def mlp_passes(torch: Torch, width: int, batch: int) -> Step:
    """The step of `mlp` without an optimizer: gradients are dropped, then forward and backward."""
    model, mse_loss = _mlp(torch, width), torch.nn.functional.mse_loss
    x, y = map(torch.from_numpy, _pair(batch, width))

    def step() -> None:
        for parameter in model.parameters():
            parameter.grad = None
        mse_loss(model(x), y).backward()

    return step


def _weights(width: int) -> list[tuple[Any, Any]]:
    scale = np.float32(width**-0.5)
    return [(_normal(width, width, seed=n) * scale, _normal(width) * scale) for n in range(4)]


def mlp_functional(torch: Torch, width: int, batch: int) -> Step:
    """The step of `mlp` from functions and plain tensors."""
    made = [[torch.from_numpy(a).requires_grad_() for a in pair] for pair in _weights(width)]
    x, y = map(torch.from_numpy, _pair(batch, width))
    linear, mse_loss = torch.nn.functional.linear, torch.nn.functional.mse_loss

    def step() -> Any:
        hidden = x
        for w, b in made[:-1]:
            hidden = torch.tanh(linear(hidden, w, b))
        loss = mse_loss(linear(hidden, *made[-1]), y)
        loss.backward()
        with torch.no_grad():
            for tensors in made:
                for tensor in tensors:
                    tensor.sub_(RATE * tensor.grad)
                    tensor.grad = None
        return loss

    return step


def mlp_operators(torch: Torch, width: int, batch: int) -> Step:
    """The step of `mlp` from operators, with an optimizer."""
    made = [[torch.from_numpy(a).requires_grad_() for a in pair] for pair in _weights(width)]
    x, y = map(torch.from_numpy, _pair(batch, width))
    optimizer = torch.optim.SGD([tensor for pair in made for tensor in pair], lr=RATE)
    (*hidden_layers, (last, offset)) = made

    def step() -> Any:
        optimizer.zero_grad()
        hidden = x
        for w, b in hidden_layers:
            hidden = torch.tanh(hidden @ w + b)
        loss = ((hidden @ last + offset - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def recurrent(
    torch: Torch, kind: str = "LSTM", width: int = 64, batch: int = 32, length: int = 16
) -> Step:
    """Two layers of an LSTM (or a GRU) over a batch of sequences."""
    nn = torch.nn
    torch.manual_seed(0)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = getattr(nn, kind)(width, width, num_layers=2, batch_first=True)
            self.head = nn.Linear(width, 10)

        def forward(self, x: Any) -> Any:
            outputs, _ = self.layers(x)
            return self.head(outputs[:, -1])

    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    x, y = _normal(batch, length, width), _labels(10, batch)
    return _trainer(torch, model, nn.functional.cross_entropy, optimizer, x, y)


def mlp_hips(width: int, batch: int) -> Step:
    """The step of `mlp` for HIPS autograd.

    Raises:
        ImportError: it is not installed.
    """
    import autograd.numpy as anp
    from autograd import value_and_grad

    x, y = _pair(batch, width)
    weights: list[tuple[Any, Any]] = [(w.T.copy(), b) for w, b in _weights(width)]

    def loss(params: Any) -> Any:
        hidden = x
        for w, b in params[:-1]:
            hidden = anp.tanh(anp.dot(hidden, w) + b)
        w, b = params[-1]
        return anp.mean((anp.dot(hidden, w) + b - y) ** 2)

    gradient = value_and_grad(loss)

    def step() -> Any:
        value, slopes = gradient(weights)
        for (w, b), (gw, gb) in zip(weights, slopes, strict=True):
            np.subtract(w, RATE * gw, out=w)
            np.subtract(b, RATE * gb, out=b)
        return value

    return step


def cnn_with_norms(torch: Torch) -> Step:
    """The same with a batch norm behind each convolution, on images of 8 by 8."""
    return cnn(torch, 8, norms=True)


def cnn(torch: Torch, size: int, optimizer: str = "SGD", norms: bool = False) -> Step:
    """Two convolutions with pooling and a linear layer, on 32 images of `size` by `size`."""
    nn = torch.nn
    torch.manual_seed(0)
    layers: list[Any] = []
    for inputs, outputs in ((1, 16), (16, 32)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1)]
        layers += [nn.BatchNorm2d(outputs)] * norms
        layers += [nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(32 * (size // 4) ** 2, 10))
    made = getattr(torch.optim, optimizer)(model.parameters(), lr=RATE)
    x, y = _normal(32, 1, size, size), _labels(10, 32)
    return _trainer(torch, model, nn.functional.cross_entropy, made, x, y)


def _block(torch: Torch, width: int, heads: int) -> Any:
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
            )

        def forward(self, x: Any) -> Any:
            n, length, _ = x.shape
            parts = self.qkv(self.before(x)).split(width, dim=2)
            q, k, v = (p.view(n, length, heads, -1).transpose(1, 2) for p in parts)
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(n, length, width))
            return x + self.mlp(self.between(x))

    return Block()


def transformer(torch: Torch, width: int = 64, heads: int = 4, batch: int = 16) -> Step:
    """Predicts the next of 65 characters: two blocks over 32 characters, Adam."""
    nn = torch.nn
    torch.manual_seed(0)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token, self.place = nn.Embedding(VOCABULARY, width), nn.Embedding(CONTEXT, width)
            self.blocks = nn.Sequential(*(_block(torch, width, heads) for _ in range(2)))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY)

        def forward(self, x: Any) -> Any:
            x = self.token(x) + self.place(torch.arange(x.shape[1], device=x.device))
            return self.head(self.norm(self.blocks(x)))

    def loss(scores: Any, y: Any) -> Any:
        return nn.functional.cross_entropy(scores.view(-1, VOCABULARY), y.view(-1))

    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = _labels(VOCABULARY, batch, CONTEXT), _labels(VOCABULARY, batch, CONTEXT)
    return _trainer(torch, model, loss, optimizer, x, y)


def encoder(torch: Torch, width: int = 64, heads: int = 4, batch: int = 16) -> Step:
    """Two layers of `nn.TransformerEncoder` with dropout, over 32 places, then ten classes."""
    nn = torch.nn
    torch.manual_seed(0)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layer = nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True)
            self.encoder, self.head = nn.TransformerEncoder(layer, 2), nn.Linear(width, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.encoder(x).mean(1))

    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = _normal(batch, CONTEXT, width), _labels(10, batch)
    return _trainer(torch, model, nn.functional.cross_entropy, optimizer, x, y)


def hessian(torch: Torch, width: int, batch: int, inputs: int, then: str = "") -> Step:
    """The second derivatives of a network's squared output by its inputs, one row at a time.

    Six hidden layers of Linear and ReLU, as in PyTorch's pull request 82544. The forward pass is
    not in it.

    Args:
        then: a backward to the weights that follows: "output", from the output alone, or "rows",
            from the second derivatives, through all that made them.
    """
    nn = torch.nn
    torch.manual_seed(0)
    layers = [m for pair in pairwise([inputs, *[width] * 6]) for m in (nn.Linear(*pair), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(width, 1))
    x = torch.from_numpy(_normal(batch, inputs)).requires_grad_()
    grad, y = torch.autograd.grad, model(x).pow(2).sum()

    def step() -> Any:
        (first,) = grad(y, x, create_graph=True)
        rows = [
            grad(first[:, i].sum(), x, retain_graph=True, create_graph=then == "rows")[0]
            for i in range(inputs)
        ]
        if then:
            model.zero_grad()
            loss = torch.stack(rows).pow(2).sum() if then == "rows" else y
            loss.backward(retain_graph=True)
        return rows

    return step
