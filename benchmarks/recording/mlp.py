"""A multi-layer perceptron on digits that are noise."""

from framework import DataLoader, F, TensorDataset, nn, torch

model = nn.Sequential(
    nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)
)
data = TensorDataset(torch.randn(6400, 1, 28, 28), torch.randint(0, 10, (6400,)))
loader = DataLoader(data, batch_size=64, shuffle=True)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    total, correct = 0.0, 0
    for images, labels in loader:
        optimizer.zero_grad()
        output = model(images)
        loss = F.cross_entropy(output, labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
        correct += (output.argmax(dim=1) == labels).sum().item()
    print(f"epoch {epoch}: loss {total / len(loader):.3f}, accuracy {correct / len(data):.3f}")
