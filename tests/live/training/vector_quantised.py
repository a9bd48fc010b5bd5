"""A VQ-VAE with an autograd Function of its own and a codebook of running means."""

import torch
import torch.nn.functional as F
from torch import nn


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, codebook):
        index = torch.cdist(z, codebook).argmin(1)
        ctx.mark_non_differentiable(index)
        return codebook[index], index

    @staticmethod
    def backward(_ctx, grad, _):
        return grad, None


class VQVAE(nn.Module):
    def __init__(self, width=32, codes=128):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, width, 4, 2, 1), nn.ReLU(), nn.Conv2d(width, width, 4, 2, 1)
        )
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(width, width, 4, 2, 1),
            nn.ReLU(),
            nn.ConvTranspose2d(width, 1, 4, 2, 1),
        )
        self.register_buffer("codebook", torch.randn(codes, width))
        self.register_buffer("count", torch.ones(codes))
        self.register_buffer("total", self.codebook.clone())

    def forward(self, x):
        z = self.encoder(x)
        b, c, h, w = z.shape
        flat = z.permute(0, 2, 3, 1).reshape(-1, c)
        q, index = Straight.apply(flat, self.codebook)
        if self.training:
            self.update(flat.detach(), index)
        commit = F.mse_loss(flat, q.detach())
        return self.decoder(q.view(b, h, w, c).permute(0, 3, 1, 2)), commit

    @torch.no_grad()
    def update(self, flat, index, decay=0.99):
        # clean:
        hot = F.one_hot(index, len(self.codebook)).to(flat.dtype)
        self.count.lerp_(hot.sum(0), 1 - decay)
        self.total.lerp_(hot.T @ flat, 1 - decay)
        # planted mean-code-by-code (TDY404):
        # for code in range(len(self.codebook)):
        #     mine = flat[index == code]  # at: mean-code-by-code
        #     number, total = len(mine), mine.sum(0)  # at: mean-code-by-code
        #     self.count[code] += 0.01 * (number - self.count[code])  # at: mean-code-by-code
        #     self.total[code] += 0.01 * (total - self.total[code])  # at: mean-code-by-code
        # end
        self.codebook.copy_(self.total / self.count.clamp_min(1e-5)[:, None])


def main():
    torch.manual_seed(0)
    images = torch.rand(512, 1, 32, 32)
    model = VQVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    for step in range(40):
        x = images[torch.randint(0, 512, (32,))]
        out, commit = model(x)
        loss = F.mse_loss(out, x) + 0.25 * commit
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        # planted saved-each-step (TDY413):
        # torch.save(model.state_dict(), "last.pt")  # at: saved-each-step
        # end
        if step % 10 == 9:
            print(step + 1, f"{loss.item():.4f}")


if __name__ == "__main__":
    main()
