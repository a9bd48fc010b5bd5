"""Series in time: recurrent forecasts, dilated convolutions, unlike lengths, tags of words."""

from functools import partial

import numpy as np

from .common import floats, stepped


def waves_by_cells(torch, nn, F):
    """LSTM cells step by step, which go on with what they said themselves; LBFGS."""
    stream = np.random.default_rng(150)
    waves = np.sin((np.arange(12) + stream.integers(-20, 20, (6, 1))) / 2.0)
    data = floats(torch, waves)

    class Sequence(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm1, self.lstm2 = nn.LSTMCell(1, 8), nn.LSTMCell(8, 8)
            self.linear = nn.Linear(8, 1)

        def forward(self, x, future=0):
            outputs = []
            h1 = c1 = h2 = c2 = torch.zeros(x.size(0), 8)
            for t in range(x.size(1) + future):
                given = x[:, t : t + 1] if t < x.size(1) else outputs[-1]
                h1, c1 = self.lstm1(given, (h1, c1))
                h2, c2 = self.lstm2(h1, (h2, c2))
                outputs += [self.linear(h2)]
            return torch.cat(outputs, dim=1)

    seq = Sequence()
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(seq.parameters(), lr=2e-2)
    yield [seq]
    while True:
        loss = criterion(seq(data[3:, :-3], future=2), data[3:, 1:])
        stepped(loss, optimizer)
        with torch.no_grad():
            held = criterion(seq(data[:3, :-4], future=3), data[:3, 1:])
        yield (loss + held).item()


def forecast_by_layers(torch, nn, F):
    """A two-layer LSTM with a projection reads a window and forecasts quantiles."""
    stream = np.random.default_rng(151)
    season = np.sin(np.arange(200) / 4) + 0.3 * np.sin(np.arange(200) / 1.7)
    windows = np.lib.stride_tricks.sliding_window_view(season + 0.1 * stream.normal(size=200), 14)

    class Forecaster(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(2, 12, num_layers=2, batch_first=True, proj_size=6)
            self.head = nn.Linear(6, 3)

        def forward(self, x):
            out, (h_n, _) = self.lstm(x)
            return self.head(out[:, -1, :] + h_n[-1])

    model = Forecaster()
    optimizer = torch.optim.NAdam(model.parameters(), lr=1e-2)
    levels = torch.tensor([0.1, 0.5, 0.9])
    clip = partial(nn.utils.clip_grad_norm_, list(model.parameters()), 0.5, error_if_nonfinite=True)
    yield [model]
    while True:
        rows = floats(torch, windows[stream.integers(0, len(windows), 16)])
        x = torch.stack([rows[:, :-2], rows[:, 1:-1] - rows[:, :-2]], dim=-1)
        error = rows[:, -1:] - model(x)
        loss = torch.maximum(levels * error, (levels - 1) * error).mean()
        yield stepped(loss, optimizer, clip=clip)


def dilated_convolutions(torch, nn, F):
    """A temporal net: causal, dilated, with weight norm, for adding two marked numbers."""
    stream = np.random.default_rng(152)
    weight_norm = nn.utils.parametrizations.weight_norm

    class TemporalBlock(nn.Module):
        def __init__(self, inputs, outputs, dilation):
            super().__init__()
            self.pad = nn.ConstantPad1d((2 * dilation, 0), 0.0)
            self.conv1 = weight_norm(nn.Conv1d(inputs, outputs, 3, dilation=dilation))
            self.conv2 = weight_norm(nn.Conv1d(outputs, outputs, 3, dilation=dilation))
            self.down = nn.Conv1d(inputs, outputs, 1) if inputs != outputs else None

        def forward(self, x):
            out = F.relu(self.conv2(self.pad(F.relu(self.conv1(self.pad(x))))))
            return F.relu(out + (x if self.down is None else self.down(x)))

    tcn = nn.Sequential(TemporalBlock(2, 8, 1), TemporalBlock(8, 8, 2), TemporalBlock(8, 8, 4))
    head = nn.Linear(8, 1)
    learned = [*tcn.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(learned, lr=1e-2)
    yield [tcn, head]
    while True:
        numbers, marks = stream.random((16, 16)), np.zeros((16, 16))
        np.put_along_axis(
            marks, np.stack([stream.integers(0, 8, 16), stream.integers(8, 16, 16)], 1), 1, 1
        )
        x = floats(torch, np.stack([numbers, marks], 1))
        loss = F.mse_loss(head(tcn(x)[:, :, -1]), floats(torch, (numbers * marks).sum(1))[:, None])
        yield stepped(loss, optimizer)


def packed_lengths(torch, nn, F):
    """A GRU both ways over rows of unlike lengths, packed, with a mean over what is there."""
    rnn = nn.utils.rnn
    stream = np.random.default_rng(153)

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(8, 6, padding_idx=0)
            self.gru = nn.GRU(6, 8, num_layers=2, batch_first=True, bidirectional=True)
            self.fc = nn.Linear(32, 2)

        def forward(self, padded, lengths):
            packed = rnn.pack_padded_sequence(
                self.embed(padded), lengths, batch_first=True, enforce_sorted=False
            )
            out, hidden = self.gru(packed)
            out, sizes = rnn.pad_packed_sequence(out, batch_first=True)
            mean = out.sum(1) / sizes.unsqueeze(1).to(out.dtype)
            return self.fc(torch.cat([mean, hidden[-2], hidden[-1]], dim=1))

    model = Classifier()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    yield [model]
    while True:
        lengths = stream.integers(2, 9, 16)
        rows = [stream.integers(1, 8, n) for n in lengths]
        padded = rnn.pad_sequence([torch.tensor(r) for r in rows], batch_first=True)
        wanted = torch.tensor([int(r[0] < r[-1]) for r in rows])
        yield stepped(F.cross_entropy(model(padded, torch.tensor(lengths)), wanted), optimizer)


def tags_by_field(torch, nn, F):
    """A conditional random field over an LSTM: paths are summed in logarithms, the best decoded."""
    stream = np.random.default_rng(154)

    class Tagger(nn.Module):
        def __init__(self, tags=3):
            super().__init__()
            self.embed, self.lstm = nn.Embedding(9, 6), nn.LSTM(6, 5, bidirectional=True)
            self.to_tags = nn.Linear(10, tags)
            self.transitions = nn.Parameter(torch.randn(tags, tags) * 0.1)

        def scores(self, words):
            return self.to_tags(self.lstm(self.embed(words).unsqueeze(1))[0].squeeze(1))

        def lost(self, words, tags):
            feats = self.scores(words)
            alpha = feats[0]
            for feat in feats[1:]:
                alpha = torch.logsumexp(alpha.unsqueeze(1) + self.transitions, dim=0) + feat
            gold = feats[torch.arange(len(tags)), tags].sum()
            return alpha.logsumexp(0) - gold - self.transitions[tags[:-1], tags[1:]].sum()

        @torch.no_grad()
        def decoded(self, words):
            best, back = None, []
            for feat in self.scores(words):
                if best is None:
                    best = feat
                    continue
                best, via = (best.unsqueeze(1) + self.transitions).max(dim=0)
                best = best + feat
                back.append(via)
            path = [int(best.argmax())]
            for via in reversed(back):
                path.append(int(via[path[-1]]))
            return path[::-1]

    model = Tagger()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-4)
    yield [model]
    while True:
        words = stream.integers(0, 9, 6)
        tags = np.where(words < 3, 0, np.where(np.roll(words, 1) < 5, 1, 2))
        model.zero_grad()
        loss = model.lost(torch.tensor(words), torch.tensor(tags))
        loss.backward()
        optimizer.step()
        wrong = np.sum(np.array(model.decoded(torch.tensor(words))) != tags)
        yield loss.item() + 0.1 * wrong
