"""Samples whose whole outcome is PyTorch's, of inputs that are wrong, or rarely come.

Names in them are those of samples_exact.py.
"""

from .tables import calls

_NAN = "torch.tensor([math.nan, -1.0, 2.0, 0.0, math.inf, -math.inf, 30.0, -30.0])"
_LEAF = f"{_NAN}.requires_grad_()"
_SLOPES = f"(lambda f, t: torch.autograd.grad(f(t), t, torch.ones(8)))({{}}, {_LEAF})"
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
