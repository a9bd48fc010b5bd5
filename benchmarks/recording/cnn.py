"""A small convolutional network."""

from framework import DataLoader, F, TensorDataset, nn, torch


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 7 * 7, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
data = TensorDataset(torch.randn(1280, 1, 28, 28), torch.randint(0, 10, (1280,)))
for epoch in range(2):
    running = 0.0
    for i, (inputs, labels) in enumerate(DataLoader(data, batch_size=16, shuffle=True)):
        optimizer.zero_grad()
        loss = criterion(net(inputs), labels)
        loss.backward()
        optimizer.step()
        running += loss.item()
        if i % 20 == 19:
            print(f"[{epoch + 1}, {i + 1}] loss: {running / 20:.3f}")
            running = 0.0
