"""Samples of what tensors are asked of their types, sizes and memory; of tensors as text; of arguments
under PyTorch's other names, and of results written to given tensors.
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
torch.einsum('ij,jk->ik', [x, M]), torch.einsum(x, [0, 1], M, [1, 2], [0, 2]), torch.einsum('...i->...', x)
""")
