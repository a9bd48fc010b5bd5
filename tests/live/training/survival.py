"""Survival analysis: a network for the risk of patients, by the partial likelihood of Cox."""

import numpy as np
import torch
from torch import nn


def make_patients(count, features=40):
    """Return features, times until an event or the last visit, and whether there was an event."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(count, features))
    risk = np.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2]
    time = rng.exponential(np.exp(-risk))
    censored = rng.exponential(1.5, size=count)
    x = torch.from_numpy(x).float()
    return (
        x,
        torch.from_numpy(np.minimum(time, censored)).float(),
        torch.from_numpy(time <= censored),
    )


class Risk(nn.Module):
    def __init__(self, features=40, width=128):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(features, width, bias=False), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Dropout(0.2), nn.Linear(width, width, bias=False), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Dropout(0.2), nn.Linear(width, 1),
        )  # fmt: skip

    def forward(self, x):
        return self.net(x).squeeze(-1)


def cox_loss(risk, time, event):
    # clean:
    order = time.argsort(descending=True)
    risk, event = risk[order], event[order]
    return -((risk - risk.logcumsumexp(0)) * event).sum() / event.sum()
    # planted risk-set-by-set (TDY404):
    # total = 0.0
    # for i in range(len(risk)):
    #     if event[i]:  # at: risk-set-by-set
    #         total = total - (risk[i] - risk[time >= time[i]].logsumexp(0))  # at: risk-set-by-set
    # return total / event.sum()
    # end


@torch.no_grad()
def concordance(model, x, time, event):
    """Return the share of pairs whose order the risks tell rightly."""
    model.eval()
    risk = model(x)
    model.train()
    # clean:
    earlier = (time[:, None] < time) & event[:, None]
    return (risk[:, None] > risk)[earlier].float().mean().item()
    # planted pair-by-pair (TDY404):
    # right = pairs = 0
    # for i in range(len(time)):
    #     if event[i]:  # at: pair-by-pair
    #         later = time > time[i]  # at: pair-by-pair
    #         right += (risk[i] > risk[later]).sum().item()  # at: pair-by-pair
    #         pairs += later.sum().item()  # at: pair-by-pair
    # return right / pairs
    # end


def main():
    torch.manual_seed(0)
    x, time, event = make_patients(1024)
    model = Risk()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
    test = slice(0, 256)
    count = len(x) - 256
    for epoch in range(8):
        for chosen in (256 + torch.randperm(count)).split(128):
            if len(chosen) < 128:
                continue
            loss = cox_loss(model(x[chosen]), time[chosen], event[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        index = concordance(model, x[test], time[test], event[test])
        print(f"epoch {epoch} loss {loss.item():.3f} concordance {index:.3f}")


if __name__ == "__main__":
    main()
