"""Training with a validation pass after each epoch, a scheduler, and clipped gradients."""

from framework import DataLoader, F, TensorDataset, nn, torch


def make(count):
    x = torch.randn(count, 20)
    return TensorDataset(x, (x.sum(dim=1) > 0).long())


def evaluate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(dim=1) == y).sum().item()
    model.train()
    return correct / len(loader.dataset)


model = nn.Sequential(
    nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 2)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
train, test = DataLoader(make(1280), batch_size=32), DataLoader(make(320), batch_size=32)
for epoch in range(5):
    for x, y in train:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    scheduler.step()
    print(f"epoch {epoch}: accuracy {evaluate(model, test):.3f}")
