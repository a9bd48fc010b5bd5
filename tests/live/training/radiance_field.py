"""A radiance field: rays of a camera, points along them, and colours composed front to back."""

import math

import torch
import torch.nn.functional as F
from torch import nn

SIZE, SAMPLES, BANDS = 32, 32, 6


def rays_of(angle):
    """Return origins and directions of all pixels of a camera on a circle: (SIZE^2, 3) each."""
    cos, sin = math.cos(angle), math.sin(angle)
    turn = torch.tensor([[cos, 0.0, sin], [0.0, 1.0, 0.0], [-sin, 0.0, cos]])
    origin = turn @ torch.tensor([0.0, 0.0, 3.0])
    y, x = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    local = torch.stack([(x - SIZE / 2) / SIZE, (SIZE / 2 - y) / SIZE, -torch.ones(SIZE, SIZE)], -1)
    ways = F.normalize(local.reshape(-1, 3) @ turn.T, dim=-1)
    return origin.expand(len(ways), 3), ways


def encode(points):
    # clean:
    scaled = points[..., None, :] * 2.0 ** torch.arange(BANDS)[:, None]
    return torch.cat([points, scaled.sin().flatten(-2), scaled.cos().flatten(-2)], -1)
    # planted encoding-grows (TDY408):
    # out = points
    # for band in range(BANDS):
    #     out = torch.cat([out, torch.sin(2.0**band * points)], -1)  # at: encoding-grows
    #     out = torch.cat([out, torch.cos(2.0**band * points)], -1)  # at: encoding-grows
    # return out
    # end


class Field(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(3 + 6 * BANDS, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, 4),
        )  # fmt: skip

    def forward(self, points):
        out = self.net(encode(points))
        return torch.sigmoid(out[..., :3]), F.softplus(out[..., 3])


def render(field, origins, ways, near=2.0, far=4.0):
    depths = torch.linspace(near, far, SAMPLES) + torch.rand(len(origins), SAMPLES) * 2 / SAMPLES
    points = origins[:, None] + ways[:, None] * depths[..., None]
    colours, density = field(points)
    opacity = 1 - torch.exp(-density * (far - near) / SAMPLES)
    # clean:
    clear = torch.cumprod(1 - opacity + 1e-10, -1)
    weights = opacity * F.pad(clear[:, :-1], (1, 0), value=1.0)
    return (weights[..., None] * colours).sum(1)
    # planted composed-by-sample (TDY404):
    # colour, clear = torch.zeros(len(origins), 3), torch.ones(len(origins))
    # for i in range(SAMPLES):
    #     weight = clear * opacity[:, i]  # at: composed-by-sample
    #     colour = colour + weight[:, None] * colours[:, i]  # at: composed-by-sample
    #     clear = clear * (1 - opacity[:, i])  # at: composed-by-sample
    # return colour
    # end


def picture_of(origins, ways):
    """Render a ball of one colour: where a ray passes the origin closely, it is lit."""
    nearest = origins - (origins * ways).sum(-1, keepdim=True) * ways
    inside = (nearest.norm(dim=-1) < 0.7).float()[:, None]
    return inside * (0.5 + 0.5 * nearest.clamp(-1, 1))


def main():
    torch.manual_seed(0)
    angles = [2 * math.pi * i / 12 for i in range(12)]
    pictures = [picture_of(*rays_of(angle)) for angle in angles]
    field = Field()
    optimizer = torch.optim.Adam(field.parameters(), lr=1e-3)
    for step in range(40):
        view = step % len(angles)
        origins, ways = rays_of(angles[view])
        chosen = torch.randperm(len(ways))[:512]
        colours = render(field, origins[chosen], ways[chosen])
        loss = F.mse_loss(colours, pictures[view][chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} psnr {-10 * math.log10(loss.item()):.2f}")


if __name__ == "__main__":
    main()
