"""Denoising diffusion of small images, with an average of the weights that samples."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

STEPS = 200


def cosine_alphas():
    """Products of alpha after each step, of shape [STEPS]."""
    # clean:
    t = torch.linspace(0, 1, STEPS + 1)
    f = torch.cos((t + 0.008) / 1.008 * math.pi / 2) ** 2
    return (f[1:] / f[0]).clamp(1e-4, 0.9999)
    # planted schedule-each-step (TDY107, TDY401, TDY404, TDY406, TDY411):
    # values = []
    # for i in range(1, STEPS + 1):
    #     t = torch.tensor(i / STEPS)  # at: schedule-each-step
    #     f = torch.cos((t + 0.008) / 1.008 * math.pi / 2) ** 2  # at: schedule-each-step
    #     values.append(f.clamp(1e-4, 0.9999))  # at: schedule-each-step
    # return torch.stack(values)
    # end


class Denoiser(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.first = nn.Conv2d(1, width, 3, padding=1)
        self.norms = nn.ModuleList([nn.GroupNorm(8, width) for _ in range(3)])
        self.convs = nn.ModuleList([nn.Conv2d(width, width, 3, padding=1) for _ in range(3)])
        self.last = nn.Conv2d(width, 1, 3, padding=1)
        frequencies = torch.exp(-math.log(1e4) * torch.arange(width // 2) / (width // 2))
        self.register_buffer("frequencies", frequencies)

    def forward(self, x, t):
        angles = t[:, None] * self.frequencies
        time = self.time(torch.cat([angles.sin(), angles.cos()], 1))[:, :, None, None]
        x = self.first(x)
        for norm, conv in zip(self.norms, self.convs):
            x = x + conv(F.silu(norm(x) + time))
        return self.last(F.silu(x))


def update_average(average, model, decay=0.99):
    # clean:
    with torch.no_grad():
        torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 1 - decay)
    # planted average-by-numpy (TDY203, TDY401, TDY409):
    # for a, p in zip(average.parameters(), model.parameters()):  # at: average-by-numpy
    #     old, new = a.data.double().numpy(), p.data.double().numpy()  # at: average-by-numpy
    #     mixed = decay * old + (1 - decay) * new
    #     a.data = torch.tensor(mixed.tolist(), dtype=torch.float32)  # at: average-by-numpy
    # end


@torch.no_grad()
def sample(model, alphas, count=4, stride=20):
    x = torch.randn(count, 1, 16, 16)
    for i in reversed(range(0, STEPS, stride)):
        noise = model(x, torch.full((count,), float(i)))
        x0 = (x - (1 - alphas[i]).sqrt() * noise) / alphas[i].sqrt()
        before = alphas[i - stride] if i else torch.ones(())
        x = before.sqrt() * x0.clamp(-1, 1) + (1 - before).sqrt() * noise
    return x


def main():
    torch.manual_seed(0)
    model = Denoiser()
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    # clean:
    alphas = cosine_alphas()
    # planted schedule-each-step:
    # end
    data = torch.tanh(torch.randn(512, 1, 4, 4).repeat_interleave(4, 2).repeat_interleave(4, 3))
    for step in range(20):
        # planted schedule-each-step:
        # alphas = cosine_alphas()  # at: schedule-each-step
        # end
        x0 = data[torch.randint(len(data), (32,))]
        t = torch.randint(STEPS, (len(x0),))
        a = alphas[t][:, None, None, None]
        noise = torch.randn_like(x0)
        loss = F.mse_loss(model(a.sqrt() * x0 + (1 - a).sqrt() * noise, t.float()), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update_average(average, model)
        if step % 5 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    print(f"samples have deviation {sample(average, alphas).std().item():.3f}")


if __name__ == "__main__":
    main()
