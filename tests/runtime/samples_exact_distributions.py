"""Samples of distributions whose outcome is PyTorch's. `D` is torch.distributions.

Other names are those of samples_exact.py.
"""

from .tables import calls

DISTRIBUTIONS = calls("""
D.Normal(x, y.exp()).log_prob(T[0, 0, :3]), D.Normal(0.0, 1.0).log_prob(x), D.Normal(x, 1.0).entropy(), D.Normal(x, 2.0).cdf(y), D.Normal(x, 2.0).icdf(y.sigmoid()), D.Normal(x, y.exp()).variance, D.Normal(x, y.exp()).mean
D.Uniform(x, x + 1).log_prob(x + 0.5), D.Uniform(x, x + 2).entropy(), D.Uniform(0.0, 1.0).log_prob(x.sigmoid()), D.Uniform(x, x + 2).mean, D.Uniform(x, x + 2).variance, D.Uniform(x, x + 2).cdf(x + 0.5)
D.Laplace(x, y.exp()).log_prob(x + 1), D.Laplace(x, y.exp()).entropy(), D.Laplace(x, y.exp()).stddev
D.Gamma(x.exp(), y.exp()).log_prob(v.exp()), D.Gamma(x.exp().detach(), y.exp()).entropy(), D.Gamma(x.exp(), y.exp()).mean, D.Gamma(x.exp(), y.exp()).variance
D.Beta(x.exp(), y.exp()).mean, D.Beta(x.exp(), y.exp()).variance
[t.float() for t in (D.Beta(x.exp(), y.exp()).log_prob(v.sigmoid()), D.Beta(x.exp().detach(), y.exp().detach()).entropy(), D.Dirichlet(x.exp()).log_prob(y.softmax(1)), D.Dirichlet(x.exp().detach()).entropy())]
D.Dirichlet(x.exp()).mean, D.Dirichlet(x.exp()).variance
D.Bernoulli(x.sigmoid()).log_prob(b.double()), D.Bernoulli(logits=x).log_prob(b.double()), D.Bernoulli(logits=x).entropy(), D.Bernoulli(x.sigmoid()).mean, D.Bernoulli(x.sigmoid()).variance, D.Bernoulli(logits=x).probs, D.Bernoulli(0.3).logits
D.Categorical(x.exp()).log_prob(i), D.Categorical(logits=x).log_prob(i), D.Categorical(logits=x).entropy(), D.Categorical(x.exp()).probs, D.Categorical(x.exp()).logits, D.Categorical(logits=x).log_prob(torch.tensor([[0, 1], [2, 2]])), D.Categorical(logits=x).mode
D.MultivariateNormal(v, M @ M.T + torch.eye(3)).log_prob(x), D.MultivariateNormal(x, scale_tril=M.tril(-1) + torch.eye(3)).log_prob(v), D.MultivariateNormal(v, M @ M.T + torch.eye(3)).entropy(), D.MultivariateNormal(v, scale_tril=M.tril(-1) + torch.eye(3)).covariance_matrix, D.MultivariateNormal(v, scale_tril=M.tril(-1) + torch.eye(3)).variance
D.Independent(D.Normal(x, 1.0), 1).log_prob(y), D.Independent(D.Normal(x, 1.0), 2).entropy(), D.Independent(D.Normal(x, 1.0), 1).batch_shape, D.Independent(D.Normal(x, 1.0), 1).event_shape, D.Independent(D.Bernoulli(logits=x), 1).log_prob(b.double()), D.Independent(D.Normal(x, 1.0), 1).mean
D.kl_divergence(D.Normal(x, 1.0), D.Normal(y, 2.0)), D.kl_divergence(D.Laplace(x, 1.0), D.Laplace(y, 2.0)), D.kl_divergence(D.Bernoulli(logits=x), D.Bernoulli(logits=y)), D.kl_divergence(D.Categorical(logits=x), D.Categorical(logits=y))
[t.detach() for t in (D.kl_divergence(D.Gamma(x.exp(), 1.0), D.Gamma(y.exp(), 2.0)), D.kl_divergence(D.Beta(x.exp(), 1.0), D.Beta(y.exp(), 2.0)), D.kl_divergence(D.Dirichlet(x.exp()), D.Dirichlet(y.exp())))]
D.kl_divergence(D.Independent(D.Normal(x, 1.0), 1), D.Independent(D.Normal(y, 2.0), 1)), D.kl_divergence(D.MultivariateNormal(v, torch.eye(3).double()), D.MultivariateNormal(v * 2, 2 * torch.eye(3).double()))
D.Normal(x, -1.0); D.Categorical(x); D.Categorical(x.exp(), x); D.Categorical(z)
D.Bernoulli(x.abs() + 2); D.Normal(0.0, 1.0).log_prob(n)
D.Categorical(logits=x).log_prob(torch.tensor([3, 0])); D.Uniform(x, x)
D.Uniform(0.0, 1.0).log_prob(x); D.Beta(x, y)
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
