"""Transformers: blocks as language models have them, and what is done to them in training."""

import math

import numpy as np

from .common import TEXT, dropout, stepped


def rows_of_text(seed, batch, length):
    """The number of symbols, and batches of rows of a text, as numbers: `(batch, length + 1)`."""
    text = TEXT.read_text("utf-8")
    alphabet = sorted(set(text))
    codes = np.array([alphabet.index(c) for c in text])
    stream = np.random.default_rng(seed)

    def rows():
        while True:
            starts = stream.integers(0, len(codes) - length - 1, batch)
            yield codes[starts[:, None] + np.arange(length + 1)]

    return len(alphabet), rows()


def nano_gpt(torch, nn, F):
    """Blocks with a mask in a buffer, tied embeddings, groups by decay, warm-up and cosine."""
    symbols, rows = rows_of_text(40, 6, 16)
    stream = np.random.default_rng(41)

    class CausalSelfAttention(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.c_attn = nn.Linear(width, 3 * width)
            self.c_proj = nn.Linear(width, width)
            self.drop = dropout(torch, nn.Module, stream, 0.1)
            self.heads = heads
            self.register_buffer("bias", torch.tril(torch.ones(16, 16)).view(1, 1, 16, 16))

        def forward(self, x):
            B, T, C = x.size()  # noqa: N806
            q, k, v = self.c_attn(x).split(C, dim=2)
            q, k, v = (a.view(B, T, self.heads, C // self.heads).transpose(1, 2) for a in (q, k, v))
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
            y = self.drop(F.softmax(att, dim=-1)) @ v
            return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attn = CausalSelfAttention(width, 2)
            self.mlp = nn.ModuleDict(
                {"c_fc": nn.Linear(width, 4 * width), "c_proj": nn.Linear(4 * width, width)}
            )

        def forward(self, x):
            x = x + self.attn(self.ln_1(x))
            h = F.gelu(self.mlp["c_fc"](self.ln_2(x)), approximate="tanh")
            return x + self.mlp["c_proj"](h)

    class GPT(nn.Module):
        def __init__(self, width=24):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(symbols, width), nn.Embedding(16, width)
            self.h = nn.ModuleList([Block(width) for _ in range(2)])
            self.ln_f = nn.LayerNorm(width)
            self.lm_head = nn.Linear(width, symbols, bias=False)
            self.wte.weight = self.lm_head.weight
            self.apply(self._init_weights)

        def _init_weights(self, module):
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, mean=0.0, std=0.05)

        def forward(self, idx, targets):
            x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
            for block in self.h:
                x = block(x)
            logits = self.lm_head(self.ln_f(x))
            return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))

    model = GPT()
    params = [p for _, p in model.named_parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in params if p.dim() >= 2], "weight_decay": 0.1},
        {"params": [p for p in params if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=8e-3, betas=(0.9, 0.95))
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda it: (it + 1) / 5 if it < 5 else 0.55 + 0.45 * math.cos(math.pi * (it - 5) / 60),
    )
    yield [model]
    for row in rows:
        loss = model(torch.tensor(row[:, :-1]), torch.tensor(row[:, 1:]))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        yield loss.item()


def llama_like(torch, nn, F):
    """Rotary positions, grouped queries, RMS norms, SwiGLU; decoded with a cache in between."""
    symbols, rows = rows_of_text(42, 4, 12)

    class RMSNorm(nn.Module):
        def __init__(self, width, eps=1e-5):
            super().__init__()
            self.eps = eps
            self.weight = nn.Parameter(torch.ones(width))

        def forward(self, x):
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight

    def rotated(x, start):
        half = x.shape[-1] // 2
        angles = torch.outer(
            torch.arange(start, start + x.shape[2]).to(x.dtype),
            10000.0 ** (-torch.arange(half).to(x.dtype) / half),
        )
        turn = torch.complex(angles.cos(), angles.sin())
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], half, 2))
        return torch.view_as_real(pairs * turn).flatten(-2)

    class Block(nn.Module):
        def __init__(self, width=24, heads=4, groups=2):
            super().__init__()
            self.heads, self.groups, each = heads, groups, width // heads
            self.wq = nn.Linear(width, width, bias=False)
            self.wkv = nn.Linear(width, 2 * groups * each, bias=False)
            self.wo = nn.Linear(width, width, bias=False)
            self.w1, self.w3 = (nn.Linear(width, 40, bias=False) for _ in range(2))
            self.w2 = nn.Linear(40, width, bias=False)
            self.norms = nn.ModuleList(RMSNorm(width) for _ in range(2))

        def forward(self, x, cache=None):
            B, T, C = x.shape  # noqa: N806
            h = self.norms[0](x)
            start = 0 if cache is None or "k" not in cache else cache["k"].shape[2]
            q = rotated(self.wq(h).view(B, T, self.heads, -1).transpose(1, 2), start)
            kv = self.wkv(h).view(B, T, 2, self.groups, -1).permute(2, 0, 3, 1, 4)
            k, v = rotated(kv[0], start), kv[1]
            if cache is not None:
                k = cache["k"] = torch.cat([*([cache["k"]] if start else []), k], dim=2)
                v = cache["v"] = torch.cat([*([cache["v"]] if start else []), v], dim=2)
            k, v = (a.repeat_interleave(self.heads // self.groups, dim=1) for a in (k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
            x = x + self.wo(y.transpose(1, 2).reshape(B, T, C))
            h = self.norms[1](x)
            return x + self.w2(F.silu(self.w1(h)) * self.w3(h))

    embed, norm = nn.Embedding(symbols, 24), RMSNorm(24)
    blocks = nn.ModuleList([Block(), Block()])
    model = nn.ModuleDict({"embed": embed, "blocks": blocks, "norm": norm})
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3, betas=(0.9, 0.95), amsgrad=True)
    yield [model]
    for step, row in enumerate(rows):
        idx = torch.tensor(row[:, :-1])
        x = embed(idx)
        for block in blocks:
            x = block(x)
        logits = F.linear(norm(x), embed.weight) / 5
        loss = F.cross_entropy(logits.flatten(0, 1), torch.tensor(row[:, 1:]).flatten())
        if step % 12 == 11:
            with torch.no_grad():
                caches, told = [{}, {}], []
                for t in range(idx.shape[1]):
                    x = embed(idx[:, t : t + 1])
                    for block, cache in zip(blocks, caches, strict=True):
                        x = block(x, cache)
                    told.append(F.linear(norm(x), embed.weight) / 5)
            assert torch.allclose(torch.cat(told, 1), logits, rtol=1e-3, atol=1e-4)
        yield stepped(loss, optimizer)


def mixture_of_experts(torch, nn, F):
    """Tokens go to their two best experts, with a loss that keeps the experts equally busy."""
    symbols, rows = rows_of_text(43, 4, 10)

    class SparseMoE(nn.Module):
        def __init__(self, width, experts=4, top_k=2):
            super().__init__()
            self.router = nn.Linear(width, experts, bias=False)
            self.experts = nn.ModuleList(
                nn.Sequential(nn.Linear(width, 2 * width), nn.Mish(), nn.Linear(2 * width, width))
                for _ in range(experts)
            )
            self.top_k = top_k

        def forward(self, x):
            flat = x.reshape(-1, x.shape[-1])
            probs = F.softmax(self.router(flat), dim=-1)
            top, where = torch.topk(probs, self.top_k, dim=-1)
            top = top / top.sum(-1, keepdim=True)
            out = torch.zeros_like(flat)
            for number, expert in enumerate(self.experts):
                token, place = torch.where(where == number)
                if token.numel() > 0:
                    out.index_add_(0, token, expert(flat[token]) * top[token, place, None])
            share = F.one_hot(where, len(self.experts)).sum(1).to(x.dtype).mean(0)
            return out.view_as(x), (share * probs.mean(0)).sum() * len(self.experts)

    class Model(nn.Module):
        def __init__(self, width=20):
            super().__init__()
            self.embed = nn.Embedding(symbols, width)
            self.mix = nn.Conv1d(width, width, 3)
            self.moe, self.head = SparseMoE(width), nn.Linear(width, symbols)

        def forward(self, idx):
            x = self.embed(idx)
            x = x + self.mix(F.pad(x.mT, (2, 0))).mT
            y, busy = self.moe(x)
            return self.head(x + y), busy

    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    yield [model]
    for row in rows:
        logits, busy = model(torch.tensor(row[:, :-1]))
        loss = F.cross_entropy(logits.movedim(-1, 1), torch.tensor(row[:, 1:])) + 0.01 * busy
        yield stepped(loss, optimizer)
