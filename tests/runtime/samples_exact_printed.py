"""Samples of tensors as text, and how they are printed: as PyTorch prints them."""

# ruff: noqa: E501  (some samples are long)

from .tables import calls

PRINTED = calls("""
repr(x), repr(f), repr(k), repr(b), repr(u), repr(c), repr(z), repr(e), repr(n), repr(T), repr(P)
repr(x * 1e-6), repr(x * 1e6), repr(k.double()), repr(f / 0), repr(torch.tensor([1.0, math.inf, math.nan])), repr(x > 0)
repr(torch.arange(2000)), repr(torch.arange(2000.0).reshape(40, 50)), repr(torch.zeros(12, 11, 10)), repr(torch.arange(60) * 1000)
repr(torch.zeros(0)), repr(torch.zeros(0, 2, dtype=torch.int64)), repr(torch.zeros(0, dtype=torch.bool)), repr(torch.tensor(3)), repr(torch.tensor(True))
repr(f.half()), repr(c.to(torch.complex64)), repr(torch.tensor([0.5, 1000.25])), repr(torch.tensor([1e9, 1.0])), repr(torch.tensor([-1.0, 2.0]))
str(f.requires_grad_()), repr(f.requires_grad_() * 1), repr(x.requires_grad_().exp()), repr(torch.ones(3, 40).requires_grad_() + 1)
repr(torch.nn.Parameter(torch.ones(2))), f'{z:.2f}', f'{x}', '{}'.format(k), str([z, z])
repr(torch.Size([1, 2])), repr(torch.ones(2).max(0).values), str(x.shape)
[torch.set_printoptions(precision=2, sci_mode=False), repr(x), repr(x * 1e6), torch.set_printoptions(profile='short'), repr(torch.arange(2000.0)), torch.set_printoptions(profile='default'), repr(x * 1e6)][1::2]
""")
