"""Callbacks for frameworks that have training loops of their own.

    from tidy.integrations import LightningCallback, TrainerCallback, AccelerateTracker

    lightning.pytorch.Trainer(callbacks=[LightningCallback(steps=10)])
    transformers.Trainer(..., callbacks=[TrainerCallback(steps=10)])
    accelerate.Accelerator(log_with=AccelerateTracker(steps=10))

Each records some steps of the training and prints the report when they are recorded. None of the
frameworks has to be installed for this module to be imported; a callback can be made where its own
framework is.
"""

from .frameworks import AccelerateTracker, LightningCallback, TrainerCallback

__all__ = ["AccelerateTracker", "LightningCallback", "TrainerCallback"]


def __dir__() -> list[str]:
    return __all__
