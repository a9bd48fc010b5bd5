"""torch.utils.tensorboard: a writer that writes nothing, and says so once."""

from __future__ import annotations

import warnings
from typing import Any

_said: list[bool] = []


class SummaryWriter:
    """Takes what scripts log (`add_scalar` and the rest)."""

    def __init__(self, log_dir: Any = None, *args: Any, **kwargs: Any) -> None:
        self.log_dir = log_dir
        if not _said:
            _said.append(True)
            warnings.warn("SummaryWriter writes nothing with tidy.runtime", stacklevel=2)

    def get_logdir(self) -> Any:
        return self.log_dir

    def _taken(self, *args: Any, **kwargs: Any) -> None:
        """Nothing is written."""

    add_scalar = add_scalars = add_histogram = add_image = add_images = add_figure = _taken
    add_text = add_graph = add_embedding = add_hparams = add_video = add_audio = _taken
    add_pr_curve = add_mesh = add_tensor = add_custom_scalars = flush = close = _taken

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


FileWriter = SummaryWriter
