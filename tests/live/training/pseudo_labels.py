"""Self-training: confident predictions on unlabelled pictures become labels (FixMatch)."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
            nn.MaxPool2d(2),
        )  # fmt: skip
        self.head = nn.Linear(32 * 16, classes)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))


def weak(pictures):
    return torch.where(torch.rand(len(pictures), 1, 1, 1) < 0.5, pictures.flip(-1), pictures)


def strong(pictures):
    # clean:
    noisy = pictures + 0.3 * torch.randn_like(pictures)
    top, left = torch.randint(0, 10, (2, len(pictures), 1))
    at = torch.arange(16)
    rows, columns = (at >= top) & (at < top + 6), (at >= left) & (at < left + 6)
    return noisy.masked_fill((rows[:, :, None] & columns[:, None])[:, None], 0.0)
    # planted cut-one-by-one (TDY406):
    # out = []
    # for picture in pictures:  # at: cut-one-by-one
    #     noisy = picture + 0.3 * torch.randn_like(picture)  # at: cut-one-by-one
    #     top, left = torch.randint(0, 10, (2,)).tolist()  # at: cut-one-by-one
    #     noisy[:, top : top + 6, left : left + 6] = 0.0  # at: cut-one-by-one
    #     out.append(noisy)
    # return torch.stack(out)  # at: cut-one-by-one
    # end


def pseudo(model, pictures, limit=0.8):
    """Return labels for pictures, and 1 for each that the model is sure of."""
    # clean:
    with torch.no_grad():
        sure, labels = model(pictures).softmax(-1).max(-1)
    return labels, (sure >= limit).float()
    # planted labels-one-by-one (TDY404):
    # probs = model(pictures).softmax(-1)
    # labels, mask = torch.zeros(len(probs), dtype=torch.long), torch.zeros(len(probs))
    # for i in range(len(probs)):
    #     if probs[i].max().item() >= limit:  # at: labels-one-by-one
    #         labels[i] = probs[i].argmax()  # at: labels-one-by-one
    #         mask[i] = 1.0  # at: labels-one-by-one
    # return labels, mask
    # end


def make_pictures(count, classes=10):
    torch.manual_seed(1)
    patterns = torch.randn(classes, 1, 16, 16)
    labels = torch.randint(classes, (count,))
    return patterns[labels] + 0.7 * torch.randn(count, 1, 16, 16), labels


def main():
    pictures, labels = make_pictures(6400)
    known, known_labels, unknown = pictures[:640], labels[:640], pictures[640:]
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, nesterov=True)
    for step in range(60):
        chosen = torch.randint(len(known), (32,))
        batch, target = weak(known[chosen]), known_labels[chosen]
        more = unknown[torch.randint(len(unknown), (96,))]
        guesses, mask = pseudo(model, weak(more))
        logits = model(torch.cat([batch, strong(more)]))
        loss = F.cross_entropy(logits[:32], target)
        loss = loss + (F.cross_entropy(logits[32:], guesses, reduction="none") * mask).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.3f} used {mask.mean().item():.2f}")


if __name__ == "__main__":
    main()
