"""A multilayer perceptron on a table of numbers and categories."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SIZES = (12, 30, 7, 100)


class TabularNet(nn.Module):
    def __init__(self, numbers=20, width=320):
        super().__init__()
        self.embeddings = nn.ModuleList([nn.Embedding(size, 8) for size in SIZES])
        self.norm = nn.BatchNorm1d(numbers)
        self.body = nn.Sequential(
            nn.Linear(numbers + 8 * len(SIZES), width), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1),
        )  # fmt: skip

    def forward(self, numbers, categories):
        embedded = [e(c) for e, c in zip(self.embeddings, categories.unbind(1))]
        x = torch.cat([self.norm(numbers), *embedded], 1)
        return self.body(x).squeeze(1)  # at: one-thread


def make_table(count):
    numbers = torch.randn(count, 20) * torch.rand(20) * 5
    categories = torch.stack([torch.randint(size, (count,)) for size in SIZES], 1)
    target = numbers[:, :3].sum(1).sin() + categories[:, 0] / 6 + 0.1 * torch.randn(count)
    return TensorDataset(numbers, categories, target)


def rank_correlation(a, b):
    # clean:
    ranks = [torch.tensor(each).argsort().argsort().double() for each in (a, b)]
    return torch.corrcoef(torch.stack(ranks))[0, 1].item()
    # planted sorted-in-python (TDY401, TDY409):
    # ranks = []
    # for values in (a, b):
    #     order = sorted(range(len(values)), key=values.__getitem__)  # at: sorted-in-python
    #     rank = [0] * len(values)
    #     for place, index in enumerate(order):  # at: sorted-in-python
    #         rank[index] = place
    #     ranks.append(rank)
    # distance = sum((p - q) ** 2 for p, q in zip(*ranks))  # at: sorted-in-python
    # return 1 - 6 * distance / (len(a) * (len(a) ** 2 - 1))
    # end


def main():
    torch.manual_seed(0)
    # planted one-thread (TDY410):
    # torch.set_num_threads(1)  # fix: one-thread
    # end
    train = DataLoader(make_table(6144), batch_size=512, shuffle=True, drop_last=True)
    test = DataLoader(make_table(1024), batch_size=512)
    model = TabularNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        model.train()
        predicted, actual = [], []
        for step, (numbers, categories, target) in enumerate(train):
            output = model(numbers, categories)
            loss = F.mse_loss(output, target)
            optimizer.zero_grad()
            loss.backward()  # at: one-thread
            optimizer.step()
            predicted += output.tolist()
            actual += target.tolist()
            # clean:
            if step % 4 == 0:
                correlation = rank_correlation(predicted, actual)  # at: sorted-in-python
                print(f"epoch {epoch} step {step} correlation of ranks {correlation:.3f}")
            # planted sorted-in-python:
            # correlation = rank_correlation(predicted, actual)  # at: sorted-in-python
            # if step % 4 == 0:
            #     print(f"epoch {epoch} step {step} correlation of ranks {correlation:.3f}")
            # end
        model.eval()
        with torch.inference_mode():
            errors = [F.mse_loss(model(n, c), t) for n, c, t in test]
        print(f"epoch {epoch} test error {torch.stack(errors).mean().item():.4f}")


if __name__ == "__main__":
    main()
