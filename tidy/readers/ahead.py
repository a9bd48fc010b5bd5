"""Reading the pieces of a trace in worker processes.

This process cuts the text at what looks like the border between two events and sends pieces out
before it is known whether they decode; of a file that is not packed it reads a little near each
border, and the workers the rest. Parts are joined in order. Where a piece does not decode, all that
was cut after it is taken back, and this process reads it as it would without workers: so what is
damaged is salvaged in the same way, and the trace is the same to the last byte.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import NamedTuple, TypeAlias

from .decoder import EventDecoder
from .event_text import LONGEST_USUAL_NBYTES, CutPiece, EventText, PieceOfFile
from .mend import UNDECODABLE
from .parts import PartOfRows, join_part, part_of
from .row_writer import RowWriter
from .schema import AnyEvent
from .shared_text import SharedText, TextInFile
from .times import EPOCH_US
from .workers import Task, Workers

_PIECES_EACH = 8  # in one task, some 4 MB of text: what sending costs is little beside it
_TASKS_EACH = 2  # of a worker, so that it need not wait for the next
_MOST_WORKERS = 8  # one process joins what they read, in a twelfth of the time that they take
_MOST_DAMAGED = 8  # pieces; what is damaged more often is read without workers


Piece: TypeAlias = CutPiece | PieceOfFile


class _State(NamedTuple):
    """What earlier pieces tell of how to read a piece."""

    is_exact: bool
    unpadded: bool | None
    has_epoch: bool


class _Pieces(NamedTuple):
    state: _State
    text: SharedText | TextInFile


class _Read(NamedTuple):
    """What became of some pieces: rows of the first `decoded`, behind which one does not decode."""

    decoded: int
    part: PartOfRows
    before: _State
    after: _State
    latest_us: float


def start_workers(jobs: int, method: str | None = None) -> Workers:
    """Start what `read_ahead` takes: no more than are of use."""
    count = min(jobs, _MOST_WORKERS)
    # While the rows of one task are joined, all others may be out.
    tasks, nbytes = count * _TASKS_EACH + 1, _PIECES_EACH * LONGEST_USUAL_NBYTES
    return Workers(count, method, memory_count=tasks, memory_nbytes=nbytes)


def read_ahead(
    text: EventText[AnyEvent], decoder: EventDecoder, rows: RowWriter, workers: Workers
) -> None:
    """Add the events of all pieces but the last to `rows`, and of none where no worker is left."""
    rows.add(text.read_piece())  # which tells the state for most others
    damaged = 0
    while workers.count and damaged < _MOST_DAMAGED and not text.is_over:
        left = _read_until_damage(text, decoder, rows, workers)
        if not left:
            return
        damaged += 1
        rows.add(text.restore(left))


def _read_until_damage(
    text: EventText[AnyEvent], decoder: EventDecoder, rows: RowWriter, workers: Workers
) -> list[Piece]:
    """Read to the end, or give the piece that does not decode, and all that were cut after it."""
    sent: deque[tuple[list[Piece], Task[_Pieces, _Read]]] = deque()
    is_end = False
    while True:
        while not is_end and workers.count and len(sent) < workers.count * _TASKS_EACH:
            cut = _cut_some(text)
            is_end = len(cut) < _PIECES_EACH
            if cut:
                argument = _Pieces(_state(decoder, rows), _text_of(cut, workers))
                sent.append((cut, workers.submit(read_pieces, argument)))
        if not sent:
            return []
        pieces, task = sent.popleft()
        workers.wait_for(task)
        found = task.result()
        if found.before != (state := _state(decoder, rows)):
            found = read_pieces(_Pieces(state, task.argument.text))
        join_part(rows, found.part)
        decoder.is_exact, rows.clock.unpadded, _ = found.after
        rows.clock.latest_us = max(rows.clock.latest_us, found.latest_us)
        if found.decoded < len(pieces):
            return [*pieces[found.decoded :], *(each for cut, _ in sent for each in cut)]


def _cut_some(text: EventText[AnyEvent]) -> list[Piece]:
    cut: list[Piece] = []
    while len(cut) < _PIECES_EACH and (piece := text.cut_piece()) is not None:
        cut.append(piece)
    return cut


def _text_of(cut: list[Piece], workers: Workers) -> SharedText | TextInFile:
    """Return the text of pieces that follow each other, as it reaches a worker."""
    first, sizes = cut[0], [each.cuts[-1] for each in cut]
    if isinstance(first, PieceOfFile) and first.file.place is not None:
        return TextInFile(first.file.place, first.start, sizes)
    texts = [memoryview(each.text)[:size] for each, size in zip(cut, sizes, strict=True)]
    return SharedText(texts, workers)


def read_pieces(pieces: _Pieces) -> _Read:
    """Return the rows of the pieces before the first that does not decode. It runs in a worker."""
    rows = RowWriter(Counter())
    decoder = EventDecoder(rows.lost)
    decoder.is_exact, rows.clock.unpadded, has_epoch = pieces.state
    rows.clock.latest_us = 2 * EPOCH_US if has_epoch else 0.0
    decoded = 0
    try:
        parts = pieces.text.parts
    except OSError:  # who sent this has the file open
        parts = []
    for text in parts:
        try:
            events = decoder.decode(text)
        except UNDECODABLE:
            break
        rows.add(events)
        decoded += 1
    after = _state(decoder, rows)
    return _Read(decoded, part_of(rows), pieces.state, after, rows.clock.latest_us)


def _state(decoder: EventDecoder, rows: RowWriter) -> _State:
    return _State(decoder.is_exact, rows.clock.unpadded, rows.clock.latest_us > EPOCH_US)
