"""`tidy.record`: recording a loop of one's own, in its own process.

recorder.py  the recording, from `with tidy.record(...)` to its trace, its report and its file
magic.py     the same for a cell of a notebook: `%%tidy`
"""

from .recorder import Recorder, record

__all__ = ["Recorder", "record"]


def __dir__() -> list[str]:
    return __all__
