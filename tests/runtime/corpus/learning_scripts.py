"""Learning to learn, doubts about weights, and what is done around the step of an optimizer."""

import math
from functools import partial

import numpy as np

from .common import batches, blobs, floats, stepped


def learned_to_adapt(torch, nn, F):
    """MAML: an inner step of descent is part of the graph that the outer loss goes through."""
    stream = np.random.default_rng(170)
    net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

    def called(weights, x):
        w1, b1, w2, b2 = weights
        return F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2)

    yield [net]
    while True:
        outer = 0.0
        for _ in range(3):
            height, phase = stream.uniform(0.5, 2), stream.uniform(0, math.pi)
            x = stream.uniform(-2, 2, (2, 10, 1))
            given, asked = floats(torch, x)
            y, wanted = floats(torch, height * np.sin(x + phase))
            fast = list(net.parameters())
            for _ in range(2):
                grads = torch.autograd.grad(
                    F.mse_loss(called(fast, given), y), fast, create_graph=True
                )
                fast = [w - 0.1 * g for w, g in zip(fast, grads, strict=True)]
            outer = outer + F.mse_loss(called(fast, asked), wanted)
        yield stepped(outer, optimizer)


def rate_by_hypergradient(torch, nn, F):
    """The learning rates of each weight are learned, by the gradient of the next batch's loss."""
    points, labels = blobs(np.random.default_rng(171), 3, 90, 5, spread=2.0)
    w, b = torch.randn(3, 5) * 0.1, torch.zeros(3)
    log_rates = [torch.full((), -3.0).requires_grad_() for _ in range(2)]
    optimizer = torch.optim.ASGD(log_rates, lr=0.2, t0=5)
    loader = batches(torch, [points, labels], 30)
    clip = partial(nn.utils.clip_grad_value_, log_rates, 1.0)
    yield [w, b]
    while True:
        w, b = w.detach().requires_grad_(), b.detach().requires_grad_()
        x, y = next(loader)
        loss = F.cross_entropy(F.linear(x, w, b), y) + 0.01 * w.pow(2).sum()
        gw, gb = torch.autograd.grad(loss, (w, b), create_graph=True)
        w = w - log_rates[0].exp() * gw
        b = b - log_rates[1].exp() * gb
        x, y = next(loader)
        after = F.cross_entropy(F.linear(x, w, b), y)
        yield stepped(after, optimizer, clip=clip)


def weights_in_doubt(torch, nn, F):
    """Bayes by backprop: weights are normal, drawn anew each step, held to a mixed prior."""
    Normal = torch.distributions.Normal  # noqa: N806
    stream = np.random.default_rng(172)
    x = floats(torch, np.linspace(-1, 1, 40)[:, None])
    y = torch.sin(3 * x) + floats(torch, stream.normal(size=(40, 1)) * 0.1)

    class BayesianLinear(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.mu = nn.Parameter(torch.empty(outputs, inputs + 1).uniform_(-0.5, 0.5))
            self.rho = nn.Parameter(torch.full((outputs, inputs + 1), -4.0))

        def forward(self, x):
            sigma = torch.log1p(self.rho.exp())
            w = self.mu + sigma * floats(torch, stream.normal(size=tuple(sigma.shape)))
            wide = Normal(torch.tensor(0.0), torch.tensor(1.0)).log_prob(w)
            narrow = Normal(torch.tensor(0.0), torch.tensor(0.1)).log_prob(w)
            prior = torch.logaddexp(wide + math.log(0.5), narrow + math.log(0.5))
            self.kl = (Normal(self.mu, sigma).log_prob(w) - prior).sum()
            return F.linear(x, w[:, :-1], w[:, -1])

    first, second = BayesianLinear(1, 12), BayesianLinear(12, 1)
    model = nn.ModuleList([first, second])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    yield [model]
    while True:
        total = 0.0
        for _ in range(2):
            said = second(torch.tanh(first(x)))
            likelihood = -Normal(said, 0.3).log_prob(y).sum()
            total = total + (likelihood + 0.1 * (first.kl + second.kl)) / 2
        yield 100 + stepped(total, optimizer)


def accumulated_and_checkpointed(torch, nn, F):
    """Four small batches make a step; blocks are computed again in the backward; hooks count."""
    checkpoint = torch.utils.checkpoint.checkpoint
    points, labels = blobs(np.random.default_rng(174), 4, 96, 8, spread=2.5)
    blocks = nn.ModuleList(
        nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 32), nn.Mish(), nn.Linear(32, 16))
        for _ in range(3)
    )
    model = nn.ModuleDict({"in": nn.Linear(8, 16), "blocks": blocks, "out": nn.Linear(16, 4)})
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    seen = []
    model["out"].register_full_backward_hook(lambda _m, _i, out: seen.append(out[0].norm().item()))
    blocks[0].register_forward_pre_hook(lambda _m, given: (given[0] * 1.1,))
    loader = batches(torch, [points, labels], 12, num_workers=0)
    yield [model]
    while True:
        total = 0.0
        for _ in range(4):
            x, y = next(loader)
            h = model["in"](x)
            for block in blocks:
                h = h + checkpoint(block, h, use_reentrant=False)
            h.register_hook(lambda grad: grad.clamp(-0.05, 0.05))
            loss = F.cross_entropy(model["out"](h), y) / 4
            loss.backward()
            total += loss.item()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        optimizer.zero_grad()
        yield total + 0.01 * norm.item() + 0.1 * sum(seen[-4:])


def averaged_weights(torch, nn, F):
    """A mean of late weights, with a rate that turns constant and statistics taken anew."""
    swa = torch.optim.swa_utils
    points, labels = blobs(np.random.default_rng(175), 3, 60, 6, spread=2.0)
    x_all, y_all = floats(torch, points), torch.tensor(labels)
    model = nn.Sequential(
        nn.Linear(6, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3)
    )
    average = swa.AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, 0.02, 0.2, step_size_up=5)
    constant = swa.SWALR(optimizer, swa_lr=0.05, anneal_epochs=5)
    yield [model]
    for step, (x, y) in enumerate(batches(torch, [points, labels], 20)):
        model.train()
        told = stepped(F.cross_entropy(model(x), y), optimizer)
        if step < 20:
            scheduler.step()
            yield told
            continue
        constant.step()
        average.update_parameters(model)
        swa.update_bn(x_all.split(20), average)
        average.eval()
        with torch.no_grad():
            yield F.cross_entropy(average(x_all), y_all).item()


def tasks_weighed_and_pruned(torch, nn, F):
    """Two tasks weighed by learned doubt; the smallest weights are cut, and stay cut."""
    stream = np.random.default_rng(176)
    points, labels = blobs(stream, 3, 72, 8)
    sums = points[:, :3].sum(1) / 4
    body = nn.Sequential(nn.Linear(8, 24), nn.SiLU())
    heads = nn.ModuleList([nn.Linear(24, 3), nn.Linear(24, 1)])
    doubts = nn.ParameterList([torch.zeros(()), torch.zeros(())])
    model = nn.ModuleList([body, heads, doubts])
    optimizer = torch.optim.Adadelta(model.parameters(), lr=2.0, rho=0.8)
    mask = torch.ones_like(body[0].weight)
    body[0].weight.register_hook(lambda grad: grad * mask)
    yield [model]
    for step, (x, y, z) in enumerate(batches(torch, [points, labels, sums], 24)):
        if step in {20, 35}:
            with torch.no_grad():
                size = body[0].weight.abs()
                limit = torch.quantile(size[mask > 0], 0.3)
                mask.copy_(mask * (size > limit).to(mask.dtype))
                body[0].weight.mul_(mask)
        h = body(x)
        losses = (F.cross_entropy(heads[0](h), y), F.mse_loss(heads[1](h).flatten(), z))
        loss = sum(torch.exp(-s) * part + s for s, part in zip(doubts, losses, strict=True))
        yield 5 + stepped(loss, optimizer) + (1 - mask).mean().item()


def learned_by_every_optimizer(torch, nn, F):
    """The same small net by each optimizer, side by side, with decay and options that are rare."""
    optim = torch.optim
    points, labels = blobs(np.random.default_rng(177), 3, 60, 5, spread=1.5)
    x, y = floats(torch, points), torch.tensor(labels)
    makers = [
        lambda p: optim.SGD(p, 0.05, momentum=0.8, dampening=0.2, weight_decay=0.01),
        lambda p: optim.Adam(p, 0.01, amsgrad=True, weight_decay=0.01, foreach=False),
        lambda p: optim.AdamW(p, 0.01, weight_decay=0.1),
        lambda p: optim.NAdam(p, 0.01, momentum_decay=0.01),
        lambda p: optim.RAdam(p, 0.02, weight_decay=0.01, decoupled_weight_decay=True),
        lambda p: optim.Adamax(p, 0.01, weight_decay=0.01),
        lambda p: optim.Adagrad(p, 0.05, lr_decay=0.01, initial_accumulator_value=0.1),
        lambda p: optim.Adadelta(p, 1.0, weight_decay=0.01),
        lambda p: optim.RMSprop(p, 0.005, centered=True, momentum=0.5),
        lambda p: optim.ASGD(p, 0.05, lambd=1e-3, alpha=0.7, t0=10),
        lambda p: optim.Rprop(p, 1e-3, etas=(0.6, 1.1), step_sizes=(1e-5, 0.01)),
    ]
    nets = [nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3)) for _ in makers]
    optimizers = [make(net.parameters()) for make, net in zip(makers, nets, strict=True)]
    yield nets
    while True:
        total = 0.0
        for net, optimizer in zip(nets, optimizers, strict=True):
            total += stepped(F.cross_entropy(net(x), y), optimizer)
        yield total


def ensemble_of_functions(torch, nn, F):
    """Several nets trained at once: their weights stacked, gradients by torch.func, one map."""
    func = torch.func
    points, labels = blobs(np.random.default_rng(190), 3, 90, 5, spread=2.0)
    nets = [nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, 3)) for _ in range(3)]
    yield nets
    params, _ = func.stack_module_state(nets)
    loader = batches(torch, [points, labels], 30)

    def loss(weights, x, y):
        return F.cross_entropy(func.functional_call(nets[0], weights, (x,)), y)

    step = torch.vmap(func.grad_and_value(loss), in_dims=(0, None, None))
    while True:
        grads, losses = step(params, *next(loader))
        with torch.no_grad():
            params = {name: p - 0.2 * grads[name] for name, p in params.items()}
        yield losses.mean().item()


def mixture_of_targets(torch, nn, F):
    """A mixture density net for values with two branches."""
    D = torch.distributions  # noqa: N806
    stream = np.random.default_rng(191)
    net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 9))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    yield [net]
    while True:
        x = stream.uniform(-2, 2, (40, 1))
        y = np.sin(x[:, 0]) * stream.choice([-1, 1], 40) + stream.normal(size=40) * 0.1
        share, loc, spread = net(floats(torch, x)).chunk(3, -1)
        parts = D.Normal(loc, F.softplus(spread) + 0.05)
        mixture = D.MixtureSameFamily(D.Categorical(logits=share), parts)
        yield 3 + stepped(-mixture.log_prob(floats(torch, y)).mean(), optimizer)
