"""Samples of distributions whose outcome is PyTorch's. `D` is torch.distributions.

Other names are those of samples_exact.py.
"""

# ruff: noqa: E501  (a row a sample)

DISTRIBUTIONS = """
D.Normal(x, y.exp()).log_prob(T[0, 0, :3]), D.Normal(0.0, 1.0).log_prob(x), D.Normal(x, 1.0).entropy(), D.Normal(x, 2.0).cdf(y), D.Normal(x, 2.0).icdf(y.sigmoid()), D.Normal(x, y.exp()).variance, D.Normal(x, y.exp()).mean
D.LogNormal(x, y.exp()).log_prob(x.exp()), D.LogNormal(x, 0.5).mean, D.LogNormal(x, 0.5).variance, D.LogNormal(x, 0.5).entropy(), D.LogNormal(x, 0.5).mode
D.Uniform(x, x + 1).log_prob(x + 0.5), D.Uniform(x, x + 2).entropy(), D.Uniform(0.0, 1.0).log_prob(x.sigmoid()), D.Uniform(x, x + 2).mean, D.Uniform(x, x + 2).variance, D.Uniform(x, x + 2).cdf(x + 0.5)
D.Exponential(x.exp()).log_prob(y.exp()), D.Exponential(x.exp()).entropy(), D.Exponential(x.exp()).mean, D.Exponential(x.exp()).stddev
D.Laplace(x, y.exp()).log_prob(x + 1), D.Laplace(x, y.exp()).entropy(), D.Laplace(x, y.exp()).stddev
D.Gamma(x.exp(), y.exp()).log_prob(v.exp()), D.Gamma(x.exp().detach(), y.exp()).entropy(), D.Gamma(x.exp(), y.exp()).mean, D.Gamma(x.exp(), y.exp()).variance
D.Beta(x.exp(), y.exp()).mean, D.Beta(x.exp(), y.exp()).variance
[t.float() for t in (D.Beta(x.exp(), y.exp()).log_prob(v.sigmoid()), D.Beta(x.exp().detach(), y.exp().detach()).entropy(), D.Dirichlet(x.exp()).log_prob(y.softmax(1)), D.Dirichlet(x.exp().detach()).entropy())]
D.Dirichlet(x.exp()).mean, D.Dirichlet(x.exp()).variance
D.Bernoulli(x.sigmoid()).log_prob(b.double()), D.Bernoulli(logits=x).log_prob(b.double()), D.Bernoulli(logits=x).entropy(), D.Bernoulli(x.sigmoid()).mean, D.Bernoulli(x.sigmoid()).variance, D.Bernoulli(logits=x).probs, D.Bernoulli(0.3).logits
D.Categorical(x.exp()).log_prob(i), D.Categorical(logits=x).log_prob(i), D.Categorical(logits=x).entropy(), D.Categorical(x.exp()).probs, D.Categorical(x.exp()).logits, D.Categorical(logits=x).log_prob(torch.tensor([[0, 1], [2, 2]])), D.Categorical(logits=x).mode
D.OneHotCategorical(logits=x).log_prob(torch.eye(3)[i]), D.OneHotCategorical(logits=x).entropy(), D.OneHotCategorical(logits=x).mean, D.OneHotCategorical(logits=x).event_shape
D.Poisson(x.exp()).log_prob(l.double()), D.Poisson(x.exp()).mean, D.Poisson(x.exp()).variance
D.MultivariateNormal(v, M @ M.T + torch.eye(3)).log_prob(x), D.MultivariateNormal(x, scale_tril=M.tril(-1) + torch.eye(3)).log_prob(v), D.MultivariateNormal(v, M @ M.T + torch.eye(3)).entropy(), D.MultivariateNormal(v, scale_tril=M.tril(-1) + torch.eye(3)).covariance_matrix, D.MultivariateNormal(v, scale_tril=M.tril(-1) + torch.eye(3)).variance
D.Independent(D.Normal(x, 1.0), 1).log_prob(y), D.Independent(D.Normal(x, 1.0), 2).entropy(), D.Independent(D.Normal(x, 1.0), 1).batch_shape, D.Independent(D.Normal(x, 1.0), 1).event_shape, D.Independent(D.Bernoulli(logits=x), 1).log_prob(b.double()), D.Independent(D.Normal(x, 1.0), 1).mean
D.kl_divergence(D.Normal(x, 1.0), D.Normal(y, 2.0)), D.kl_divergence(D.Laplace(x, 1.0), D.Laplace(y, 2.0)), D.kl_divergence(D.Bernoulli(logits=x), D.Bernoulli(logits=y)), D.kl_divergence(D.Categorical(logits=x), D.Categorical(logits=y)), D.kl_divergence(D.Exponential(x.exp()), D.Exponential(y.exp())), D.kl_divergence(D.Poisson(x.exp()), D.Poisson(y.exp()))
[t.detach() for t in (D.kl_divergence(D.Gamma(x.exp(), 1.0), D.Gamma(y.exp(), 2.0)), D.kl_divergence(D.Beta(x.exp(), 1.0), D.Beta(y.exp(), 2.0)), D.kl_divergence(D.Dirichlet(x.exp()), D.Dirichlet(y.exp())))]
D.kl_divergence(D.Independent(D.Normal(x, 1.0), 1), D.Independent(D.Normal(y, 2.0), 1)), D.kl_divergence(D.MultivariateNormal(v, torch.eye(3).double()), D.MultivariateNormal(v * 2, 2 * torch.eye(3).double()))
D.Normal(x, -1.0)
D.Categorical(x)
D.Categorical(x.exp(), x)
D.Categorical(z)
D.Bernoulli(x.abs() + 2)
D.Normal(0.0, 1.0).log_prob(n)
D.Categorical(logits=x).log_prob(torch.tensor([3, 0]))
D.Uniform(x, x)
D.Uniform(0.0, 1.0).log_prob(x)
D.Beta(x, y)
[d.sample((4,)).shape for d in (D.Normal(x, 1.0), D.Uniform(x, x + 1), D.Categorical(logits=x), D.Bernoulli(logits=x), D.Beta(x.exp(), y.exp()), D.Gamma(x.exp(), 1.0), D.MultivariateNormal(v, torch.eye(3).double()), D.OneHotCategorical(logits=x), D.Independent(D.Normal(x, 1.0), 1), D.Poisson(x.exp()), D.Exponential(x.exp()), D.Dirichlet(x.exp()), D.Laplace(x, 1.0))]
[d.sample().dtype for d in (D.Normal(x, 1.0), D.Categorical(logits=x), D.Bernoulli(0.5), D.Normal(0.0, 1.0), D.Beta(1.0, 2.0))], D.Normal(x, 1.0).has_rsample, D.Categorical(logits=x).has_rsample, D.Normal(x, 1.0).batch_shape, D.Normal(x, 1.0).rsample().shape
D.Gumbel(x, y.exp()).log_prob(x * y), D.Gumbel(x, y.exp()).entropy(), D.Gumbel(x, y.exp()).mean, D.Gumbel(x, y.exp()).variance, D.Gumbel(x, 1.0).cdf(x + 0.5)
D.Cauchy(x, y.exp()).log_prob(y), D.Cauchy(x, y.exp()).entropy(), D.Cauchy(x, y.exp()).cdf(y), D.Cauchy(x, y.exp()).icdf(y.sigmoid()), D.Cauchy(x, 1.0).mean
D.HalfNormal(y.exp()).log_prob(x.exp()), D.HalfNormal(y.exp()).entropy(), D.HalfNormal(y.exp()).mean, D.HalfNormal(y.exp()).variance, D.HalfNormal(y.exp()).cdf(x.exp())
[t.float() for t in (D.StudentT(y.exp() * 2, x, 2.0).log_prob(y), D.StudentT(y.exp().detach() * 2, x).entropy())], D.StudentT(y.exp() * 2, x).mean, D.StudentT(y.exp().detach() * 2, x).variance, D.Chi2(y.exp()).log_prob(x.exp()), D.Chi2(y.exp()).df
D.Geometric(x.sigmoid()).log_prob(l.double()), D.Geometric(logits=x).entropy(), D.Geometric(logits=x).mean, D.Geometric(logits=x).variance
D.Binomial(7, x.sigmoid()).log_prob(l.double()), D.Binomial(7, logits=x).mean, D.Binomial(l.double() + 9, logits=x).variance, D.NegativeBinomial(7, x.sigmoid()).log_prob(l.double()), D.NegativeBinomial(7, logits=x).mean, D.NegativeBinomial(7, logits=x).variance
D.Multinomial(6, x.softmax(-1)).log_prob(torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 6.0]]).double()), D.Multinomial(6, logits=x).mean, D.Multinomial(6, logits=x).variance
D.RelaxedBernoulli(z, logits=x).log_prob(y.sigmoid()), D.RelaxedOneHotCategorical(z, logits=x).log_prob(y.softmax(-1)), D.RelaxedOneHotCategorical(z, logits=x).event_shape, D.RelaxedBernoulli(z, x.sigmoid()).rsample().requires_grad
D.Pareto(x.exp(), y.exp()).log_prob(x.exp() + y.exp()), D.Pareto(x.exp(), y.exp()).entropy(), D.Pareto(x.exp(), y.exp()).mean, D.Weibull(x.exp(), y.exp()).log_prob(y.exp()), D.Weibull(x.exp(), y.exp()).mean, D.Weibull(x.exp(), y.exp()).variance, D.Weibull(x.exp(), y.exp()).entropy()
D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(y, y.exp())).log_prob(v[:2]), D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(y, y.exp())).mean, D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(y, y.exp())).variance, D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(y, y.exp())).cdf(v[:2])
D.MixtureSameFamily(D.Categorical(logits=v[:2]), D.Independent(D.Normal(x, y.exp()), 1)).log_prob(y), D.MixtureSameFamily(D.Categorical(logits=v[:2]), D.Independent(D.Normal(x, y.exp()), 1)).mean
D.TransformedDistribution(D.Normal(x, y.exp()), [D.TanhTransform()]).log_prob(y.tanh()), D.TransformedDistribution(D.Normal(x, y.exp()), [D.AffineTransform(1.0, 2.0), D.SigmoidTransform()]).log_prob(y.sigmoid()), D.TransformedDistribution(D.Independent(D.Normal(x, y.exp()), 1), D.TanhTransform(cache_size=1)).log_prob(y.tanh()), D.TransformedDistribution(D.Normal(x, y.exp()), D.ExpTransform()).cdf(y.exp()), D.TransformedDistribution(D.Normal(x, 1.0), D.StickBreakingTransform()).event_shape
D.StickBreakingTransform()(x), D.StickBreakingTransform().inv(x.softmax(-1)), D.StickBreakingTransform().log_abs_det_jacobian(x, D.StickBreakingTransform()(x)), D.TransformedDistribution(D.Normal(x, 1.0), D.StickBreakingTransform()).log_prob(D.StickBreakingTransform()(y))
D.SoftplusTransform()(x), D.SoftplusTransform().inv(x.exp()), D.SoftplusTransform().log_abs_det_jacobian(x, x), D.PowerTransform(2.0)(x), D.PowerTransform(2.0).log_abs_det_jacobian(x.exp(), (x * 2).exp()), D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 3.0)]).log_abs_det_jacobian(x, x), D.SoftmaxTransform()(x), D.AffineTransform(1.0, y, event_dim=1).log_abs_det_jacobian(x, x), D.IndependentTransform(D.ExpTransform(), 1).log_abs_det_jacobian(x, x)
D.Normal(x[0], 1.0).expand((2, 3)).log_prob(y), D.Categorical(logits=x[0]).expand((2,)).log_prob(i), D.Independent(D.Normal(x, 1.0), 1).expand((2, 2)).log_prob(y), D.constraints.positive.check(x), D.constraints.simplex.check(x.softmax(-1)), D.constraints.independent(D.constraints.positive, 1).check(x), D.constraints.interval(-1, 1).check(x)
D.Categorical(logits=x).rsample()
D.Poisson(x.exp()).rsample()
D.MixtureSameFamily(D.Normal(x, 1.0), D.Normal(x, 1.0))
D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(x[:, :2], 1.0))
D.TransformedDistribution(D.Normal(x, 1.0), [3])
D.StudentT(-y.exp())
D.Geometric(x * 0)
D.Binomial(3, x.sigmoid()).log_prob(-l.double())
[d.sample((4,)).shape for d in (D.Gumbel(x, 1.0), D.Cauchy(x, 1.0), D.HalfNormal(x.exp()), D.StudentT(x.exp()), D.Geometric(x.sigmoid()), D.Binomial(3, x.sigmoid()), D.NegativeBinomial(3, x.sigmoid()), D.Multinomial(3, logits=x), D.RelaxedBernoulli(z, logits=x), D.RelaxedOneHotCategorical(z, logits=x), D.Pareto(x.exp(), 1.0), D.Weibull(x.exp(), 1.0), D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(y, 1.0)), D.MixtureSameFamily(D.Categorical(logits=v[:2]), D.Independent(D.Normal(x, 1.0), 1)), D.OneHotCategoricalStraightThrough(logits=x), D.TransformedDistribution(D.Normal(x, 1.0), D.TanhTransform()))]
repr(D.Normal(0.0, 1.0)), repr(D.Normal(x, 1.0)), repr(D.Uniform(0.0, 2.0))
""".strip().split("\n")
