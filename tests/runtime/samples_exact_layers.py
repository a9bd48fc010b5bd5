"""Samples of layers, losses, windows and distributions, whose outcome is PyTorch's.

Names in them are those of samples_exact.py. `I` is `T` with a batch, (2, 1, 3, 4), `W` (1, 2, 2, 2),
and `D` torch.distributions.
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

_SIGNS = "torch.tensor([1.0, -1.0])"
_LOGS = "torch.stack([T, T * 2, -T, T + 1]).flatten(1, 2).log_softmax(2)"  # (4, 6, 4)
_CTC = f"F.ctc_loss({_LOGS}, torch.tensor([[1, 2], [3, 3], [2, 0], [1, 0], [0, 0], [2, 2]])"
_BAG = "torch.tensor([2, 0, 1, 1, 0, 2])"

LOSSES = calls(f"""
F.pairwise_distance(x, y), F.pairwise_distance(x, y, 1.0, keepdim=True), F.pairwise_distance(x, v), torch.pairwise_distance(v, v * 2), nn.PairwiseDistance(eps=1e-3)(x, y)
F.margin_ranking_loss(v, -v, torch.tensor([1.0, -1.0, 1.0])), F.margin_ranking_loss(x, y, (x > 0).double() * 2 - 1, margin=0.5, reduction='none'), nn.MarginRankingLoss(0.1, reduction='sum')(v, v * 2, -torch.ones(3))
F.margin_ranking_loss(x, v, v)
F.cosine_embedding_loss(x, y, {_SIGNS}), F.cosine_embedding_loss(x, y, {_SIGNS}, 0.2, reduction='sum'), F.cosine_embedding_loss(v, M[0], torch.tensor(-1.0), -0.9), nn.CosineEmbeddingLoss(0.1)(x, y, {_SIGNS})
F.cosine_embedding_loss(x, y, x)
F.triplet_margin_loss(x, y, -x), F.triplet_margin_loss(x, y, -y, 2.0, p=1, swap=True, reduction='none'), nn.TripletMarginLoss(margin=0.5)(x, y, x * y)
F.triplet_margin_loss(x, y, -x, margin=0.0); F.triplet_margin_loss(x, y, v)
F.multi_margin_loss(x, i), F.multi_margin_loss(x, i, p=2, margin=0.5, weight=v.abs().detach()), F.multi_margin_loss(x, i, reduction='none'), F.multi_margin_loss(v, i[0]), nn.MultiMarginLoss()(x, i)
F.multi_margin_loss(x, i, p=3); F.multi_margin_loss(x, torch.tensor([1, 2, 0]))
F.poisson_nll_loss(x, y.abs()), F.poisson_nll_loss(x.abs(), y.abs() * 2, log_input=False, full=True, reduction='sum'), nn.PoissonNLLLoss(reduction='none')(x, y.abs())
F.gaussian_nll_loss(x, y, x.abs() + 0.1), F.gaussian_nll_loss(x, y, v[:2].abs(), full=True, reduction='none'), F.gaussian_nll_loss(x, y, torch.tensor([[0.5], [1e-9]])), F.gaussian_nll_loss(x, y, 0.5), nn.GaussianNLLLoss(full=True)(x, y, y.abs())
F.gaussian_nll_loss(x, y, x); F.gaussian_nll_loss(x, y, v.abs())
{_CTC}, (4, 4, 3, 2, 4, 4), (2, 2, 1, 1, 0, 2)), {_CTC}, torch.tensor([4, 4, 3, 2, 4, 4]), torch.tensor([2, 2, 1, 1, 0, 2]), reduction='none')
{_CTC}, (4, 2, 3, 2, 4, 4), (2, 2, 1, 1, 0, 2), reduction='none'), {_CTC}, (4, 2, 3, 2, 4, 1), (2, 2, 1, 1, 0, 2), reduction='sum', zero_infinity=True)
F.ctc_loss({_LOGS}[:, :2], torch.tensor([1, 2, 3]), (4, 4), (1, 2)), F.ctc_loss({_LOGS}[:, :2], torch.tensor([1, 2, 0]), (4, 3), (2, 1), blank=3, reduction='none'), nn.CTCLoss()({_LOGS}[:, 0], torch.tensor([1, 2]), torch.tensor(4), torch.tensor(2))
F.ctc_loss({_LOGS}, torch.tensor([[1, 2]] * 6), (5,) * 6, (2,) * 6)
F.ctc_loss({_LOGS}, torch.tensor([[1, 2]] * 6), (4,) * 5, (2,) * 6)
F.embedding_bag({_BAG}, M, torch.tensor([0, 2, 2, 5])), F.embedding_bag({_BAG}, M, torch.tensor([0, 4]), mode='sum'), F.embedding_bag({_BAG}.view(2, 3), M)
F.embedding_bag({_BAG}, M, torch.tensor([0, 4]), mode='sum', per_sample_weights=torch.cat([v, v])), F.embedding_bag({_BAG}, M, torch.tensor([0, 3, 6]), include_last_offset=True), F.embedding_bag({_BAG}, M, torch.tensor([0, 3]), padding_idx=1), F.embedding_bag({_BAG}.view(2, 3), M, mode='sum', padding_idx=0)
F.embedding_bag({_BAG}.view(2, 3), M, torch.tensor([0, 1])); F.embedding_bag({_BAG}, M)
F.embedding_bag({_BAG}, M, torch.tensor([1, 2]))
F.embedding_bag({_BAG}, M, torch.tensor([0, 2]), mode='median')
F.embedding_bag({_BAG}, M, torch.tensor([0, 2]), per_sample_weights=torch.cat([v, v]))
F.embedding(i, M.detach(), max_norm=1.0), F.embedding(torch.tensor([1, 1, 0]), M, scale_grad_by_freq=True), F.embedding(torch.tensor([1, 1, 0]), M, 1, scale_grad_by_freq=True)
F.embedding(torch.arange(80) % 3, M), F.embedding(torch.arange(80) % 3, M).sum(1)
(lambda w: [F.embedding(i, w, max_norm=0.5, norm_type=1.0), w, w._version])(M.detach())
nn.Embedding.from_pretrained(M.detach(), padding_idx=1)(i), nn.Embedding.from_pretrained(M.detach(), freeze=False).weight.requires_grad, repr(nn.Embedding.from_pretrained(M.detach())), nn.EmbeddingBag.from_pretrained(M.detach(), mode='sum')(i[None])
nn.Embedding.from_pretrained(v); nn.EmbeddingBag(3, 2)(i).shape
nn.EmbeddingBag(3, 2, mode='sum', padding_idx=-1)(i[None]).shape, nn.EmbeddingBag(5, 2, padding_idx=-2).padding_idx, repr(nn.EmbeddingBag(5, 2, max_norm=1.0)), repr(nn.EmbeddingBag(5, 2)), nn.EmbeddingBag(5, 2, padding_idx=1).weight[1]
nn.EmbeddingBag(3, 2, padding_idx=3); nn.EmbeddingBag(3, 2, mode='x')(i[None])
torch.bilinear(x, y, M[None]), nn.Bilinear(3, 3, 2, bias=False)(f, f).shape, F.bilinear(x, y, torch.stack([M, -M]), v[:2]), repr(nn.Bilinear(3, 4, 2))
""")

DISTRIBUTIONS = calls("""
D.Normal(x, y.exp()).log_prob(T[0, 0, :3]), D.Normal(0.0, 1.0).log_prob(x), D.Normal(x, 1.0).entropy(), D.Normal(x, 2.0).cdf(y), D.Normal(x, 2.0).icdf(y.sigmoid()), D.Normal(x, y.exp()).variance, D.Normal(x, y.exp()).mean
D.Uniform(x, x + 1).log_prob(x + 0.5), D.Uniform(x, x + 2).entropy(), D.Uniform(0.0, 1.0).log_prob(x.sigmoid()), D.Uniform(x, x + 2).mean, D.Uniform(x, x + 2).variance, D.Uniform(x, x + 2).cdf(x + 0.5)
D.Laplace(x, y.exp()).log_prob(x + 1), D.Laplace(x, y.exp()).entropy(), D.Laplace(x, y.exp()).stddev
D.Laplace(x, y.exp()).cdf(x + y), D.Laplace(x, y.exp()).icdf(y.sigmoid())
D.Gamma(x.exp(), y.exp()).log_prob(v.exp()), D.Gamma(x.exp().detach(), y.exp()).entropy(), D.Gamma(x.exp(), y.exp()).mean, D.Gamma(x.exp(), y.exp()).variance
D.Beta(x.exp(), y.exp()).mean, D.Beta(x.exp(), y.exp()).variance
[t.float() for t in (D.Beta(x.exp(), y.exp()).log_prob(v.sigmoid()), D.Beta(x.exp().detach(), y.exp().detach()).entropy(), D.Dirichlet(x.exp()).log_prob(y.softmax(1)), D.Dirichlet(x.exp().detach()).entropy())]
D.Dirichlet(x.exp()).mean, D.Dirichlet(x.exp()).variance
D.Bernoulli(x.sigmoid()).log_prob(b.double()), D.Bernoulli(logits=x).log_prob(b.double()), D.Bernoulli(logits=x).entropy(), D.Bernoulli(x.sigmoid()).mean, D.Bernoulli(x.sigmoid()).variance, D.Bernoulli(logits=x).probs, D.Bernoulli(0.3).logits
D.Categorical(x.exp()).log_prob(i), D.Categorical(logits=x).log_prob(i), D.Categorical(logits=x).entropy(), D.Categorical(x.exp()).probs, D.Categorical(x.exp()).logits, D.Categorical(logits=x).log_prob(torch.tensor([[0, 1], [2, 2]])), D.Categorical(logits=x).mode
D.MultivariateNormal(v, M @ M.T + torch.eye(3)).log_prob(x), D.MultivariateNormal(x, scale_tril=M.tril(-1) + torch.eye(3)).log_prob(v), D.MultivariateNormal(v, M @ M.T + torch.eye(3)).entropy(), D.MultivariateNormal(v, scale_tril=M.tril(-1) + torch.eye(3)).covariance_matrix, D.MultivariateNormal(v, scale_tril=M.tril(-1) + torch.eye(3)).variance
D.Independent(D.Normal(x, 1.0), 1).log_prob(y), D.Independent(D.Normal(x, 1.0), 2).entropy(), D.Independent(D.Normal(x, 1.0), 1).batch_shape, D.Independent(D.Normal(x, 1.0), 1).event_shape, D.Independent(D.Bernoulli(logits=x), 1).log_prob(b.double()), D.Independent(D.Normal(x, 1.0), 1).mean
D.kl_divergence(D.Normal(x, 1.0), D.Normal(y, 2.0)), D.kl_divergence(D.Laplace(x, 1.0), D.Laplace(y, 2.0)), D.kl_divergence(D.Laplace(x, 0.5), D.Normal(y, 2.0)), D.kl_divergence(D.Bernoulli(logits=x), D.Bernoulli(logits=y)), D.kl_divergence(D.Categorical(logits=x), D.Categorical(logits=y))
[t.detach() for t in (D.kl_divergence(D.Gamma(x.exp(), 1.0), D.Gamma(y.exp(), 2.0)), D.kl_divergence(D.Beta(x.exp(), 1.0), D.Beta(y.exp(), 2.0)), D.kl_divergence(D.Dirichlet(x.exp()), D.Dirichlet(y.exp())))]
D.kl_divergence(D.Independent(D.Normal(x, 1.0), 1), D.Independent(D.Normal(y, 2.0), 1)), D.kl_divergence(D.MultivariateNormal(v, torch.eye(3).double()), D.MultivariateNormal(v * 2, 2 * torch.eye(3).double()))
D.Normal(x, -1.0); D.Categorical(x); D.Categorical(x.exp(), x); D.Categorical(z)
D.Bernoulli(x.abs() + 2); D.Normal(0.0, 1.0).log_prob(n)
D.Categorical(logits=x).log_prob(torch.tensor([3, 0])); D.Uniform(x, x)
D.Uniform(0.0, 1.0).log_prob(x); D.Beta(x, y)
D.Laplace(0.0, 1.0).log_prob(0.3); D.Laplace(0.0, 1.0).log_prob(n); D.Laplace(0.0, 1.0).cdf(0.3); D.Laplace(0.0, 1.0).cdf(n)
[d.sample((4,)).shape for d in (D.Normal(x, 1.0), D.Uniform(x, x + 1), D.Categorical(logits=x), D.Bernoulli(logits=x), D.Beta(x.exp(), y.exp()), D.Gamma(x.exp(), 1.0), D.MultivariateNormal(v, torch.eye(3).double()), D.Independent(D.Normal(x, 1.0), 1), D.Dirichlet(x.exp()), D.Laplace(x, 1.0))]
[d.sample().dtype for d in (D.Normal(x, 1.0), D.Categorical(logits=x), D.Bernoulli(0.5), D.Normal(0.0, 1.0), D.Beta(1.0, 2.0))], D.Normal(x, 1.0).has_rsample, D.Categorical(logits=x).has_rsample, D.Normal(x, 1.0).batch_shape, D.Normal(x, 1.0).rsample().shape
D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(y, y.exp())).log_prob(v[:2]), D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(y, y.exp())).mean, D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(y, y.exp())).variance, D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(y, y.exp())).cdf(v[:2])
D.MixtureSameFamily(D.Categorical(logits=v[:2]), D.Independent(D.Normal(x, y.exp()), 1)).log_prob(y), D.MixtureSameFamily(D.Categorical(logits=v[:2]), D.Independent(D.Normal(x, y.exp()), 1)).mean
D.Normal(x[0], 1.0).expand((2, 3)).log_prob(y), D.Categorical(logits=x[0]).expand((2,)).log_prob(i), D.Independent(D.Normal(x, 1.0), 1).expand((2, 2)).log_prob(y)
D.Categorical(logits=x).rsample(); D.MixtureSameFamily(D.Normal(x, 1.0), D.Normal(x, 1.0))
D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(x[:, :2], 1.0))
[d.sample((4,)).shape for d in (D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(y, 1.0)), D.MixtureSameFamily(D.Categorical(logits=v[:2]), D.Independent(D.Normal(x, 1.0), 1)))]
repr(D.Normal(0.0, 1.0)), repr(D.Normal(x, 1.0)), repr(D.Uniform(0.0, 2.0))
""")
