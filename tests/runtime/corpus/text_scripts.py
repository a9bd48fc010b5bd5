"""Small language models by characters: from counts of pairs to recurrent nets."""

from functools import partial

import numpy as np

from .common import TEXT, floats, stepped

LETTERS = ".abcdefghijklmnopqrstuvwxyz"


def words():
    """The words of a text, in lower case, in the order in which they first come."""
    text = "".join(c if c.isalpha() else " " for c in TEXT.read_text("utf-8").lower())
    return list(dict.fromkeys(text.split()))


def contexts(block):
    """Each letter of each word (a dot ends it) with the `block` letters before it."""
    rows, then = [], []
    for word in words():
        context = [0] * block
        for letter in [*word, "."]:
            code = LETTERS.index(letter)
            rows.append(context)
            then.append(code)
            context = [*context[1:], code]
    return np.array(rows), np.array(then)


def bigrams(torch, nn, F):
    """One-hot letters times a matrix of log-counts, by hand, and how near it comes to counting."""
    rows, then = contexts(1)
    xs, ys = torch.tensor(rows[:, 0]), torch.tensor(then)
    counts = torch.zeros(27, 27, dtype=torch.int64)
    counts.index_put_((xs, ys), torch.ones_like(xs), accumulate=True)
    prob = (counts + 1).to(torch.get_default_dtype())
    prob = prob / prob.sum(1, keepdim=True)
    best = -prob[xs, ys].log().mean()
    weights = torch.randn(27, 27, requires_grad=True)
    yield [weights]
    while True:
        xenc = F.one_hot(xs, num_classes=27).to(weights.dtype)
        logits = xenc @ weights
        odds = logits.exp()
        probs = odds / odds.sum(1, keepdims=True)
        loss = -probs[torch.arange(len(xs)), ys].log().mean() + 0.01 * (weights**2).mean()
        weights.grad = None
        loss.backward()
        weights.data += -30 * weights.grad
        yield (loss / best).item()


def letters_with_norm_by_hand(torch, nn, F):
    """Embedded contexts, batch normalization written out with running statistics, tanh."""
    stream = np.random.default_rng(30)
    rows, then = contexts(3)
    table = torch.randn(27, 6)
    w1, w2 = torch.randn(18, 40) * (5 / 3) / 18**0.5, torch.randn(40, 27) * 0.1
    b2 = torch.zeros(27)
    gain, shift = torch.ones((1, 40)), torch.zeros((1, 40))
    learned = [table, w1, w2, b2, gain, shift]
    for p in learned:
        p.requires_grad_(True)
    mean_running, std_running = torch.zeros((1, 40)), torch.ones((1, 40))
    yield learned
    for step in range(10_000):
        batch = stream.integers(0, len(rows), 48)
        emb = table[torch.tensor(rows[batch])]
        pre = emb.view(emb.shape[0], -1) @ w1
        mean, std = pre.mean(0, keepdim=True), pre.std(0, keepdim=True)
        h = torch.tanh(gain * (pre - mean) / std + shift)
        loss = F.cross_entropy(h @ w2 + b2, torch.tensor(then[batch]))
        with torch.no_grad():
            mean_running = 0.9 * mean_running + 0.1 * mean
            std_running = 0.9 * std_running + 0.1 * std
        for p in learned:
            p.grad = None
        loss.backward()
        for p in learned:
            p.data -= (0.5 if step < 30 else 0.1) * p.grad
        with torch.no_grad():
            emb = table[torch.tensor(rows[:100])].flatten(1)
            h = torch.tanh(gain * (emb @ w1 - mean_running) / std_running + shift)
            held = F.cross_entropy(h @ w2 + b2, torch.tensor(then[:100]))
        yield (loss + held).item()


def characters_through_time(torch, nn, F):
    """A recurrent net reads on where it stopped; its state is cut from the graph at each step."""
    codes = np.array([LETTERS.find(c) % 27 for c in TEXT.read_text("utf-8").lower()])
    streams = torch.tensor(codes[: len(codes) // 4 * 4].reshape(4, -1))

    class CharRNN(nn.Module):
        def __init__(self, width=24):
            super().__init__()
            self.embed = nn.Embedding(27, 10)
            self.rnn = nn.RNN(10, width, num_layers=2, nonlinearity="tanh", batch_first=True)
            self.head = nn.Linear(width, 27)

        def forward(self, x, state=None):
            out, state = self.rnn(self.embed(x), state)
            return self.head(out), state

        @torch.no_grad()
        def write(self, letter, count):
            state, said = None, [letter]
            for _ in range(count):
                logits, state = self(torch.tensor([[said[-1]]]), state)
                said.append(int(logits[0, -1].argmax()))
            return said

    model = CharRNN()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-3, momentum=0.5, centered=True)
    clip = partial(nn.utils.clip_grad_norm_, list(model.parameters()), 1.0)
    yield [model]
    state, at = None, 0
    for step in range(10_000):
        x, y = streams[:, at : at + 12], streams[:, at + 1 : at + 13]
        at = (at + 12) % 200
        logits, state = model(x, state)
        state = state.detach()
        loss = criterion(logits.transpose(1, 2), y)
        told = stepped(loss, optimizer, clip=clip)
        written = len(set(model.write(1, 6))) if step % 10 == 9 else 0
        yield told + 0.01 * written


def names_by_language(torch, nn, F):
    """Words are told apart letter by letter, by a cell of two linear layers and manual updates."""
    stream = np.random.default_rng(32)
    ends = ("ova", "ini", "sson")
    starts = [w for w in words() if 2 < len(w) < 6]

    class RNN(nn.Module):
        def __init__(self, width=20):
            super().__init__()
            self.width = width
            self.i2h = nn.Linear(27 + width, width)
            self.i2o = nn.Linear(27 + width, len(ends))
            self.softmax = nn.LogSoftmax(dim=1)

        def forward(self, letter, hidden):
            combined = torch.cat((letter, hidden), 1)
            return self.softmax(self.i2o(combined)), torch.tanh(self.i2h(combined))

    def line_to_tensor(line):
        tensor = torch.zeros(len(line), 1, 27)
        for i, letter in enumerate(line):
            tensor[i][0][LETTERS.index(letter)] = 1
        return tensor

    rnn = RNN()
    criterion = nn.NLLLoss()
    yield [rnn]
    while True:
        total = 0.0
        for which in stream.permutation(3):
            name = line_to_tensor(starts[stream.integers(len(starts))] + ends[which])
            hidden = torch.zeros(1, rnn.width)
            rnn.zero_grad()
            for letter in name:
                output, hidden = rnn(letter, hidden)
            loss = criterion(output, torch.tensor([which], dtype=torch.long))
            loss.backward()
            for p in rnn.parameters():
                p.data.add_(p.grad.data, alpha=-0.15)
            total += loss.item()
        yield total


def words_by_neighbours(torch, nn, F):
    """Skip-grams with negative samples, sparse gradients and SparseAdam."""
    stream = np.random.default_rng(33)
    text = "".join(c if c.isalpha() else " " for c in TEXT.read_text("utf-8").lower()).split()
    known = sorted(set(text))
    codes = np.array([known.index(w) for w in text])

    class SkipGram(nn.Module):
        def __init__(self, count, width=12):
            super().__init__()
            self.center = nn.Embedding(count, width, sparse=True)
            self.around = nn.Embedding(count, width, sparse=True)
            nn.init.uniform_(self.center.weight, -0.1, 0.1)
            nn.init.zeros_(self.around.weight)

        def forward(self, center, near, far):
            v = self.center(center)
            said = F.logsigmoid((v * self.around(near)).sum(-1))
            denied = F.logsigmoid(-torch.bmm(self.around(far), v.unsqueeze(2)).squeeze(2)).sum(1)
            return -(said + denied).mean()

    model = SkipGram(len(known))
    optimizer = torch.optim.SparseAdam(model.parameters(), lr=0.05)
    yield [model]
    while True:
        at = stream.integers(2, len(codes) - 2, 64)
        near = codes[at + stream.choice([-2, -1, 1, 2], 64)]
        far = stream.integers(0, len(known), (64, 4))
        told = stepped(model(*(torch.tensor(a) for a in (codes[at], near, far))), optimizer)
        table = floats(torch, model.center.weight.detach().numpy())
        yield told + 0.1 * F.cosine_similarity(table[:8], table[8:16]).abs().mean().item()
