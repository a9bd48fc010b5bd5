"""For each framework the class that it calls back."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..attach import Recorder
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


class AccelerateTracker(Callback):
    """Records from `init_trackers` on and reports; arguments as for `Callback`.

        accelerator = accelerate.Accelerator(log_with=AccelerateTracker(steps=10))
        accelerator.init_trackers("project")
        ...
        accelerator.end_training()

    Steps are counted by the first optimizer, as accelerate tells trackers of none. The report comes
    at the first `accelerator.log` after they are recorded, or at `end_training`. Only the main
    process is recorded.

    Source: accelerate/tracking.py.
    """

    _modules = ("accelerate.tracking",)
    _name = "GeneralTracker"
    _package = "accelerate"
    _kind = Recorder

    # What accelerate asks of a tracker.
    name = "tidy"
    requires_logging_directory = False
    main_process_only = True

    @property
    def tracker(self) -> Recorder:
        """The recording."""
        return self.recorder

    def start(self) -> None:
        """Begin to record."""
        accelerate = import_module("accelerate")
        if accelerate.PartialState().is_main_process:
            self._begin()

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Begin to record, with versions of accelerate that do not call `start`."""
        self.start()

    def log(self, values: dict[str, Any], step: int | None = None, **_: Any) -> None:
        """Report, if all is recorded."""
        self._look()

    def finish(self) -> None:
        """Report, if that was not done yet."""
        self._finish()
