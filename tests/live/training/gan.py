"""A small DCGAN: the discriminator's step, then the generator's."""

import torch
from torch import nn

LATENT = 32


def make_generator():
    return nn.Sequential(
        nn.ConvTranspose2d(LATENT, 64, 4, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
        nn.ConvTranspose2d(64, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
        nn.ConvTranspose2d(32, 1, 4, 2, 1), nn.Tanh(),
    )  # fmt: skip


def make_discriminator():
    return nn.Sequential(
        nn.Conv2d(1, 32, 4, 2, 1), nn.LeakyReLU(0.2),
        nn.Conv2d(32, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.LeakyReLU(0.2),
        nn.Conv2d(64, 1, 4), nn.Flatten(0),
    )  # fmt: skip


def real_images(size):
    y, x = torch.meshgrid(torch.linspace(-1, 1, 16), torch.linspace(-1, 1, 16), indexing="ij")
    center = torch.rand(size, 2, 1, 1) - 0.5
    distance = (x - center[:, :1]) ** 2 + (y - center[:, 1:]) ** 2
    return torch.tanh(4 * (0.3 - distance))


def main():
    torch.manual_seed(0)
    # planted anomaly-left-on (TDY009):
    # torch.autograd.set_detect_anomaly(True)  # fix: anomaly-left-on
    # end
    generator, discriminator = make_generator(), make_discriminator()
    opt_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    size = 64
    ones, zeros = torch.ones(size), torch.zeros(size)
    fixed = torch.randn(16, LATENT, 1, 1)
    for step in range(24):
        real = real_images(size)
        fake = generator(torch.randn(size, LATENT, 1, 1))  # at: anomaly-left-on

        opt_d.zero_grad()
        # clean:
        guess_real, guess_fake = discriminator(real), discriminator(fake.detach())
        loss_d = criterion(guess_real, ones) + criterion(guess_fake, zeros)
        loss_d.backward()
        # planted fake-not-detached (TDY703):
        # guess_real, guess_fake = discriminator(real), discriminator(fake)  # at: fake-not-detached
        # loss_d = criterion(guess_real, ones) + criterion(guess_fake, zeros)
        # loss_d.backward(retain_graph=True)  # at: fake-not-detached
        # end
        opt_d.step()

        opt_g.zero_grad()
        loss_g = criterion(discriminator(fake), ones)  # at: anomaly-left-on
        loss_g.backward()  # at: anomaly-left-on
        opt_g.step()

        if step % 6 == 0:
            print(f"step {step} D {loss_d.item():.3f} G {loss_g.item():.3f}")
    generator.eval()
    with torch.no_grad():
        samples = generator(fixed)
    print(f"samples between {samples.min().item():.2f} and {samples.max().item():.2f}")


if __name__ == "__main__":
    main()
