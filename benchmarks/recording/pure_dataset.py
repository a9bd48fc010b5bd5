"""A data set that parses, augments and normalises its samples in pure Python."""

import random

from framework import DataLoader, Dataset, F, nn, torch

SIZE = 16


def parse(line):
    label, *values = line.split(",")
    return int(label), [float(value) for value in values]


def blur(pixels):
    blurred = []
    for row in range(SIZE):
        for column in range(SIZE):
            total, count = 0.0, 0
            for r in range(max(0, row - 1), min(SIZE, row + 2)):
                for c in range(max(0, column - 1), min(SIZE, column + 2)):
                    total += pixels[r * SIZE + c]
                    count += 1
            blurred.append(total / count)
    return blurred


class Lines(Dataset):
    def __init__(self, lines):
        self.lines = lines

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        label, pixels = parse(self.lines[index])
        if random.random() < 0.5:
            pixels = [pixels[r * SIZE + SIZE - 1 - c] for r in range(SIZE) for c in range(SIZE)]
        pixels = blur(pixels)
        mean = sum(pixels) / len(pixels)
        deviation = (sum((p - mean) ** 2 for p in pixels) / len(pixels)) ** 0.5 or 1.0
        normal = []
        for pixel in pixels:
            value = (pixel - mean) / deviation
            normal.append(max(-3.0, min(3.0, value)))
        return torch.tensor(normal), label


random.seed(0)
lines = [
    ",".join([str(i % 10), *(f"{random.random():.4f}" for _ in range(SIZE * SIZE))])
    for i in range(960)
]
model = nn.Sequential(nn.Linear(SIZE * SIZE, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(2):
    for x, y in DataLoader(Lines(lines), batch_size=16, shuffle=True):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.3f}")
