"""Samples of where results lie in memory, what may be written there, and what a dtype reaches.

Names in them are those of samples_exact.py; `image` and `volume` are float64 in channels_last, and
`g` holds 0, 1, 2 and 3.
"""

from .tables import calls

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
    *[_OF_NOTHING.format(*row.split(" of ")) for row in calls("""
F.layer_norm(t, (0,)) of 2, 0; F.layer_norm(t, (3,)) of 0, 3; F.group_norm(t, 2) of 0, 4, 3
F.embedding(torch.tensor([1]), t) of 3, 0; F.max_pool2d(t, 2) of 0, 2, 4, 4
    """)],
]  # fmt: skip
