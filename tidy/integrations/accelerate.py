"""For Hugging Face's accelerate: its loops are their users' own, and it calls trackers back."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..attach import Recorder
from .callback import Callback


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
