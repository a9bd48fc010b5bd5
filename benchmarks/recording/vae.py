"""A variational autoencoder."""

from framework import DataLoader, F, TensorDataset, nn, torch


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 200)
        self.mean = nn.Linear(200, 20)
        self.logvar = nn.Linear(200, 20)
        self.fc3 = nn.Linear(20, 200)
        self.fc4 = nn.Linear(200, 784)

    def forward(self, x):
        h = F.relu(self.fc1(x))
        mean, logvar = self.mean(h), self.logvar(h)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * logvar)
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mean, logvar


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.rand(6400, 784)), batch_size=64)
for epoch in range(2):
    total = 0.0
    for (x,) in loader:
        optimizer.zero_grad()
        y, mean, logvar = model(x)
        bce = F.binary_cross_entropy(y, x, reduction="sum")
        kld = -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum()
        (bce + kld).backward()
        optimizer.step()
        total += (bce + kld).item()
    print(f"epoch {epoch}: {total / 6400:.1f}")
