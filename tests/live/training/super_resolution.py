"""Images of twice the side, with pixel shuffle and a loss on the features of another network."""

import torch
import torch.nn.functional as F
from torch import nn


class Upscaler(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.first = nn.Conv2d(3, width, 3, 1, 1)
        self.body = nn.ModuleList(nn.Conv2d(width, width, 3, 1, 1) for _ in range(3))
        self.last = nn.Sequential(nn.Conv2d(width, 12, 3, 1, 1), nn.PixelShuffle(2))

    def forward(self, low):
        x = self.first(low)
        for layer in self.body:
            x = x + F.relu(layer(x))
        return self.last(x) + F.interpolate(low, scale_factor=2.0, mode="bilinear")


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU()
        )

    def forward(self, images):
        return self.layers(images)  # at: features-not-frozen


def psnr(made, high):
    # clean:
    error = (made - high).square().mean((1, 2, 3))
    return (-10 * error.log10()).mean().item()
    # planted image-by-image (TDY401, TDY404, TDY406, TDY411):
    # found = []
    # for one, other in zip(made, high):  # at: image-by-image
    #     error = (one.clamp(0, 1) - other.clamp(0, 1)).square().mean()  # at: image-by-image
    #     found.append((-10 * error.log10()).item())  # at: image-by-image
    # return sum(found) / len(found)
    # end


def main():
    torch.manual_seed(0)
    smooth = F.interpolate(torch.rand(128, 3, 8, 8), size=32, mode="bicubic")
    high = (smooth + 0.05 * torch.rand(128, 3, 32, 32)).clamp(0, 1)
    low = F.avg_pool2d(high, 2)
    upscaler, features = Upscaler(), Features()
    # clean:
    features.requires_grad_(False)
    # planted features-not-frozen (TDY704):
    # end
    optimizer = torch.optim.Adam(upscaler.parameters(), lr=1e-3)  # fix: features-not-frozen
    for epoch in range(4):
        quality = 0.0
        for index in torch.randperm(128).split(16):
            wanted = high[index]
            made = upscaler(low[index])
            with torch.no_grad():
                seen = features(wanted)
            loss = F.l1_loss(made, wanted) + 0.1 * F.mse_loss(features(made), seen)
            optimizer.zero_grad()
            loss.backward()  # at: features-not-frozen
            optimizer.step()
            quality += psnr(made.detach(), wanted)
        print(f"epoch {epoch} loss {loss.item():.4f} psnr {quality / 8:.2f}")


if __name__ == "__main__":
    main()
