"""The same model trained with one optimizer after another."""

from framework import F, nn, torch

x, y = torch.randn(128, 32), torch.randn(128, 1)
for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad"):
    model = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = getattr(torch.optim, name)(model.parameters(), lr=1e-2)
    for _ in range(100):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"{name}: {loss.item():.4f}")
