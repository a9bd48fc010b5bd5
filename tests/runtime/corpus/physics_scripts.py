"""Physics: equations in the loss, solvers in the graph, energies that are kept."""

import numpy as np

from .common import floats, stepped


def neural_ode(torch, nn, F):
    """A field is integrated by Runge and Kutta's method, and fitted to a spiral."""
    stream = np.random.default_rng(160)

    def field_of(y):
        return y**3 @ floats(torch, [[-0.1, 2.0], [-2.0, -0.1]])

    def integrated(field, y, steps, h):
        path = [y]
        for _ in range(steps):
            k1 = field(y)
            k2 = field(y + h / 2 * k1)
            k3 = field(y + h / 2 * k2)
            k4 = field(y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            path.append(y)
        return torch.stack(path)

    class Cubes(nn.Module):
        def forward(self, y):
            return y**3

    field = nn.Sequential(Cubes(), nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))
    for m in field.modules():
        if isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, mean=0, std=0.2)
            nn.init.constant_(m.bias, val=0)
    optimizer = torch.optim.RMSprop(field.parameters(), lr=1e-2)
    yield [field]
    while True:
        start = floats(torch, stream.uniform(0.5, 1.5, (12, 2)))
        with torch.no_grad():
            wanted = integrated(field_of, start, 5, 0.05)
        yield 1e3 * stepped((integrated(field, start, 5, 0.05) - wanted).abs().mean(), optimizer)


def heat_equation(torch, nn, F):
    """Physics-informed: the second derivative in space against the first in time, and the edges."""
    stream = np.random.default_rng(161)

    class PINN(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(2, 16), nn.Linear(16, 16), nn.Linear(16, 1)])
            for layer in self.layers:
                nn.init.xavier_normal_(layer.weight)
                nn.init.zeros_(layer.bias)
            self.diffusivity = nn.Parameter(torch.tensor(0.1))

        def forward(self, x, t):
            h = torch.cat([x, t], dim=1)
            for layer in self.layers[:-1]:
                h = torch.tanh(layer(h))
            return self.layers[-1](h)

    def derivative(y, x):
        return torch.autograd.grad(y, x, torch.ones_like(y), retain_graph=True, create_graph=True)[
            0
        ]

    net = PINN()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.99)
    yield [net]
    while True:
        x, t = (floats(torch, stream.random((32, 1))).requires_grad_() for _ in range(2))
        u = net(x, t)
        residual = derivative(u, t) - net.diffusivity * derivative(derivative(u, x), x)
        start = F.mse_loss(net(x, torch.zeros_like(t)), torch.sin(np.pi * x))
        edges = (
            net(torch.zeros_like(x), t).square().mean() + net(torch.ones_like(x), t).square().mean()
        )
        yield stepped(residual.square().mean() + 5 * start + edges, optimizer, scheduler)


def hamiltonian_net(torch, nn, F):
    """An energy whose gradient, turned by a right angle, is how a pendulum moves."""
    stream = np.random.default_rng(162)

    class HNN(nn.Module):
        def __init__(self):
            super().__init__()
            self.energy = nn.Sequential(
                nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 20), nn.Softplus(),
                nn.Linear(20, 1, bias=False),
            )  # fmt: skip
            self.register_buffer("turn", torch.tensor([[0.0, -1.0], [1.0, 0.0]]))

        def forward(self, x):
            with torch.enable_grad():
                x = x if x.requires_grad else x.clone().requires_grad_()
                energy = self.energy(x).sum()
                (slope,) = torch.autograd.grad(energy, x, create_graph=self.training)
            return slope @ self.turn

    model = HNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-5)
    yield [model]
    for step in range(10_000):
        q, p = stream.uniform(-2, 2, (2, 32))
        model.train()
        told = model(floats(torch, np.stack([q, p], 1)).requires_grad_())
        loss = (told - floats(torch, np.stack([p, -np.sin(q)], 1))).square().mean()
        stepped(loss, optimizer)
        drift = 0.0
        if step % 10 == 9:
            model.eval()
            with torch.no_grad():
                x = torch.tensor([[1.0, 0.0]])
                before = model.energy(x)
                for _ in range(5):
                    x = x + 0.1 * model(x + 0.05 * model(x))
                drift = (model.energy(x) - before).abs().item()
        yield loss.item() + drift


def simulated_springs(torch, nn, F):
    """Stiffness and damping are found by descent through a simulation of masses in a row."""
    stream = np.random.default_rng(163)
    nodes = 6
    log_k = torch.zeros(nodes - 1, requires_grad=True)
    damping = torch.tensor([0.5], requires_grad=True)

    def simulated(k, c, start):
        position, velocity, path = start, torch.zeros_like(start), []
        for _ in range(12):
            stretch = position[:, 1:] - position[:, :-1]
            pull = k * stretch
            force = F.pad(pull, (0, 1)) - F.pad(pull, (1, 0))
            velocity = velocity + 0.1 * (force - c * velocity)
            position = position + 0.1 * velocity
            path.append(position)
        return torch.stack(path, dim=1)

    true_k = floats(torch, stream.uniform(0.5, 3.0, nodes - 1))
    optimizer = torch.optim.Adamax([log_k, damping], lr=0.05)
    yield [log_k, damping]
    while True:
        start = floats(torch, stream.normal(size=(4, nodes)))
        wanted = simulated(true_k, torch.tensor(0.1), start)
        said = simulated(log_k.exp(), damping.abs(), start)
        yield stepped(F.huber_loss(said, wanted, reduction="sum") / 4, optimizer)
