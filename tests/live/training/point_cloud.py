"""Point clouds: a PointNet with one level of neighbourhoods, and clouds turned at random."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

POINTS, CENTRES, NEAR = 128, 32, 8


def make_clouds(count):
    """Return balls, cubes and planes, (count, POINTS, 3), and which they are, (count,)."""
    kinds = torch.randint(3, (count,))
    points = torch.randn(count, POINTS, 3)
    ball = F.normalize(points, dim=-1)
    cube = points / points.abs().amax(-1, keepdim=True)
    plane = points * torch.tensor([1.0, 1.0, 0.05])
    every = torch.stack([ball, cube, plane], 1)
    return every[torch.arange(count), kinds] + 0.02 * torch.randn(count, POINTS, 3), kinds


def turned(clouds):
    # clean:
    angles = 2 * math.pi * torch.rand(len(clouds))
    cos, sin, zero = angles.cos(), angles.sin(), torch.zeros(len(clouds))
    turns = torch.stack([cos, -sin, zero, sin, cos, zero, zero, zero, zero + 1], -1).view(-1, 3, 3)
    return clouds @ turns
    # planted turned-each (TDY404):
    # out = torch.empty_like(clouds)
    # for i in range(len(clouds)):
    #     angle = 2 * math.pi * torch.rand(1).item()
    #     cos, sin = math.cos(angle), math.sin(angle)
    #     turn = torch.tensor([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
    #     out[i] = clouds[i] @ turn  # at: turned-each
    # return out
    # end


def farthest_points(clouds, count):
    """Return the indices of points far from each other: (batch, count)."""
    size = len(clouds)
    rows = torch.arange(size)
    # clean:
    chosen = torch.zeros(size, count, dtype=torch.long)
    nearest = torch.full((size, clouds.shape[1]), torch.inf)
    for i in range(1, count):
        last = clouds[rows, chosen[:, i - 1]]
        nearest = torch.minimum(nearest, (clouds - last[:, None]).square().sum(-1))
        chosen[:, i] = nearest.argmax(-1)
    return chosen
    # planted cloud-by-cloud (TDY404):
    # chosen = torch.zeros(size, count, dtype=torch.long)
    # for b in range(size):
    #     nearest = torch.full((clouds.shape[1],), torch.inf)
    #     for i in range(1, count):
    #         last = clouds[b, chosen[b, i - 1]]  # at: cloud-by-cloud
    #         far = (clouds[b] - last).square().sum(-1)  # at: cloud-by-cloud
    #         nearest = torch.minimum(nearest, far)  # at: cloud-by-cloud
    #         chosen[b, i] = nearest.argmax()  # at: cloud-by-cloud
    # return chosen
    # end


class PointNet(nn.Module):
    def __init__(self, kinds=3, width=64):
        super().__init__()
        self.near = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, width))
        self.all = nn.Sequential(nn.Linear(width + 3, 128), nn.ReLU(), nn.Linear(128, 128))
        self.head = nn.Linear(128, kinds)

    def forward(self, clouds):
        rows = torch.arange(len(clouds))[:, None]
        centres = clouds[rows, farthest_points(clouds, CENTRES)]
        nearest = torch.cdist(centres, clouds).topk(NEAR, largest=False).indices
        groups = clouds[rows[..., None], nearest] - centres[:, :, None]
        local = self.near(groups).amax(2)
        return self.head(self.all(torch.cat([local, centres], -1)).amax(1))


def main():
    torch.manual_seed(0)
    clouds, kinds = make_clouds(1024)
    loader = DataLoader(TensorDataset(clouds, kinds), batch_size=32, shuffle=True)
    model = PointNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        right = torch.zeros((), dtype=torch.long)
        for batch, labels in loader:
            logits = model(turned(batch))
            loss = F.cross_entropy(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            right += (logits.argmax(-1) == labels).sum()
        print(f"epoch {epoch} accuracy {right.item() / len(clouds):.3f}")


if __name__ == "__main__":
    main()
