"""Autoencoders: with noise, with unpooling, variational, by class, quantised, of choices."""

import itertools

import numpy as np

from .common import batches, floats, shapes, stepped


def denoising_autoencoder(torch, nn, F):
    """Layers of falling and rising width; the input is noisy, the target is not."""
    stream = np.random.default_rng(70)
    images = shapes(stream, 96)[0].clip(0, 1).reshape(96, 64)

    class Autoencoder(nn.Module):
        def __init__(self):
            super().__init__()
            sizes = [64, 32, 16, 6]
            pairs = list(itertools.pairwise(sizes))
            self.encoder = nn.Sequential(*(self.layer(a, b) for a, b in pairs))
            self.decoder = nn.Sequential(*(self.layer(b, a) for a, b in reversed(pairs[1:])))
            self.out = nn.Linear(32, 64)

        @staticmethod
        def layer(inputs, outputs):
            return nn.Sequential(nn.Linear(inputs, outputs), nn.CELU(1.5))

        def forward(self, x):
            return torch.sigmoid(self.out(self.decoder(self.encoder(x))))

    model = Autoencoder()
    criterion = nn.MSELoss(reduction="none")
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-5)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=2)
    yield [model]
    for (clean,) in batches(torch, [images], 32):
        noisy = clean + floats(torch, stream.normal(size=(32, 64)) * 0.2)
        loss = criterion(model(noisy), clean).sum(1).mean()
        stepped(loss, optimizer)
        scheduler.step(loss.item())
        yield loss.item()


def unpooling_autoencoder(torch, nn, F):
    """Pooling remembers where its maxima were, and unpooling puts them back there."""
    images = shapes(np.random.default_rng(71), 60)[0]

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
            self.conv2 = nn.Conv2d(8, 4, 3, padding=1)
            self.pool = nn.MaxPool2d(2, return_indices=True)
            self.unpool = nn.MaxUnpool2d(2)
            self.deconv2 = nn.ConvTranspose2d(4, 8, 3, padding=1)
            self.deconv1 = nn.ConvTranspose2d(8, 1, 3, padding=1)

        def forward(self, x):
            x, first = self.pool(F.relu(self.conv1(x)))
            x, second = self.pool(F.relu(self.conv2(x)))
            x = self.unpool(x, second)
            x = self.unpool(F.relu(self.deconv2(x)), first)
            return self.deconv1(x)

    model = Net()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.02, lr_decay=1e-3)
    yield [model]
    for (x,) in batches(torch, [images], 12):
        yield stepped(F.huber_loss(model(x), x, delta=0.5), optimizer)


def variational(torch, nn, F):
    """The plain one: means and log-variances, Bernoulli pixels, sums over a batch."""
    stream = np.random.default_rng(72)
    images = (shapes(stream, 80)[0].reshape(80, 64) > 0.5).astype(float)

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = nn.Linear(64, 32)
            self.fc21, self.fc22 = nn.Linear(32, 4), nn.Linear(32, 4)
            self.fc3, self.fc4 = nn.Linear(4, 32), nn.Linear(32, 64)

        def forward(self, x):
            h1 = F.relu(self.fc1(x))
            mu, logvar = self.fc21(h1), self.fc22(h1)
            std = torch.exp(0.5 * logvar)
            z = mu + floats(torch, stream.normal(size=tuple(std.shape))) * std
            return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar

    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    yield [model]
    for (x,) in batches(torch, [images], 20):
        recon, mu, logvar = model(x)
        bce = F.binary_cross_entropy(recon, x, reduction="sum")
        kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        yield stepped(bce + kld, optimizer) / len(x)


def conditional_beta(torch, nn, F):
    """Convolutions, told the class; distributions as objects; the KL term is warmed up."""
    D = torch.distributions  # noqa: N806
    stream = np.random.default_rng(73)
    images, labels = shapes(stream, 72)

    class CVAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.classes = nn.Embedding(3, 8)
            self.encode = nn.Sequential(
                nn.Conv2d(1, 8, 4, 2, 1), nn.SiLU(), nn.Conv2d(8, 8, 4, 2, 1), nn.Flatten()
            )
            self.to_latent = nn.Linear(40, 6)
            self.to_image = nn.Sequential(
                nn.Linear(11, 32), nn.SiLU(), nn.Unflatten(1, (8, 2, 2)),
                nn.ConvTranspose2d(8, 8, 4, 2, 1), nn.SiLU(), nn.ConvTranspose2d(8, 1, 4, 2, 1),
            )  # fmt: skip
            self.scale = nn.Parameter(torch.zeros(1))

        def forward(self, x, label):
            told = self.classes(label)
            mean, raw = self.to_latent(torch.hstack([self.encode(x), told])).chunk(2, 1)
            posterior = D.Independent(D.Normal(mean, F.softplus(raw)), 1)
            noise = floats(torch, stream.normal(size=tuple(mean.shape)))
            z = posterior.mean + posterior.stddev * noise
            pixels = self.to_image(torch.hstack([z, told]))
            return D.Independent(D.Laplace(pixels, self.scale.exp()), 3), posterior

    model = CVAE()
    prior = D.Independent(D.Normal(torch.zeros(3), torch.ones(3)), 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    yield [model]
    for step, (x, y) in enumerate(batches(torch, [images, labels], 12)):
        likelihood, posterior = model(x, y)
        beta = 2.0 * min(1.0, step / 30)
        kl = D.kl_divergence(posterior, prior)
        yield 100 + stepped((-likelihood.log_prob(x) + beta * kl).mean(), optimizer)


def quantised(torch, nn, F):
    """The nearest entry of a codebook passes gradients straight; half of the book is averaged."""
    images = shapes(np.random.default_rng(74), 64)[0]

    class VectorQuantizer(nn.Module):
        def __init__(self, entries=12, width=4):
            super().__init__()
            self.embedding = nn.Embedding(entries, width)
            nn.init.uniform_(self.embedding.weight, -0.5, 0.5)
            self.register_buffer("uses", torch.zeros(entries))

        def forward(self, z):
            z = z.permute(0, 2, 3, 1).contiguous()
            flat = z.view(-1, z.shape[-1])
            d = torch.sum(flat**2, dim=1, keepdim=True)
            d = (
                d
                + torch.sum(self.embedding.weight**2, dim=1)
                - 2 * flat @ self.embedding.weight.t()
            )
            nearest = torch.argmin(d, dim=1)
            self.uses.lerp_(torch.bincount(nearest, minlength=12).to(z.dtype), 0.1)
            q = self.embedding(nearest).view(z.shape)
            loss = F.mse_loss(q.detach(), z) * 0.25 + F.mse_loss(q, z.detach())
            q = z + (q - z).detach()
            share = self.uses / self.uses.sum()
            spread = torch.exp(-(share * torch.log(share + 1e-10)).sum())
            return q.permute(0, 3, 1, 2).contiguous(), loss, spread

    encoder = nn.Sequential(nn.Conv2d(1, 12, 4, 2, 1), nn.ReLU(), nn.Conv2d(12, 4, 3, 1, 1))
    decoder = nn.Sequential(nn.Conv2d(4, 16, 3, 1, 1), nn.ReLU(), nn.PixelShuffle(2))
    decoder.append(nn.Conv2d(4, 1, 3, 1, 1))
    book = VectorQuantizer()
    model = nn.ModuleList([encoder, book, decoder])
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, foreach=True)
    yield [model]
    for (x,) in batches(torch, [images], 16):
        q, vq_loss, spread = book(encoder(x))
        recon = F.mse_loss(decoder(q), x) / x.var()
        stepped(recon + vq_loss, optimizer)
        yield recon.item() + 1e-3 * spread.item()


def of_choices(torch, nn, F):
    """Latent choices relaxed by Gumbel noise, with a temperature that falls."""
    stream = np.random.default_rng(75)
    images = (shapes(stream, 64)[0].reshape(64, 64) > 0.5).astype(float)
    encoder = nn.Sequential(nn.Linear(64, 32), nn.Softsign(), nn.Linear(32, 5 * 4))
    decoder = nn.Sequential(nn.Linear(5 * 4, 32), nn.Softsign(), nn.Linear(32, 64))
    model = nn.ModuleList([encoder, decoder])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    yield [model]
    for step, (x,) in enumerate(batches(torch, [images], 16)):
        logits = encoder(x).unflatten(1, (5, 4))
        uniform = floats(torch, stream.uniform(0.01, 0.99, (16, 5, 4)))
        soft = F.softmax((logits - torch.log(-torch.log(uniform))) / max(0.5, 0.97**step), dim=-1)
        if step % 2:
            hard = torch.zeros_like(soft).scatter_(-1, soft.argmax(-1, keepdim=True), 1.0)
            soft = hard - soft.detach() + soft
        likelihood = F.binary_cross_entropy_with_logits(
            decoder(soft.flatten(1)), x, reduction="none", pos_weight=torch.tensor(1.5)
        )
        log_q = F.log_softmax(logits, dim=-1)
        kl = (log_q.exp() * (log_q + np.log(4))).sum((-1, -2))
        yield stepped((likelihood.sum(-1) + kl).mean(), optimizer)
