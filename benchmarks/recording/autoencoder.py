"""An autoencoder that removes noise."""

from framework import nn, torch

encoder = nn.Sequential(nn.Linear(256, 96), nn.ReLU(), nn.Linear(96, 16))
decoder = nn.Sequential(nn.Linear(16, 96), nn.ReLU(), nn.Linear(96, 256), nn.Sigmoid())
parameters = [*encoder.parameters(), *decoder.parameters()]
optimizer = torch.optim.RMSprop(parameters, lr=1e-3)
criterion = nn.MSELoss()
losses = []
for _ in range(300):
    clean = torch.rand(32, 256)
    noisy = clean + 0.2 * torch.randn(32, 256)
    loss = criterion(decoder(encoder(noisy)), clean)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{sum(losses[-10:]) / 10:.4f}")
