"""SimCLR: two augmented views of each image are drawn together, all others apart."""

import torch
import torch.nn.functional as F
from torch import nn

SIZE = 32


def augment(images):
    """Flipped, shifted and dimmed at random, each image in its own way."""
    count = len(images)
    # clean:
    flip = torch.rand(count, 1, 1, 1) < 0.5
    images = torch.where(flip, images.flip(3), images)
    theta = torch.eye(2, 3).repeat(count, 1, 1)
    theta[:, :, 2] = torch.rand(count, 2) * 0.4 - 0.2
    grid = F.affine_grid(theta, list(images.shape), align_corners=False)
    images = F.grid_sample(images, grid, align_corners=False)
    return images * (0.6 + 0.8 * torch.rand(count, 1, 1, 1))
    # planted augment-image-by-image (TDY401, TDY404, TDY406, TDY407):
    # views = []
    # for image in images:  # at: augment-image-by-image
    #     if torch.rand(1).item() < 0.5:  # at: augment-image-by-image
    #         image = image.flip(2)
    #     dy, dx = torch.randint(-3, 4, (2,)).tolist()
    #     image = torch.roll(image, (dy, dx), (1, 2))  # at: augment-image-by-image
    #     views.append(image * (0.6 + 0.8 * torch.rand(1).item()))  # at: augment-image-by-image
    # return torch.stack(views)
    # end


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(),
            nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )  # fmt: skip
        self.head = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32))

    def forward(self, x):
        return F.normalize(self.head(self.features(x)), dim=1)


def nt_xent(a, b, temperature=0.2):
    count = len(a)
    z = torch.cat([a, b])
    similarity = z @ z.T / temperature
    # clean:
    similarity = similarity.masked_fill(torch.eye(2 * count, dtype=torch.bool), float("-inf"))
    partner = (torch.arange(2 * count) + count) % (2 * count)
    return F.cross_entropy(similarity, partner)
    # planted loss-row-by-row (TDY401, TDY404, TDY406, TDY408):
    # loss = 0.0
    # for i in range(2 * count):  # at: loss-row-by-row
    #     others = torch.cat([similarity[i, :i], similarity[i, i + 1 :]])  # at: loss-row-by-row
    #     positive = similarity[i, (i + count) % (2 * count)]  # at: loss-row-by-row
    #     loss = loss + torch.logsumexp(others, 0) - positive  # at: loss-row-by-row
    # return loss / (2 * count)
    # end


def main():
    torch.manual_seed(0)
    images = torch.rand(512, 3, 8, 8).repeat_interleave(4, 2).repeat_interleave(4, 3)
    model = Encoder()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    for step in range(10):
        batch = images[torch.randint(len(images), (64,))]
        loss = nt_xent(model(augment(batch)), model(augment(batch)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 5 == 0:
            print(f"step {step} loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.3f}")
    model.eval()
    with torch.no_grad():
        similarity = (model(images[:64]) * model(augment(images[:64]))).sum(1).mean()
    print(f"similarity of two views {similarity.item():.3f}")


if __name__ == "__main__":
    main()
