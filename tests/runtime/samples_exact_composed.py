"""Samples of operators that are an expression of others, of what PyTorch's database of operators led
to, and of inputs that are wrong or rarely come. Names in them are those of samples_exact.py.
"""

from .tables import calls

COMPOSED = calls("""
torch.argwhere(b), k.argwhere()
torch.quantile(x, 0.3), x.quantile(0.5, dim=1), torch.quantile(x, torch.tensor([0.0, 0.4, 1.0], dtype=torch.float64), dim=0), x.quantile(0.3, 1, keepdim=True), torch.quantile(x, torch.tensor([0.2, 0.7], dtype=torch.float64), keepdim=True), torch.quantile(n, 0.5, dim=1), torch.quantile(f, 0.25)
torch.quantile(x, 1.5); torch.quantile(k, 0.5); torch.quantile(x, torch.tensor([0.5]))
torch.quantile(e, 0.5)
torch.broadcast_to(v, (2, 3)), v.broadcast_to(2, 3), torch.clamp_min(x, 0.1), x.clamp_max(0.1), k.clamp_min(2), torch.clamp_max(x, v), x.clone().clamp_min_(0.0), x.clone().clamp_max_(v)
torch.broadcast_to(x, (2, 2)); x.diff(0), x.diff(0, 1, y); x.diff(-1)
torch.logspace(4.3, 0, 4, base=5.0, dtype=torch.int64)
torch.cross(x, y, dim=1), x.cross(y, 1), torch.linalg.cross(x, y), torch.cross(v, v.flip(0), 0), torch.linalg.cross(T.mT, T.mT.flip(0)), torch.linalg.cross(x, v[None])
torch.cross(x, y, dim=0); torch.linalg.cross(T, T)
torch.diff(x), x.diff(2), torch.diff(x, dim=0), torch.diff(b), torch.diff(x, prepend=y, append=y), torch.diff(v, n=5), k.diff()
torch.diff(z)
torch.dist(x, y), x.dist(y, 1), torch.dist(x, v, 3.0), torch.fliplr(x), x.flipud(), torch.flipud(v)
torch.fliplr(v); torch.inner(x, y), torch.inner(v, v), torch.inner(x, v), torch.inner(z, x)
torch.inner(x, M[:, :2])
torch.linalg.multi_dot([x, M, x.T]), torch.linalg.matmul(x, M), torch.linalg.vecdot(x, y), torch.linalg.vecdot(c, d), torch.vdot(c[0], d[0]), torch.vdot(v, v), torch.linalg.diagonal(M), torch.linalg.diagonal(T, offset=1)
torch.ravel(x), x.T.ravel(), z.ravel()
torch.sinc(x), torch.sinc(torch.zeros(2)), x.sinc(), k.sinc(), torch.split_with_sizes(x, [1, 2], 1), x.split_with_sizes([1, 1])
torch.tensor_split(x, 2, dim=1), T.tensor_split(3, 2), torch.tensor_split(v, (1, 2)), v.tensor_split([0, 5]), torch.tensor_split(x, [1, -1], 1), v.tensor_split(5), v.tensor_split(torch.tensor([1, 2]))
torch.tensor_split(x, 0); torch.tensor_split(z, 2)
torch.column_stack([v, x.T]), torch.column_stack([z, z])
torch.concatenate([x, y], 1), torch.concat([x, y])
torch.isin(k, torch.tensor([1, 2])), torch.isin(k, 1), torch.isin(k, l, invert=True), torch.isin(2, k)
torch.polar(x.abs(), y), torch.tensordot(x, y, dims=([1], [1])), torch.tensordot(T, T, dims=([0, 1], [0, 1])), torch.tensordot(x, M, 1), torch.tensordot(x, v, dims=0), torch.tensordot(x, y, 2)
torch.tensordot(x, x, 1)
torch.clone(x).addmm_(x, M), x.clone().addmv_(M[:2, :2], v[:2]) if False else v.clone().addmv_(M, v), M.clone().addr_(v, v), T.clone().baddbmm_(T[:, :, :3], T), x.clone().atan2_(y), x.clone().cumsum_(1), x.clone().cumprod_(0)
x.clone().eq_(y), x.clone().lt_(0.0), k.clone().ge_(2), x.clone().hypot_(y), x.sigmoid().clone().logit_(), n.clone().nan_to_num_(), x.abs().clone().xlogy_(2.0), k.clone().gcd_(l), x.clone().true_divide_(2)
T[:, :2, :2].clone().sum(0).addbmm_(T[:, :2, :2], T[:, :2, :2]), x.clone().gt_(y), x.clone().le_(y), x.clone().ne_(0.5), x.clone().sinc_(), torch.sinc_(x.clone()), x.detach().clone().swapaxes_(0, 1), v.detach().clone().apply_(lambda one: one * 2)
[q := torch.qr(M), q.Q @ q.R, q.R.abs()][1:], [q := x.T.qr(False), q[0].shape, q[1].shape][1:]
type(torch.Tensor._make_subclass(nn.Parameter, x.detach(), True)).__name__, torch.Tensor._make_subclass(nn.Parameter, x.detach(), True).requires_grad
repr(__import__(torch.__name__ + '.optim.optimizer', fromlist=['required']).required), len(torch.optim.Optimizer([x.detach()], {'lr': 1.0}).param_groups)
torch.optim.Optimizer([x.detach()], {'lr': __import__(torch.__name__ + '.optim.optimizer', fromlist=['required']).required})
torch.optim.Optimizer([{'params': [x.detach()], 'lr': 0.5}], {'lr': __import__(torch.__name__ + '.optim.optimizer', fromlist=['required']).required}).param_groups[0]['lr']
k.clone().true_divide_(2); k.clone().logit_(); v.clone().addmv_(M, x); v.clone().atan2_(x)
x.detach().clone().unsqueeze_(0), x.detach().clone().t_(), x.detach().clone().transpose_(0, 1), x.detach()[None].clone().squeeze_(), x.detach().clone().unsqueeze_(-1).add_(1)
torch.zeros(3, 3).fill_diagonal_(2), torch.zeros(7, 3).fill_diagonal_(1, wrap=True), torch.zeros(2, 4).fill_diagonal_(5), torch.zeros(2, 2, 2).fill_diagonal_(1), M.clone().fill_diagonal_(0.5), torch.zeros(7, 3).fill_diagonal_(1), torch.zeros(3, 3, dtype=torch.int64).fill_diagonal_(2)
torch.zeros(3).fill_diagonal_(1); torch.zeros(2, 3, 4).fill_diagonal_(1)
x.is_signed(), torch.is_signed(u), x.is_same_size(y), torch.is_same_size(x, v), torch.is_nonzero(z), torch.tensor([[0]]).is_nonzero(), x.is_inference()
x.is_nonzero()
torch.dropout(x, 0.0, True), torch.celu(x), torch.selu(x), torch.prelu(x, v), torch.threshold(x, 0.1, 5.0), torch.hardshrink(x), torch.rrelu(x), torch.conj_physical(c), torch.fill_(x.clone(), 2.0), torch.nan_to_num_(n.clone())
torch.logspace(0, 2, 5), torch.logspace(0, 3, 4, base=2.0), torch.logspace(0, 2, 3, dtype=torch.float64), torch.scalar_tensor(2), torch.randint_like(k, 3).shape, torch.randint_like(x, 2, 5).dtype, torch.randint_like(x, high=2).shape, torch.randint(high=5, size=(3,)).dtype, torch.poisson(x.abs().detach()).shape
torch.zeros(200).random_(3).unique(), torch.zeros(200, dtype=torch.int64).random_(1, 4).unique(), torch.zeros(200, dtype=torch.uint8).random_().dtype, torch.zeros(100).bernoulli_().unique(), torch.zeros(3).bernoulli_(torch.ones(3)), torch.zeros(4).bernoulli_(0.0), x.detach().abs().multinomial(2).shape, torch.ones(3).bernoulli()
torch.zeros(3).random_(3, 3); torch.zeros(3).bernoulli_(2.0)
[a := torch.sparse_coo_tensor([[0, 1, 1, 0], [2, 0, 2, 2]], torch.cat([v, v[:1]]), (2, 3), check_invariants=True), a @ M, torch.spmm(a, M), torch.mm(a, M), torch.sparse.mm(a, M), torch.matmul(a, v), a.to_dense(), a.t().to_dense()][1:]
[a := torch.sparse_coo_tensor([[0, 1, 1, 0], [2, 0, 2, 2]], torch.cat([v, v[:1]]), (2, 3), check_invariants=True).coalesce(), a.indices() + 0, a.values(), a @ M, a.is_coalesced(), a.shape, a.dim(), a._nnz(), a.is_sparse][1:]
[a := torch.sparse_coo_tensor([[0, 1, 1, 0], [2, 0, 2, 2]], torch.cat([v, v[:1]]), (2, 3), check_invariants=True).detach() if False else x.detach().to_sparse(), a.indices(), a.values(), a.to_dense(), a.float().values(), (a + a).to_dense(), a.to('cpu').to_dense()][1:]
torch.sparse_coo_tensor([[0, 1, 1, 0], [2, 0, 2, 2]], torch.cat([v, v[:1]]), (2, 3), check_invariants=True) @ x
torch.sparse_coo_tensor([[0, 1, 1, 0], [2, 0, 2, 2]], torch.cat([v, v[:1]]), (2, 3), check_invariants=True) @ f.T
torch.sparse_coo_tensor([[0, 1], [2, 0]], v, (2, 3), check_invariants=True)
torch.sparse_coo_tensor([[0, 1, 5], [2, 0, 1]], v, (2, 3), check_invariants=True)
torch.sparse_coo_tensor([[0, 1, -1], [2, 0, 1]], v, (2, 3), check_invariants=True)
torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 1]], v, (2,), check_invariants=True)
[a := torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 1]], v, check_invariants=True), a.shape, a.to_dense()][1:]
torch.zeros(2).unsqueeze_(5)
torch.distributed.is_initialized() if torch.distributed.is_available() else False
""")

DATABASE = calls("""
torch.quantile(x, v.abs().clamp(0, 1)), torch.quantile(x, v.abs().clamp(0, 1), 1, interpolation='lower'), x.quantile(z * 0.1, 1)
x.scatter(1, k.abs() % 3, y, reduce='multiply').detach(), x.detach().scatter_(0, k.abs() % 2, 3.0, reduce='multiply'), x.scatter(0, k, y, reduce='min')
x[:, 1:].as_strided((2, 2), (3, 1)), x[1].as_strided((2, 2), (2, 1), 1), v.expand(2, 3).as_strided((2, 2), (0, 1)), x.T.as_strided((2, 2), (2, 1))
x.clone()[:, 1:].as_strided((2,), (1,), 2).mul_(3), torch.as_strided([1.0], (1,), (1,))
torch.linalg.matrix_norm(x * 0, 'nuc'), torch.linalg.svdvals(M * 0 + torch.eye(3)), torch.linalg.norm(x[:0], 2), torch.linalg.norm(x[:0], 2, keepdim=True)
torch.normal(x, 1.0).shape, torch.normal(x, 0.0), torch.normal(0.0, 0.0, (2,), layout=torch.strided)
torch._foreach_pow([k.short(), k.short()], 1e5), torch._foreach_pow([k.short()], -0.5), torch.lerp(f, f * 2, z.detach() * 0.1), v.scatter_add(0, i[0] * 0, v[0]), put(k, 0, x[0]), k.clone().copy_(x), put(k, (slice(None), 1), v[:2]) * 1.0, put(f, 0, x.sum()), put(k, i, x[i].long())
torch.linspace(0, 2j, 3), torch.linspace(1j, 2, 4, dtype=torch.complex128), torch.sub(k.char(), k.char(), alpha=128)
2.5 / f.detach().half(), 70000 / f.detach().half(), 2 / (k + 9), 3.0 / f, 1 / x, 2 / c, 1j / x, True / x
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

_NAN = "torch.tensor([math.nan, -1.0, 2.0, 0.0, math.inf, -math.inf, 30.0, -30.0])"
_LEAF = f"{_NAN}.requires_grad_()"
_SLOPES = f"(lambda f, t: torch.autograd.grad(f(t), t, torch.ones(8)))({{}}, {_LEAF})"
_TWICE = f"torch.autograd.grad(torch.autograd.grad(f(t := {_LEAF}), t, torch.ones(8), create_graph=True)[0][:4].sum(), t)"
_UNKNOWN = "torch.tensor([[math.nan, math.inf, 0.0], [1.0, 2.0, 0.0]])"
_LAST = "T[:, None].expand(2, 3, 3, 4).contiguous(memory_format=torch.channels_last)"
_MANY = "T[None, :, :2, :2].repeat(3, 2, 1, 1)[:, :3]"
_HALF = "x.{}().repeat(1, 40) * torch.arange(1, 121) / 40"
_WRITES = """
add_(1) mul_(2) sub_(1) div_(2) pow_(2) copy_(v) exp_() relu_() clamp_(0,1) eq_(2) floor_() cumsum_(0)
normal_() uniform_() bernoulli_(0.5) exponential_() random_(0,2) addcmul_(v,v) lerp_(v,0.5)
scatter_(0,i,2.0) scatter_add_(0,i,v) index_add_(0,i,v[:2]) index_copy_(0,i,v[:2]) __iadd__(v)
fill_(2) zero_()
""".split()
ODD_INPUTS = calls(f"""
F.dropout1d(x, 1.0), F.dropout1d(T, 1.0), F.dropout2d(x, 1.0), F.dropout2d(v, 1.0), F.dropout3d(x, 1.0), F.dropout3d(z, 1.0), F.dropout3d(T[None, None, None], 1.0)
F.dropout2d(x, 0.5).shape, F.dropout3d(x, 0.5).shape, F.dropout1d(x, 0.5).shape, F.dropout3d(v, 0.5).shape, F.dropout3d(T[None, None, None], 0.5).shape
F.dropout2d(T, 0.5).shape, nn.Dropout2d(0.5)(x).shape, nn.Dropout3d()(T).shape; F.dropout2d(v, 0.5)
F.dropout3d(z, 0.5); F.dropout1d(v, 0.0); F.dropout1d(T[None], 0.5)
F.relu(n), F.elu(n), F.elu(n, 2.0), F.selu(n), F.celu(n), F.celu(n, 2.0), F.threshold(n, 0.5, 7.0), F.leaky_relu(n)
F.relu({_NAN}), F.elu({_NAN}), F.selu({_NAN}), F.celu({_NAN}), F.threshold({_NAN}, 0.5, 7.0), F.threshold(k, 1, 20)
{_SLOPES.format("F.relu")}, {_SLOPES.format("F.elu")}, {_SLOPES.format("F.selu")}, {_SLOPES.format("F.celu")}
{_SLOPES.format("lambda t: F.celu(t, 2.0)")}, {_SLOPES.format("lambda t: F.threshold(t, 0.5, 7.0)")}
F.mish({_HALF.format("half")}), F.celu({_HALF.format("half")}), F.elu({_HALF.format("half")}), torch.tanh({_HALF.format("half")}), F.tanhshrink({_HALF.format("half")})
torch.atan2(torch.tensor([0.0, -0.0, 1.0]) * v, torch.tensor([0.0, 0.0, 0.0]) * v)
(lambda a, b: torch.autograd.grad(torch.atan2(a, b), [a, b], torch.ones(3)))(torch.tensor([0.0, 0.0, 1.0]).requires_grad_(), torch.tensor([0.0, 1.0, 0.0]).requires_grad_())
(lambda w: torch.autograd.grad(F.embedding(i, w, padding_idx=1), w, torch.tensor([[1.0, math.inf, math.nan], [1.0, 2.0, 3.0]])))(torch.ones(4, 3).requires_grad_())
F.embedding_bag(i, M, i[:0], include_last_offset=True); F.nll_loss(x, i, v[:2])
F.nll_loss(x, i, torch.cat([v, v])); F.nll_loss(x, i, v[:1]); F.nll_loss(x, i, v.float())
F.nll_loss(x, i.int()); F.nll_loss(x, i.byte()), F.cross_entropy(x, i.byte())
F.cross_entropy(x, i, v[:1]); F.cross_entropy(x, x.softmax(1), v[:1])
F.cross_entropy(x, x.softmax(1), v[:2]); F.cross_entropy(x, i, v.float())
F.cross_entropy(x, i.int()); F.cross_entropy(x, i.short()); F.cross_entropy(v, i[0].int())
F.multi_margin_loss(x, i.int()); F.multi_margin_loss(x, i, weight=v[:2])
F.binary_cross_entropy(x.sigmoid(), b.long()); F.binary_cross_entropy(x.sigmoid(), b.float())
F.nll_loss({_UNKNOWN}, i, ignore_index=1, reduction='none'), F.cross_entropy({_UNKNOWN}, i, ignore_index=1), F.cross_entropy({_UNKNOWN}, i, ignore_index=1, label_smoothing=0.1)
F.cross_entropy(x, i, label_smoothing=1.5); F.cross_entropy(x, x.softmax(1), ignore_index=1)
F.kl_div(x.log_softmax(1), y.log_softmax(1), reduction='sum'), F.kl_div(x, torch.tensor([0.0, 1.0, -1.0]).double(), reduction='none')
[{_TWICE} for f in (F.elu, F.selu, F.celu, lambda t: F.celu(t, 2.0))]
F.interpolate(T, 5, align_corners=False); F.interpolate(x, 4); nn.LSTM(3, 0); nn.GRU(3, 4, 0)
F.batch_norm(v, None, None, training=True); F.batch_norm(v, v.detach(), v.detach())
F.batch_norm(v, None, None); F.batch_norm(z, None, None, training=True)
F.kl_div(x, k); F.mse_loss(f, k.abs() * 0), F.mse_loss(f, x.detach() * 0), F.l1_loss(f, k * 0)
nn.RNNCell(3, 4)(f, torch.zeros(1, 4)); nn.RNNCell(3, 4)(f, torch.zeros(4))
nn.RNNCell(3, 4)(f[0], torch.zeros(1, 4))
nn.RNNCell(3, 4)(f[0], torch.zeros(4)).shape, nn.LSTMCell(3, 4)(f, (torch.zeros(2, 4), torch.zeros(2, 4)))[1].shape
nn.GRUCell(3, 4)(f, torch.zeros(1, 4)); nn.GRUCell(3, 4)(f, torch.zeros(2, 1, 4))
nn.LSTMCell(3, 4)(f, (torch.zeros(1, 4), torch.zeros(1, 4)))
nn.LSTMCell(3, 4)(f, (torch.zeros(2, 4), torch.zeros(1, 4))); x.masked_fill(u, 2.0)
x.clone().masked_fill_(u, 2.0); x.masked_fill(k, 2.0); F.celu(x, 0.0)
F.relu(z), F.threshold(z, 1.0, 7.0), F.elu(z), F.celu(z), F.mish(z), z.tanh(), torch.atan2(z, z), torch.var_mean(z, correction=0)
f.cfloat(), f.cdouble(), x.cfloat()
x.untyped_storage().nbytes(), x[1].storage().size(), T.storage().tolist()[3] == T[0, 0, 3].item()
x.imag; torch.imag(f); c.imag, c.real, x.real
b ** True, b ** False, b ** 2, k.abs() ** True, x ** True; b ** b; torch.pow(True, b)
torch.var_mean(x), torch.var_mean(x, 1), torch.std_mean(x, 0, keepdim=True), torch.std_mean(x, correction=0), torch.var_mean(x, dim=(0, 1), unbiased=False)
torch.var_mean(x)[0], torch.std_mean(x, 1)[1], torch.std_mean(x * 0 + v, 0), torch.var_mean(c)
torch.var_mean(k)
F.conv2d({_LAST}, {_MANY}), F.avg_pool2d({_LAST}, 2), F.conv2d({_LAST}.contiguous(), {_MANY}.contiguous(memory_format=torch.channels_last)), F.conv2d({_LAST}, {_MANY}, v, padding=1), F.conv2d({_LAST}, {_MANY}[:, :1], groups=3), F.conv_transpose2d({_LAST}, {_MANY})
{_LAST} + {_LAST}.contiguous(), {_LAST} * {_LAST}.contiguous(), {_LAST}.contiguous() - {_LAST}, {_LAST} / v[:, None, None], {_LAST} > {_LAST}.contiguous(), v[:, None, None] + {_LAST}
(lambda t: torch.autograd.grad(F.binary_cross_entropy(torch.sigmoid(t), torch.ones(2)), t))(torch.tensor([40.0, -400.0]).requires_grad_())
F.binary_cross_entropy(torch.tensor([0.0, 1.0, 0.3, 1.0, 0.0]) + v[0] * 0, torch.tensor([0.0, 1.0, 0.2, 0.0, 1.0]), reduction='none')
F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), v.detach().abs()), F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), reduction='sum'), F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), reduction='none')
F.binary_cross_entropy(e, e), F.binary_cross_entropy(e, e, reduction='sum'), F.binary_cross_entropy(z / 5, z / 5)
F.binary_cross_entropy(x.sigmoid(), y); F.binary_cross_entropy(n.sigmoid(), b.double())
F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), reduction='a')
F.binary_cross_entropy(x.sigmoid(), v.sigmoid())
F.nll_loss(x, i * 0 - 100), F.cross_entropy(x, i * 0 + 255, ignore_index=255), F.cross_entropy(v, i[0] * 0 - 100), F.cross_entropy(T, torch.full((2, 4), 255), ignore_index=255)
F.cross_entropy(x, i * 0 - 100, label_smoothing=0.1), F.cross_entropy(v, i[0] * 0 - 100, label_smoothing=0.1), F.cross_entropy(x, i * 0 - 100, reduction='sum'), F.nll_loss(x, i * 0 - 100, reduction='none')
F.cross_entropy(x, i, v.detach() * 0), F.cross_entropy(x, i * 0 - 100, v.detach()), F.cross_entropy(x, i - 1, v.detach() ** 2, ignore_index=-1)
F.layer_norm(x, (3,), torch.ones(1)); F.layer_norm(x, (3,), None, torch.ones(1))
F.layer_norm(x, (3,), torch.ones(1, 3)); F.group_norm(x, 3, torch.ones(1))
F.group_norm(x, 3, None, torch.ones(())); F.group_norm(x, 3, torch.ones(3, 1))
F.rms_norm(x, (3,), torch.ones(1)); nn.LSTM(3, 4)(torch.ones(0, 2, 3))
nn.GRU(3, 4)(torch.ones(0, 2, 3)); nn.RNN(3, 4)(torch.ones(0, 3))
(lambda m, t: torch.autograd.grad(m(t).sum(), [t, *m.parameters()]))(nn.Conv2d(4, 6, 3, groups=2), torch.ones(0, 4, 5, 5).requires_grad_())
(lambda m, t: torch.autograd.grad(m(t).sum(), [t, *m.parameters()]))(nn.ConvTranspose2d(4, 6, 3, stride=2, groups=2), torch.ones(0, 4, 5, 5).requires_grad_())
(lambda m, t: torch.autograd.grad(m(t).sum(), [t, *m.parameters()]))(nn.Conv1d(4, 6, 3, padding=1), torch.ones(0, 4, 5).requires_grad_())
F.scaled_dot_product_attention(T, T, T, torch.tensor([0.0, -math.inf, 0.0]).view(3, 1)), F.scaled_dot_product_attention(T, T, T, torch.tensor([True, False, True]).view(3, 1).expand(3, 3))
F.scaled_dot_product_attention(T[None], T[None], T[None], torch.tensor([[0.0, -math.inf, 0.0]] * 3).T.double()), F.scaled_dot_product_attention(T[None], T[None], T[None], torch.tensor([[0.0, -math.inf, 0.0]] * 3).T.double() + x[0, 0] * 0)
F.scaled_dot_product_attention(T[:, :2][None], P[None], (T * P)[None], x.detach())
F.scaled_dot_product_attention(T[:, :2][None], P[None], (T * P)[None], x)
F.scaled_dot_product_attention(T[:, :2][None], P[None], (T * P)[None], b)
F.scaled_dot_product_attention(T[:, :2][None], P[None], (T * P)[None], torch.arange(2)[:, None] > v * 0)
F.scaled_dot_product_attention(T[:, :2][None], P[None], (T * P)[None], torch.tensor([[-math.inf] * 3, [0.0] * 3]).double())
F.scaled_dot_product_attention(T[:, :2], P, T * P, torch.arange(2)[:, None] > v * 0)
F.scaled_dot_product_attention(T[None], P[None], (T * P)[None], is_causal=True)
F.scaled_dot_product_attention(T[:, :, None], T[:, :, None], T[:, :, None]), F.scaled_dot_product_attention(T[None], T[None], T[None], is_causal=True), F.scaled_dot_product_attention(T, T, T)
F.scaled_dot_product_attention(T[None], T[None], T[None]).transpose(1, 2).view(1, 3, 8)
F.scaled_dot_product_attention(*(T.expand(2, 2, 3, 4),) * 3), F.scaled_dot_product_attention(*(T[:, None, :1].expand(2, 2, 3, 4),) * 3)
F.scaled_dot_product_attention(*(T[:, :, None].transpose(1, 2),) * 3), F.scaled_dot_product_attention(*(T[:, None].permute(1, 2, 0, 3),) * 3), F.scaled_dot_product_attention(T[None].transpose(1, 2), T[None].transpose(1, 2).contiguous(), T[None].transpose(1, 2)), F.scaled_dot_product_attention(T[None], *(T.transpose(0, 1).contiguous().transpose(0, 1)[None],) * 2)
F.scaled_dot_product_attention(P[None], P[None], P[None]), F.scaled_dot_product_attention(T[None].transpose(1, 2), T[None].transpose(1, 2), T[None].transpose(1, 2)).transpose(1, 2).view(1, 2, 12)
nn.MultiMarginLoss(p=3); nn.MultiMarginLoss(p=2)(x, i); nn.MultiheadAttention(4, 2).bias_k
setattr(nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)), 'weight', nn.Parameter(M))
setattr(nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)), 'weight', M)
(lambda m: (setattr(m, 'weight', M), m.weight, [*m.parameters()]))(nn.utils.parametrizations.weight_norm(nn.Linear(3, 3, False)).double())
(lambda m: (setattr(m, 'weight', M), [*m.parameters()]))(nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3, False)).double())
nn.utils.spectral_norm(nn.utils.spectral_norm(nn.Linear(2, 2)))
nn.utils.weight_norm(nn.utils.weight_norm(nn.Linear(2, 2)))
nn.utils.spectral_norm(nn.Linear(2, 2), 'no'); x.numpy(); torch.no_grad()(x.numpy)().sum()
""")
_FILLED = "(lambda m: ([nn.init.constant_(p, 0.1) for p in m.parameters()], m(T), len(m.all_weights[0])))({}.double())"
ODD_INPUTS += [
    _FILLED.format(code)
    for code in calls("""
nn.utils.weight_norm(nn.LSTM(4, 2), 'weight_hh_l0'); nn.LSTM(4, 3, proj_size=2, bias=False)
nn.utils.parametrizations.weight_norm(nn.GRU(4, 2, 2), 'weight_hh_l1')
nn.utils.weight_norm(nn.RNN(4, 2, bidirectional=True), 'weight_ih_l0_reverse')
""")
]
ODD_INPUTS += [f"torch.ones(1).expand(3).{write}" for write in _WRITES]
ODD_INPUTS += ["x[:, :1].detach().expand(2, 3).add_(1)", "x[:, :1].detach().expand(2, 1).add_(1)"]
ODD_INPUTS += ["v[:0].detach().expand(3, 0).add_(1)", "put(z, (), 1.0)"]
