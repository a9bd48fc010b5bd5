"""A recurrent network that classifies names by their letters, written out cell by cell."""

import random
import string

from framework import F, nn, torch

LETTERS = string.ascii_lowercase


class RNN(nn.Module):
    def __init__(self, size, hidden, classes):
        super().__init__()
        self.hidden = hidden
        self.i2h = nn.Linear(size + hidden, hidden)
        self.i2o = nn.Linear(size + hidden, classes)

    def forward(self, letter, hidden):
        both = torch.cat((letter, hidden), 1)
        return self.i2o(both), torch.tanh(self.i2h(both))


def as_tensor(name):
    tensor = torch.zeros(len(name), 1, len(LETTERS))
    for at, letter in enumerate(name):
        tensor[at][0][LETTERS.find(letter)] = 1
    return tensor


random.seed(0)
names = ["".join(random.choices(LETTERS, k=random.randint(4, 12))) for _ in range(200)]
rnn = RNN(len(LETTERS), 64, 5)
optimizer = torch.optim.SGD(rnn.parameters(), lr=5e-3)
for step, name in enumerate(names):
    hidden = torch.zeros(1, rnn.hidden)
    for letter in as_tensor(name):
        output, hidden = rnn(letter, hidden)
    loss = F.cross_entropy(output, torch.tensor([len(name) % 5]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"{step}: {loss.item():.3f} {name}")
