"""Speech recognition: spectrograms of waves, a convolution, a GRU and the CTC loss."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

LETTERS = "_abcdefghij"
RATE, HOP = 8000, 128


def tone(letter, length):
    time = torch.arange(length) / RATE
    return torch.sin(2 * math.pi * (300 + 150 * letter) * time)


class Utterances(Dataset):
    def __init__(self, count):
        torch.manual_seed(0)
        self.rows = []
        for _ in range(count):
            letters = torch.randint(1, len(LETTERS), (int(torch.randint(3, 7, ())),))
            wave = torch.cat([tone(int(letter), 1280) for letter in letters])
            self.rows.append((wave + 0.1 * torch.randn(len(wave)), letters))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    waves, letters = zip(*rows)
    lengths = torch.tensor([len(wave) // HOP + 1 for wave in waves])
    sizes = torch.tensor([len(each) for each in letters])
    return nn.utils.rnn.pad_sequence(waves, True), lengths, torch.cat(letters), sizes


def mel_filters(n_mels=40, n_freqs=201):
    mels = torch.linspace(0, 2595 * math.log10(1 + RATE / 2 / 700), n_mels + 2)
    edges = (700 * (10 ** (mels / 2595) - 1)) / (RATE / 2) * (n_freqs - 1)
    filters = torch.zeros(n_mels, n_freqs)
    for m in range(n_mels):
        low, mid, high = edges[m], edges[m + 1], edges[m + 2]
        for f in range(int(low), min(int(high) + 1, n_freqs)):
            rising, falling = (f - low) / (mid - low), (high - f) / (high - mid)
            lower = torch.minimum(rising, falling)  # at: filters-each-step
            filters[m, f] = lower.clamp(min=0)  # at: filters-each-step
    return filters


class Recogniser(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.conv = nn.Conv1d(40, width, 3, padding=1)
        self.gru = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * width, len(LETTERS))
        self.register_buffer("window", torch.hann_window(400))
        self.register_buffer("filters", mel_filters())

    def forward(self, waves):
        spectra = torch.stft(waves, 400, HOP, window=self.window, return_complex=True).abs()
        # clean:
        mels = torch.log(self.filters @ spectra + 1e-5)
        # planted filters-each-step (TDY404):
        # mels = torch.log(mel_filters() @ spectra + 1e-5)
        # end
        hidden, _ = self.gru(F.relu(self.conv(mels)).transpose(1, 2))
        return self.out(hidden).log_softmax(-1)


def decode(log_probs, lengths):
    texts = []
    # clean:
    for best, length in zip(log_probs.argmax(-1).tolist(), lengths.tolist()):
        last, letters = 0, []
        for letter in best[:length]:
            if letter not in (last, 0):
                letters.append(LETTERS[letter])
            last = letter
        texts.append("".join(letters))
    # planted decoded-frame-by-frame (TDY404):
    # for n in range(len(log_probs)):
    #     last, letters = 0, []
    #     for t in range(int(lengths[n])):
    #         letter = log_probs[n, t].argmax().item()  # at: decoded-frame-by-frame
    #         if letter not in (last, 0):
    #             letters.append(LETTERS[letter])
    #         last = letter
    #     texts.append("".join(letters))
    # end
    return texts


def main():
    torch.manual_seed(0)
    loader = DataLoader(Utterances(480), batch_size=16, shuffle=True, collate_fn=collate)
    model = Recogniser()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(1):
        right = total = 0
        for waves, lengths, letters, sizes in loader:
            log_probs = model(waves)
            # clean:
            loss = F.ctc_loss(log_probs.transpose(0, 1), letters, lengths, sizes)
            # planted loss-by-text (TDY404):
            # loss, start = 0.0, 0
            # for n in range(len(waves)):
            #     target = letters[start : start + sizes[n]]  # at: loss-by-text
            #     loss += F.ctc_loss(log_probs[n], target, lengths[n], sizes[n])  # at: loss-by-text
            #     start += sizes[n]
            # loss = loss / len(waves)
            # end
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            texts = decode(log_probs.detach(), lengths)
            truths = letters.split(sizes.tolist())
            for text, truth in zip(texts, truths):
                right += text == "".join(LETTERS[letter] for letter in truth.tolist())
                total += 1
        print(f"epoch {epoch} loss {loss.item():.3f} right {right / total:.2f}")


if __name__ == "__main__":
    main()
