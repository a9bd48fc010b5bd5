"""A byte-pair tokenizer in pure Python, in the data set of a language model."""

import random
from collections import Counter

from framework import DataLoader, Dataset, F, nn, torch

LENGTH, MERGES = 24, 60


def merge(word, pair):
    merged, i = [], 0
    while i < len(word):
        if i + 1 < len(word) and word[i] == pair[0] and word[i + 1] == pair[1]:
            merged.append(word[i] + word[i + 1])
            i += 2
        else:
            merged.append(word[i])
            i += 1
    return merged


def learn_merges(words):
    counts = Counter(words)
    split = {word: list(word) for word in counts}
    merges = []
    for _ in range(MERGES):
        pairs = Counter()
        for word, count in counts.items():
            symbols = split[word]
            for a, b in zip(symbols, symbols[1:]):
                pairs[a, b] += count
        if not pairs:
            break
        best = max(pairs, key=pairs.get)
        merges.append(best)
        for word in split:
            split[word] = merge(split[word], best)
    return merges


class Texts(Dataset):
    def __init__(self, texts, merges):
        self.texts, self.merges = texts, merges
        self.ids = {}

    def __len__(self):
        return len(self.texts)

    def encode(self, text):
        tokens = []
        for word in text.split():
            symbols = list(word)
            for pair in self.merges:
                symbols = merge(symbols, pair)
            tokens += [self.ids.setdefault(symbol, len(self.ids) % 256) for symbol in symbols]
        return (tokens + [0] * (LENGTH + 1))[: LENGTH + 1]

    def __getitem__(self, index):
        tokens = torch.tensor(self.encode(self.texts[index]))
        return tokens[:-1], tokens[1:]


random.seed(0)
stems = ["".join(random.choices("abcdefgh", k=random.randint(2, 6))) for _ in range(300)]
texts = [" ".join(random.choices(stems, k=12)) for _ in range(640)]
merges = learn_merges(" ".join(texts).split())
model = nn.Sequential(nn.Embedding(256, 32), nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 256))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(2):
    for x, y in DataLoader(Texts(texts, merges), batch_size=16, shuffle=True):
        loss = F.cross_entropy(model(x).view(-1, 256), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.3f}")
