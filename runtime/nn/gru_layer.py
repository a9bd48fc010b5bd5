"""One layer of a GRU in one direction: one operator where nobody observes, else its steps' own.

PyTorch's CPU build runs a GRU step by step, which is what observers are shown (recurrent.py).
Source: aten/src/ATen/native/RNN.cpp; the formulas are cuDNN's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from ..ops.fused_operator import FusedOperator
from .lstm_layer import Array, Saved, in_order, layer_gradients


def _steps(x: Array, w_ih: Array, w_hh: Array, b_ih: Any, b_hh: Any, h: Array) -> Saved:
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


def _gate_gradients(saved: Saved, w_hh: Array, given: list[Any]) -> Saved:
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


def _forward(
    x: Array, w_ih: Array, w_hh: Array, b_ih: Any, b_hh: Any, h: Array, reverse: bool
) -> tuple[tuple[Array, ...], Saved]:
    work = _steps(in_order(x, reverse), w_ih, w_hh, b_ih, b_hh, h)
    hidden = work[2][1:]
    return (in_order(hidden, reverse).copy(), hidden[-1].copy()), work


def _backward(
    work: Saved, arrays: list[Array], grads: list[Any], wanted: list[bool], reverse: bool
) -> list[Any]:
    given = [in_order(grads[0], reverse), grads[1]]
    of_input, of_state, h = _gate_gradients(work, arrays[2], given)
    return [*layer_gradients(arrays, of_input, of_state, work[2][:-1], wanted, reverse), h]


def _guarded(needs: list[bool], x: Tensor, *others: Any) -> list[bool]:
    """Tell which tensors the backward of the single steps saves, from which need gradients."""
    of_x, of_w_ih, of_w_hh, _, _, of_h = needs
    return [of_w_ih, of_x, of_h or len(x.array) > 1, False, False, of_w_hh]


def make_layer(by_steps: Callable[..., Any]) -> FusedOperator:
    """Make the operator; `by_steps` takes the same arguments and is made of other operators.

    It takes steps (T, N, input), weights (3 H, input) and (3 H, H), biases (3 H) or None, the first
    state (N, H), and whether it goes backwards. It returns all states (T, N, H) and the last.
    """
    return FusedOperator("gru_layer", 6, _forward, _backward, by_steps, guarded=_guarded)
