"""Samples of tensors, whose outcome is PyTorch's: types, sizes, text, arguments under other names, the
edges (no dimensions, no elements, nan), where results lie in memory and what may be written there.

Names in them are those of samples_exact.py; `image` and `volume` are float64 in channels_last, and
`g` holds 0, 1, 2 and 3, `B` bytes and `S` signed ones.
"""

from .tables import calls

TENSORS = calls("""
x.type(), f.type(), k.type(), b.type(), u.type(), c.type(), f.half().type()
x.type(torch.float32), x.type('torch.LongTensor'), k.type(torch.FloatTensor), x.type(torch.DoubleTensor), b.type(torch.int32)
x.type('no')
x.new_zeros(2), x.new_ones((2, 3)), x.new_full((2,), 3.0), x.new_tensor([1, 2]), k.new_zeros(2, 2), x.new_empty(2).shape, x.new_zeros(2, dtype=torch.int64)
x.new(2, 3).shape, x.new([1.0, 2.0]), x.new().shape, k.new([1, 2])
f.clone().resize_(3, 2), f.clone().resize_(2, 2), torch.empty(0).resize_as_(f).shape, x.detach().clone().resize_as_(v.detach())
x.clone().requires_grad_().resize_(6)
torch.as_strided(v, (2,), (2,)), v.as_strided((2, 2), (1, 1)), x.as_strided((3, 2), (1, 3)), x.as_strided((2,), (1,), 2), v.clone().as_strided((2, 2), (1, 1))
x.clone().as_strided((2, 2), (4, 4))
torch.numel(x), torch.is_floating_point(x), torch.is_floating_point(k), torch.is_complex(c), torch.get_num_threads() > 0, torch.is_tensor(x)
torch.accelerator.is_available(), torch.accelerator.device_count(), torch.accelerator.synchronize() if torch.accelerator.is_available() else None
(torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else 'cpu')
x[1:].storage_offset(), x[:, 2].storage_offset(), x.storage_offset()
torch.__version__[:4], torch.compile is not None, torch.jit.is_scripting(), torch.serialization.safe_globals is not None
x.is_floating_point(), x.H, x.mH, c.mH
isinstance(x.type(torch.long), torch.LongTensor), x.to(torch.device('cpu')), x.dtype == torch.float64, x.cpu()
""")
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
ARGUMENTS = calls("""
[torch._foreach_mul([torch.tensor([1, 2], dtype=p)], [torch.full(s, 3, dtype=q)] if s else torch.full(s, 3, dtype=q)) for p in (torch.float32, torch.float64, torch.int64) for q in (torch.float32, torch.float64, torch.int64) for s in ((), (2,))]
x.sum(axis=1), x.mean(axis=0, keepdims=True), x.max(axis=1), x.argmax(axis=1), x.std(axis=0), x.norm(dim=1), x.all(axis=0), torch.prod(x, axis=1)
torch.cat([x, y], axis=1), torch.stack([x, y], axis=1), x.cumsum(axis=1), x.softmax(axis=1), x.log_softmax(axis=0), x.sort(axis=0), x.logsumexp(axis=1), x.amax(axis=1, keepdims=True)
x.flip(dims=(0,)), x.permute(dims=(1, 0)), x.reshape(shape=(3, 2)), torch.zeros(size=(2,)), torch.ones(size=(2, 1)), x.expand(size=(4, 2, 3)), x.tile(dims=(2, 1)), torch.permute(x, dims=(1, 0))
torch.add(x, y, out=torch.empty(2, 3, dtype=torch.float64)) is None
[o := torch.empty(0, dtype=torch.float64), torch.mul(x.detach(), y.detach(), out=o), o][2]
[o := torch.zeros(2, 3, dtype=torch.float64), torch.exp(x.detach(), out=o), o][2]
[o := torch.zeros(2, 3, dtype=torch.float64), torch.matmul(x.detach(), M.detach(), out=o), o][2]
[o := torch.zeros(2, 3), torch.add(x.detach(), 1, out=o, alpha=2), torch.div(x.detach(), 2, out=o), o][3]
[o := torch.zeros(2, 3, dtype=torch.long), torch.sum(k, 0, out=o[0]), o][2]
[o := torch.zeros(2, dtype=torch.float64), j := torch.zeros(2, dtype=torch.long), torch.max(x.detach(), 1, out=(o, j)), o, j][3:]
[o := torch.zeros(4), torch.cat([f, f], out=o), o][2]
[o := torch.zeros(2), torch.arange(5.0, out=o), torch.zeros(2, 2, out=o), o][3]
[o := torch.ones(3, 3), torch.mm(f.T, f, out=o).data_ptr() == o.data_ptr(), o][1:]
torch.mul(x, y, out=torch.zeros(2, 3).long()); torch.exp(x.requires_grad_(), out=torch.zeros(2, 3))
torch.exp(k, out=torch.zeros(2, 3).long()); torch.exp(x, out=[1])
torch.exp(x.detach(), out=torch.zeros(1, dtype=torch.float64).expand(2, 3))
F.softmax(x), F.log_softmax(x), F.softmax(v), F.softmax(T), F.softmin(x, 1)
F.relu(x.clone(), inplace=True), F.leaky_relu(x.clone(), 0.1, True), F.elu(x.clone(), inplace=True), F.silu(x.clone(), inplace=True), F.hardtanh(x.clone(), inplace=True), F.relu6(x.clone(), inplace=True), F.hardswish(x.clone(), inplace=True), F.mish(x.clone(), True), F.selu(x.clone(), inplace=True), F.celu(x.clone(), 0.5, True), F.threshold(x.clone(), 0.1, 20, True)
[o := x.detach().clone(), F.relu(o, inplace=True), o][2], [o := x.detach().clone(), F.dropout(o, 0.0, inplace=True), o][2]
F.mse_loss(x, y, size_average=False), F.l1_loss(x, y, size_average=True), F.mse_loss(x, y, reduce=False), F.nll_loss(x, i, size_average=False), F.cross_entropy(x, i, None, False), F.smooth_l1_loss(x, y, None, False), F.kl_div(x, y.abs(), None, None, 'sum'), F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), None, False), F.binary_cross_entropy_with_logits(x, y.sigmoid(), None, None, False)
torch.nn.MSELoss(size_average=False)(x, y), torch.nn.L1Loss(False)(x, y), torch.nn.CrossEntropyLoss(None, None, -100, False)(x, i), torch.nn.NLLLoss(reduce=False)(x, i)
x.float(memory_format=torch.preserve_format), P.double(memory_format=torch.contiguous_format), k.long(), x.half(), x.bool(), x.byte(), x.char(), x.short(), x.cfloat(), x.cdouble(), x.int()
torch.ones(2, 3, 2, 2).to(memory_format=torch.channels_last), torch.ones(2, 3, 2, 2).contiguous(memory_format=torch.channels_last), torch.empty(2, 3, 2, 2, memory_format=torch.channels_last).stride(), torch.zeros_like(torch.ones(2, 3, 2, 2), memory_format=torch.channels_last), torch.ones(2, 3, 2, 2).clone(memory_format=torch.channels_last)
torch.ones(2, 3, 2, 2).is_contiguous(memory_format=torch.channels_last), torch.ones(2, 3, 2, 2).to(memory_format=torch.channels_last).is_contiguous(memory_format=torch.channels_last), torch.ones(2, 3, 2, 2).to(memory_format=torch.channels_last).is_contiguous()
torch.nn.Conv2d(3, 2, 2).to(memory_format=torch.channels_last).weight.stride()
x.contiguous(memory_format=torch.channels_last)
torch.clamp(input=x, min=0), torch.add(input=x, other=y), torch.sum(input=x), torch.transpose(input=x, dim0=0, dim1=1), torch.squeeze(input=x), torch.matmul(input=x, other=M), torch.split(x, split_size_or_sections=1), x.split(split_size=1), x.chunk(chunks=2, dim=1)
x.max(other=y), torch.where(x > 0, input=x, other=y), torch.where(condition=x > 0, self=x, other=y), x.where(x > 0, y), torch.repeat_interleave(x, repeats=2, dim=0), x.repeat_interleave(torch.tensor([1, 2]), 0, output_size=3), torch.repeat_interleave(torch.tensor([1, 2])), x.topk(k=2), x.var(dim=1, correction=0), x.scatter(0, i[None], 1.0, reduce='add'), x.scatter(0, i[None], y, reduce='multiply')
[setattr(g := torch.nn.Parameter(x.detach()), 'grad', y.detach()), torch.nn.utils.clip_grad_norm_([g], 1.0, foreach=False), torch.nn.utils.clip_grad_value_([g], 0.1, foreach=False), g.grad][1::2]
torch.einsum('ij,jk->ik', [x, M]), torch.einsum('...i->...', x)
""")

NAMES = calls("""
[pickle.loads(pickle.dumps(each)) is each for each in (torch.relu, torch.add, torch.norm, torch.matmul, torch.zeros, torch.where, torch.linalg.inv, torch.fft.fft, F.relu, F.gelu, F.cross_entropy, F.dropout, F.linear)]
[[type(again) is type(d), again == d] for d in (torch.device('cpu'), torch.device('cuda:1')) for again in (pickle.loads(pickle.dumps(d)), copy.deepcopy(d))]
(lambda m: [setattr(m, 'act', F.gelu), pickle.loads(pickle.dumps(m)).act is F.gelu])(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
(lambda base: (lambda p: [p[0] is p[3], p[1].fill_(-1), p[0], p[2], base])(copy.deepcopy([base, base[1], base.t(), base])))(torch.arange(6.0).reshape(2, 3))
[float(nn.init.calculate_gain(name)) for name in ('linear', 'conv2d', 'sigmoid', 'tanh', 'relu', 'leaky_relu', 'selu')]
nn.init.calculate_gain('leaky_relu', 0.3); nn.init._calculate_fan_in_and_fan_out(torch.ones(2, 3, 4, 5))
nn.init.constant_(torch.ones(1), 4); nn.utils.clip_grad_norm_([], 1.0)
(lambda m: [nn.utils.vector_to_parameters(torch.tensor([1.0, 2.0, 3.0]), m.parameters()), m.weight, nn.utils.parameters_to_vector(m.parameters())])(nn.Linear(2, 1))
nn.utils.get_total_norm([x.detach(), v.detach()]), nn.utils.get_total_norm([x.detach()], 1.0)
nn.utils.get_total_norm([n.detach()], error_if_nonfinite=True)
(lambda p: [setattr(p, 'grad', y.detach().clone()), nn.utils.clip_grads_with_norm_([p], 0.5, torch.tensor(2.0)), p.grad])(x.detach().clone().requires_grad_())
nn.Sequential(nn.Linear(2, 2), nn.ReLU()).type(torch.float64)[0].weight.dtype
(lambda m: m.share_memory() is m)(nn.Linear(2, 2))
torch.utils.data.sampler.SubsetRandomSampler.__name__, torch.utils.data.dataset.Subset.__name__, torch.utils.data.dataloader.default_collate.__name__
torch.utils.data.distributed.DistributedSampler.__name__, D.normal.Normal.__name__, D.categorical.Categorical.__name__
nn.utils.clip_grad.clip_grad_norm_.__name__, torch.autograd.grad_mode.no_grad.__name__; D.no_such
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

VALUES = calls("""
n.median(), n[0].median(), x.median(), k.median(), n.flatten()[:0].median()
n.median(1), n.median(0, keepdim=True), x.median(dim=1), k.median(-1), z.median(0)
e.median(0); n.nanmedian(), n.nanmedian(1), x.nanmedian(0)
torch.median(n, dim=-1).indices, x.median(1).values
F.cosine_similarity(x, y, 0), F.cosine_similarity(x, y, -1), F.cosine_similarity(x, v), F.cosine_similarity(x * 0, y)
F.cosine_similarity(x[None], y[:, None], -2), F.cosine_similarity(T, T[:1], 2), F.cosine_similarity(v, v, 0)
F.cosine_similarity(x * 1e-6, y * 1e-6), F.cosine_similarity(x, y, 1, 10.0)
x.index_add(0, i, x[:1]); x.index_add(0, i, y); x.index_add(0, i, y[:, :2]); x.index_add(0, i, v)
x.index_add(0, i, T); x.index_add(1, i, y[:, :2], alpha=2); x.index_add(0, i, y.float())
x.index_add(0, x, y); x.index_add(0, l[:, :1], y); x.index_copy(0, i, y[:1])
x.index_copy(0, i, y[:, :2]); x.index_copy(0, torch.tensor([5, 0]), y)
x.index_copy(0, i, y.float()); x.index_fill(0, torch.tensor([5]), 1.0); x.index_fill(0, x[0], 1.0)
x.index_fill(0, i, torch.tensor(2.0)), x.index_fill(0, i, z), k.index_fill(0, i, 2)
x.index_fill(0, i, v); x.index_fill(0, i, 1j)
torch.addmm(c @ M.T.to(c.dtype), c, M.to(c.dtype), alpha=1j, beta=2 + 1j)
torch.addmv(d[:, 0], c, d[0], alpha=1j), torch.addbmm(c, d[:, :, None], d[:, None], alpha=1j, beta=2j)
torch.addmm(x, M[:2], M, alpha=3, beta=0), torch.addmm(x * math.nan, M[:2], M, beta=0)
torch.baddbmm(T.detach() * math.nan, P[:, :, :3], P[:, :3], beta=0)
torch.add(c, d, alpha=1j), torch.sub(c, d, alpha=1j), torch.addcmul(c, c, d, value=1j), torch.addcdiv(c, c, d, value=1j)
torch.lerp(c, d, 0.5), torch.lerp(c, d, d)
torch.atan2(x * 0, y * 0), torch.atan2(x, x * 0), torch.hypot(x * 0, y * 0), torch.atan2(k, l)
x.clamp(k, l), f.clamp(k, l), f.clamp(k), f.clamp(max=l), k.clamp(x), k.clamp(0.5), k.clamp(1, 2), u.clamp(k), b.float().clamp(0, 1)
f.clamp(x, y), x.clamp(f), x.clamp(0, x), x.clamp(k[0]), x.clamp(z, 2 * z)
x.clamp(0, y); b.clamp(0, 1); b.square(), k.square(), u.square(), b ** 2, torch.pow(b, 2)
torch.addmv(k[:, 0], k, l[0], beta=2, alpha=3)
torch.addmv(k[:, 0], k, l[0], beta=0.2, alpha=0.6), torch.addmm(k, k, l.T @ k, beta=0.5, alpha=1.5)
torch.addbmm(k.T @ l, k[:, :, None], l[:, None], beta=2), torch.baddbmm(k[None], k[None, :, :2], k[None, :, :], beta=2, alpha=3)
torch.addbmm(k.T @ l, k[:, :, None], l[:, None], beta=0.5)
torch.addr(x, v[:2], v), torch.addr(x, x[:, 0], y[0], beta=2, alpha=3)
torch.ones(1, 1, 2).squeeze(()), torch.ones(1, 2, 1).squeeze((0, 2)), torch.ones(1, 2).squeeze((1,)), torch.ones(1, 2).squeeze([]), z.squeeze(0)
x.sum(()), x.mean(()), x.amax(()), x.norm(2, ())
x.flip(()), x.permute(0, 1), z.permute(()), z.flip(0), z.roll(1), z.sum(0), z.softmax(0), z.cumsum(0), z.sort(), z.unsqueeze(0)
x.take_along_dim(i[None], 1), x.take_along_dim(i[:, None], 0), x.take_along_dim(k.argsort(1), 1), x.take_along_dim(i), x.take_along_dim(i[None, :1], -1)
x[:1].take_along_dim(k.argsort(1), 1), x.take_along_dim(torch.tensor([[0, -1]]), 1)
x.take_along_dim(i, 1); x.take_along_dim(x, 1); x.take_along_dim(torch.tensor([[5]]), 1)
e @ M, M @ e.T, e.T @ e, torch.zeros(5, 2, 0) @ torch.zeros(0, 3), torch.zeros(0, 2, 3) @ M, torch.zeros(2, 0, 3) @ M, e @ v, torch.zeros(5, 2, 0) @ torch.zeros(5, 0, 3), torch.zeros(3, 0) @ torch.zeros(0)
torch.einsum('ij,jk', e, M), torch.bmm(torch.zeros(2, 0, 3), torch.zeros(2, 3, 4)), F.linear(e, M), F.linear(torch.zeros(2, 0, 3), M), F.linear(e, torch.zeros(0, 3), torch.zeros(0)), F.linear(torch.zeros(2, 2, 0), torch.zeros(3, 0), v)
torch.linalg.inv(torch.zeros(0, 0)), torch.linalg.inv(torch.zeros(2, 0, 0)), torch.linalg.det(torch.zeros(0, 0)), torch.linalg.solve(torch.zeros(0, 0), torch.zeros(0, 2)), torch.linalg.slogdet(torch.zeros(0, 0))
torch.linalg.inv(z); torch.linalg.inv(x); torch.linalg.inv(M * 0); torch.linalg.det(x)
torch.linalg.solve(M * 0, v); torch.linalg.cholesky(-M @ M.T)
x.gather(0, torch.zeros(0, 3, dtype=torch.long)), x.gather(0, torch.zeros(0, dtype=torch.long)), z.gather(0, torch.tensor([0, 0])), z.gather(0, torch.tensor(0)), v.gather(0, torch.tensor(1))
x.scatter(0, torch.zeros(0, 3, dtype=torch.long), 1.0), v.scatter(0, torch.tensor(1), 5.0), z.scatter(0, torch.tensor(0), 5.0), v.scatter_add(0, torch.tensor(1), z)
z.unfold(0, 1, 1), z.unfold(0, 0, 1), v.unfold(0, 0, 1), v.unfold(0, 2, 1), x.unfold(-1, 2, 1), v.unfold(0, 3, 5)
v.unfold(0, 4, 1); v.unfold(0, 2, 0); v.unfold(0, -1, 1); v.unfold(1, 1, 1)
z.index_fill(0, torch.tensor([0]), 2.0), z.index_copy(0, torch.tensor([0]), z), z.index_add(0, torch.tensor([0]), z), z.index_select(0, torch.tensor([0])), x.index_select(0, torch.tensor(1)), x.index_fill(0, torch.tensor(1), 0.0)
z.index_select(0, torch.tensor([1])); x.index_select(0, x[0]); x.index_select(0, k)
x.index_select(0, torch.tensor([2])); x.index_select(0, torch.tensor([-1]))
z.transpose(0, 0), z.transpose(0, -1), z.t(), z.swapaxes(0, 0), z.movedim(0, 0); z.transpose(0, 1)
F.batch_norm(torch.zeros(0), torch.zeros(0), torch.zeros(0)), F.batch_norm(torch.zeros(0, 3), v.detach() * 0, v.detach() ** 2), F.batch_norm(torch.ones(2, 3, 0), None, None, training=True)
F.batch_norm(torch.zeros(0), torch.zeros(0), torch.zeros(0), training=True)
F.batch_norm(v, None, None, training=True); F.batch_norm(x[:1], None, None, training=True)
F.batch_norm(x, v[:2].detach(), v[:2].detach()); F.batch_norm(x, v.detach(), v.detach(), v[:2])
F.layer_norm(e, (3,)), F.group_norm(torch.zeros(0, 4, 2), 2), F.layer_norm(torch.zeros(2, 0), (0,)), F.softmax(e, 0), F.softmax(e, 1)
x.norm(0), x.norm(0, 1), (x * 0).norm(0), c.norm(0), f.norm(0), torch.linalg.vector_norm(x, 0), torch.linalg.vector_norm(z, 0), torch.linalg.norm(c, 2), torch.linalg.norm(v, 0)
x.norm(1), x.norm(3), x.norm(math.inf), x.norm(-math.inf), x.norm(0.5), (x * 0).norm(1), (x * 0).norm(math.inf), (x * 0).norm(3, 1), c.norm(1), c.norm(3), x.norm('fro', (0, 1)), x.norm(dim=0), x.norm(p=1, dim=(0, 1))
x.norm('nuc'), torch.linalg.norm(M, 'nuc'), torch.linalg.norm(M, 2), torch.linalg.norm(M, -2), torch.linalg.norm(x, 'fro'), torch.linalg.matrix_norm(T), torch.linalg.matrix_norm(T, 1), torch.linalg.matrix_norm(T, 2)
k.norm()
e.sum(), e.prod(), e.mean(), e.sum(0), e.prod(1), e.logsumexp(1), e.var(), e.std(0), e.norm(), e.cumsum(0), e.sort(0), e.all(), e.any(0), e.argsort(0)
e.max(); e.amax(); e.argmax(); e.max(0); e.topk(1, 0)
torch.cat([e, x]), torch.cat([torch.zeros(0), x]), torch.stack([e, e]), e.repeat(2, 2), e.expand(0, 3), e.flip(0), e.roll(1, 0), e.view(3, 0), e.reshape(-1, 3), e.unbind(1), e.chunk(2, 1), e.split(1, 1), e.diagonal()
e.view(-1, 0)
F.mse_loss(e, e), F.cross_entropy(e, torch.zeros(0, dtype=torch.long)), F.nll_loss(e, torch.zeros(0, dtype=torch.long), reduction='sum'), F.l1_loss(e, e, reduction='sum')
F.embedding(k[:, :0].abs(), M), F.one_hot(k[:0, 0], 3), F.pad(e, (1, 1)), F.relu(e), F.gelu(e), F.dropout(e)
F.one_hot(k[:0, 0])
x.prod(), (x * 0).prod(), (x * b).prod(1), v[:0].prod(), (x * b).cumprod(1), x.cumprod(0)
k / 0, k.float() / 0, (x // 0).detach(), x % 0, torch.fmod(x, 0), torch.remainder(-x, 2), x.pow(0), (x * 0) ** 0, torch.pow(0.0, x), x.abs() ** 0.5, 2 ** k.float(), 2 ** k.abs()
k // 0; k % 0; 2 ** k; k ** -1
x.std(), x[:, :1].var(1), x.var(unbiased=False), x.std(1, keepdim=True), torch.var_mean(x), torch.std_mean(x, 1), c.var(), c.std(0), x.var(correction=0), z.var()
(x * 0).sqrt(), (x * 0).abs(), (x * 0).sign(), (x * 0).log(), torch.zeros(2).rsqrt(), F.normalize(x * 0), F.normalize(x), (x * 0).std(), torch.sgn(c * 0), (c * 0).abs(), (c * 0).angle()
torch.maximum(x, x), torch.maximum(n, x), n.max(), n.max(1), n.argmax(), n.min(0), n.amax(1), n.sort(1), n.sum(), n.nansum(), n.nanmean(1), n.topk(2), n.argsort(1), n.cumsum(1), n.logsumexp(1), n.softmax(1)
torch.linspace(-2, -3, 50, dtype=torch.int64), torch.linspace(0, 10, 4, dtype=torch.int32), torch.linspace(0, 1, 1), torch.linspace(0, 1, 0), torch.linspace(3, 3, 3), torch.linspace(1, -1, 5, dtype=torch.float64)
torch.arange(5.0), torch.arange(0, 1, 0.3), torch.arange(5, 0, -2), torch.arange(0, -8.5, -4.0, dtype=torch.int64), torch.arange(1, 1), torch.arange(0, 2, dtype=torch.float64), torch.arange(end=3), torch.arange(start=1, end=3)
torch.add(u, u, alpha=-3), u - 1, u * -1, torch.full((2,), -9, dtype=torch.uint8), torch.tensor([300]).to(torch.uint8), u.fill_(-1), torch.zeros_like(u) - 1, u + 300
f.sum(dtype=torch.float64), k.sum(dtype=torch.int32), k.float().mean(dtype=torch.float64), f.softmax(0, dtype=torch.float64), b.sum(), b.cumsum(0), k.prod(), u.sum(), f.cumsum(0, dtype=torch.float64)
k.mean(); x.mean(dtype=torch.int64)
torch.atan2(torch.zeros(2), torch.tensor([0.0, -0.0])), torch.autograd.grad(torch.atan2(z - z, z - z), z)
""")

_REFUSED = calls("""
x[1:].copy_(x[:-1]); x[1:].add_(x[:-1]); x[1:].add_(x[:-1], alpha=2); x[1:].mul_(x[:-1])
x.mul_(x[0]); x[1:].lerp_(x[:-1], 0.5); x[1:].clamp_(min=x[:-1]); x[1:].addcmul_(x[:-1], x[:-1])
x.view(2, 2).add_(x.view(2, 2).t()); x.index_add_(0, i, x[1:3]); x.scatter_(0, i, x[1:3])
x.__setitem__(slice(1, None), x[:-1]); x.copy_(x[0]); x.__setitem__(i, x[1])
x.__setitem__(x > 1, x[:2]); x.__setitem__((False, x > 1), x[0]); x[1:].add_(x.expand(4)[:3])
x.__setitem__(slice(1, None), x.broadcast_to(4)[:3]); x[1:].add_(x.unfold(0, 3, 1)[0])
x[:3].copy_(x.as_strided((3,), (1,), 1)); x.expand(2, 4).add_(torch.ones(2, 4))
""")
_ORDERS = "((0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1))"
# Numbers beside tensors, also those that the dtype does not reach, and numpy's, which are Python's.
NUMBERS = calls("""
B / 256, B / np.int64(256), B / -3; S / 200, 200 / S, np.int64(200) / S; B / torch.tensor(300)
torch.tensor(300) / B; torch.xlogy(B, 256), torch.xlogy(256, B[:1]); torch.atan2(B, torch.tensor(300))
torch.tensor([2.0]) * np.longdouble(1.5); np.longdouble(1.5) * torch.tensor([2])
torch.tensor([2.0]) < np.longdouble(1.5); torch.add(torch.tensor([2]), np.float64(1))
torch.tensor([2]).clamp(np.float64(2.5)); torch.tensor([True]) / np.float64(2)
torch.tensor([2]) * np.float16(1.5); torch.tensor([2.0]).half() * np.float64(1.5)
torch.full((1,), np.float64(2)); torch.tensor([2]) * np.complex128(1j)
B[0] * np.int64(3), np.int64(4) - B[0], 4 - B[0]; B[0] ** np.int64(2), 300 / B[0]
torch.tensor(True) + np.int64(1); f.lerp(f * 2, np.float64(0.1))
torch.addcmul(f, f, f, value=np.float64(0.1)), torch.addcdiv(f, f, f, value=np.float64(0.1))
F.softplus(f, beta=np.float64(2)), F.celu(f, alpha=np.float64(2)); f.norm(np.float64(3))
torch.linalg.vector_norm(f, np.float64(3)); F.normalize(f, p=np.float64(3))
torch.cdist(f, f * 2, p=np.float64(3)), F.pairwise_distance(f, f * 2, p=np.float64(3))
f.sum(np.int64(0)), f.argmax(np.int64(1)), f.std(np.int64(1), keepdim=True); f.chunk(np.int64(2))[1]
f.detach().logsumexp(np.int64(0)); f.roll(np.int64(1), np.int64(0)); torch.movedim(f, np.int64(0), np.int64(1))
F.max_pool1d(f, np.int64(2), np.int64(1)); F.adaptive_avg_pool1d(f, np.int64(2))
F.conv1d(f[None], f[None, :, :2], stride=np.int64(2))
torch._foreach_div([B], 300); torch.tensor([2]) * np.bool_(True); torch.full((1,), np.bool_(True))
torch.where(torch.tensor([True]), np.bool_(True), 2); torch.full((1,), torch.tensor(2.5).double())
torch.full((1,), B[0]); torch.arange(torch.tensor(2.0).double()); torch.xlogy(f, 1.0)
torch.addcmul(S, S, S, value=0.5); torch.where(torch.tensor([True]), 70000, torch.ones(1).half())
torch.where(B > 3, B, -3); F.pad(B, (1, 1), value=-1); F.pad(f.detach(), (1, 1), value=2**64)
torch.full((2,), 127.5, dtype=torch.int8); F.cross_entropy(f, torch.tensor([0, 1]), label_smoothing=-0.1)
torch.autograd.grad(z.logsumexp(np.int64(0)).sum(), z), torch.autograd.grad(z.sum(np.int64(0)).sum(), z)
nn.LayerNorm(np.int64(3))(f.detach()[:, :3]), nn.Conv1d(2, 1, np.int64(2), padding=np.int64(1)).weight.shape
nn.AvgPool1d(np.int64(2))(f), nn.ConstantPad1d(np.int64(2), 1)(f)
""")
_OF_NOTHING = "(lambda f, t: torch.autograd.grad(f(t).sum(), t))(lambda t: {}, torch.ones({}).requires_grad_())"
_WRITTEN = calls("""
g.add_(g); g[:2].add_(g[2:]); g[0].add_(g[0]); g[::2].add_(g[1:3]); g.fill_(g[1])
g.masked_fill_(g > 1, g[0]); g[1:].mul_(g[:-1].clone()); g.__setitem__(slice(None), g[1])
g.__setitem__(..., g[1:2]); g.__setitem__(g > 2, g[1])
g.__setitem__([False, False, True, True], g[1:2])
g.view(2, 2).__setitem__((slice(None), g[:2] > 0), g[3])
g.view(2, 2).__setitem__(slice(None), g.view(2, 2)[1])
""")
MEMORY = [
    *calls("""
nn.BatchNorm2d(3).double()(image); nn.BatchNorm2d(3).double().eval()(image)
nn.GroupNorm(1, 3).double()(image); nn.InstanceNorm2d(3)(image); nn.LayerNorm(5).double()(image)
nn.Dropout()(image).stride(); torch.cat([image, image], 1)
torch.cat([image, image.contiguous()], 1); F.pad(image, (1, 1))
F.pad(image, (1, 1, 1, 1), mode='reflect'); F.pad(image, (1, 1, 1, 1), mode='replicate')
F.pad(image, (1, 1, 1, 1), mode='circular'); F.adaptive_avg_pool2d(image, 2)
F.adaptive_max_pool2d(image, 2); F.adaptive_avg_pool3d(image, 2); torch.cat(image.chunk(3, 1), 1)
torch.cat([image, torch.zeros(0).double()], 1); torch.cat([image, image[:, :1]], 1)
F.avg_pool2d(image[0], 2); F.max_pool2d(image[0], 2); F.max_pool2d(image[0], 2, return_indices=True)
F.avg_pool3d(volume, 2); F.adaptive_avg_pool3d(volume, 2); F.adaptive_max_pool3d(volume, 2)
F.max_pool3d(volume, 2); v.expand(4, 3).clone(); v.expand(4, 3).float()
F.dropout(k, 1.0), F.dropout(u, 1.0), F.dropout(b, 1.0); F.dropout(k); F.dropout(u); F.dropout(b)
f.half().masked_fill(b, -1e9); f.half().fill_(70000); torch.zeros(2).fill_(1e300)
torch.full((2,), 1e9, dtype=torch.float16); u.fill_(300); u.fill_(-300); u.masked_fill_(b, 300)
u.index_fill_(0, i, 300); torch.full_like(u, 300); k.int().fill_(2**40); k.fill_(math.nan)
put(u, 0, 300); put(u, b, 300); put(f, 0, 1e39); put(f, i, 1e39)
f.half().fill_(-math.inf), f.half().fill_(65504), put(f.half(), 0, 1e9), put(f.half(), b, -1e39)
u.fill_(-1).clone(), u.fill_(1.5), b.fill_(2)
u.fill_(2 + 0j).clone(), b.fill_(2j); u.fill_(-3.7); u.fill_(torch.tensor(300)); put(u, 0, 2j)
put(u, 0, u.numpy().astype(int)[0, 0] + 300); f.detach().fill_(1 + 2j); f.detach().fill_(2**64)
torch.zeros(2, dtype=torch.complex64).fill_(1e39j); torch.zeros(2).scatter_(0, i[:1], 1e39)
f.half() @ M.float(); f @ M.half(); f.half() @ v.float(); f[0].half() @ v.float()
F.linear(f.half(), M.float(), v.float())
torch.bmm(f.half()[None], M.float()[None]); F.conv1d(f.half()[None], f[:, :2, None])
F.conv1d(f.half()[None], f.half()[:, :2, None], v.float())
F.scaled_dot_product_attention(f.half(), f, f); F.binary_cross_entropy_with_logits(f, k)
F.scaled_dot_product_attention(f, f, f, k[:, :2])
put(x, 0, None); put(x, i, None); put(x, 0, 'a'); put(x, i, 'a'); put(x, 0, [1]); put(x, b, None)
f.fill_(None); k.fill_(None); b.fill_('a'); f.fill_([1]); k.fill_(k[0]); k.fill_(k[:1, :1])
f.masked_fill(b, None); f.masked_fill(b, [1]); f.masked_fill(b, f[0]); f.masked_fill(b, z.float())
f.index_fill(0, i, None); f.index_fill(0, i, 'a'); f.scatter(0, i[:1, None], None)
torch.full((2,), None); torch.full((2,), 'a', dtype=torch.bool); torch.full((2,), torch.tensor([3]))
torch.full((2,), torch.tensor(3)), torch.full((2,), np.float32(3)); torch.full_like(f, None)
nn.init.constant_(torch.ones(2), None); nn.init.constant_(torch.ones(2), torch.tensor(3))
n.unique(return_counts=True)[1]; torch.tensor([math.nan, 1, math.nan]).unique(return_counts=True)
F.scaled_dot_product_attention(*(x.repeat(5, n)[None].mT.reshape(1, -1, 5, 2) for n in (6, 2, 3)), enable_gqa=True)
F.max_pool1d(torch.full((1, 1, 4), -math.inf), 3, 2, 1, return_indices=True)
F.max_pool2d(torch.full((1, 1, 4, 4), -math.inf), 3, 2, 1, return_indices=True)
F.max_pool3d(torch.full((1, 1, 4, 4, 4), -math.inf), 3, 2, 1, return_indices=True)
    """),
    *[f"[{code}, g]" for code in _WRITTEN],
    # What backward reads again, though no version says that it was written to.
    *[
        f"(lambda p: [y := F.gelu(p, approximate={how!r}), p.data.mul_(3), torch.autograd.grad(y.sum(), p)])(torch.ones(3).requires_grad_())"
        for how in ("none", "tanh")
    ],
    # With and without a graph; the tensor stays as it was.
    *[f"(lambda x: [raised(lambda: {code}), x])(g * 1)" for code in _REFUSED],
    # All of the memory, neither contiguous nor transposed as a whole; a part of it is not dense.
    *[
        f"(lambda x: [raised(lambda: {code}) for o in {_ORDERS}])(torch.arange(8.0).view(2, 2, 2))"
        for code in calls("""
x.add_(x.permute(o)); x.copy_(x.permute(o)); x.addcmul_(x.permute(o), x)
torch.neg(x.permute(o), out=x); x[:, :1].add_(x.permute(o)[:, :1]); x.permute(o).add_(x.permute(o))
    """)
    ],
    *[_OF_NOTHING.format(*row.split(" of ")) for row in calls("""
F.layer_norm(t, (0,)) of 2, 0; F.layer_norm(t, (3,)) of 0, 3; F.group_norm(t, 2) of 0, 4, 3
F.embedding(torch.tensor([1]), t) of 3, 0; F.max_pool2d(t, 2) of 0, 2, 4, 4
    """)],
]  # fmt: skip
