"""A GPT-like character model: dropout, AdamW, clipping and a warm-up with cosine decay."""

import math

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, BLOCK, WIDTH, HEADS = 96, 128, 128, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1)
        )
        self.drop = nn.Dropout(0.1)

    def attend(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, HEADS, c // HEADS).permute(2, 0, 3, 1, 4)
        # clean:
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        # planted unfused-attention (TDY504):
        # mask = torch.tril(torch.ones(t, t)).bool()
        # scores = q @ k.transpose(-2, -1) / math.sqrt(c // HEADS)  # at: unfused-attention
        # scores = scores.masked_fill(~mask, float("-inf"))  # at: unfused-attention
        # y = F.softmax(scores, dim=-1) @ v  # at: unfused-attention
        # end
        return self.drop(self.proj(y.transpose(1, 2).reshape(b, t, c)))

    def forward(self, x):
        x = x + self.attend(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(VOCAB, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.drop = nn.Dropout(0.1)
        self.blocks = nn.Sequential(*[Block() for _ in range(3)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, ids):
        x = self.token(ids) + self.position(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.norm(self.blocks(self.drop(x))))


def get_batch(data, size=16):
    starts = torch.randint(len(data) - BLOCK - 1, (size,))
    offsets = starts[:, None] + torch.arange(BLOCK + 1)
    chunk = data[offsets]
    return chunk[:, :-1], chunk[:, 1:]


def schedule(step, warmup=4, total=20):
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


@torch.no_grad()
def validate(model, data):
    model.eval()
    losses = []
    for _ in range(2):
        x, y = get_batch(data)
        losses.append(F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item())
    model.train()
    return sum(losses) / len(losses)


def main():
    torch.manual_seed(0)
    data = (torch.arange(20_000) * 7 % 31 + torch.randint(3, (20_000,))) % VOCAB
    model = GPT()
    decay = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95))
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)
    for step in range(16):
        x, y = get_batch(data[:18_000])
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        # clean:
        optimizer.zero_grad()
        loss.backward()
        # planted retained-double-backward (TDY703):
        # optimizer.zero_grad()
        # loss.backward(retain_graph=True)  # at: retained-double-backward
        # before = sum(p.grad.norm().item() for p in model.parameters())
        # optimizer.zero_grad()
        # loss.backward()  # at: retained-double-backward
        # end
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if step % 5 == 0:
            rate = scheduler.get_last_lr()[0]
            print(f"step {step} loss {loss.item():.3f} norm {norm.item():.2f} lr {rate:.1e}")
        if step % 8 == 7:
            print(f"step {step} validation loss {validate(model, data[18_000:]):.3f}")


if __name__ == "__main__":
    main()
