"""A spiking network: pictures as trains of spikes, leaky neurons, and surrogate gradients."""

import torch
import torch.nn.functional as F
from torch import nn

TICKS = 20


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, voltage):
        ctx.save_for_backward(voltage)
        return (voltage > 0).float()

    @staticmethod
    def backward(ctx, grad):
        (voltage,) = ctx.saved_tensors
        return grad / (1 + 10 * voltage.abs()) ** 2


class Leaky(nn.Module):
    def __init__(self, inputs, outputs, decay=0.9):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.decay = decay

    def forward(self, spikes):
        """Return the spikes of each tick: (TICKS, batch, outputs)."""
        # clean:
        current = self.linear(spikes)
        voltage, out = torch.zeros_like(current[0]), []
        for tick in current:
            voltage = self.decay * voltage + tick
            fired = Spike.apply(voltage - 1)
            voltage = voltage - fired.detach()
            out.append(fired)
        return torch.stack(out)
        # planted spikes-grow (TDY408):
        # current = self.linear(spikes)
        # voltage, out = torch.zeros_like(current[0]), current[:0]
        # for tick in current:
        #     voltage = self.decay * voltage + tick
        #     fired = Spike.apply(voltage - 1)
        #     voltage = voltage - fired.detach()
        #     out = torch.cat([out, fired[None]])  # at: spikes-grow
        # return out
        # end


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = Leaky(256, 256)
        self.out = Leaky(256, 10)

    def forward(self, spikes):
        hidden = self.hidden(spikes)
        return self.out(hidden), hidden


def encode(pictures):
    # clean:
    return (torch.rand(TICKS, *pictures.shape) < pictures).float()
    # planted encoded-one-by-one (TDY404):
    # spikes = torch.zeros(TICKS, *pictures.shape)
    # for t in range(TICKS):
    #     for i in range(len(pictures)):
    #         spikes[t, i] = torch.bernoulli(pictures[i])  # at: encoded-one-by-one
    # return spikes
    # end


def main():
    torch.manual_seed(0)
    patterns = torch.rand(10, 256) ** 2
    labels = torch.randint(10, (4096,))
    pictures = (patterns[labels] + 0.1 * torch.randn(4096, 256)).clamp(0, 1)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    rates = []
    for step in range(60):
        chosen = torch.randint(4096, (64,))
        spikes, hidden = net(encode(pictures[chosen]))
        loss = F.cross_entropy(spikes.sum(0), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        # clean:
        rates.append(hidden.detach().mean((0, 1)))
        # planted rates-neuron-by-neuron (TDY404):
        # each = [hidden[:, :, n].mean().item() for n in range(256)]  # at: rates-neuron-by-neuron
        # rates.append(torch.tensor(each))
        # end
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.3f}")
    print(f"spikes a tick {torch.stack(rates).mean().item():.3f}")


if __name__ == "__main__":
    main()
