"""Players against each other: generators and critics, with the losses that were proposed."""

import itertools

import numpy as np

from .common import floats, shapes, stepped


def dcgan(torch, nn, F):
    """Convolutions both ways, weights drawn by `apply`, labels of ones and zeros."""
    stream = np.random.default_rng(60)
    real_images = np.tanh(shapes(stream, 64)[0] * 2 - 1)

    def weights_init(m):
        name = m.__class__.__name__
        if "Conv" in name:
            nn.init.normal_(m.weight.data, 0.0, 0.05)
        elif "BatchNorm" in name:
            nn.init.normal_(m.weight.data, 1.0, 0.02)
            nn.init.constant_(m.bias.data, 0)

    net_g = nn.Sequential(
        nn.ConvTranspose2d(8, 12, 4, 1, 0, bias=False), nn.BatchNorm2d(12), nn.ReLU(True),
        nn.ConvTranspose2d(12, 1, 4, 2, 1, bias=False), nn.Tanh(),
    ).apply(weights_init)  # fmt: skip
    net_d = nn.Sequential(
        nn.Conv2d(1, 8, 4, 2, 1, bias=False), nn.LeakyReLU(0.2),
        nn.Conv2d(8, 12, 3, 1, 1, bias=False), nn.BatchNorm2d(12), nn.LeakyReLU(0.2),
        nn.Conv2d(12, 1, 4, 1, 0, bias=False), nn.Sigmoid(), nn.Flatten(0),
    ).apply(weights_init)  # fmt: skip
    criterion = nn.BCELoss()
    opt_d = torch.optim.Adam(net_d.parameters(), lr=2e-3, betas=(0.5, 0.999))
    opt_g = torch.optim.Adam(net_g.parameters(), lr=2e-3, betas=(0.5, 0.999))
    yield [net_g, net_d]
    while True:
        real = floats(torch, real_images[stream.integers(0, 64, 12)])
        label = torch.full((12,), 1.0)
        net_d.zero_grad()
        err_real = criterion(net_d(real), label)
        err_real.backward()
        fake = net_g(floats(torch, stream.normal(size=(12, 8, 1, 1))))
        label.fill_(0.0)
        err_fake = criterion(net_d(fake.detach()), label)
        err_fake.backward()
        opt_d.step()
        net_g.zero_grad()
        label.fill_(1.0)
        err_g = criterion(net_d(fake), label)
        err_g.backward()
        opt_g.step()
        yield (err_real + err_fake + err_g).item()


def wasserstein_clipped(torch, nn, F):
    """A critic within a box of weights makes five steps for each of the generator."""
    stream = np.random.default_rng(61)
    generator = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
    critic = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
    opt_g = torch.optim.RMSprop(generator.parameters(), lr=5e-3)
    opt_c = torch.optim.RMSprop(critic.parameters(), lr=5e-3)
    yield [generator, critic]

    def real(count):
        angle = stream.integers(0, 8, count) * np.pi / 4
        points = np.stack([np.cos(angle), np.sin(angle)], 1)
        return floats(torch, points + stream.normal(size=(count, 2)) * 0.05)

    while True:
        for _ in range(5):
            with torch.no_grad():
                fake = generator(floats(torch, stream.normal(size=(32, 4))))
            lost = stepped(critic(fake).mean() - critic(real(32)).mean(), opt_c)
            for p in critic.parameters():
                p.data.clamp_(-0.1, 0.1)
        for p in critic.parameters():
            p.requires_grad_(False)
        loss_g = -critic(generator(floats(torch, stream.normal(size=(32, 4))))).mean()
        lost += stepped(loss_g, opt_g)
        for p in critic.parameters():
            p.requires_grad_(True)
        yield 1 + lost


def wasserstein_with_penalty(torch, nn, F):
    """The critic's gradient at points between real and made has a norm of about one."""
    stream = np.random.default_rng(62)
    images = shapes(stream, 48)[0]
    generator = nn.Sequential(
        nn.Linear(6, 64), nn.Unflatten(1, (4, 4, 4)), nn.Softplus(),
        nn.Upsample(scale_factor=2), nn.Conv2d(4, 1, 3, padding=1),
    )  # fmt: skip
    critic = nn.Sequential(
        nn.Conv2d(1, 8, 3, 2, 1), nn.Tanh(), nn.Conv2d(8, 8, 3, 2, 1), nn.SiLU(), nn.Flatten(),
        nn.Linear(32, 1),
    )  # fmt: skip
    opt_g = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.0, 0.9))
    opt_c = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.0, 0.9))
    yield [generator, critic]

    def penalty(real, fake):
        alpha = floats(torch, stream.random((len(real), 1, 1, 1)))
        between = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
        scores = critic(between)
        (slope,) = torch.autograd.grad(
            outputs=scores,
            inputs=between,
            grad_outputs=torch.ones_like(scores),
            create_graph=True,
            retain_graph=True,
            only_inputs=True,
        )
        return ((slope.view(len(real), -1).norm(2, dim=1) - 1) ** 2).mean()

    while True:
        for _ in range(2):
            real = floats(torch, images[stream.integers(0, 48, 8)])
            fake = generator(floats(torch, stream.normal(size=(8, 6)))).detach()
            loss_c = critic(fake).mean() - critic(real).mean() + 10 * penalty(real, fake)
            lost = stepped(loss_c, opt_c)
        loss_g = -critic(generator(floats(torch, stream.normal(size=(8, 6))))).mean()
        yield 2 + lost + stepped(loss_g, opt_g)


def least_squares_by_class(torch, nn, F):
    """Both players are told the class; squares in place of logarithms; two speeds of learning."""
    stream = np.random.default_rng(63)

    class Generator(nn.Module):
        def __init__(self):
            super().__init__()
            self.label_emb = nn.Embedding(4, 4)
            self.model = nn.Sequential(
                nn.Linear(8, 24), nn.BatchNorm1d(24, 0.8), nn.LeakyReLU(0.2), nn.Linear(24, 2)
            )

        def forward(self, noise, labels):
            return self.model(torch.cat((self.label_emb(labels), noise), -1))

    class Discriminator(nn.Module):
        def __init__(self):
            super().__init__()
            bounded = nn.utils.parametrizations.spectral_norm
            self.body = nn.Sequential(bounded(nn.Linear(2, 24)), nn.LeakyReLU(0.2))
            self.head, self.by_label = bounded(nn.Linear(24, 1)), nn.Embedding(4, 24)

        def forward(self, points, labels):
            h = self.body(points)
            return self.head(h) + (h * self.by_label(labels)).sum(-1, keepdim=True)

    generator, discriminator = Generator(), Discriminator()
    opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(discriminator.parameters(), lr=4e-3, betas=(0.5, 0.999))
    loss_of = nn.MSELoss()
    yield [generator, discriminator]
    while True:
        which = stream.integers(0, 4, 24)
        corner = np.stack([which % 2, which // 2], 1) * 2.0 - 1
        real = floats(torch, corner + stream.normal(size=(24, 2)) * 0.2)
        labels = torch.tensor(which)
        made = generator(floats(torch, stream.normal(size=(24, 4))), labels)
        valid, fake = torch.ones(24, 1), torch.zeros(24, 1)
        d_loss = loss_of(discriminator(real, labels), valid * 0.9)
        d_loss = (d_loss + loss_of(discriminator(made.detach(), labels), fake)) / 2
        stepped(d_loss, opt_d)
        yield d_loss.item() + stepped(loss_of(discriminator(made, labels), valid), opt_g)


def there_and_back(torch, nn, F):
    """Two generators between two kinds of images, which have to come back to where they were."""
    stream = np.random.default_rng(64)
    images, which = shapes(stream, 90)
    one, two = images[which == 0][:20], 1 - images[which == 2][:20]

    class Residual(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.block = nn.Sequential(
                nn.ReflectionPad2d(1), nn.Conv2d(width, width, 3), nn.InstanceNorm2d(width),
                nn.ReLU(),
            )  # fmt: skip

        def forward(self, x):
            return x + self.block(x)

    def generator():
        return nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), Residual(6), nn.Conv2d(6, 1, 1))

    def critic():
        return nn.Sequential(nn.Conv2d(1, 6, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(6, 1, 3))

    g_ab, g_ba, d_a, d_b = generator(), generator(), critic(), critic()
    opt_g = torch.optim.Adam(itertools.chain(g_ab.parameters(), g_ba.parameters()), lr=3e-3)
    opt_d = torch.optim.Adam(itertools.chain(d_a.parameters(), d_b.parameters()), lr=3e-3)
    yield [g_ab, g_ba, d_a, d_b]

    def told(critic, x, value):
        scores = critic(x)
        return F.mse_loss(scores, torch.full_like(scores, value))

    while True:
        rows = stream.integers(0, 20, (2, 4))
        a, b = floats(torch, one[rows[0]]), floats(torch, two[rows[1]])
        fake_a, fake_b = g_ba(b), g_ab(a)
        loss_g = told(d_a, fake_a, 1.0) + told(d_b, fake_b, 1.0)
        loss_g = loss_g + 5 * (F.l1_loss(g_ba(fake_b), a) + F.l1_loss(g_ab(fake_a), b))
        loss_g = loss_g + 2 * (F.l1_loss(g_ba(a), a) + F.l1_loss(g_ab(b), b))
        stepped(loss_g, opt_g)
        loss_d = told(d_a, a, 1.0) + told(d_a, fake_a.detach(), 0.0)
        loss_d = loss_d + told(d_b, b, 1.0) + told(d_b, fake_b.detach(), 0.0)
        stepped(loss_d / 2, opt_d)
        yield loss_g.item() + loss_d.item()
