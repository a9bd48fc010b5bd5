"""A recurrent network over characters that shows a sample of its text now and then."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
LENGTH, ROWS = 32, 32


class CharacterModel(nn.Module):
    def __init__(self, characters=64, width=64):
        super().__init__()
        self.embed = nn.Embedding(characters, width)
        self.body = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, characters)

    def forward(self, tokens, state=None):
        hidden, state = self.body(self.embed(tokens), state)
        return self.head(hidden), state


@torch.no_grad()
def sample(model, length=24):
    model.eval()
    token, state, tokens = torch.zeros(1, 1, dtype=torch.long), None, []
    for _ in range(length):
        logits, state = model(token, state)  # at: sampled-in-each-step
        token = torch.multinomial(logits[:, -1].softmax(-1), 1)
        tokens.append(token)
    model.train()
    return torch.cat(tokens, 1)[0].tolist()


def clip(parameters, most=1.0):
    # clean:
    return nn.utils.clip_grad_norm_(parameters, most)
    # planted norm-by-number (TDY414):
    # total = 0.0
    # for each in parameters:
    #     total += sum(v * v for v in each.grad.flatten().tolist())  # at: norm-by-number
    # norm = total**0.5
    # for each in parameters:
    #     each.grad.mul_(min(1.0, most / norm))
    # return norm
    # end


def main():
    text = torch.randint(0, 64, (20_000,))
    model = CharacterModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, foreach=True)
    parameters = list(model.parameters())
    window = torch.arange(LENGTH + 1)
    shown = []
    for step in range(40):
        begins = torch.randint(0, len(text) - LENGTH - 1, (ROWS, 1))
        rows = text[begins + window]
        logits, _ = model(rows[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        clip(parameters)
        optimizer.step()
        # clean:
        if step % 20 == 19:
            shown.append(sample(model))
        # planted sampled-in-each-step (TDY413):
        # shown.append(sample(model))
        # end


main()
