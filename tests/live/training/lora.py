"""Low-rank updates of a frozen transformer, written by hand."""

import torch
import torch.nn.functional as F
from torch import nn

WORDS, LENGTH, WIDTH, HEADS = 128, 64, 128, 4


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8):
        super().__init__()
        self.base = base
        self.down = nn.Parameter(torch.randn(rank, base.in_features) * 0.02)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.down), self.up) * self.scale


def causal_mask(length):
    # clean:
    return torch.ones(length, length, dtype=torch.bool).tril()
    # planted mask-in-python (TDY401, TDY404):
    # mask = torch.zeros(length, length, dtype=torch.bool)
    # for row in range(length):
    #     mask[row, : row + 1] = True  # at: mask-in-python
    # return mask
    # end


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=causal_mask(length))
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.embed, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(depth)))
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        x = self.embed(words) + self.places.weight[: words.shape[1]]
        return self.head(self.blocks(x))


def adapt(model):
    # clean:
    model.requires_grad_(False)
    # planted base-not-frozen (TDY704):
    # end
    for block in model.blocks:
        block.qkv, block.out = LoRALinear(block.qkv), LoRALinear(block.out)
    return [p for name, p in model.named_parameters() if name.endswith((".down", ".up"))]


def main():
    torch.manual_seed(0)
    model = Model()
    adapters = adapt(model)
    optimizer = torch.optim.AdamW(adapters, lr=2e-3)  # fix: base-not-frozen
    texts = torch.randint(WORDS, (256, 1)) + torch.arange(LENGTH + 1) * 3
    texts %= WORDS
    for step in range(60):
        batch = texts[torch.randint(256, (8,))]
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()  # at: base-not-frozen
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
