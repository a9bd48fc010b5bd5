"""Trainings with modules, in the style of those that are public, written once for both runtimes.

Each function takes `torch`, which is PyTorch or `tidy.runtime`, and gives modules and a function
that takes the number of a step, trains them once, and gives the loss. All is float64.
"""

import numpy as np


def normal(torch, seed, *shape):
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape))


def whole(torch, seed, below, *shape):
    return torch.tensor(np.random.default_rng(seed).integers(0, below, shape))


def stepped(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def adversarial(torch):
    """DCGAN whose discriminator has spectral norms."""
    nn = torch.nn
    bounded = nn.utils.spectral_norm
    generator = nn.Sequential(
        nn.ConvTranspose2d(8, 16, 4, 1, 0, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(True),
        nn.ConvTranspose2d(16, 1, 4, 2, 1, bias=False),
        nn.Tanh(),
    ).double()
    critic = nn.Sequential(
        bounded(nn.Conv2d(1, 16, 4, 2, 1, bias=False)),
        nn.LeakyReLU(0.2, inplace=True),
        bounded(nn.Conv2d(16, 1, 4, 1, 0, bias=False)),
        nn.Sigmoid(),
    ).double()
    loss_of = nn.BCELoss()
    optimizers = [torch.optim.Adam(m.parameters(), lr=2e-3) for m in (generator, critic)]

    def step(number):
        real = normal(torch, number, 4, 1, 8, 8).tanh()
        fake = generator(normal(torch, number + 100, 4, 8, 1, 1))
        ones = torch.ones(4, dtype=torch.float64)
        told = loss_of(critic(real).view(-1), ones)
        told = told + loss_of(critic(fake.detach()).view(-1), ones * 0)
        found = stepped(optimizers[1], told)
        return found + stepped(optimizers[0], loss_of(critic(fake).view(-1), ones))

    return [generator, critic], step


def translated(torch):
    """An image from an image: reflected edges, norms of instances with statistics, skips."""
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Conv2d(2, 8, 4, 2, 1, padding_mode="reflect")
            self.norm = nn.InstanceNorm2d(8, affine=True, track_running_stats=True)
            self.inner = nn.Conv2d(8, 8, 3, padding="same", padding_mode="circular")
            self.up = nn.ConvTranspose2d(16, 4, 4, 2, 1)
            self.last = nn.Sequential(nn.ReplicationPad2d(1), nn.Conv2d(4, 2, 3), nn.Tanh())

        def forward(self, x):
            low = self.norm(self.down(x)).relu()
            return self.last(self.up(torch.cat([low, self.inner(low)], 1)))

    net = Net().double()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3, betas=(0.5, 0.999))
    loss_of = nn.L1Loss()

    def step(number):
        x, y = (normal(torch, number + n, 2, 2, 12, 12).tanh() for n in (0, 50))
        return stepped(optimizer, loss_of(net(x), y))

    return [net], step


def classified_texts(torch):
    """Bags of words, and a rate that falls."""
    nn = torch.nn
    bags, head = nn.EmbeddingBag(40, 12).double(), nn.Linear(12, 3).double()
    learned = [*bags.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(learned, lr=2.0)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 8, gamma=0.5)

    def step(number):
        sizes = np.random.default_rng(number).integers(0, 6, 8)
        words = whole(torch, number, 40, sizes.sum())
        offsets = torch.tensor(np.cumsum(sizes) - sizes)
        loss = nn.functional.cross_entropy(head(bags(words, offsets)), whole(torch, number, 3, 8))
        found = stepped(optimizer, loss)
        schedule.step()
        return found

    return [bags, head], step


def transformed_images(torch):
    """A spatial transformer."""
    nn, F = torch.nn, torch.nn.functional  # noqa: N806
    where = nn.Sequential(nn.Conv2d(1, 4, 5), nn.MaxPool2d(2), nn.ReLU(True), nn.Flatten())
    turn, head = nn.Linear(64, 6), nn.Linear(144, 10)
    turn.weight.data.zero_()
    turn.bias.data.copy_(torch.tensor([0.9, 0.1, 0.03, -0.1, 0.9, 0.02]))
    modules = [m.double() for m in (where, turn, head)]
    optimizer = torch.optim.SGD([p for m in modules for p in m.parameters()], 0.01, momentum=0.9)

    def step(number):
        x = normal(torch, number, 6, 1, 12, 12)
        grid = F.affine_grid(turn(where(x)).view(-1, 2, 3), x.size(), align_corners=False)
        seen = F.grid_sample(x, grid, padding_mode="border", align_corners=False)
        return stepped(
            optimizer, F.cross_entropy(head(seen.flatten(1)), whole(torch, number, 10, 6))
        )

    return modules, step


def read_lines(torch):
    """A recurrent reader of text in images, with CTC."""
    nn = torch.nn
    look = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveMaxPool2d((1, 10)))
    reader, head = nn.LSTM(8, 8, bidirectional=True), nn.Linear(16, 6)
    modules = [m.double() for m in (look, reader, head)]
    optimizer = torch.optim.Adam([p for m in modules for p in m.parameters()], lr=0.01)
    loss_of = nn.CTCLoss(zero_infinity=True)

    def step(number):
        sizes = np.random.default_rng(number).integers(1, 5, 4)
        labels = whole(torch, number, 5, sizes.sum()) + 1
        seen = look(normal(torch, number, 4, 1, 6, 20)).squeeze(2).permute(2, 0, 1)
        logs = head(reader(seen)[0]).log_softmax(2)
        return stepped(optimizer, loss_of(logs, labels, torch.full((4,), 10), torch.tensor(sizes)))

    return modules, step


def compared_series(torch):
    """Embeddings that are near or far, by layers with parametrized weights."""
    nn, made = torch.nn, torch.nn.utils.parametrizations
    net = nn.Sequential(
        made.weight_norm(nn.Conv1d(2, 8, 3, padding="same", padding_mode="circular")),
        nn.PReLU(),
        nn.LPPool1d(2, 2),
        nn.Flatten(),
        made.spectral_norm(nn.Linear(48, 8)),
    ).double()
    optimizer = torch.optim.Adagrad(net.parameters(), lr=0.05)
    near, alike = nn.TripletMarginLoss(), nn.CosineEmbeddingLoss(margin=0.2)

    def step(number):
        one, two, three = (net(normal(torch, number + n, 6, 2, 12)) for n in (0, 50, 90))
        signs = -torch.ones(6, dtype=torch.float64)
        return stepped(optimizer, near(one, two, three) + alike(one, three, signs))

    return [net], step


def acted(torch):
    """An actor and its critic, with a dict of parameters."""
    nn = torch.nn
    body = nn.Sequential(
        nn.Conv2d(3, 6, 3, stride=2),
        nn.BatchNorm2d(6),
        nn.ELU(),
        nn.Flatten(),
        nn.Linear(54, 8),
    ).double()
    actor, critic = nn.Linear(8, 2).double(), nn.Linear(8, 1).double()
    held = nn.ParameterDict({"log_std": torch.zeros(2, dtype=torch.float64)})
    modules = [body, actor, critic, held]
    learned = [p for m in modules for p in m.parameters()]
    optimizer = torch.optim.RMSprop(learned, lr=7e-3, alpha=0.99, eps=1e-5)

    def step(number):
        seen = body(normal(torch, number, 6, 3, 8, 8))
        chances = torch.distributions.Normal(actor(seen), held["log_std"].exp())
        gain = normal(torch, number, 6) - critic(seen).squeeze(-1)
        said = chances.log_prob(normal(torch, number + 1, 6, 2)).sum(-1)
        loss = gain.pow(2).mean() - (said * gain.detach()).mean()
        optimizer.zero_grad()
        (loss - 0.01 * chances.entropy().mean()).backward()
        nn.utils.clip_grad_norm_(learned, 0.5)
        optimizer.step()
        return loss.item()

    return modules, step


def sharpened(torch):
    """Super-resolution beside bicubic interpolation."""
    nn, F = torch.nn, torch.nn.functional  # noqa: N806
    net = nn.Sequential(
        nn.Conv2d(1, 8, 5, padding=2, padding_mode="replicate"),
        nn.LocalResponseNorm(3, alpha=0.1),
        nn.ReLU(),
        nn.Conv2d(8, 4, 3, padding="same"),
        nn.PixelShuffle(2),
    ).double()
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)

    def step(number):
        wanted = normal(torch, number, 2, 1, 10, 10).sigmoid()
        given = F.avg_pool2d(wanted, 2)
        made = net(given) + F.interpolate(given, scale_factor=2, mode="bicubic")
        return stepped(optimizer, F.smooth_l1_loss(made, wanted))

    return [net], step


NETWORKS = [adversarial, translated, classified_texts, transformed_images, read_lines]
NETWORKS += [compared_series, acted, sharpened]
