"""Samples that PyTorch's database of operators led to, and more of their kind; for samples_exact.py."""

from .tables import calls

DATABASE = calls("""
torch.arange(3.1, dtype=torch.uint8), torch.arange(0, -8.000001, -4.0, dtype=torch.int32), torch.arange(0, -8.000001, -4.0, dtype=torch.int64), torch.arange(2.1, -2.9, -1.0, dtype=torch.float16)
torch.addbmm(u[:, :2], u[:, :, None], u[:, None, :2]), torch.addr(b, b[:, 0], b[0], beta=3, alpha=2), torch.addbmm(k.int(), k.int()[None, :, :2], k.int()[None])
torch.logaddexp(c, d), torch.logsumexp(c, 1), torch.logsumexp(c * 9, 0)
F.cross_entropy(f.half(), f.half().softmax(1))
F.avg_pool1d(T, 3, ceil_mode=True), F.avg_pool2d(I, 2, ceil_mode=True), F.avg_pool2d(I, 2, 2, 1, True, False), F.avg_pool2d(I, 3, 1, 1, True, True, 2), F.avg_pool2d(I, (2, 3), count_include_pad=False, padding=1, ceil_mode=True)
F.avg_pool2d(k[None] + 9, 2), F.avg_pool1d(k, 2), F.avg_pool3d(T[None], 2, 1, ceil_mode=True)
F.avg_pool2d(I, 2, divisor_override=0); F.avg_pool2d(I, 0); F.avg_pool2d(I, 2, 0)
F.avg_pool2d(I, 2, padding=2); F.avg_pool1d(T[:0], 2); F.avg_pool1d(T[:, :0], 2)
F.max_pool1d(T, 2, 0); F.max_pool1d(T, 2, dilation=0); F.max_pool2d(I, 2, padding=-1)
F.max_pool2d(I[:, :0], 2); F.max_pool2d(I, 5); F.adaptive_avg_pool2d(I, (1, -1))
F.adaptive_avg_pool2d(x, (1, 1)); F.adaptive_avg_pool1d(T, (2, 2))
F.adaptive_avg_pool2d(I, (2, None)), F.adaptive_avg_pool2d(I[:0], 1)
F.conv3d(T[None, None], T[None, None, :1, :1, :3], padding=1), F.conv3d(T[None, None], T[None, None, :1, :1, :3], padding='same'), F.max_pool3d(T[None], 2, padding=1)
F.conv_transpose1d(T, T[:1].permute(1, 0, 2), stride=2, padding=1, output_padding=2, dilation=3), F.conv_transpose2d(I, I[:1], stride=2, output_padding=1)
F.conv1d(T, T, dilation=-1); F.conv1d(T, T, stride=0); F.conv2d(I, T, padding='same')
F.instance_norm(T, v.detach(), v.detach() ** 2, use_input_stats=False), [r := v.detach(), s := v.detach() ** 2, F.instance_norm(T, r, s, momentum=0.5), r, s][2:]
F.pad(I, (-1, 5, 0, 0), 'replicate'), F.pad(T, (-4, 5), 'replicate'), F.pad(I, (-1, 1, -2, 1), 'circular'), F.pad(T, (2, -1), 'reflect'), F.pad(T, (3, 4), 'circular')
F.pad(I, (-4, 5), 'replicate')
F.interpolate(I, (5, 6), mode='bicubic'), F.interpolate(I, scale_factor=2.0, mode='bicubic', align_corners=True), F.interpolate(I, (2, 2), mode='bicubic', align_corners=False), F.interpolate(T, 7, mode='linear')
F.interpolate(I.contiguous(memory_format=torch.channels_last), (5, 6)), F.max_pool2d(I.contiguous(memory_format=torch.channels_last), 2, return_indices=True)
F.prelu(z, v[:1]), F.prelu(z, v[0]); F.prelu(x, x); F.softshrink(x, -1.0); F.group_norm(v, 1)
F.embedding(i, v); F.embedding(i, T); torch.polygamma(1, -f.abs())
x.index_fill(1, torch.tensor([0, 0, 1]), z), torch.tensor([1, 2], dtype=torch.uint8).index_add(0, i, torch.tensor([1, 1], dtype=torch.uint8), alpha=-1)
z.detach().scatter(0, torch.tensor(0), z.detach(), reduce='add')
torch.searchsorted(torch.zeros(0, 0), torch.zeros(0, 0)), torch.searchsorted(torch.zeros(2, 0), torch.zeros(2, 3)), torch.searchsorted(torch.zeros(0), x)
torch.zero_(x.detach().clone()), torch.resize_as_(x.detach().clone(), y), u.sum_to_size(()), k[0].int().sum_to_size(1), b.sum_to_size(())
F.embedding(torch.tensor([0, 0, 1]), M, scale_grad_by_freq=True), F.embedding(torch.tensor([0, 2, 2]), M.detach().clone(), max_norm=0.5), F.embedding(i, M.detach().clone(), max_norm=1.0, norm_type=1.0)
torch.fft.fft(T, 5, 1), torch.fft.rfft(T, dim=0), torch.fft.ifft(T, dim=1, norm='ortho'), torch.fft.irfft(T, dim=0), torch.fft.fft2(T, dim=(0, 1)), torch.fft.fftn(T, dim=(1,)), torch.fft.hfft(T, dim=1), torch.fft.irfft2(T), torch.fft.rfft2(P), torch.fft.ifftn(T)
torch.linalg.eigvalsh(torch.stack([M, M])), torch.linalg.svdvals(T), torch.linalg.eigh(M, UPLO='U').eigenvectors.abs(), torch.linalg.eigh(M).eigenvectors.abs(), torch.linalg.eigvalsh(M, UPLO='U')
[H := M @ M.T + torch.eye(3) + 0.1j * (M - M.T), torch.linalg.cholesky(H), torch.linalg.cholesky(H, upper=True)][1:]
torch.linalg.norm(M, -2, keepdim=True), torch.linalg.matrix_norm(T, 2, (0, 1), True), torch.linalg.matrix_norm(T, 'nuc', (2, 0), True), torch.linalg.norm(torch.zeros(0, 3), 1), torch.linalg.norm(torch.zeros(0, 0), math.inf, keepdim=True)
torch.linalg.qr(x).R.abs(), torch.linalg.qr(torch.cat([M, M], 1)).Q.abs(), torch.linalg.svd(x, True).S, torch.svd(x, False).S
torch.linalg.solve(torch.stack([M, M]), x), torch.linalg.solve(M, v), torch.linalg.slogdet(c[:, :2]), torch.linalg.slogdet(c[:, 1:]).sign
torch.narrow(x, 1, torch.tensor([1]), 1); torch.narrow(x, 1, b[0, 0], 1)
torch.narrow(x, 1, torch.tensor(1), 1)
torch.add(f.detach(), f.detach(), out=torch.zeros(2, 3, dtype=torch.float64)), torch.sum(f.detach(), 0, out=torch.zeros(3)), torch.sin(k * 0, out=torch.zeros(2, 3, dtype=torch.float64))
torch.abs(f, out=torch.zeros(2, 3, dtype=torch.float64))
torch.matmul(f, f.T, out=torch.zeros(2, 2, dtype=torch.float64))
torch.argmax(f, 0, out=torch.zeros(3, dtype=torch.int32))
torch.complex(x.detach(), x.detach(), out=torch.zeros(2, 3, dtype=torch.complex64))
torch.max(f, 0, out=(torch.zeros(3, dtype=torch.float64), torch.zeros(3, dtype=torch.int64)))
[g := f.clone(), torch.gather(g, 1, k % 3, out=g)]
[g := f.clone(), torch.masked_select(g, b, out=g)]; [g := f.clone(), torch.cat([g, g], out=g)]
[g := torch.arange(4.0), torch.add(g[1:], 1, out=g[:-1])]
[g := torch.arange(4.0), torch.add(g, 1, out=g), torch.exp(g[:2], out=g[2:]), g][1:]
[g := torch.arange(4.0), torch.index_select(g, 0, i, out=g[:2])]
torch.cat([f, f], out=torch.zeros(4, 3, dtype=torch.int64))
torch.median(n), torch.median(n, 0), torch.nanmedian(n, 1), torch.median(torch.tensor([math.nan]))
F.cosine_similarity(x, y, 0), F.cosine_similarity(T, P, 2), F.cosine_similarity(x, v, 1), F.cosine_similarity(x * 0, y, -1)
x.index_add(1, i, y); x.index_add(0, i, y[:, :1])
x.clamp(u), u.clamp(-5, 1), k.clamp(l, x), b.long().clamp(b), f.clamp(k[:, :1]), k.float().clamp(max=z)
torch.addmv(k[:, 0], l, k[0], alpha=2.5), torch.addr(k, k[:, 0], l[0], beta=2), torch.baddbmm(k[None], k[None, :, :2], l[None], beta=0.5)
torch.square(b[0]), b[0] * b[0], b.float().square()
torch.ones(1, 1).squeeze((0, 1)), torch.ones(1, 2, 1).squeeze((-1,)), T[:1].squeeze((0, 0))
x.take_along_dim(k.argsort(1)[:1], 1), T.take_along_dim(i[:, None, None], 0)
torch.outer(v[:0], v), torch.trace(torch.zeros(0, 3)), torch.inverse(torch.zeros(1, 0, 0)), v[:0].unfold(0, 0, 1), e.gather(1, torch.zeros(0, 2).long())
e.index_copy(0, torch.zeros(0).long(), e), e.index_fill(1, i, 1.0), z.gather(0, torch.zeros(0).long()), e.transpose(0, 1), F.batch_norm(e, v.detach(), v.detach() ** 2)
""")
