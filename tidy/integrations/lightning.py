"""For PyTorch Lightning, by either of its names."""

from __future__ import annotations

from typing import Any

from .callback import Callback


class LightningCallback(Callback):
    """Records some steps of `Trainer.fit` and reports; arguments as for `Callback`.

        trainer = lightning.pytorch.Trainer(callbacks=[LightningCallback(steps=10)])

    A step is a batch after which `trainer.global_step` is another: with gradients that are
    accumulated, several batches. Only the process with `is_global_zero` is recorded. Where the
    training fails, what was recorded until then is reported.

    Source: lightning/pytorch/callbacks/callback.py.
    """

    _modules = "lightning.pytorch", "pytorch_lightning"
    _name = "Callback"
    _package = "lightning"

    _last_step = 0

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin to record."""
        if trainer.is_global_zero:
            self._last_step = trainer.global_step
            self._begin()

    def on_train_batch_end(self, trainer: Any, *_: Any, **__: Any) -> None:
        """Count a step, if this batch ended one."""
        if trainer.global_step != self._last_step:
            self._last_step = trainer.global_step
            self._step()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Report, if there were fewer steps than were to be recorded."""
        self._finish()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Report what was recorded until then."""
        self._finish()
