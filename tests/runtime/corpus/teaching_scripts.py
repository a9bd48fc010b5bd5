"""What teaching material begins with: regressions, scalar graphs, gradients by hand."""

import numpy as np

from .common import blobs, floats, moons, stepped


def linear_regression_by_hand(torch, nn, F):
    """Standardised features, mini-batches, a ridge penalty, and updates written out."""
    stream = np.random.default_rng(10)
    features = stream.normal(size=(120, 5)) * [1, 10, 0.1, 3, 1] + [0, 5, 1, -2, 0]
    target = features @ [1.5, -0.2, 4.0, 0.3, 0.0] + 2 + stream.normal(size=120) * 0.1
    x, y = floats(torch, features), floats(torch, target)
    x = (x - x.mean(dim=0)) / x.std(dim=0)
    w = torch.randn(5, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    velocity = [torch.zeros_like(p) for p in (w, b)]
    yield [w, b]
    while True:
        rows = torch.tensor(stream.permutation(120)[:40])
        loss = ((x[rows] @ w + b - y[rows]) ** 2).mean() + 1e-3 * w.square().sum()
        grads = torch.autograd.grad(loss, [w, b])
        with torch.no_grad():
            for p, v, g in zip((w, b), velocity, grads, strict=True):
                v.mul_(0.8).add_(g)
                p -= 0.03 * v  # noqa: PLW2901  (in place)
        yield loss.item()


def logistic_regression_by_newton(torch, nn, F):
    """Iteratively reweighted least squares, damped: gradient and Hessian are autograd's."""
    points, which = blobs(np.random.default_rng(11), 2, 60, 3, spread=3.0)
    x = torch.cat([floats(torch, points), torch.ones(60, 1)], dim=1)
    y = floats(torch, which)
    w = torch.zeros(4)

    def objective(w):
        return F.binary_cross_entropy_with_logits(x @ w, y) + 0.01 * (w * w).sum()

    yield [w]
    while True:
        w = w.detach().requires_grad_()
        loss = objective(w)
        (grad,) = torch.autograd.grad(loss, w)
        hessian = torch.autograd.functional.hessian(objective, w)
        w = w - 0.1 * torch.linalg.solve(hessian, grad)
        yield loss.item()


def logistic_regression_by_lbfgs(torch, nn, F):
    """Softmax regression on bent features, with a closure and a line search."""
    points, which = moons(np.random.default_rng(12), 80)
    x, y = floats(torch, points), torch.tensor(which)
    features = torch.stack([x[:, 0], x[:, 1], x[:, 0] ** 2, x[:, 0] * x[:, 1], x[:, 1] ** 3], 1)
    model = nn.Linear(5, 2)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.LBFGS(
        model.parameters(), lr=0.05, max_iter=2, history_size=5, line_search_fn=None
    )
    yield [model]

    def closure():
        optimizer.zero_grad()
        penalty = sum(p.pow(2).sum() for p in model.parameters())
        loss = criterion(model(features), y) + 1e-3 * penalty
        loss.backward()
        return loss

    while True:
        yield optimizer.step(closure).item()


def scalar_neurons(torch, nn, F):
    """A net of neurons that each hold their weights as single numbers, with a hinge loss."""
    stream = np.random.default_rng(13)
    points, which = moons(stream, 6)
    signs = which * 2.0 - 1

    class Neuron:
        def __init__(self, inputs, bent=True):
            self.w = [torch.tensor(stream.uniform(-1, 1)).requires_grad_() for _ in range(inputs)]
            self.b = torch.tensor(0.0, requires_grad=True)
            self.bent = bent

        def __call__(self, x):
            act = sum((wi * xi for wi, xi in zip(self.w, x, strict=True)), self.b)
            return act.relu() if self.bent else act

    hidden, out = [Neuron(2) for _ in range(4)], Neuron(4, bent=False)
    learned = [p for neuron in [*hidden, out] for p in [*neuron.w, neuron.b]]
    yield learned
    for k in range(1000):
        scores = [out([neuron(point.tolist()) for neuron in hidden]) for point in points]
        misses = [(1 - sign * s).relu() for sign, s in zip(signs.tolist(), scores, strict=True)]
        loss = sum(misses) / len(misses) + 1e-3 * sum(p * p for p in learned)
        for p in learned:
            p.grad = None
        loss.backward()
        for p in learned:
            p.data -= (0.3 - 0.003 * k) * p.grad
        yield loss.item()


def backprop_by_hand(torch, nn, F):
    """Two layers whose gradients are derived on paper and held against autograd's."""
    stream = np.random.default_rng(14)
    points, which = blobs(stream, 4, 64, 6)
    x, y = floats(torch, points), torch.tensor(which)
    w1, b1 = torch.randn(6, 12) * 0.3, torch.randn(12) * 0.1
    w2, b2 = torch.randn(12, 4) * 0.3, torch.randn(4) * 0.1
    learned = [w1, b1, w2, b2]
    for p in learned:
        p.requires_grad = True
    yield learned
    while True:
        pre = x @ w1 + b1
        h = torch.tanh(pre)
        logits = h @ w2 + b2
        shifted = logits - logits.max(1, keepdim=True).values
        probs = shifted.exp() / shifted.exp().sum(1, keepdim=True)
        loss = -probs[range(64), y].log().mean()
        told = torch.autograd.grad(loss, learned)
        with torch.no_grad():
            dlogits = probs.clone()
            dlogits[range(64), y] -= 1
            dlogits /= 64
            dpre = (1.0 - h**2) * (dlogits @ w2.T)
            grads = [x.T @ dpre, dpre.sum(0), h.T @ dlogits, dlogits.sum(0)]
            assert all(
                torch.allclose(g, t, rtol=1e-3, atol=1e-6) for g, t in zip(grads, told, strict=True)
            )
            for p, g in zip(learned, grads, strict=True):
                p.add_(g, alpha=-0.5)
        yield loss.item()


def legendre_function(torch, nn, F):
    """A polynomial whose cubic term is a custom Function, fitted to a sine."""

    class LegendrePolynomial3(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input):  # noqa: A002
            ctx.save_for_backward(input)
            return 0.5 * (5 * input**3 - 3 * input)

        @staticmethod
        def backward(ctx, grad_output):
            (input,) = ctx.saved_tensors  # noqa: A001
            return grad_output * 1.5 * (5 * input**2 - 1)

    x = torch.linspace(-3.14, 3.14, 200)
    y = torch.sin(x)
    a, b, c, d = (torch.full((), value, requires_grad=True) for value in (0.0, -1.0, 0.0, 0.3))
    optimizer = torch.optim.SGD([{"params": [a, b]}, {"params": [c, d], "lr": 1e-4}], lr=2e-3)
    yield [a, b, c, d]
    while True:
        y_pred = a + b * LegendrePolynomial3.apply(c + d * x)
        loss = (y_pred - y).pow(2).mean()
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
        yield loss.item()


def binarised_net(torch, nn, F):
    """Weights of -1 and 1 with a straight-through gradient, clipped after each step."""
    points, which = blobs(np.random.default_rng(15), 3, 48, 8, spread=1.5)
    x, y = floats(torch, points), torch.tensor(which)

    class Sign(torch.autograd.Function):
        @staticmethod
        def forward(ctx, weight):
            ctx.save_for_backward(weight)
            return torch.where(weight >= 0, 1.0, -1.0).to(weight)

        @staticmethod
        def backward(ctx, grad):
            (weight,) = ctx.saved_tensors
            return grad.masked_fill(weight.abs() > 1, 0)

    class BinaryLinear(nn.Linear):
        def forward(self, input):  # noqa: A002
            scale = self.weight.detach().abs().mean(1)
            return F.linear(input, Sign.apply(self.weight)) * scale + self.bias

    model = nn.Sequential(BinaryLinear(8, 16), nn.Hardtanh(), BinaryLinear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    yield [model]
    while True:
        told = stepped(F.multi_margin_loss(model(x), y), optimizer)
        with torch.no_grad():
            for p in model.parameters():
                p.clamp_(-1, 1)
        yield told


def perceptrons_in_an_ensemble(torch, nn, F):
    """Five nets at once by batched products, each on its bootstrap sample; the mean is judged."""
    stream = np.random.default_rng(16)
    inputs = stream.uniform(-2, 2, (60, 1))
    x = floats(torch, inputs)
    y = floats(torch, np.sin(2 * inputs) + 0.1 * stream.normal(size=(60, 1)))
    picks = torch.tensor(stream.integers(0, 60, (5, 60)))

    class Ensemble(nn.Module):
        def __init__(self, members, width=12):
            super().__init__()
            self.w1 = nn.Parameter(torch.randn(members, 1, width))
            self.b1 = nn.Parameter(torch.randn(members, 1, width))
            self.w2 = nn.Parameter(torch.randn(members, width, 2) / width**0.5)
            self.b2 = nn.Parameter(torch.zeros(members, 1, 2))

        def forward(self, x):
            h = F.silu(torch.baddbmm(self.b1, x, self.w1))
            mean, raw = torch.baddbmm(self.b2, h, self.w2).chunk(2, dim=-1)
            return mean, F.softplus(raw) + 1e-3

    model = Ensemble(5)
    criterion = nn.GaussianNLLLoss()
    optimizer = torch.optim.RAdam(model.parameters(), lr=0.03)
    yield [model]
    while True:
        mean, var = model(x[picks])
        stepped(criterion(mean, y[picks], var), optimizer)
        with torch.no_grad():
            mean, var = model(x.expand(5, -1, -1))
            total = var.mean(0) + mean.var(0, unbiased=False)
            judged = F.mse_loss(mean.mean(0), y) + total.mean()
        yield judged.item()
