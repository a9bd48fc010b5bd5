"""Operators by what they do."""

from __future__ import annotations


def aten(names: str) -> frozenset[str]:
    """Return the full names of operators: `aten("mm add_")` for aten::mm and aten::add_."""
    return frozenset(f"aten::{name}" for name in names.split())


# They move no data: they look at it in another way.
VIEWS = aten(
    "select slice narrow view reshape view_as as_strided unsqueeze squeeze t transpose permute "
    "expand detach alias unbind split chunk unflatten flatten"
)
# Where a loop has one in each round, the rounds are one product only if none needs the one before.
PRODUCTS = aten(
    "mm addmm bmm baddbmm matmul linear einsum conv1d conv2d conv3d convolution "
    "scaled_dot_product_attention embedding lstm gru rnn_tanh rnn_relu lstm_cell gru_cell "
    "rnn_tanh_cell rnn_relu_cell _thnn_fused_lstm_cell _thnn_fused_gru_cell"
)
# They take an index or a mask: the first copy one that is on the CPU themselves.
LOOK_UP_INSIDE = aten("index index_put_ index_put")
LOOK_UP = LOOK_UP_INSIDE | aten(
    "_index_put_impl_ index_select gather take take_along_dim masked_fill_ masked_fill "
    "masked_select masked_scatter index_add_ index_copy_ index_fill_ scatter_ scatter_add_"
)
# Layers that loop over time themselves; torch.compile leaves them as they are.
RECURRENT_LAYERS = aten("lstm gru rnn_tanh rnn_relu _cudnn_rnn miopen_rnn")
# Each round needs the state that the one before left.
RECURRENT = frozenset(name for name in PRODUCTS if "_cell" in name)
# A loop with these in each round is one of training steps, or of data parallelism's own.
TRAINING_STEPS = (
    "autograd::engine::evaluate_function: *", "aten::_foreach_*", "nccl:*", "gloo:*", "c10d::*",
    "torch.distributed.*",
)  # fmt: skip
