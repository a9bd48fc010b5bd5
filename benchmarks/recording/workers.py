"""A loader with two worker processes."""

from framework import DataLoader, Dataset, F, nn, torch


class Images(Dataset):
    def __len__(self):
        return 1600

    def __getitem__(self, index):
        image = torch.randn(3, 32, 32)
        return (image - image.mean()) / image.std(), index % 10


if __name__ == "__main__":
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 900, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for images, labels in DataLoader(Images(), batch_size=16, num_workers=2):
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")
