"""Fourier transforms of short pieces of a signal, and the signal of such.

Source: aten/src/ATen/native/SpectralOps.cpp, torch/functional.py.
"""

from __future__ import annotations

import warnings
from typing import Any

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor
from .make import declare
from .make.table import PUBLIC

_NO_WINDOW = "A window was not provided. A rectangular window will be applied."


def _steps(n_fft: int, hop: Any, length: Any, window: Any, like: Tensor) -> tuple[int, Tensor]:
    """How far apart pieces begin, and the window in the middle of `n_fft` places."""
    check(n_fft > 0, f"stft: expected n_fft > 0, but got n_fft={n_fft}")
    hop = n_fft // 4 if hop is None else hop
    length = n_fft if length is None else length
    check(hop > 0, f"stft: expected hop_length > 0, but got hop_length={hop}")
    fits = 0 < length <= n_fft
    check(fits, f"stft: expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is None:
        kind = like.real.dtype if like.is_complex() else like.dtype
        window = PUBLIC["torch"]["ones"](length, dtype=kind)
    fits = window.array.shape == (length,)
    told = f"stft: expected a 1D window of {length}, but got one of {tuple(window.shape)}"
    check(fits, told)
    left = (n_fft - length) // 2
    return hop, PUBLIC["nn"]["pad"](window, (left, n_fft - length - left))


def _pieces(
    self: Tensor, n_fft: int, hop: Any, length: Any, window: Any, center: bool, pad_mode: str,
    normalized: bool, onesided: Any, return_complex: Any,
) -> Tensor:  # fmt: skip
    ndim, floats = self.array.ndim, self.array.dtype.kind in "fcV"
    check(floats and ndim in (1, 2), "stft: expected a 1D or 2D tensor of floats or complexes")
    given = window is not None
    hop, window = _steps(n_fft, hop, length, window, self)
    whole = self.is_complex() or window.is_complex()
    told = "stft requires the return_complex parameter be given for real inputs"
    check(return_complex is not None or whole, told)
    check(not (whole and onesided), "Cannot have onesided output if window or input is complex")
    x = self if ndim == 2 else self.unsqueeze(0)
    if center:
        sides = (n_fft // 2, n_fft // 2)
        x = PUBLIC["nn"]["pad"](x.unsqueeze(0), sides, pad_mode).squeeze(0)
    fits = n_fft <= x.array.shape[1]
    check(fits, f"stft: expected 0 < n_fft <= {x.array.shape[1]}, but got n_fft={n_fft}")
    if not given:
        warnings.warn(_NO_WINDOW, stacklevel=4)
    one_side = not whole if onesided is None else onesided
    transform = aten.fft_rfft if one_side else aten.fft_fft
    found = transform(x.unfold(1, n_fft, hop) * window, None, -1, "ortho" if normalized else None)
    found = found.transpose(1, 2)
    found = found if ndim == 2 else found.squeeze(0)
    return found if return_complex or return_complex is None else aten.view_as_real(found)


def _overlaid(pieces: Tensor, hop: int) -> Tensor:
    """(batch, pieces, places) added up, each piece `hop` behind the last."""
    if pieces.is_complex():
        return aten.complex(_overlaid(pieces.real, hop), _overlaid(pieces.imag, hop))
    _, count, size = pieces.array.shape
    shape = (1, size + hop * (count - 1))
    found = PUBLIC["nn"]["fold"](pieces.transpose(1, 2), shape, (1, size), stride=(1, hop))
    return found.reshape(pieces.array.shape[0], shape[1])


def _signal(
    self: Tensor, n_fft: int, hop: Any, length: Any, window: Any, center: bool, normalized: bool,
    onesided: Any, size: Any, return_complex: bool,
) -> Tensor:  # fmt: skip
    told = "istft requires a complex-valued input tensor matching the output from stft"
    check(self.is_complex(), told)
    check(self.array.size > 0, "istft: expected an input with elements")
    check(self.array.ndim in (2, 3), "istft: expected a tensor with 2 or 3 dimensions")
    x = (self if self.array.ndim == 3 else self.unsqueeze(0)).transpose(1, 2)
    places = x.array.shape[2]
    onesided = places != n_fft if onesided is None else onesided
    wanted = n_fft // 2 + 1 if onesided else n_fft
    check(places == wanted, f"istft: expected {wanted} frequencies, but got {places}")
    check(not (onesided and return_complex), "Cannot have onesided input for a complex signal")
    if window is None:
        warnings.warn(_NO_WINDOW, stacklevel=4)
    hop, window = _steps(n_fft, hop, length, window, self)
    norm = "ortho" if normalized else None
    if return_complex:
        x = aten.fft_ifft(x, None, -1, norm)
    else:
        check(not window.is_complex(), "Complex windows are incompatible with return_complex=False")
        x = aten.fft_irfft(x.narrow(-1, 0, n_fft // 2 + 1), n_fft, -1, norm)
    count = x.array.shape[1]
    made = _overlaid(x * window, hop)
    weight = _overlaid((window * window).expand(1, count, n_fft), hop)
    have, start = made.array.shape[1], n_fft // 2 if center else 0
    end = (have - start) if size is None else start + size
    last = min(end, have)
    made, weight = made[:, start:last], weight[:, start:last]
    least = float(weight.detach().abs().min()) if weight.array.size else 0.0
    check(least > 1e-11, f"istft: window overlap add min is {least}, too small to divide by")
    made = made / weight
    made = PUBLIC["nn"]["pad"](made, (0, end - last)) if end > last else made
    return made if self.array.ndim == 3 else made.squeeze(0)


_ROWS = """
[torch tensor]
stft(self, n_fft: int, hop_length = None, win_length = None, window = None, center: bool = True,
    pad_mode: str = "reflect", normalized: bool = False, onesided = None, return_complex = None,
    align_to_window = None) := _pieces(self, n_fft, hop_length, win_length, window, center,
    pad_mode, normalized, onesided, return_complex)
istft(self, n_fft: int, hop_length = None, win_length = None, window = None, center: bool = True,
    normalized: bool = False, onesided = None, length = None, return_complex: bool = False)
    := _signal(self, n_fft, hop_length, win_length, window, center, normalized, onesided, length,
    return_complex)
"""
declare(globals(), _ROWS)
