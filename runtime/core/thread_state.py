"""What each thread keeps for itself: numbers of nodes, and the backward that it runs."""

from __future__ import annotations

import threading
from typing import Any


class _ThreadState(threading.local):
    sequence_nr = 0  # the next node's
    exec_info: dict[Any, bool] | None = None  # by node: of the running graph task, if it is trimmed
    task: Any = None  # the running graph task
    node: Any = None  # the one being run, in anomaly mode
    depth = 0  # of backward inside backward


thread = _ThreadState()
