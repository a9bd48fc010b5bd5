"""Samples of layers for images and their kin, whose outcome is PyTorch's.

Names in them are those of samples_exact.py; `I` is `T` with a batch, (2, 1, 3, 4), `W` (1, 2, 2, 2).
"""

from .tables import calls

IMAGES = calls("""
F.conv_transpose2d(I, W), F.conv_transpose2d(I, W, v[:2], stride=2, padding=1, output_padding=1), F.conv_transpose2d(I, W, dilation=2), F.conv_transpose2d(I[0], W)
F.conv_transpose1d(T, x.T[:, :, None]), F.conv_transpose1d(T, x.T[:, None], stride=2, groups=3), F.conv_transpose3d(I[:, :, None], W[:, :, None])
F.conv_transpose2d(I, W, output_padding=2); F.conv_transpose2d(T[:, None].transpose(1, 2), W)
F.conv3d(I[:, :, None], W[:, :1, None]), F.max_pool3d(I[:, :, None], (1, 2, 2)), F.avg_pool3d(I[:, :, None], (1, 2, 2)), F.adaptive_avg_pool3d(I[:, :, None], (1, 2, 2))
F.pad(T, (1, 2), mode='reflect'), F.pad(T, (2, 3), mode='replicate'), F.pad(T, (2, 1), mode='circular'), F.pad(I, (1, 2, 1, 0), mode='reflect'), F.pad(I, (-1, 2, 3, -1), mode='replicate'), F.pad(I, (1, 2, 0, 3), mode='circular')
F.pad(T, (4, 0), mode='reflect'); F.pad(T, (5, 0), mode='circular'); F.pad(T, (1, 1), mode='no')
F.pixel_shuffle(torch.cat([I] * 4, 1), 2), F.pixel_unshuffle(I[:, :, :2], 2); F.pixel_shuffle(I, 2)
F.interpolate(I, scale_factor=2), F.interpolate(I, (5, 3)), F.interpolate(T, 7), F.interpolate(I, scale_factor=1.5), F.interpolate(I, (5, 3), mode='nearest-exact'), F.interpolate(I, (2, 2), mode='area')
F.interpolate(I, (5, 3), mode='bilinear'), F.interpolate(I, scale_factor=2, mode='bilinear', align_corners=True), F.interpolate(T, 7, mode='linear'), F.interpolate(I[:, :, None], (2, 5, 3), mode='trilinear'), F.interpolate(I, scale_factor=0.6, mode='bilinear'), F.interpolate(I, scale_factor=(2, 1.5), mode='bilinear')
F.interpolate(I, 2, 2); F.interpolate(I)
F.instance_norm(I), F.instance_norm(T, weight=v, bias=v), torch.nn.InstanceNorm2d(1)(I), torch.nn.InstanceNorm1d(3)(T)
F.instance_norm(T[:, :, :1]); F.dropout2d(I, 0.0), F.dropout2d(I, 0.5, False), F.dropout1d(T, 0.0)
F.dropout2d(I, 2.0); F.dropout3d(I[:, :, None], 0.0)
torch.nn.PReLU()(x.float()), torch.nn.ReflectionPad2d(1)(I), torch.nn.ReplicationPad1d((1, 2))(T), torch.nn.ZeroPad2d((1, 0, 2, 1))(I), torch.nn.ConstantPad1d(1, 2.5)(T), torch.nn.CircularPad2d(1)(I), torch.nn.ZeroPad2d(1)(I)
torch.nn.PixelShuffle(2)(torch.cat([I] * 4, 1)), torch.nn.Upsample(scale_factor=2)(I), torch.nn.Upsample(size=(2, 3), mode='bilinear', align_corners=False)(I), torch.nn.Unflatten(1, (1, 3))(x), torch.nn.CosineSimilarity()(x, y)
torch.nn.ReLU6()(x), torch.nn.SELU()(x), torch.nn.CELU(0.5)(x), torch.nn.Hardswish()(x), torch.nn.Mish()(x), torch.nn.Softsign()(x), torch.nn.Tanhshrink()(x), torch.nn.Softshrink(0.2)(x), torch.nn.Hardshrink()(x), torch.nn.GLU(0)(x), torch.nn.Softmin(1)(x), torch.nn.ReLU6(inplace=True)(x.clone())
repr(torch.nn.ConvTranspose2d(3, 2, 4, 2, 1)), repr(torch.nn.PReLU()), repr(torch.nn.InstanceNorm2d(3)), repr(torch.nn.Dropout2d(0.2)), repr(torch.nn.Conv3d(1, 2, 3)), repr(torch.nn.ReflectionPad2d(1)), repr(torch.nn.PixelShuffle(2)), repr(torch.nn.Softshrink()), repr(torch.nn.SELU()), repr(torch.nn.ConstantPad1d(1, 2.5))
torch.nn.ConvTranspose2d(3, 2, 4, 2, 1)(torch.ones(1, 3, 5, 5)).shape, torch.nn.ConvTranspose2d(4, 2, 3, groups=2).weight.shape, torch.nn.ConvTranspose1d(4, 2, 3, bias=False).bias, torch.nn.Conv3d(1, 2, 3)(torch.ones(1, 1, 4, 4, 4)).shape, torch.nn.BatchNorm3d(2)(torch.ones(2, 2, 1, 2, 2)).shape
""")
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
F.local_response_norm(T, 2), F.local_response_norm(I, 3, 0.1, 0.5, 2.0), nn.LocalResponseNorm(2)(T), repr(nn.LocalResponseNorm(2))
F.local_response_norm(x, 2)
F.affine_grid(x[None], (1, 1, 2, 3), False), F.affine_grid(x[None], (1, 1, 2, 3), True), F.affine_grid(torch.cat([M, M[:, :1]], 1)[None], (1, 1, 2, 3, 1), False)
F.affine_grid(x[None], (1, 1, 2, 3)); F.affine_grid(x, (1, 1, 2, 3), True)
[F.grid_sample(I, T[:, :, :2].reshape(2, 3, 1, 2) * s, m, p, c) for s in (0.4, 1.5) for m in ('bilinear', 'nearest') for p in ('zeros', 'border', 'reflection') for c in (True, False)]
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
