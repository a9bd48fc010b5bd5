"""Word vectors: skip-grams with negative samples, from a text of made-up words."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

VOCAB, WINDOW, NEGATIVES = 2000, 4, 8


def make_text(length):
    rng = np.random.default_rng(0)
    topics = rng.integers(20, size=length // 50).repeat(50)
    return (topics * 100 + rng.zipf(1.5, size=length) % 100).astype(np.int64)


class SkipGrams(Dataset):
    """Batches of centres, their neighbours and words that are none."""

    def __init__(self, text, size=512):
        self.text, self.size = text, size
        frequency = np.bincount(text, minlength=VOCAB) ** 0.75
        self.chances = frequency / frequency.sum()
        self.summed = np.cumsum(self.chances)

    def __len__(self):
        return len(self.text) // self.size

    def __getitem__(self, i):
        rng = np.random.default_rng(i)
        at = rng.integers(WINDOW, len(self.text) - WINDOW, size=self.size)
        # clean:
        steps = rng.integers(1, WINDOW + 1, size=self.size) * rng.choice([-1, 1], size=self.size)
        negatives = np.searchsorted(self.summed, rng.random((self.size, NEGATIVES))) % VOCAB
        return self.text[at], self.text[at + steps], negatives
        # planted negatives-pair-by-pair (TDY101):
        # near, negatives = [], []
        # for place in at:
        #     near.append(self.text[place + rng.integers(1, WINDOW + 1) * rng.choice([-1, 1])])
        #     negatives.append(rng.choice(VOCAB, size=NEGATIVES, p=self.chances))
        # return self.text[at], np.array(near), np.array(negatives)
        # end


class Vectors(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.centre = nn.Embedding(VOCAB, width)
        self.around = nn.Embedding(VOCAB, width)
        nn.init.zeros_(self.around.weight)

    def forward(self, words, near, negatives):
        # clean:
        centre = self.centre(words)
        # planted one-hot (TDY415):
        # centre = F.one_hot(words, VOCAB).float() @ self.centre.weight  # at: one-hot
        # end
        right = (centre * self.around(near)).sum(-1)
        wrong = torch.einsum("bw,bnw->bn", centre, self.around(negatives))
        return -(F.logsigmoid(right) + F.logsigmoid(-wrong).sum(-1)).mean()


def main():
    torch.manual_seed(0)
    pairs = SkipGrams(make_text(40000))
    loader = DataLoader(pairs, batch_size=None, shuffle=True)  # fix: negatives-pair-by-pair
    model = Vectors()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for epoch in range(1):
        total = torch.zeros(())
        for words, near, negatives in loader:  # at: negatives-pair-by-pair
            loss = model(words, near, negatives)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        print(f"epoch {epoch} loss {total.item() / len(loader):.3f}")


if __name__ == "__main__":
    main()
