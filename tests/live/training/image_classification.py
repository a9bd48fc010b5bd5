"""A small CNN that tells shapes in noisy images apart, with an evaluation after each epoch."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(32)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(32 * 8 * 8, classes)

    def forward(self, x):
        x = self.pool(F.relu(self.bn1(self.conv1(x))))
        x = self.pool(F.relu(self.bn2(self.conv2(x))))
        return self.fc(x.flatten(1))


def make_data(count, seed):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (count,), generator=generator)
    images = torch.randn(count, 3, 32, 32, generator=generator)
    images[torch.arange(count), labels % 3, labels] += 2.0
    return TensorDataset(images, labels)


# clean:
@torch.no_grad()
# planted graph-in-evaluation (TDY702):
# end
def evaluate(model, loader):
    model.eval()
    hits, seen, loss = torch.zeros(10), torch.zeros(10), 0.0
    for images, labels in loader:
        logits = model(images)  # at: graph-in-evaluation
        loss += F.cross_entropy(logits, labels, reduction="sum").item()
        predicted = logits.argmax(1)
        # clean:
        hits += torch.bincount(labels[predicted == labels], minlength=10)
        seen += torch.bincount(labels, minlength=10)
        # planted accuracy-by-element (TDY401, TDY404, TDY406):
        # for p, t in zip(predicted, labels):  # at: accuracy-by-element
        #     seen[t] += 1  # at: accuracy-by-element
        #     if p.item() == t.item():  # at: accuracy-by-element
        #         hits[t] += 1  # at: accuracy-by-element
        # end
    return loss / seen.sum().item(), (hits / seen).mean().item()


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(make_data(512, 1), batch_size=64, shuffle=True)
    test_loader = DataLoader(make_data(512, 2), batch_size=128)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(2):
        model.train()
        for step, (images, labels) in enumerate(train_loader):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            if step % 4 == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.4f}")
        test_loss, accuracy = evaluate(model, test_loader)
        print(f"epoch {epoch} test loss {test_loss:.4f} accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
