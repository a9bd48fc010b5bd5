r"""Which of several patterns is the first that a name fits, for many names at once.

Of each alternative of a pattern some text is sure to stand in what it fits: for `sm(80|86)_xmma`
that is `sm80_xmma` or `sm86_xmma`, for `conv\w*(2d|3d)` it is `conv`. All names together are
searched for the beginnings of these texts in one pass of numpy. An alternative that is more than
its text is then held against the names that have it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_BEGINNING = 3  # letters; no text is shorter
_ALTERNATIVE = re.compile(r"(?:[^|()]|\([^()]*\))+")
# What texts are made of: a group, a class of letters or one letter, which may be left out.
_PIECE = re.compile(
    r"\((?P<group>(?!\?)[^()]*)\)(?P<no_group>\??)"
    r"|\[(?P<of>\w+)\](?P<none_of>\??)(?![*+])"
    r"|(?P<letter>[\w:])(?P<no_letter>\??)(?![*+])"
)
_LETTERS = re.compile(r"(?:[\w: ](?![?*+]))*")
_ANYTHING = re.compile(r"\(\?[^()]*\)|(?:\\.|\[\w+\]|.)[*+?]*")


class _Alternative(NamedTuple):
    """The rank of its pattern, and what a name with its text has to fit; None for nothing more."""

    rank: int
    expression: re.Pattern[str] | None


class FirstFitting:
    """Patterns without capitals, in the order in which they are tried."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """Take regular expressions with `|` between alternatives.

        Raises:
            ValueError: an alternative has no text of three letters in all that it fits.
        """
        self._count = len(patterns)
        known: dict[bytes, dict[bytes, list[_Alternative]]] = {}
        for rank, pattern in enumerate(patterns):
            for part in _ALTERNATIVE.findall(pattern):
                texts, is_all = _texts(part)
                each = _Alternative(rank, None if is_all else re.compile(part))
                for text in texts:
                    known.setdefault(text[:_BEGINNING], {}).setdefault(text, []).append(each)
        self._by_beginning = {begins: tuple(texts.items()) for begins, texts in known.items()}
        self._may_begin = np.zeros(1 << 16, bool)
        self._may_begin[[int(_hashed(begins)[0]) for begins in known]] = True

    def find(self, names: Sequence[str]) -> list[int]:
        """Return the rank of the first pattern that each name fits, or their number for none.

        Args:
            names: in small letters.
        """
        found = [self._count] * len(names)
        texts = [name.encode("utf-8", "surrogatepass") for name in names]
        ends = np.cumsum([len(text) + 1 for text in texts])
        whole = b"\0".join([*texts, b"\0"])
        places = np.flatnonzero(self._may_begin[_hashed(whole)])
        which = np.searchsorted(ends, places, side="right")
        for number, at in zip(which.tolist(), places.tolist(), strict=True):
            for text, alternatives in self._by_beginning.get(whole[at : at + _BEGINNING], ()):
                if whole.startswith(text, at):
                    for rank, expression in alternatives:
                        if rank < found[number] and (
                            expression is None or expression.search(names[number])
                        ):
                            found[number] = rank
        return found


def _hashed(text: bytes) -> NDArray[np.uint16]:
    """Return a number for each three letters in a row; others may have the same."""
    letters = np.frombuffer(text, np.uint8).astype(np.uint16)
    hashed = letters[:-2] ^ (letters[1:-1] << 5) ^ (letters[2:] << 10)
    return hashed.astype(np.uint16, copy=False)


def _texts(part: str) -> tuple[list[bytes], bool]:
    """Return texts of which all that an alternative fits has one, and whether that is enough."""
    texts, at, is_all = [""], 0, True
    while at < len(part):
        piece = _PIECE.match(part, at)
        choices, goes_on = _choices(piece) if piece is not None else ([""], False)
        texts = [text + choice for text in texts for choice in choices]
        if not goes_on:
            is_all = False
            if len(min(texts, key=len)) >= _BEGINNING:
                break
            texts = [""]
        end = piece or _ANYTHING.match(part, at)
        at = end.end() if end is not None else len(part)
    if len(min(texts, key=len)) < _BEGINNING:
        raise ValueError(f"{part} fits names that have no text of it in common")
    return [text.encode() for text in texts], is_all


def _choices(piece: re.Match[str]) -> tuple[list[str], bool]:
    """Return the texts that a piece stands for, or begins with, and whether they are all of it."""
    if piece["group"] is not None:
        parts = piece["group"].split("|")
        choices = [match[0] for each in parts if (match := _LETTERS.match(each)) is not None]
        is_all = choices == parts
    else:
        choices, is_all = list(piece["of"] or piece["letter"]), True
    may_lack = piece["no_group"] or piece["none_of"] or piece["no_letter"]
    return [*choices, ""] if may_lack else choices, is_all
