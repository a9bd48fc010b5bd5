"""How long a piece of the recording is."""

from __future__ import annotations

from .kept import time

_FIRST_NS, _SHORTEST_NS = 100_000_000, 50_000_000
_LONGEST_NS = 800_000_000  # a process that is killed loses about the last second
_NBYTES = 12 << 20  # about what a piece should be; PyTorch takes eight times that to make it
_WAIT_FOR_STEP_NS = 200_000_000


class PieceLength:
    """Short at first, then at most twice as long as the one before, and never too large.

    Attributes:
        piece_ns: how long the next piece is to be.
        cut_ns: from when on the piece is to be cut at a step, which is a better place for it.
        late_ns: from when on it is to be cut anywhere.
    """

    def __init__(self) -> None:
        self.piece_ns = _FIRST_NS
        self._fitting_ns = _LONGEST_NS
        self._began_ns = self.cut_ns = self.late_ns = 0

    def begin(self) -> None:
        """A piece begins now."""
        self._began_ns = time.time_ns()
        self.cut_ns = self._began_ns + self.piece_ns
        self.late_ns = self.cut_ns + min(self.piece_ns, _WAIT_FOR_STEP_NS)

    def took(self, stopped_ns: int, nbytes: int) -> None:
        """The piece that was stopped then takes so many bytes."""
        fitting_ns = (stopped_ns - self._began_ns) * _NBYTES // max(1, nbytes)
        self._fitting_ns = max(_SHORTEST_NS, min(fitting_ns, _LONGEST_NS))
        self.piece_ns = min(self._fitting_ns, 2 * self.piece_ns)

    def begin_stage(self) -> None:
        """What is recorded now may take another size."""
        self.piece_ns = self._fitting_ns
