"""For the Trainer of Hugging Face's transformers."""

from __future__ import annotations

from typing import Any

from .callback import Callback


class TrainerCallback(Callback):
    """Records some steps of `Trainer.train` and reports; arguments as for `Callback`.

        trainer = transformers.Trainer(..., callbacks=[TrainerCallback(steps=10)])

    A step is one of the Trainer's, with gradients that are accumulated several batches. Only the
    process with `state.is_world_process_zero` is recorded.

    Source: transformers/trainer_callback.py.
    """

    _modules = ("transformers",)
    _name = "TrainerCallback"
    _package = "transformers"

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Begin to record."""
        if state.is_world_process_zero:
            self._begin()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Count a step."""
        self._step()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Report, if there were fewer steps than were to be recorded."""
        self._finish()
