"""Recurrent layers and their cells. Source: torch/nn/modules/rnn.py, ATen/native/RNN.cpp."""

# mypy: disable-error-code="attr-defined, has-type, call-arg, index, no-any-return"

from __future__ import annotations

import math
from typing import Any

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor
from ..observe.arrangement import active
from ..ops.make import composite
from . import functional as F
from . import gated_layers, init
from .layers import Layer
from .packed import PackedSequence

State = tuple[Tensor, ...]


def _simple(gates: Tensor, state: State, w_hh: Tensor, b_hh: Any, _: Any, act: Any) -> State:
    return (act(gates + F.linear(state[0], w_hh, b_hh)),)


def _gru(gates: Tensor, state: State, w_hh: Tensor, b_hh: Any, *_: Any) -> State:
    reset, update, new = gates.chunk(3, -1)
    h_reset, h_update, h_new = F.linear(state[0], w_hh, b_hh).chunk(3, -1)
    new = (new + (reset + h_reset).sigmoid() * h_new).tanh()
    return (new + (update + h_update).sigmoid() * (state[0] - new),)


def _lstm(gates: Tensor, state: State, w_hh: Tensor, b_hh: Any, w_hr: Any, _: Any) -> State:
    enter, forget, new, out = (gates + F.linear(state[0], w_hh, b_hh)).chunk(4, -1)
    cell = forget.sigmoid() * state[1] + enter.sigmoid() * new.tanh()
    hidden = out.sigmoid() * cell.tanh()
    return (hidden if w_hr is None else F.linear(hidden, w_hr)), cell


_STEPS = {"LSTM": _lstm, "GRU": _gru, "RNN": _simple}
_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


class _Recurrent(Layer):
    """What layers and cells share: weights of one size of gates, uniform at the start."""

    nonlinearity = "tanh"

    def reset_parameters(self) -> None:
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _step(self, gates: Tensor, state: State, weights: Any) -> State:
        return _STEPS[self.kind](gates, state, *weights, getattr(aten, self.nonlinearity))


class _Layers(_Recurrent):
    """Steps (T, N, input), or packed ones, to outputs (T, N, hidden) and the last state."""

    def setup(self, **factory: Any) -> None:
        check(0 <= self.dropout <= 1, "dropout should be a number in range [0, 1]", ValueError)
        some = self.hidden_size > 0 and self.num_layers > 0
        check(some, "hidden_size and num_layers must be greater than zero", ValueError)
        many, n = _GATES[self.kind] * self.hidden_size, self.hidden_size
        proj = getattr(self, "proj_size", 0)
        shapes: dict[str, Any] = {}
        for layer in range(self.num_layers):
            for end in ("", "_reverse") if self.bidirectional else ("",):
                width = (proj or n) * (2 if self.bidirectional else 1) if layer else self.input_size
                shapes[f"weight_ih_l{layer}{end}"] = (many, width)
                shapes[f"weight_hh_l{layer}{end}"] = (many, proj or n)
                if self.bias:
                    shapes[f"bias_ih_l{layer}{end}"] = shapes[f"bias_hh_l{layer}{end}"] = (many,)
                if proj:
                    shapes[f"weight_hr_l{layer}{end}"] = (proj, n)
        self._new(factory, **shapes)

    def flatten_parameters(self) -> None:
        """They are as they should be."""

    @property
    def all_weights(self) -> list[list[Any]]:
        """The weights of each layer and direction."""
        ends = ("", "_reverse") if self.bidirectional else ("",)
        kinds = ["weight_ih", "weight_hh"] + ["bias_ih", "bias_hh"] * bool(self.bias)
        kinds += ["weight_hr"] * (getattr(self, "proj_size", 0) > 0)
        return [
            [getattr(self, f"{kind}_l{layer}{end}") for kind in kinds]
            for layer in range(self.num_layers)
            for end in ends
        ]

    def forward(self, input: Any, hx: Any = None) -> Any:
        packed, lstm = isinstance(input, PackedSequence), self.kind == "LSTM"
        data = input.data if packed else input
        alone = not packed and data.array.ndim == 2
        fits = packed or alone or data.array.ndim == 3
        check(fits, f"{self.kind}: Expected input to be 2D or 3D", ValueError)
        wrong = f"input.size(-1) must be equal to input_size. Expected {self.input_size}"
        check(data.array.shape[-1] == self.input_size, wrong)
        data = data.unsqueeze(0 if self.batch_first else 1) if alone else data
        data = data.transpose(0, 1) if self.batch_first and not packed else data
        sizes = input.batch_sizes.tolist() if packed else None
        batch = sizes[0] if packed else data.array.shape[1]
        many = self.num_layers * (2 if self.bidirectional else 1)
        wide = [getattr(self, "proj_size", 0) or self.hidden_size, self.hidden_size][: 1 + lstm]
        given = [hx] if hx is not None and not lstm else hx
        if hx is None:
            given = [data.new_zeros((many, batch, n)) for n in wide]
        elif alone:
            given = [h.unsqueeze(1) for h in given]
        elif packed and input.sorted_indices is not None:
            given = [h.index_select(1, input.sorted_indices) for h in given]
        for h, n in zip(given, wide, strict=True):
            fits = h.array.shape == (many, batch, n)
            check(fits, f"Expected hidden size {(many, batch, n)}, got {list(h.array.shape)}")
        out, last = _OPERATORS[self.kind](self, data, sizes, tuple(given))
        if packed:
            out = input._replace(data=out)
            if input.unsorted_indices is not None:
                last = [h.index_select(1, input.unsorted_indices) for h in last]
        else:
            out = out.transpose(0, 1) if self.batch_first else out
            out = out.squeeze(0 if self.batch_first else 1) if alone else out
            last = [h.squeeze(1) for h in last] if alone else last
        return out, (tuple(last) if lstm else last[0])

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False}
        for name, value in {**usual, "dropout": 0, "bidirectional": False}.items():
            if getattr(self, name, value) != value:
                text += f", {name}={getattr(self, name)}"
        return text


def _through(step: Any, rows: Any, state: State, weights: Any) -> Any:
    """One layer in one direction: what each step gives, and the last state of each sequence.

    Of packed sequences a step may have fewer rows than the one before, or (backwards) more.
    """
    found, gone, start = [], list[State](), state
    state = tuple(s[: rows[0].array.shape[0]] for s in state)
    for row in rows:
        n, have = row.array.shape[0], state[0].array.shape[0]
        if n < have:
            gone.append(tuple(s[n:] for s in state))
            state = tuple(s[:n] for s in state)
        elif n > have:
            state = tuple(aten.cat([s, w[have:n]]) for s, w in zip(state, start, strict=True))
        state = step(row, state, weights)
        found.append(state[0])
    if gone:
        state = tuple(aten.cat(parts[::-1]) for parts in zip(*gone, state, strict=True))
    return found, state


def _one_by_one(
    step: Any, x: Tensor, sizes: Any, state: State, weights: Any, reverse: bool
) -> tuple[Tensor, State]:
    """What `_through` gives of all steps, as one tensor, and the last state."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    gates, way = F.linear(x, w_ih, b_ih), -1 if reverse else 1
    rows = gates.unbind(0) if sizes is None else gates.split(sizes)
    found, end = _through(step, rows[::way], state, (w_hh, b_hh, w_hr))
    return (aten.stack if sizes is None else aten.cat)(found[::way]), end


def _by_steps(step: Any, count: int) -> Any:
    """A layer of `count` states, with the arguments of its operator."""

    def run(x: Tensor, *given: Any) -> State:
        weights, state = given[:4], given[4 : 4 + count]
        out, end = _one_by_one(
            lambda gates, state, rest: step(gates, state, *rest, None),
            x, None, state, (*weights, None), given[-1],
        )  # fmt: skip
        return (out, *end)

    return run


_LAYERS = {"LSTM": gated_layers.make_lstm_layer(_by_steps(_lstm, 2))}
_UNSEEN = {**_LAYERS, "GRU": gated_layers.make_gru_layer(_by_steps(_gru, 1))}


def recurrent_layers(self: _Layers, x: Tensor, sizes: Any, state: State) -> Any:
    check(len(x.array) > 0, "Expected sequence length to be larger than 0 in RNN")
    sides, last, outs = 2 if self.bidirectional else 1, [], list[Any]()
    plain = sizes is None and not getattr(self, "proj_size", 0)
    layer = (_LAYERS if active else _UNSEEN).get(self.kind) if plain else None
    every = self.all_weights
    for number, (w_ih, w_hh, *rest) in enumerate(every):
        side = number % sides
        b_ih, b_hh, *more = rest if self.bias else (None, None, *rest)
        outs = outs if side else []
        weights, first = (w_ih, w_hh, b_ih, b_hh), tuple(s[number] for s in state)
        if layer is not None and gated_layers.is_fit((x, *weights, *first)):
            out, *end = layer(x, *weights, *first, bool(side))
        else:
            all_weights = (*weights, more[0] if more else None)
            out, end = _one_by_one(self._step, x, sizes, first, all_weights, bool(side))
        outs.append(out)
        last.append(end)
        if side == sides - 1:
            x = outs[0] if sides == 1 else aten.cat(outs, -1)
            if self.dropout and number < len(every) - sides:
                x = aten.dropout(x, self.dropout, self.training)
    return x, [aten.stack(parts) for parts in zip(*last, strict=True)]


_OPERATORS = {
    kind: composite(name=f"aten::{seen}")(recurrent_layers)
    for kind, seen in (("LSTM", "lstm"), ("GRU", "gru"), ("RNN", "rnn_tanh"))
}


class _Cell(_Recurrent):
    """One step: input (N, input) and state (N, hidden) to the next state."""

    def setup(self, **factory: Any) -> None:
        many = _GATES[self.kind] * self.hidden_size
        bias = (many,) if self.bias else None
        self._new(factory, weight_ih=(many, self.input_size), weight_hh=(many, self.hidden_size),
                  bias_ih=bias, bias_hh=bias)  # fmt: skip

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        lstm, alone = self.kind == "LSTM", input.array.ndim == 1
        told = f"{self._get_name()}: Expected input to be 1D or 2D"
        check(input.array.ndim in (1, 2), told, ValueError)
        given = [hx] if hx is not None and not lstm else hx
        for h in given or ():
            check(h.array.ndim in (1, 2), told.replace("input", "hidden"), ValueError)
        x = input.unsqueeze(0) if alone else input
        if hx is None:
            given = [x.new_zeros((x.array.shape[0], self.hidden_size))] * (1 + lstm)
        elif alone:
            given = [h.unsqueeze(0) for h in given]
        size = (x.array.shape[0], self.hidden_size)
        for h in given:
            told = f"hidden has a size of {h.array.shape}, and not the input's and layer's {size}"
            check(h.array.shape == size, told)
        gates = F.linear(x, self.weight_ih, self.bias_ih)
        found = self._step(gates, tuple(given), (self.weight_hh, self.bias_hh, None))
        found = tuple(h.squeeze(0) for h in found) if alone else found
        return found if lstm else found[0]

    def extra_repr(self) -> str:
        more = "" if self.bias_ih is not None else ", bias=False"
        act = f", nonlinearity={self.nonlinearity}" if self.nonlinearity != "tanh" else ""
        return f"{self.input_size}, {self.hidden_size}{more}{act}"


_FACTORY = ", device=None, dtype=None"
_ARGS = "input_size, hidden_size, num_layers=1, {}bias=True, batch_first=False, dropout=0.0, "
_ARGS += "bidirectional=False{}" + _FACTORY
_CELL = "input_size, hidden_size, bias=True{}" + _FACTORY
for _name, _base, _args in (
    ("LSTM", _Layers, _ARGS.format("", ", proj_size=0")),
    ("GRU", _Layers, _ARGS.format("", "")),
    ("RNN", _Layers, _ARGS.format("nonlinearity='tanh', ", "")),
    ("LSTMCell", _Cell, _CELL.format("")),
    ("GRUCell", _Cell, _CELL.format("")),
    ("RNNCell", _Cell, _CELL.format(", nonlinearity='tanh'")),
):
    _body = {"__module__": __name__, "kind": _name.removesuffix("Cell"), "__doc__": _base.__doc__}
    globals()[_name] = type(_name, (_base,), _body, args=_args)


RNNBase, RNNCellBase = _Layers, _Cell
