"""A GRU encoder and decoder that learn to reverse sequences, with teacher forcing."""

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, LENGTH, WIDTH = 40, 12, 96


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        # clean:
        self.rnn = nn.GRU(WIDTH, WIDTH, batch_first=True)
        # planted cell-by-time-step (TDY401, TDY404, TDY406):
        # self.rnn = nn.GRUCell(WIDTH, WIDTH)
        # end

    def forward(self, source):
        x = self.embed(source)
        # clean:
        outputs, hidden = self.rnn(x)
        # planted cell-by-time-step:
        # hidden, outputs = torch.zeros(len(x), WIDTH), []
        # for t in range(x.shape[1]):  # at: cell-by-time-step
        #     hidden = self.rnn(x[:, t], hidden)  # at: cell-by-time-step
        #     outputs.append(hidden)
        # outputs, hidden = torch.stack(outputs, 1), hidden[None]
        # end
        return outputs, hidden


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(VOCAB, WIDTH, bias=False)
        self.rnn = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.out = nn.Linear(2 * WIDTH, VOCAB)

    def forward(self, target, memory, hidden):
        # clean:
        one_hot = F.one_hot(target, VOCAB).float()
        # planted one-hot-by-element (TDY401, TDY404, TDY406):
        # one_hot = torch.zeros(*target.shape, VOCAB)
        # for i in range(target.shape[0]):
        #     for j in range(target.shape[1]):  # at: one-hot-by-element
        #         one_hot[i, j, target[i, j]] = 1.0  # at: one-hot-by-element
        # end
        states, hidden = self.rnn(self.embed(one_hot), hidden)
        context = F.scaled_dot_product_attention(states, memory, memory)
        return self.out(torch.cat([states, context], -1)), hidden


def batches(count, size=32):
    for _ in range(count):
        source = torch.randint(1, VOCAB, (size, LENGTH))
        target = source.flip(1)
        start = torch.zeros(size, 1, dtype=torch.long)
        yield source, torch.cat([start, target[:, :-1]], 1), target


@torch.no_grad()
def greedy_accuracy(encoder, decoder):
    source, _, target = next(batches(1))
    memory, hidden = encoder(source)
    token, correct = torch.zeros(len(source), 1, dtype=torch.long), []
    for t in range(LENGTH):
        logits, hidden = decoder(token, memory, hidden)
        token = logits.argmax(-1)
        correct.append(token[:, 0] == target[:, t])
    return torch.stack(correct).float().mean().item()


def main():
    torch.manual_seed(0)
    encoder, decoder = Encoder(), Decoder()
    parameters = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=2e-3)
    for step, (source, inputs, target) in enumerate(batches(16)):
        optimizer.zero_grad()
        logits, _ = decoder(inputs, *encoder(source))
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        if step % 5 == 0:
            print(f"step {step} loss {loss.item():.3f}")
    print(f"greedy accuracy {greedy_accuracy(encoder, decoder):.3f}")


if __name__ == "__main__":
    main()
