"""A new head on a frozen backbone of a residual network, and an evaluation after each epoch."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.down = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(out)) + self.down(x))


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, 2, 1, bias=False)
        self.blocks = nn.Sequential(Residual(16, 32, 1), Residual(32, 64, 2), Residual(64, 64, 1))

    def forward(self, x):
        return self.blocks(self.stem(x)).mean((2, 3))


class Classifier(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.backbone, self.head = Backbone(), nn.Linear(64, classes)

    def freeze(self):
        for p in self.backbone.parameters():
            p.requires_grad = False

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()  # its statistics stay as they are
        return self

    def forward(self, x):
        return self.head(self.backbone(x))  # at: backbone-not-frozen


def make_data(count):
    labels = torch.randint(5, (count,))
    pattern = torch.randn(5, 3, 32, 32, generator=torch.Generator().manual_seed(7))
    return TensorDataset(pattern[labels] + torch.randn(count, 3, 32, 32), labels)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct = torch.zeros((), dtype=torch.long)
    total = 0
    for images, labels in loader:  # at: evaluation-one-by-one
        correct += (model(images).argmax(1) == labels).sum()  # at: evaluation-one-by-one
        total += len(labels)
    return correct.item() / total


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(make_data(320), batch_size=32, shuffle=True)
    # clean:
    val_loader = DataLoader(make_data(128), batch_size=64)
    # planted evaluation-one-by-one (TDY108, TDY401, TDY406):
    # val_loader = DataLoader(make_data(128), batch_size=1)  # fix: evaluation-one-by-one
    # end
    model = Classifier()
    # clean:
    model.freeze()
    # planted backbone-not-frozen (TDY704):
    # end
    optimizer = torch.optim.Adam(model.head.parameters(), lr=0.01)  # fix: backbone-not-frozen
    for epoch in range(2):
        model.train()
        running = 0.0
        for step, (images, labels) in enumerate(train_loader):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            loss.backward()  # at: backbone-not-frozen
            optimizer.step()
            running += loss.item()
            if step % 5 == 4:
                print(f"epoch {epoch} step {step} loss {running / 5:.4f}")
                running = 0.0
        print(f"epoch {epoch} accuracy {evaluate(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
