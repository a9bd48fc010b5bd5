"""One layer of an LSTM or a GRU in one direction: one operator, with a backward of its own.

As in PyTorch's CPU build that of the LSTM takes float32; other dtypes, packed sequences,
projections, autocast and devices run step by step (recurrent.py), and so does a backward whose
graph is recorded. A GRU is one operator where nobody observes; observers are shown its steps, as
PyTorch runs them; its formulas are cuDNN's. Source: aten/src/ATen/native/mkldnn/RNN.cpp, RNN.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..core.storage import storage_of, storages
from ..engine.tensor import Tensor
from ..observe.autocast import is_autocast_enabled
from ..ops.fused_operator import FusedOperator

Array = Any
Saved = tuple[Array, ...]


def _halves(n: int, dtype: Any) -> tuple[Array, Array]:
    """Factor and offset that make sigmoids of tanh for all gates but the third: (4 n) each."""
    half, offset = np.full((2, 4 * n), 0.5, dtype)
    half[2 * n : 3 * n], offset[2 * n : 3 * n] = 1, 0
    return half, offset


def _lstm_steps(x: Array, w_ih: Array, w_hh: Array, bias: Any, h: Array, c: Array) -> Saved:
    """Gates (T, N, 4 H), states and cells (T + 1, N, H), and tanh of the cells (T, N, H).

    A sigmoid is `tanh(x / 2) / 2 + 1 / 2`, so one call of tanh serves all gates.
    """
    steps, n = x.shape[0], w_hh.shape[1]
    half, offset = _halves(n, x.dtype)
    gates = x.reshape(-1, x.shape[2]) @ (w_ih * half[:, None]).T
    if bias is not None:
        gates += bias * half
    gates = gates.reshape(steps, -1, 4 * n)
    weight = (w_hh * half[:, None]).T
    hidden = np.empty((steps + 1, *h.shape), x.dtype)
    cells, squashed = np.empty_like(hidden), np.empty_like(hidden[1:])
    hidden[0], cells[0] = h, c
    for step in range(steps):
        gate = gates[step]
        gate += hidden[step] @ weight
        np.tanh(gate, out=gate)
        gate *= half
        gate += offset
        cell, tanh = cells[step + 1], squashed[step]
        np.multiply(gate[:, n : 2 * n], cells[step], out=cell)
        cell += gate[:, :n] * gate[:, 2 * n : 3 * n]
        np.tanh(cell, out=tanh)
        np.multiply(gate[:, 3 * n :], tanh, out=hidden[step + 1])
    return gates, hidden, cells, squashed


def _lstm_gate_gradients(saved: Saved, w_hh: Array, given: list[Any]) -> Saved:
    """Gradients of what the gates are made of (T, N, 4 H), and of the first state and cell.

    Args:
        given: gradients of all states (T, N, H), of the last state and of the last cell, or None.
    """
    gates, hidden, cells, squashed = saved
    n = w_hh.shape[1]
    # What a gate's gradient is of the cell's (the first three) or of the state's (the last).
    found = gates * (1 - gates)
    enter, forget, new, out = (gates[..., k * n : (k + 1) * n] for k in range(4))
    found[..., :n] *= new
    found[..., n : 2 * n] *= cells[:-1]
    np.multiply(enter, 1 - new * new, out=found[..., 2 * n : 3 * n])
    found[..., 3 * n :] *= squashed
    of_state = out * (1 - squashed * squashed)
    states, d_hidden, d_cell = given
    d_hidden = np.zeros_like(hidden[0]) if d_hidden is None else d_hidden
    d_cell = np.zeros_like(hidden[0]) if d_cell is None else d_cell.copy()
    for step in range(len(gates) - 1, -1, -1):
        gate = found[step]
        if states is not None:
            d_hidden = d_hidden + states[step]
        d_cell += d_hidden * of_state[step]
        of_cell = gate[:, : 3 * n].reshape(-1, 3, n)
        of_cell *= d_cell[:, None]
        gate[:, 3 * n :] *= d_hidden
        d_cell *= forget[step]
        d_hidden = gate @ w_hh
    return found, d_hidden, d_cell


def in_order(steps: Any, reverse: bool) -> Any:
    """Steps (T, ...), or None, in the order in which a layer takes them."""
    return steps[::-1] if reverse and steps is not None else steps


def layer_gradients(
    arrays: list[Array], of_input: Array, of_state: Array, hidden: Array, wanted: list[bool],
    reverse: bool,
) -> list[Any]:  # fmt: skip
    """Return the gradients of a layer's input, weights and biases, those that are wanted.

    Args:
        of_input: of what the input gives to the gates (T, N, gates), in the layer's order.
        of_state: of what the states `hidden` (T, N, H) give.
    """
    (x, w_ih, *_), found = arrays, list[Any]([None] * 5)
    rows, of_state = (g.reshape(-1, g.shape[2]) for g in (of_input, of_state))
    if wanted[0]:
        found[0] = in_order((rows @ w_ih).reshape(x.shape), reverse)
    if wanted[1]:
        found[1] = rows.T @ in_order(x, reverse).reshape(-1, x.shape[2])
    if wanted[2]:
        found[2] = of_state.T @ hidden.reshape(-1, hidden.shape[2])
    ones = np.ones(len(rows), rows.dtype)
    for k, g in ((3, rows), (4, of_state)):
        found[k] = ones @ g if wanted[k] else None
    return found


def _lstm_forward(
    x: Array, w_ih: Array, w_hh: Array, b_ih: Any, b_hh: Any, h: Array, c: Array, reverse: bool
) -> tuple[tuple[Array, ...], Saved]:
    bias = None if b_ih is None else b_ih + b_hh
    work = _lstm_steps(in_order(x, reverse), w_ih, w_hh, bias, h, c)
    hidden, cells = work[1][1:], work[2]
    return (hidden[::-1].copy() if reverse else hidden, hidden[-1].copy(), cells[-1].copy()), work


def _lstm_backward(
    work: Saved, arrays: list[Array], grads: list[Any], wanted: list[bool], reverse: bool
) -> list[Any]:
    given = [in_order(grads[0], reverse), *grads[1:]]
    gates, h, c = _lstm_gate_gradients(work, arrays[2], given)
    return [*layer_gradients(arrays, gates, gates, work[1][:-1], wanted, reverse), h, c]


def is_fit(tensors: Iterable[Any]) -> bool:
    """Tell whether the operator takes these inputs: float32 on the CPU, outside autocast."""
    if is_autocast_enabled():
        return False
    given = [t for t in tensors if t is not None]
    return all(t.array.dtype.char == "f" and t.array.size for t in given) and not (
        storages and any(storage_of(t) is not None for t in given)
    )


def make_lstm_layer(by_steps: Callable[..., Any]) -> FusedOperator:
    """Make the operator; `by_steps` takes the same arguments and is made of other operators.

    It takes steps (T, N, input), weights (4 H, input) and (4 H, H), biases (4 H) or None, the first
    state and cell (N, H), and whether it goes backwards. It returns all states (T, N, H), the last
    state and the last cell.
    """
    return FusedOperator(
        "mkldnn_rnn_layer", 7, _lstm_forward, _lstm_backward, by_steps, guards_output=True
    )


def _gru_steps(x: Array, w_ih: Array, w_hh: Array, b_ih: Any, b_hh: Any, h: Array) -> Saved:
    """Gates (T, N, 3 H), what the state gives to the third (T, N, H), and states (T + 1, N, H).

    A sigmoid is `tanh(x / 2) / 2 + 1 / 2`.
    """
    steps, n = x.shape[0], w_hh.shape[1]
    half = np.ones(3 * n, x.dtype)
    half[: 2 * n] = 0.5
    gates = x.reshape(-1, x.shape[2]) @ (w_ih * half[:, None]).T
    if b_ih is not None:
        gates += b_ih * half
        gates[:, : 2 * n] += b_hh[: 2 * n] * half[: 2 * n]
    gates = gates.reshape(steps, -1, 3 * n)
    weight = (w_hh * half[:, None]).T
    hidden = np.empty((steps + 1, *h.shape), x.dtype)
    hidden[0], inner = h, np.empty((steps, *h.shape), x.dtype)
    for step in range(steps):
        gate, state, of_state = gates[step], hidden[step], inner[step]
        more = state @ weight
        both, new = gate[:, : 2 * n], gate[:, 2 * n :]
        both += more[:, : 2 * n]
        np.tanh(both, out=both)
        both *= 0.5
        both += 0.5
        np.add(more[:, 2 * n :], 0 if b_hh is None else b_hh[2 * n :], out=of_state)
        new += both[:, :n] * of_state
        np.tanh(new, out=new)
        np.subtract(state, new, out=hidden[step + 1])
        hidden[step + 1] *= both[:, n:]
        hidden[step + 1] += new
    return gates, inner, hidden


def _gru_gate_gradients(saved: Saved, w_hh: Array, given: list[Any]) -> Saved:
    """Gradients of what inputs and states give to the gates (T, N, 3 H), and of the first state.

    Args:
        given: gradients of all states (T, N, H) and of the last state, or None.
    """
    gates, inner, hidden = saved
    n = w_hh.shape[1]
    reset, update, new = (gates[..., k * n : (k + 1) * n] for k in range(3))
    # What these gradients are of the next state's.
    of_input, of_state = np.empty_like(gates), np.empty_like(gates)
    of_new = (1 - update) * (1 - new * new)
    np.multiply(of_new, reset, out=of_state[..., 2 * n :])
    np.multiply(of_state[..., 2 * n :], inner * (1 - reset), out=of_state[..., :n])
    np.multiply((hidden[:-1] - new) * update, 1 - update, out=of_state[..., n : 2 * n])
    states, d_hidden = given
    d_hidden = np.zeros_like(hidden[0]) if d_hidden is None else d_hidden
    for step in range(len(gates) - 1, -1, -1):
        if states is not None:
            d_hidden = d_hidden + states[step]
        gate = of_state[step].reshape(-1, 3, n)
        gate *= d_hidden[:, None]
        of_new[step] *= d_hidden
        d_hidden = d_hidden * update[step]
        d_hidden += of_state[step] @ w_hh
    of_input[..., : 2 * n], of_input[..., 2 * n :] = of_state[..., : 2 * n], of_new
    return of_input, of_state, d_hidden


def _gru_forward(
    x: Array, w_ih: Array, w_hh: Array, b_ih: Any, b_hh: Any, h: Array, reverse: bool
) -> tuple[tuple[Array, ...], Saved]:
    work = _gru_steps(in_order(x, reverse), w_ih, w_hh, b_ih, b_hh, h)
    hidden = work[2][1:]
    return (in_order(hidden, reverse).copy(), hidden[-1].copy()), work


def _gru_backward(
    work: Saved, arrays: list[Array], grads: list[Any], wanted: list[bool], reverse: bool
) -> list[Any]:
    given = [in_order(grads[0], reverse), grads[1]]
    of_input, of_state, h = _gru_gate_gradients(work, arrays[2], given)
    return [*layer_gradients(arrays, of_input, of_state, work[2][:-1], wanted, reverse), h]


def _guarded(needs: list[bool], x: Tensor, *others: Any) -> list[bool]:
    """Tell which tensors the backward of the single steps saves, from which need gradients."""
    of_x, of_w_ih, of_w_hh, _, _, of_h = needs
    return [of_w_ih, of_x, of_h or len(x.array) > 1, False, False, of_w_hh]


def make_gru_layer(by_steps: Callable[..., Any]) -> FusedOperator:
    """Make the operator; `by_steps` takes the same arguments and is made of other operators.

    It takes steps (T, N, input), weights (3 H, input) and (3 H, H), biases (3 H) or None, the first
    state (N, H), and whether it goes backwards. It returns all states (T, N, H) and the last.
    """
    return FusedOperator("gru_layer", 6, _gru_forward, _gru_backward, by_steps, guarded=_guarded)
