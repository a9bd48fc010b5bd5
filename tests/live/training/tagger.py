"""A bidirectional LSTM that tags the words of packed sentences of many lengths."""

import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset


class Sentences(Dataset):
    def __init__(self, count, vocab=500, tags=8):
        rng = random.Random(0)
        self.rows = []
        for _ in range(count):
            words = torch.randint(1, vocab, (rng.randint(5, 40),))
            self.rows.append((words, words % tags))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    words, tags = zip(*rows)
    lengths = torch.tensor([len(w) for w in words])
    # clean:
    return pad_sequence(words, True), pad_sequence(tags, True, padding_value=-100), lengths
    # planted padded-word-by-word (TDY101, TDY404):
    # size = len(rows), int(lengths.max())
    # padded = torch.zeros(size, dtype=torch.long), torch.full(size, -100)
    # for i, row in enumerate(rows):
    #     for j in range(len(row[0])):
    #         padded[0][i, j] = row[0][j]  # at: padded-word-by-word
    #         padded[1][i, j] = row[1][j]  # at: padded-word-by-word
    # return *padded, lengths
    # end


class Tagger(nn.Module):
    def __init__(self, vocab=500, tags=8, width=64):
        super().__init__()
        self.embed = nn.Embedding(vocab, width, padding_idx=0)
        self.lstm = nn.LSTM(width, width, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * width, tags)

    def forward(self, words, lengths):
        embedded = self.embed(words)
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.out(hidden)


def main():
    torch.manual_seed(0)
    loader = DataLoader(Sentences(640), batch_size=32, shuffle=True, collate_fn=collate)
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(2):
        correct = seen = 0
        for words, tags, lengths in loader:
            logits = model(words, lengths)
            loss = F.cross_entropy(logits.flatten(0, 1), tags.flatten(), ignore_index=-100)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            # clean:
            mask = tags != -100
            correct += (logits.argmax(-1)[mask] == tags[mask]).sum().item()
            # planted counted-word-by-word (TDY401, TDY404):
            # best = logits.argmax(-1)
            # for i, length in enumerate(lengths.tolist()):
            #     for j in range(length):
            #         correct += int(best[i, j] == tags[i, j])  # at: counted-word-by-word
            # end
            seen += lengths.sum().item()
        print(f"epoch {epoch} accuracy {correct / seen:.3f}")


if __name__ == "__main__":
    main()
