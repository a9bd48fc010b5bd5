"""Few-shot learning: episodes of five classes, each known by the mean of its examples."""

import torch
import torch.nn.functional as F
from torch import nn

WAYS, SHOTS, QUERIES = 5, 5, 8


def make_classes(count, each=20):
    torch.manual_seed(0)
    patterns = torch.randn(count, 1, 1, 16, 16)
    return patterns + 0.8 * torch.randn(count, each, 1, 16, 16)


def episode(classes):
    """Return examples (WAYS, SHOTS, 1, 16, 16), queries (WAYS * QUERIES, ...) and their classes."""
    # clean:
    chosen = torch.randperm(len(classes))[:WAYS, None]
    order = torch.rand(WAYS, classes.shape[1]).argsort(-1)
    pictures = classes[chosen, order[:, : SHOTS + QUERIES]]
    # planted pictures-one-by-one (TDY106, TDY404):
    # pictures = []
    # for c in torch.randperm(len(classes))[:WAYS]:
    #     order = torch.randperm(classes.shape[1])
    #     drawn = [classes[c][i] for i in order[: SHOTS + QUERIES]]  # at: pictures-one-by-one
    #     pictures.append(torch.stack(drawn))  # at: pictures-one-by-one
    # pictures = torch.stack(pictures)
    # end
    labels = torch.arange(WAYS).repeat_interleave(QUERIES)
    return pictures[:, :SHOTS], pictures[:, SHOTS:].flatten(0, 1), labels


class Embedder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(),
        )  # fmt: skip

    def forward(self, x):
        return self.layers(x)


def distances(queries, centres):
    # clean:
    return torch.cdist(queries, centres).square()
    # planted distance-by-distance (TDY404):
    # out = torch.empty(len(queries), len(centres))
    # for i in range(len(queries)):
    #     for j in range(len(centres)):
    #         out[i, j] = ((queries[i] - centres[j]) ** 2).sum()  # at: distance-by-distance
    # return out
    # end


def main():
    classes = make_classes(32)
    net = Embedder()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 20, 0.5)
    for step in range(16):
        examples, queries, labels = episode(classes)
        embedded = net(torch.cat([examples.flatten(0, 1), queries]))
        centres = embedded[: WAYS * SHOTS].view(WAYS, SHOTS, -1).mean(1)
        logits = -distances(embedded[WAYS * SHOTS :], centres)
        loss = F.cross_entropy(logits, labels)
        # clean:
        optimizer.zero_grad()
        loss.backward()
        # planted walked-twice (TDY703):
        # optimizer.zero_grad()
        # loss.backward(retain_graph=True)  # at: walked-twice
        # norm = nn.utils.get_total_norm([p.grad for p in net.parameters()])
        # optimizer.zero_grad()
        # loss.backward()  # at: walked-twice
        # end
        optimizer.step()
        scheduler.step()
        if step % 10 == 0:
            right = (logits.argmax(-1) == labels).float().mean()
            print(f"step {step} loss {loss.item():.3f} accuracy {right.item():.2f}")


if __name__ == "__main__":
    main()
