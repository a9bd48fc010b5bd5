"""Samples of windows, pools and grids, whose outcome is PyTorch's.

Names in them are those of samples_exact.py; `I` is `T` with a batch, (2, 1, 3, 4).
"""

# ruff: noqa: E501  (some samples are long)

from .tables import calls

WINDOWS = calls("""
F.unfold(I, 2), F.unfold(I, (2, 3), dilation=1, padding=(1, 0), stride=(1, 2)), F.unfold(T, 2), nn.Unfold(2, padding=1)(I), repr(nn.Unfold(2))
F.unfold(I, 5)
F.fold(F.unfold(I, 2), (3, 4), 2), F.fold(F.unfold(T, (2, 3), 1, 1, 2), (3, 4), (2, 3), padding=1, stride=2), nn.Fold((3, 4), 2)(F.unfold(I, 2)), repr(nn.Fold(4, 2))
F.fold(T, (3, 4), 2)
F.adaptive_max_pool2d(I, 2), F.adaptive_max_pool2d(I, (2, None), return_indices=True), F.adaptive_max_pool1d(T, 3), F.adaptive_max_pool2d(T, (3, 1)), F.adaptive_max_pool3d(I, (1, 2, 3)), nn.AdaptiveMaxPool2d((2, 3), True)(I), repr(nn.AdaptiveMaxPool2d(2)), nn.AdaptiveMaxPool1d(5)(T)
F.adaptive_max_pool2d(v, 2)
F.max_unpool2d(*F.max_pool2d(I, (1, 2), return_indices=True), (1, 2)), F.max_unpool1d(*F.max_pool1d(T, 2, return_indices=True), 2), F.max_unpool3d(*F.max_pool3d(I, (1, 2, 2), return_indices=True), (1, 2, 2)), nn.MaxUnpool2d(2)(*F.max_pool2d(I, 2, return_indices=True), output_size=I.size()), repr(nn.MaxUnpool2d(2))
F.max_unpool2d(*F.max_pool2d(I, 2, return_indices=True), 2, output_size=(9, 9))
F.avg_pool2d(I, 2, ceil_mode=True), F.avg_pool2d(I, 2, 3, 1, ceil_mode=True), F.avg_pool2d(I, 2, 2, 1, True, False), F.avg_pool1d(T, 3, 2, 1, ceil_mode=True), F.avg_pool2d(I, 2, ceil_mode=True, divisor_override=3), F.avg_pool3d(I, (1, 2, 3), ceil_mode=True)
F.affine_grid(x[None], (1, 1, 2, 3), False), F.affine_grid(x[None], (1, 1, 2, 3), True), F.affine_grid(torch.cat([M, M[:, :1]], 1)[None], (1, 1, 2, 3, 1), False)
F.affine_grid(x[None], (1, 1, 2, 3))
F.affine_grid(x, (1, 1, 2, 3), True)
[F.grid_sample(I, T[:, :, :2].reshape(2, 3, 1, 2) * s, m, p, c) for s in (0.4, 1.5) for m in ('bilinear', 'nearest') for p in ('zeros', 'border') for c in (True, False)]
F.grid_sample(I[:, :, None], T[:, :, :3].reshape(2, 3, 1, 1, 3) / 2, align_corners=False), F.grid_sample(I, torch.zeros(2, 1, 1, 2).double())
F.grid_sample(I, T[:, :, :3], align_corners=False)
F.grid_sample(I, T[:, :, :2][:, None], 'linear', align_corners=False)
F.interpolate(I, scale_factor=2, mode='bicubic'), F.interpolate(I, (5, 3), mode='bicubic', align_corners=True), F.interpolate(I, (2, 3), mode='bicubic', align_corners=False)
F.upsample(I, scale_factor=2)
(lambda m: [m(I), m.running_mean, m.running_var, m.num_batches_tracked, m.eval()(I), list(m.state_dict())])(nn.InstanceNorm2d(1, momentum=0.5, track_running_stats=True).double())
(lambda m: [m(T), m(T[0]), m.running_mean, m.eval()(T[0]), repr(m)])(nn.InstanceNorm1d(3, affine=True, track_running_stats=True).double())
F.instance_norm(T, v.detach(), v.detach().abs(), v, v, False), F.instance_norm(T, v.detach().clone(), v.detach().abs(), momentum=0.3)
F.instance_norm(T, use_input_stats=False)
F.rrelu(x), F.rrelu(x, 0.2, 0.4), nn.RReLU().eval()(x), repr(nn.RReLU()), nn.Threshold(0.1, 20)(x), repr(nn.Threshold(0.1, 20)), repr(nn.Threshold(0.1, 20, True))
[nn.Conv2d(1, 1, 3, padding=p, padding_mode=m).double().weight.shape for p in (1, 'same', 'valid', (2, 1)) for m in ('reflect', 'replicate', 'circular')]
repr(nn.Conv2d(1, 1, 3, padding=1, padding_mode='reflect')), repr(nn.Conv1d(2, 2, 3, padding='same', padding_mode='circular'))
nn.Conv2d(1, 1, 3, padding_mode='no')
""")
