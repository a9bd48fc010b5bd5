"""Samples of layers for images and their kin, whose outcome is PyTorch's.

Names in them are those of samples_exact.py; `I` is `T` with a batch, (2, 1, 3, 4), `W` (1, 2, 2, 2).
"""

# ruff: noqa: E501  (some samples are long)

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
