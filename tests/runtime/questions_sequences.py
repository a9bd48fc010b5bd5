"""Questions about layers for sequences: the same weights, and the same answers and gradients."""

# ruff: noqa: E501  (some questions are long)

import numpy as np

from .tables import calls

LAYERS = calls("""
nn.LSTM(3, 4); nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True); nn.LSTM(3, 4, 2, bias=False)
nn.LSTM(3, 4, 2, proj_size=2, bidirectional=True); nn.GRU(3, 4, 2, bidirectional=True)
nn.GRU(3, 4, bias=False, batch_first=True); nn.RNN(3, 4, 2)
nn.RNN(3, 4, nonlinearity='relu', batch_first=True); nn.RNN(3, 4, 1, 'relu')
""")
CELLS = ["nn.LSTMCell(3, 4)", "nn.GRUCell(3, 4, False)", "nn.RNNCell(3, 4)"]
CELLS += ["nn.RNNCell(3, 4, nonlinearity='relu')", "nn.LSTMCell(3, 4, bias=False)"]
HOW = ("plain", "given", "alone", "packed", "unsorted")
ATTENTION = calls("""
nn.MultiheadAttention(4, 2)(q, q, q)
nn.MultiheadAttention(4, 2, batch_first=True)(q, q, q, need_weights=False)
nn.MultiheadAttention(4, 2, bias=False)(q, k, k, average_attn_weights=False)
nn.MultiheadAttention(4, 1, kdim=3, vdim=2)(q, x, y)
nn.MultiheadAttention(4, 2)(q, k, k, key_padding_mask=b)
nn.MultiheadAttention(4, 2)(q, q, q, attn_mask=causal, need_weights=False)
nn.MultiheadAttention(4, 2)(q, q, q, attn_mask=causal, is_causal=True)
nn.MultiheadAttention(4, 2)(q, q, q, attn_mask=causal > -1)
nn.MultiheadAttention(4, 2)(q[:, 0], q[:, 0], q[:, 0])
nn.MultiheadAttention(4, 2)(q, q, q, attn_mask=causal.expand(4, 3, 3))
nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)(q)
nn.TransformerEncoderLayer(4, 2, 8, 0.0, 'gelu', batch_first=True, norm_first=True, bias=False)(q)
nn.TransformerEncoderLayer(4, 2, 8, 0.0)(q, src_mask=causal, src_key_padding_mask=b[:, :3])
nn.TransformerEncoderLayer(4, 2, 8, 0.0, activation=torch.tanh)(q, is_causal=True, src_mask=causal)
nn.TransformerDecoderLayer(4, 2, 8, 0.0)(q, k)
nn.TransformerDecoderLayer(4, 2, 8, 0.0, norm_first=True)(q, k, causal, memory_key_padding_mask=b)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0), 2)(q, mask=causal)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0), 2, nn.LayerNorm(4))(q)
nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, 0.0), 2, nn.LayerNorm(4))(q, k, tgt_mask=causal)
nn.Transformer(4, 2, 1, 1, 8, 0.0)(k, q, tgt_mask=causal)
nn.Transformer(4, 2, 1, 2, 8, 0.0, batch_first=True, norm_first=True)(k, k[:, :1])
nn.Transformer.generate_square_subsequent_mask(3); nn.MultiheadAttention(4, 3)
nn.TransformerEncoderLayer(4, 2, activation='no')
""")
PACKED = calls("""
rnn.pad_sequence([x[0], x[1, :2], x[2, :1]])
rnn.pad_sequence([x[0], x[1, :2]], batch_first=True, padding_value=-1.0)
rnn.pad_sequence([x[0], x[1, :2]], True, 2.0, padding_side='left')
list(rnn.pack_padded_sequence(x, [5, 3]))
list(rnn.pack_padded_sequence(x, torch.tensor([3, 5]), enforce_sorted=False))
list(rnn.pack_padded_sequence(x.transpose(0, 1), [5, 3], batch_first=True))
rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [2, 4], enforce_sorted=False))
rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [4, 2]), True, 9.0, 6)
list(rnn.pack_sequence([x[:, 0], x[:2, 1]]))
rnn.unpack_sequence(rnn.pack_sequence([x[:1, 0], x[:2, 1]], enforce_sorted=False))
rnn.pack_padded_sequence(x, [3, 5]); rnn.pack_padded_sequence(x, [5, 0])
rnn.pack_padded_sequence(x, [5])
rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [4, 2]), total_length=3); nn.LSTM(3, 4)(x[0, 0])
nn.LSTM(2, 4)(x); nn.GRU(3, 4)(x, x)
nn.LSTM(3, 4, 2, True, True, 0.5, True), nn.GRU(3, 4), nn.RNN(3, 4, 2), nn.LSTMCell(3, 4), nn.GRUCell(3, 4, bias=False), nn.LSTM(3, 4, proj_size=2)
""")
ERRORS = (IndexError, ValueError, TypeError, AttributeError, AssertionError, RuntimeError)


def _filled(model):
    stream = np.random.default_rng(3)
    for p in model.parameters():
        p.detach().numpy()[...] = stream.uniform(-0.8, 0.8, p.shape)
    return model


def _answers(torch, out, leaves):
    """The floating tensors of an output, and the gradients of their weighted sum."""
    tensors = [out] if isinstance(out, torch.Tensor) else []
    stack = list(out)[::-1] if isinstance(out, (list, tuple)) else []
    while stack:
        each = stack.pop()
        if isinstance(each, torch.Tensor):
            tensors.append(each)
        elif isinstance(each, (list, tuple)):
            stack += list(each)[::-1]
    stream, loss = np.random.default_rng(4), 0
    for t in tensors:
        if t.requires_grad:
            weight = torch.tensor(stream.standard_normal(tuple(t.shape)))
            loss = loss + (t * weight.to(t.dtype)).sum()
    grads = []
    if isinstance(loss, torch.Tensor):
        found = torch.autograd.grad(loss, leaves, allow_unused=True)
        grads = [None if g is None else g.detach().numpy() for g in found]
    return [[t.detach().numpy() for t in tensors], grads]


def recurrent(torch, question):
    """What a layer gives of plain, packed or single sequences, with its gradients."""
    code, how = question
    torch.set_default_dtype(torch.float64)
    try:
        model = _filled(eval(code, {"nn": torch.nn}))  # noqa: S307
        stream, cell = np.random.default_rng(5), "Cell" in code
        shape = (2, 3) if cell else (5, 2, 3)
        x = torch.tensor(stream.standard_normal(shape)).requires_grad_()
        if how == "alone":
            x = x[:, 0] if not cell and not model.batch_first else x[0]
            x = x.detach().requires_grad_()
        given, leaves, data = None, [x, *model.parameters()], x
        rnn = torch.nn.utils.rnn
        if how in ("packed", "unsorted"):
            first = model.batch_first
            lengths = [2, 1, 2, 2, 1] if first else [3, 5]
            lengths = lengths if how == "unsorted" else sorted(lengths, reverse=True)
            data = rnn.pack_padded_sequence(x, lengths, first, how == "packed")
        if how == "given":
            width = [getattr(model, "proj_size", 0) or 4, 4]
            batch = 2 if cell or not model.batch_first else 5
            many = 1 if cell else model.num_layers * (2 if model.bidirectional else 1)
            sizes = [(batch, n) if cell else (many, batch, n) for n in width]
            states = [torch.tensor(stream.standard_normal(s)).requires_grad_() for s in sizes]
            states = states if "LSTM" in code else states[:1]
            leaves += states
            given = tuple(states) if len(states) > 1 else states[0]
        out = model(data) if given is None else model(data, given)
        names = [name for name, _ in model.named_parameters()]
        return [names, _answers(torch, out, leaves)]
    finally:
        torch.set_default_dtype(torch.float32)


def expression(torch, code):
    """What an expression gives in double precision, with gradients; or the error's class."""
    torch.set_default_dtype(torch.float64)
    stream = np.random.default_rng(6)

    def leaf(*shape):
        return torch.tensor(stream.standard_normal(shape)).requires_grad_()

    names = {"q": leaf(3, 2, 4), "k": leaf(5, 2, 4), "x": leaf(5, 2, 3), "y": leaf(5, 2, 2)}
    leaves = list(names.values())
    names["b"] = torch.tensor(np.array([[0, 0, 0, 1, 1], [0, 1, 0, 0, 0]], bool))
    names["causal"] = torch.tensor(np.triu(np.full((3, 3), -np.inf), 1))
    made = []

    class Filled:
        """torch.nn, with every module filled with the same numbers."""

        def __getattr__(self, name):
            kind = getattr(torch.nn, name)

            def make(*args, **kwargs):
                made.append(_filled(kind(*args, **kwargs)))
                return made[-1]

            return kind if name == "Transformer" and "generate" in code else make

    try:
        out = eval(code, {**names, "torch": torch, "nn": Filled(), "rnn": torch.nn.utils.rnn})  # noqa: S307
        if isinstance(out, torch.nn.Module):
            return repr(out)
        if isinstance(out, tuple) and all(isinstance(m, torch.nn.Module) for m in out):
            return [repr(m) for m in out]
        own = list(made[-1].parameters()) if made else []
        return _answers(torch, out, leaves + own)
    except Exception as error:
        return next((c.__name__ for c in ERRORS if isinstance(error, c)), type(error).__name__)
    finally:
        torch.set_default_dtype(torch.float32)


RECURRENT = {
    f"{code} {how}": (code, how)
    for codes, ways in ((LAYERS, HOW), (CELLS, HOW[:3]))
    for code in codes
    for how in ways
}
EXPRESSIONS = {code: code for code in (*ATTENTION, *PACKED)}
