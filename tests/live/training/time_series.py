"""An LSTM that forecasts a noisy sum of waves from sliding windows."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

WINDOW, AHEAD = 24, 4


class Windows(Dataset):
    def __init__(self, series):
        self.mean, self.deviation = float(series.mean()), float(series.std())
        self.series = series
        self.scaled = torch.from_numpy((series - self.mean) / self.deviation).float()

    def __len__(self):
        return len(self.series) - WINDOW - AHEAD

    def __getitem__(self, start):
        # clean:
        window = self.scaled[start : start + WINDOW + AHEAD]
        # planted window-from-list (TDY101, TDY102, TDY105, TDY106, TDY107, TDY401, TDY409):
        # window = []
        # for i in range(start, start + WINDOW + AHEAD):
        #     value = (self.series[i] - self.mean) / self.deviation
        #     window.append(torch.tensor([value]).float())  # fix: window-from-list
        # window = torch.cat(window)
        # end
        return window[:WINDOW, None], window[WINDOW:]


class Forecaster(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.lstm = nn.LSTM(1, width, batch_first=True)
        self.out = nn.Linear(width, AHEAD)

    def forward(self, x, state=None):
        hidden, state = self.lstm(x, state)
        return self.out(hidden[:, -1]), state


def make_series(count):
    t = np.arange(count)
    waves = np.sin(2 * math.pi * t / 24) + 0.5 * np.sin(2 * math.pi * t / 168)
    return waves + 0.1 * np.random.default_rng(0).standard_normal(count)


def main():
    torch.manual_seed(0)
    series = make_series(2400)
    train_set = Windows(series[:2000])
    train_loader = DataLoader(train_set, batch_size=64, drop_last=True)
    test_loader = DataLoader(Windows(series[2000:]), batch_size=64)
    model = Forecaster()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    state, losses = None, []
    for step, (x, y) in enumerate(train_loader):  # at: window-from-list
        prediction, state = model(x, state)
        # clean:
        state = tuple(s.detach() for s in state)
        # planted state-not-detached (TDY804, TDY703):
        # end
        loss = F.mse_loss(prediction, y)
        optimizer.zero_grad()
        # clean:
        loss.backward()
        # planted state-not-detached:
        # loss.backward(retain_graph=True)  # at: state-not-detached
        # end
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        # clean:
        optimizer.step()
        # planted state-not-detached:
        # with torch.no_grad():
        #     for p in model.parameters():
        #         p.data -= 2e-3 * p.grad
        # end
        losses.append(loss.item())
        if step % 5 == 0:
            print(f"step {step} loss {losses[-1]:.4f}")
    model.eval()
    with torch.no_grad():
        errors = [F.mse_loss(model(x)[0], y) for x, y in test_loader]  # at: window-from-list
    print(f"test error {torch.stack(errors).mean().item():.4f}")


if __name__ == "__main__":
    main()
