"""Samples of further operators: linear algebra, special functions, searching, joining; and of
gradients that a mask cuts off though they are infinite.

Names in them are those of samples_exact.py.
"""

from .tables import calls

NAMES = calls("""
torch.fft.fft2(x), torch.fft.ifft2(c), torch.fft.rfft2(x), torch.fft.irfft2(c), torch.fft.fft2(x, s=(3, 2)), torch.fft.rfft2(x, norm='ortho')
torch.fft.fftn(T), torch.fft.ifftn(c, dim=0).contiguous(), torch.fft.rfftn(T, dim=(0, 1)).contiguous(), torch.fft.irfftn(c).contiguous(), torch.fft.fftn(T, s=(2, 2))
torch.fft.hfft(c, 4), torch.fft.ihfft(x), torch.fft.fftshift(x), torch.fft.ifftshift(x, 1), torch.fft.fftshift(v)
torch.linalg.svdvals(x), torch.linalg.svd(x, full_matrices=False).S, torch.linalg.svd(M).S.sum()
[u := torch.linalg.svd(x, False), u.U * u.S @ u.Vh][1], [u := torch.linalg.svd(x.T, False), u.U.abs(), u.Vh.abs()][1:], [u := torch.svd(x), u[0] * u[1] @ u[2].T][1], x.svd()[1]
[u := torch.linalg.svd(c, False), u.U * u.S @ u.Vh][1], torch.linalg.svdvals(c)
torch.linalg.eigvalsh(M + M.T), [w := torch.linalg.eigh(M @ M.T), w.eigenvectors * w.eigenvalues @ w.eigenvectors.T][1], torch.linalg.eigh(M + M.T).eigenvectors.abs()
[q := torch.linalg.qr(M), q.Q @ q.R, q.R.abs(), q.Q.abs()][1:], torch.linalg.qr(x.T).R.abs()
torch.det(M), M.det(), torch.slogdet(M), M.slogdet().logabsdet, torch.logdet(M @ M.T), (M @ M.T).logdet(), torch.inverse(M), M.inverse(), torch.trace(M), M.trace()
torch.trace(T)
torch.linalg.cholesky(M @ M.T + torch.eye(3)), torch.linalg.cholesky(M @ M.T + torch.eye(3), upper=True).contiguous()
torch.cdist(x, M), torch.cdist(x, M, p=1.0), torch.cdist(x, x + 1.0)
torch.diag(v), v.diag(1), torch.diag(M), M.diag(-1), torch.diag_embed(x), x.diag_embed(1), x.diag_embed(-1, 0, 2), torch.diag(v, -2)
torch.diag(T)
torch.vstack([x, v]), torch.row_stack([v, v]), torch.hstack([x, y]), torch.hstack([v, v]), torch.atleast_2d(v), torch.atleast_2d(v, z), torch.atleast_1d(z), torch.broadcast_tensors(x, v)
torch.broadcast_tensors(x, M); torch.hstack([])
torch.tril_indices(3, 3), torch.triu_indices(2, 3, 1)
torch.allclose(x, x + 1e-9), x.allclose(y), torch.equal(x, x), x.equal(f), torch.isclose(x, x + 1e-6), n.isclose(n, equal_nan=True), torch.isclose(k, k + 1, atol=1), torch.equal(x, v)
torch.allclose(x, f); torch.isclose(x, y, rtol=-1)
torch.unique(k), k.unique(return_inverse=True, return_counts=True), torch.unique(k, dim=1), x.unique(return_counts=True), b.unique(), torch.unique(k, return_inverse=True, dim=0)
torch.searchsorted(v.sort().values, x), torch.searchsorted(v.sort().values, z, right=True), torch.searchsorted(x.sort(1).values, y, side='right'), torch.bucketize(x, v.sort().values), torch.bucketize(x, v.sort().values, right=True, out_int32=True), torch.searchsorted(v.sort().values, 0.5)
torch.bincount(l.flatten()), l[0].bincount(minlength=8), torch.bincount(l.flatten(), x.flatten().detach())
torch.lgamma(x), x.abs().lgamma(), torch.digamma(x.detach()), y.detach().digamma(), torch.polygamma(2, x.detach().abs() + 0.5), torch.polygamma(0, y.detach())
torch.erfc(x), x.erfc(), torch.erfinv(x / 2.1), (x / 3).erfinv(), torch.logit(x.sigmoid()), x.sigmoid().logit(0.2), torch.erfinv(torch.tensor([-1.0, 1.0, 2.0, 0.0]))
torch.xlogy(x.abs(), y.abs()), x.abs().xlogy(2.0), torch.xlogy(0, torch.zeros(2)), torch.xlogy(torch.zeros(2), n[0, 1])
x.clone().lgamma_(), x.detach().digamma_(), x.clone().erfc_(), (x / 3).clone().erfinv_(), x.clone().deg2rad_(), x.clone().rad2deg_()
torch.deg2rad(x), x.rad2deg(), torch.fmax(x, y), n.fmax(x), torch.fmin(n, y), x.fmin(y)
torch.gcd(k, l), k.gcd(l), torch.bitwise_left_shift(l, 2), l.bitwise_right_shift(1), l << 2, l >> 1, 3 & l, 1 | l, 5 ^ l, 2 << l, 64 >> l
F.glu(T), F.glu(T, 0), F.prelu(x, v), F.prelu(x, v[:1]), F.prelu(T, v), F.hardshrink(x), F.softshrink(x, 0.3), F.tanhshrink(x), F.hardshrink(x, 1.0), F.softshrink(n)
F.glu(x); F.prelu(x, v[:2]); torch.fmax(x, 1), torch.gcd(k, 2); torch.maximum(x, 1); torch.eq(2, x)
torch.pow(2, 3); torch.add(2, x), torch.mul(2, x), torch.pow(2, x), torch.remainder(5, l)
F.mse_loss(x, v), F.l1_loss(x, v), F.smooth_l1_loss(x, v), F.huber_loss(x, v)
""")
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
