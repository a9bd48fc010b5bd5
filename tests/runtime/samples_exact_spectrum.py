"""Samples of short-time Fourier transforms, of operators for rare shapes, and of gradients that a
mask cuts off though they are infinite. Names in them are those of samples_exact.py.
"""

# ruff: noqa: E501  (some samples are long)

from .tables import calls

SPECTRUM = calls("""
torch.add(x, y, alpha=torch.tensor(2.5)), x.clone().add_(y, alpha=torch.tensor(2.5)), torch.sub(x, y, alpha=torch.tensor(2.0)), torch.add(k, 1, alpha=torch.tensor(2)), torch.addmm(M, M, M, beta=torch.tensor(2.5), alpha=torch.tensor(0.5))
torch.add(k, 1, alpha=z)
x.clamp(min=0, max=torch.tensor(1.5)), x.clamp(torch.tensor(-1.0), 3.0), T.split(torch.tensor(2), 2), T.chunk(torch.tensor(2), 2)
x.clamp(0, y); torch.randint_like(x, 3, 4, memory_format=torch.preserve_format)
1 / x.clamp(min=x[0, 0].item()).sub(x[0, 0].item())
1 / F.relu(x), F.relu(x).sqrt(), F.relu(-x.abs()).sqrt()
1 / F.hardtanh(x, 0.0, 1.0), 1 / F.relu6(x), 1 / F.hardsigmoid(x * 3)
torch.fmax(x, x * 0).sqrt(), torch.fmin(x, x * 0).neg().sqrt()
x.clamp(min=0).sqrt(), x.clamp(0, 1).pow(-1), x.clamp(y.minimum(x), x.maximum(y)).log()
torch.are_deterministic_algorithms_enabled(), torch.get_default_device().type
torch.set_default_tensor_type('torch.IntTensor')
""")
