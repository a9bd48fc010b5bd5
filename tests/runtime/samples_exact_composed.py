"""Samples of operators that are an expression of others, and of their wrong calls.

Names in them are those of samples_exact.py.
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
