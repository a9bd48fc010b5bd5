"""A generator and a discriminator, each with an optimizer."""

from framework import nn, torch

generator = nn.Sequential(nn.Linear(16, 128), nn.LeakyReLU(0.2), nn.Linear(128, 256), nn.Tanh())
discriminator = nn.Sequential(
    nn.Linear(256, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1), nn.Sigmoid()
)
loss = nn.BCELoss()
of_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
of_discriminator = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)
for step in range(200):
    real = torch.randn(64, 256)
    fake = generator(torch.randn(64, 16))
    of_discriminator.zero_grad()
    d_loss = loss(discriminator(real), ones) + loss(discriminator(fake.detach()), zeros)
    d_loss.backward()
    of_discriminator.step()
    of_generator.zero_grad()
    g_loss = loss(discriminator(fake), ones)
    g_loss.backward()
    of_generator.step()
    if step % 50 == 0:
        print(f"{step}: {d_loss.item():.3f} {g_loss.item():.3f}")
