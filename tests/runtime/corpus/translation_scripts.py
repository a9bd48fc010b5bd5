"""Sequences to sequences: recurrent and by attention; labels for each word of a sentence."""

import math

import numpy as np

from .attention_scripts import rows_of_text
from .common import stepped


def masked_language_model(torch, nn, F):
    """An encoder fills in what is masked; rows have unlike lengths and are padded."""
    symbols, rows = rows_of_text(50, 6, 12)
    stream = np.random.default_rng(51)
    mask, pad = symbols, symbols + 1

    class Bert(nn.Module):
        def __init__(self, width=24):
            super().__init__()
            self.tokens = nn.Embedding(symbols + 2, width, padding_idx=pad)
            self.places = nn.Parameter(torch.randn(13, width) * 0.02)
            layer = nn.TransformerEncoderLayer(
                width, 3, 48, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.norm, self.bias = nn.LayerNorm(width), nn.Parameter(torch.zeros(symbols))

        def forward(self, idx):
            x = self.tokens(idx) + self.places
            x = self.encoder(x, src_key_padding_mask=idx == pad)
            return F.linear(self.norm(x), self.tokens.weight[:symbols], self.bias) / 5

    model = Bert()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.SequentialLR(
        optimizer,
        [
            torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=5),
            torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=100, power=2.0),
        ],
        milestones=[5],
    )
    yield [model]
    for row in rows:
        hidden = stream.random(row.shape) < 0.3
        hidden[:, 0] = True
        short = np.arange(13) >= stream.integers(6, 14, 6)[:, None]
        given = torch.tensor(np.where(short, pad, np.where(hidden, mask, row)))
        wanted = torch.tensor(np.where(hidden & ~short, row, -100))
        loss = F.cross_entropy(model(given).transpose(1, 2), wanted, ignore_index=-100)
        yield stepped(loss, optimizer, scheduler)


def reversed_by_recurrence(torch, nn, F):
    """Encoder and decoder are GRUs, with additive attention, teacher forcing now and then."""
    stream = np.random.default_rng(52)

    class EncoderRNN(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.embedding = nn.Embedding(10, width)
            self.gru = nn.GRU(width, width, batch_first=True)

        def forward(self, x):
            return self.gru(self.embedding(x))

    class AttentionDecoder(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.embedding = nn.Embedding(10, width)
            self.Wa, self.Ua, self.Va = (nn.Linear(width, n) for n in (width, width, 1))
            self.gru = nn.GRU(2 * width, width, batch_first=True)
            self.out = nn.Linear(width, 10)

        def forward(self, encoded, hidden, target=None):
            said, outputs = torch.ones(encoded.size(0), 1, dtype=torch.long), []
            for i in range(encoded.size(1)):
                query = hidden.permute(1, 0, 2)
                scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(encoded))).squeeze(2)
                context = torch.bmm(F.softmax(scores.unsqueeze(1), dim=-1), encoded)
                step = torch.cat((self.embedding(said), context), dim=2)
                out, hidden = self.gru(step, hidden)
                outputs.append(self.out(out))
                if target is not None:
                    said = target[:, i].unsqueeze(1)
                else:
                    said = outputs[-1].topk(1)[1].squeeze(-1).detach()
            return F.log_softmax(torch.cat(outputs, dim=1), dim=-1)

    encoder, decoder = EncoderRNN(16), AttentionDecoder(16)
    optimizers = [torch.optim.Adam(m.parameters(), lr=2e-2) for m in (encoder, decoder)]
    criterion = nn.NLLLoss()
    yield [encoder, decoder]
    for step in range(10_000):
        source = torch.tensor(stream.integers(2, 10, (10, 4)))
        target = source.flip(1)
        encoded, hidden = encoder(source)
        logs = decoder(encoded, hidden, target if step % 4 else None)
        loss = criterion(logs.view(-1, 10), target.reshape(-1))
        yield stepped(loss, *optimizers)


def sorted_by_transformer(torch, nn, F):
    """The whole Transformer, with sines for places, masks of both kinds and smoothed labels."""
    stream = np.random.default_rng(53)

    class PositionalEncoding(nn.Module):
        def __init__(self, width, length=16):
            super().__init__()
            place = torch.arange(0, length).unsqueeze(1)
            rates = torch.exp(torch.arange(0, width, 2) * -(math.log(10000.0) / width))
            pe = torch.zeros(length, width)
            pe[:, 0::2] = torch.sin(place * rates)
            pe[:, 1::2] = torch.cos(place * rates)
            self.register_buffer("pe", pe.unsqueeze(0), persistent=False)

        def forward(self, x):
            return x + self.pe[:, : x.size(1)]

    class Sorter(nn.Module):
        def __init__(self, width=16):
            super().__init__()
            self.embed, self.width = nn.Embedding(12, width), width
            self.place = PositionalEncoding(width)
            self.transformer = nn.Transformer(
                width, 2, 1, 1, dim_feedforward=32, dropout=0.0, batch_first=True
            )
            self.head = nn.Linear(width, 12)

        def forward(self, src, tgt):
            later = nn.Transformer.generate_square_subsequent_mask(tgt.size(1))
            padded = src == 0
            src, tgt = (self.place(self.embed(x) * math.sqrt(self.width)) for x in (src, tgt))
            out = self.transformer(
                src,
                tgt,
                tgt_mask=later,
                src_key_padding_mask=torch.zeros_like(src[..., 0]).masked_fill(padded, -1e9),
            )
            return self.head(out)

    model = Sorter()
    for p in model.parameters():
        if p.dim() > 1:
            nn.init.xavier_uniform_(p)
    criterion = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, betas=(0.9, 0.98), eps=1e-9)
    yield [model]
    while True:
        rows = stream.integers(2, 12, (12, 6))
        rows[::3, -2:] = 0
        wanted = np.where(rows == 0, 99, rows)
        wanted.sort(axis=1)
        wanted = np.where(wanted == 99, 0, wanted)
        before = np.concatenate([np.ones((12, 1), int), wanted[:, :-1]], 1)
        logits = model(torch.tensor(rows), torch.tensor(before))
        loss = criterion(logits.reshape(-1, 12), torch.tensor(wanted).reshape(-1))
        yield stepped(loss, optimizer)


def low_rank_adapters(torch, nn, F):
    """A trained net is adapted by products of narrow matrices, added by parametrization."""
    parametrize = nn.utils.parametrize
    symbols, rows = rows_of_text(54, 16, 4)

    class LoRA(nn.Module):
        def __init__(self, outputs, inputs, rank=2, alpha=4.0):
            super().__init__()
            self.down = nn.Parameter(torch.randn(rank, inputs) / inputs**0.5)
            self.up = nn.Parameter(torch.zeros(outputs, rank))
            self.scale = alpha / rank

        def forward(self, weight):
            return weight + self.scale * (self.up @ self.down)

    model = nn.Sequential(
        nn.Embedding(symbols, 8), nn.Flatten(), nn.Linear(32, 32), nn.SELU(), nn.Linear(32, symbols)
    )
    adapters = [LoRA(32, 32), LoRA(symbols, 32)]
    yield [model, *adapters]
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for row in (next(rows) for _ in range(10)):
        logits = model(torch.tensor(row[:, :-1]))
        stepped(F.cross_entropy(logits, torch.tensor(row[:, -1])), optimizer)
    model.requires_grad_(False)
    for place, adapter in zip((2, 4), adapters, strict=True):
        parametrize.register_parametrization(model[place], "weight", adapter)
    learned = [p for p in model.parameters() if p.requires_grad]
    assert len(learned) == 4
    optimizer = torch.optim.AdamW(learned, lr=3e-2)
    turned = np.random.default_rng(55).permutation(symbols)
    row = next(rows)
    for _ in range(100):
        with parametrize.cached():
            logits = model(torch.tensor(turned[row[:, :-1]]))
        yield stepped(F.cross_entropy(logits, torch.tensor(turned[row[:, -1]])), optimizer)
