"""A two-tower recommender: bags of items a user has seen, and the item that comes next."""

import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

ITEMS, WIDTH = 60_000, 32


class Histories(Dataset):
    def __init__(self, count, seed):
        rng = random.Random(seed)
        self.rows = []
        for _ in range(count):
            taste = rng.randrange(ITEMS - 1000)
            seen = [taste + rng.randrange(1000) for _ in range(rng.randrange(5, 40))]
            self.rows.append((torch.tensor(seen), taste + rng.randrange(1000)))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


def collate(rows):
    # clean:
    bags, targets = zip(*rows)
    lengths = torch.tensor([0, *map(len, bags[:-1])])
    return torch.cat(bags), lengths.cumsum(0), torch.tensor(targets)
    # planted collate-by-element (TDY101, TDY102, TDY106, TDY401, TDY404, TDY409):
    # flat, offsets, targets = [], [], []
    # for bag, target in rows:
    #     offsets.append(len(flat))
    #     for item in bag:  # fix: collate-by-element
    #         flat.append(item.item())  # at: collate-by-element  # fix: collate-by-element
    #     targets.append(target)
    # return torch.tensor(flat), torch.tensor(offsets), torch.tensor(targets)
    # end


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        # clean:
        self.seen = nn.EmbeddingBag(ITEMS, WIDTH, mode="mean", sparse=True)
        self.item = nn.Embedding(ITEMS, WIDTH, sparse=True)
        # planted dense-gradients (TDY605):
        # self.seen = nn.EmbeddingBag(ITEMS, WIDTH, mode="mean")  # fix: dense-gradients
        # self.item = nn.Embedding(ITEMS, WIDTH)  # fix: dense-gradients
        # end
        self.user = nn.Sequential(nn.Linear(WIDTH, 64), nn.ReLU(), nn.Linear(64, WIDTH))

    def forward(self, bags, offsets, targets):
        user = self.user(self.seen(bags, offsets))  # at: dense-gradients
        return user @ self.item(targets).T  # at: dense-gradients


@torch.no_grad()
def recall(model, loader):
    hits, total = 0, 0
    for bags, offsets, targets in loader:  # at: collate-by-element
        top = model(bags, offsets, targets).topk(10, 1).indices
        hits += (top == torch.arange(len(targets))[:, None]).any(1).sum().item()
        total += len(targets)
    return hits / total


def main():
    torch.manual_seed(0)
    histories = Histories(3072, 0)
    train = DataLoader(histories, 128, shuffle=True, collate_fn=collate)
    test = DataLoader(Histories(512, 1), 256, collate_fn=collate)
    model = TwoTower()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for step, (bags, offsets, targets) in enumerate(train):  # at: collate-by-element
        logits = model(bags, offsets, targets)
        loss = F.cross_entropy(logits, torch.arange(len(targets)))
        optimizer.zero_grad()
        loss.backward()  # at: dense-gradients
        optimizer.step()  # at: dense-gradients
        if step % 8 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    print(f"recall at 10: {recall(model, test):.3f}")


if __name__ == "__main__":
    main()
