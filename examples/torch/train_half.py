"""Train a small next-token model in bfloat16, with matrix sizes that suit no tensor core.

On a GPU, tensor cores work on tiles of 16-bit numbers whose sides are multiples of 8. The hidden
size of 60 and the vocabulary of 101 are not, so each matrix product of this model, forward and
backward, may be padded or run in a slower kernel. The cure is to round the sizes up:

    python examples/torch/train_half.py --hidden 64 --vocabulary 104

The script records its first steps on request:

    python examples/torch/train_half.py [--trace train_half.json.gz]
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from torch.profiler import profile, schedule

BATCH, LENGTH, STEPS, SYMBOLS = 8, 16, 8, 101


def train(hidden: int, vocabulary: int, prof: profile | None = None) -> None:
    torch.manual_seed(0)
    # Each token is the one before plus three, so the next one can be learnt.
    start = torch.randint(0, SYMBOLS, (BATCH, 1))
    tokens = (start + 3 * torch.arange(LENGTH + 1)) % SYMBOLS
    inputs, targets = tokens[:, :-1], tokens[:, 1:].flatten()
    model = nn.Sequential(
        nn.Embedding(vocabulary, hidden),
        nn.Linear(hidden, hidden),
        nn.ReLU(),
        nn.Linear(hidden, vocabulary, bias=False),
    ).to(torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9, foreach=True)
    for _ in range(STEPS):
        optimizer.zero_grad()
        logits = model(inputs).flatten(0, 1)
        loss = nn.functional.cross_entropy(logits, targets)
        loss.backward()
        optimizer.step()
        if prof is not None:
            prof.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", type=int, default=60)
    parser.add_argument("--vocabulary", type=int, default=SYMBOLS, help=f"at least {SYMBOLS}")
    parser.add_argument("--trace", metavar="FILE", help="record three steps to this file")
    arguments = parser.parse_args()
    if arguments.trace is None:
        train(arguments.hidden, arguments.vocabulary)
    else:
        with profile(
            schedule=schedule(wait=1, warmup=1, active=3, repeat=1),
            on_trace_ready=lambda prof: prof.export_chrome_trace(arguments.trace),
            record_shapes=True,
            with_stack=True,
            profile_memory=True,
        ) as prof:
            train(arguments.hidden, arguments.vocabulary, prof)
