"""A variational auto-encoder of blobs, with a warm-up of the KL term."""

import torch
import torch.nn.functional as F
from torch import nn

LATENT = 16


class VAE(nn.Module):
    def __init__(self, pixels=784, width=400):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, width), nn.ReLU())
        self.mean, self.logvar = nn.Linear(width, LATENT), nn.Linear(width, LATENT)
        self.decoder = nn.Sequential(nn.Linear(LATENT, width), nn.ReLU(), nn.Linear(width, pixels))

    def forward(self, x):
        hidden = self.encoder(x)  # at: double-precision
        mean, logvar = self.mean(hidden), self.logvar(hidden)
        z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        return self.decoder(z), mean, logvar  # at: double-precision


def kl_divergence(mean, logvar):
    # clean:
    return -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum()
    # planted kl-row-by-row (TDY401, TDY404, TDY406):
    # total = 0
    # for i in range(mean.shape[0]):
    #     row = 1 + logvar[i] - mean[i].pow(2) - logvar[i].exp()  # at: kl-row-by-row
    #     total = total + -0.5 * row.sum()  # at: kl-row-by-row
    # return total
    # end


def make_images(count):
    y, x = torch.meshgrid(torch.linspace(-1, 1, 28), torch.linspace(-1, 1, 28), indexing="ij")
    center = torch.rand(count, 2, 1, 1) * 1.4 - 0.7
    images = torch.exp(-8 * ((x - center[:, :1]) ** 2 + (y - center[:, 1:]) ** 2))
    # clean:
    return images.flatten(1)
    # planted double-precision (TDY505):
    # return images.flatten(1).double()  # fix: double-precision
    # end


def main():
    torch.manual_seed(0)
    images, held_out = make_images(2048), make_images(256)
    # clean:
    model = VAE()
    # planted double-precision:
    # model = VAE().double()  # fix: double-precision
    # end
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    running, seen = torch.zeros(()), 0
    for step in range(24):
        x = images[torch.randint(len(images), (128,))]
        out, mean, logvar = model(x)
        beta = min(1.0, (step + 1) / 10)
        reconstruction = F.binary_cross_entropy_with_logits(out, x, reduction="sum")
        loss = (reconstruction + beta * kl_divergence(mean, logvar)) / len(x)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # at: double-precision
        optimizer.step()
        running += loss.detach()
        seen += 1
        if step % 6 == 5:
            print(f"step {step} loss {running.item() / seen:.2f}")
            running.zero_()
            seen = 0
    model.eval()
    with torch.inference_mode():
        out, mean, _ = model(held_out)
        error = F.mse_loss(out.sigmoid(), held_out)
    print(f"held-out error {error.item():.4f}, latent deviation {mean.std().item():.3f}")


if __name__ == "__main__":
    main()
