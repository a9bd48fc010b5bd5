"""Densities: flows, autoregressive nets, diffusion, energies."""

from functools import partial

import numpy as np

from .common import floats, moons, stepped


def coupled_flow(torch, nn, F):
    """RealNVP: affine couplings by alternate masks, and the logarithms of their determinants."""
    stream = np.random.default_rng(80)

    class Coupling(nn.Module):
        def __init__(self, mask):
            super().__init__()
            self.register_buffer("mask", torch.tensor(mask))
            self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 4))

        def forward(self, x):
            kept = x * self.mask
            log_scale, shift = self.net(kept).chunk(2, dim=1)
            log_scale = torch.tanh(log_scale) * (1 - self.mask)
            return kept + (1 - self.mask) * (x * log_scale.exp() + shift), log_scale.sum(1)

    layers = nn.ModuleList(Coupling([i % 2 * 1.0, 1.0 - i % 2]) for i in range(4))
    base = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    optimizer = torch.optim.Adam(layers.parameters(), lr=5e-3)
    yield [layers]
    while True:
        z = floats(torch, moons(stream, 64)[0])
        log_det = torch.zeros(64)
        for layer in layers:
            z, change = layer(z)
            log_det += change
        yield stepped(-(base.log_prob(z) + log_det).mean(), optimizer)


def masked_autoregressive(torch, nn, F):
    """Layers whose masked weights let each output see only the inputs before it."""
    stream = np.random.default_rng(81)

    class MaskedLinear(nn.Linear):
        def __init__(self, before, after, strict=False):
            super().__init__(len(before), len(after))
            allowed = after[:, None] > before if strict else after[:, None] >= before
            self.register_buffer("mask", torch.from_numpy(allowed))

        def forward(self, x):
            return F.linear(x, torch.where(self.mask, self.weight, torch.zeros(())), self.bias)

    degrees = np.arange(1, 7)
    hidden = 1 + np.arange(20) % 5
    model = nn.Sequential(
        MaskedLinear(degrees, hidden), nn.ReLU6(), MaskedLinear(hidden, hidden), nn.ReLU6(),
        MaskedLinear(hidden, np.tile(degrees, 2), strict=True),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=20, T_mult=2)
    mixing = np.tril(stream.normal(size=(6, 6)))
    yield [model]
    while True:
        x = floats(torch, stream.normal(size=(48, 6)) @ mixing.T * 0.5)
        mean, log_std = model(x).chunk(2, dim=1)
        u = (x - mean) * torch.exp(-log_std)
        yield stepped((0.5 * u.square() + log_std).sum(1).mean(), optimizer, scheduler)


def denoising_diffusion(torch, nn, F):
    """Noise is predicted from a noisy image and the sines of its time; a short sampling between."""
    stream = np.random.default_rng(82)
    steps = 20
    betas = torch.linspace(1e-3, 0.3, steps)
    alphas = 1.0 - betas
    bars = torch.cumprod(alphas, dim=0)

    class Denoiser(nn.Module):
        def __init__(self, width=12):
            super().__init__()
            self.time = nn.Sequential(nn.Linear(8, width), nn.SiLU(), nn.Linear(width, width))
            self.first = nn.Conv2d(1, width, 3, padding=1)
            self.norm = nn.GroupNorm(3, width)
            self.second = nn.Conv2d(width, width, 3, padding=1)
            self.last = nn.Conv2d(2 * width, 1, 3, padding=1)

        def forward(self, x, t):
            rates = torch.exp(torch.arange(4).to(x.dtype) * -1.5)
            angles = t[:, None].to(x.dtype) * rates[None]
            told = self.time(torch.cat([angles.sin(), angles.cos()], dim=-1))
            h = F.silu(self.first(x))
            low = F.silu(self.second(F.silu(self.norm(h + told[:, :, None, None]))))
            return self.last(torch.cat([h, low], 1))

    model = Denoiser()
    slow = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    clip = partial(nn.utils.clip_grad_norm_, list(model.parameters()), 1.0)
    yield [model]
    slow.module.load_state_dict(model.state_dict())
    for step in range(10_000):
        waves = np.arange(8) * stream.uniform(0.3, 1.2, (6, 1, 8, 1))
        rows = np.sin(waves + stream.random((6, 1, 1, 1)))
        x0, noise = floats(torch, rows), floats(torch, stream.normal(size=(6, 1, 8, 8)))
        t = torch.tensor(stream.integers(0, steps, 6))
        bar = bars.gather(0, t).view(-1, 1, 1, 1)
        loss = F.mse_loss(model(bar.sqrt() * x0 + (1 - bar).sqrt() * noise, t), noise)
        told = stepped(loss, optimizer, clip=clip)
        slow.update_parameters(model)
        drawn = 0.0
        if step % 20 == 19:
            x = floats(torch, stream.normal(size=(2, 1, 8, 8)))
            with torch.no_grad():
                for s in reversed(range(0, steps, 4)):
                    noise = slow(x, torch.full((2,), s))
                    x = (x - betas[s] / (1 - bars[s]).sqrt() * noise) / alphas[s].sqrt()
            drawn = 0.01 * x.std().item()
        yield told + drawn


def flow_matching(torch, nn, F):
    """A field of velocities along straight lines from noise to data, and where it leads."""
    stream = np.random.default_rng(83)
    field = nn.Sequential(nn.Linear(3, 32), nn.ELU(), nn.Linear(32, 32), nn.ELU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(field.parameters(), lr=1e-2)
    yield [field]
    while True:
        x1 = floats(torch, moons(stream, 64)[0])
        x0, t = (floats(torch, a) for a in (stream.normal(size=(64, 2)), stream.random((64, 1))))
        xt = torch.lerp(x0, x1, t)
        told = stepped(F.mse_loss(field(torch.column_stack([xt, t])), x1 - x0), optimizer)
        with torch.no_grad():
            x = x0[:8]
            for k in range(4):
                half = x + field(F.pad(x, (0, 1), value=k / 4)) / 8
                x = x + field(F.pad(half, (0, 1), value=k / 4 + 1 / 8)) / 4
        yield told + 0.1 * torch.cdist(x, x1).min(dim=1).values.mean().item()


def score_matched(torch, nn, F):
    """The score of noisy data, as the gradient of an energy, so that it is differentiated twice."""
    stream = np.random.default_rng(84)
    energy = nn.Sequential(nn.Linear(2, 24), nn.Softplus(beta=2), nn.Linear(24, 1))
    optimizer = torch.optim.SGD(energy.parameters(), lr=0.01, momentum=0.9, dampening=0.1)
    yield [energy]
    while True:
        clean = moons(stream, 64)[0]
        noise = stream.normal(size=clean.shape) * 0.4
        x = floats(torch, clean + noise).requires_grad_()
        (slope,) = torch.autograd.grad(energy(x).sum(), x, create_graph=True)
        yield stepped((slope - floats(torch, noise / 0.4)).square().sum(1).mean(), optimizer)


def boltzmann_machine(torch, nn, F):
    """Contrastive divergence: no graph at all, only products, sigmoids and draws."""
    stream = np.random.default_rng(85)
    patterns = stream.integers(0, 2, (4, 16))

    class RBM(nn.Module):
        def __init__(self, visible, hidden):
            super().__init__()
            self.W = nn.Parameter(torch.randn(hidden, visible) * 0.05)
            self.v_bias = nn.Parameter(torch.zeros(visible))
            self.h_bias = nn.Parameter(torch.zeros(hidden))

        def free_energy(self, v):
            hidden = F.softplus(F.linear(v, self.W, self.h_bias)).sum(1)
            return (-hidden - v.mv(self.v_bias)).mean()

    def drawn(p):
        return (p > floats(torch, stream.random(tuple(p.shape)))).to(p.dtype)

    rbm = RBM(16, 10)
    yield [rbm]
    while True:
        noisy = patterns[stream.integers(0, 4, 32)] ^ (stream.random((32, 16)) < 0.05)
        v0 = floats(torch, noisy.astype(float))
        with torch.no_grad():
            h0 = torch.sigmoid(torch.addmm(rbm.h_bias, v0, rbm.W.t()))
            v1 = torch.sigmoid(torch.addmm(rbm.v_bias, drawn(h0), rbm.W))
            h1 = torch.sigmoid(torch.addmm(rbm.h_bias, drawn(v1), rbm.W.t()))
            rbm.W.add_((h0.T @ v0 - h1.T @ v1) / 32, alpha=0.3)
            rbm.v_bias.add_((v0 - v1).mean(0), alpha=0.3)
            rbm.h_bias += 0.3 * (h0 - h1).mean(0)
            missed = torch.mean((v0 - v1) ** 2)
        gap = rbm.free_energy(v0) - rbm.free_energy(drawn(v1))
        yield missed.item() + 1e-4 * abs(gap.item())
