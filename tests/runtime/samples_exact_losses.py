"""Samples of losses of margins and pairs, and of tables of rows, whose outcome is PyTorch's.

Names in them are those of samples_exact.py.
"""

from .tables import calls

_SIGNS = "torch.tensor([1.0, -1.0])"
_BITS = "(y > 0).double()"
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
(lambda w: [F.embedding(i, w, max_norm=0.5, norm_type=1.0), w, w._version])(M.detach())
nn.Embedding.from_pretrained(M.detach(), padding_idx=1)(i), nn.Embedding.from_pretrained(M.detach(), freeze=False).weight.requires_grad, repr(nn.Embedding.from_pretrained(M.detach())), nn.EmbeddingBag.from_pretrained(M.detach(), mode='sum')(i[None])
nn.Embedding.from_pretrained(v); nn.EmbeddingBag(3, 2)(i).shape
nn.EmbeddingBag(3, 2, mode='sum', padding_idx=-1)(i[None]).shape, nn.EmbeddingBag(5, 2, padding_idx=-2).padding_idx, repr(nn.EmbeddingBag(5, 2, max_norm=1.0)), repr(nn.EmbeddingBag(5, 2)), nn.EmbeddingBag(5, 2, padding_idx=1).weight[1]
nn.EmbeddingBag(3, 2, padding_idx=3); nn.EmbeddingBag(3, 2, mode='x')(i[None])
torch.bilinear(x, y, M[None]), nn.Bilinear(3, 3, 2, bias=False)(f, f).shape, F.bilinear(x, y, torch.stack([M, -M]), v[:2]), repr(nn.Bilinear(3, 4, 2))
""")
