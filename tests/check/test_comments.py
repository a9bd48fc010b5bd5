"""Which lines a comment is about."""

from __future__ import annotations

import ast
import random
import textwrap

import pytest

from tidy.check.comments import comments_of
from tidy.check.places import SourceFile

# Lines that end with << are those that the comment marked with ! is about.
_CASES = {
    "the-line": """
        a = 1
        b = 2  # tidy: ignore[TDY1] !  <<
        c = 3
        """,
    "a-call-of-several-lines": """
        a = call(  #  <<
            1,  # tidy: ignore[TDY1] !  <<
            2,  #  <<
        )  #  <<
        b = 2
        """,
    "the-end-of-a-call": """
        a = call(  #  <<
            1,  #  <<
        )  # tidy: ignore[TDY1] !  <<
        """,
    "within-a-call": """
        a = call(  #  <<
            # tidy: ignore[TDY1] !  <<
            1,  #  <<
        )  #  <<
        """,
    "the-head-of-a-loop": """
        for i in range(3):  # tidy: ignore[TDY1] !  <<
            a = 1
        """,
    "a-head-of-several-lines": """
        with one(  #  <<
            2  #  <<
        ) as a:  # tidy: ignore[TDY1] !  <<
            b = 3
        """,
    "above-a-loop": """
        a = 1
        # tidy: ignore[TDY1] !
        # and why

        for i in range(3):  #  <<
            b = 1  #  <<
            if b:  #  <<
                c = 2  #  <<
        else:  #  <<
            d = 3  #  <<
        e = 4
        """,
    "above-a-function": """
        # tidy: ignore[TDY1] !
        @decorated  #  <<
        @twice(  #  <<
            1  #  <<
        )  #  <<
        def f(a):  #  <<
            b = 1  #  <<
        e = 4
        """,
    "a-decorated-head": """
        @decorated  #  <<
        def f(a):  # tidy: ignore[TDY1] !  <<
            b = 1
        """,
    "above-two-on-one-line": """
        # tidy: ignore[TDY1] !
        a = 1; b = [  #  <<
            2,  #  <<
        ]  #  <<
        c = 3
        """,
    "the-last-of-a-block": """
        for i in range(3):
            a = 1
            # tidy: ignore[TDY1] !
        b = 2  #  <<
        c = 3
        """,
    "a-match": """
        match a:  # tidy: ignore[TDY1] !  <<
            case 1:
                b = 2
        """,
}


@pytest.mark.parametrize("name", _CASES)
def test_what_a_comment_is_about(name: str) -> None:
    text = textwrap.dedent(_CASES[name]).strip("\n") + "\n"
    lines = text.splitlines()
    wanted = [number for number, line in enumerate(lines, 1) if line.endswith("<<")]
    marked = next(number for number, line in enumerate(lines, 1) if " !" in line)
    content = text.replace(" !", " --").encode()
    ast.parse(content)
    for made in (content, content.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + content):
        (comment,) = comments_of(SourceFile(made))
        assert comment.line == marked
        assert comment.codes == ("TDY1",)
        assert list(range(comment.first, comment.last + 1)) == wanted


@pytest.mark.parametrize(
    ("comment", "codes", "reason"),
    [
        ("# tidy: ignore[TDY101]", ("TDY101",), ""),
        ("#tidy:ignore[ TDY1 , TDY4,graph-break ]--why", ("TDY1", "TDY4", "graph-break"), "why"),
        ("# noqa: E5  # tidy: ignore[TDY1] -- one, [and] two  # more", ("TDY1",), "one, [and] two"),
        ("# tidy: ignore", (), ""),
        ("# tidy: ignore[]", (), ""),
        ("# tidy: ignore-file[TDY1] -- all", ("TDY1",), "all"),
    ],
)  # fmt: skip
def test_what_a_comment_says(comment: str, codes: tuple[str, ...], reason: str) -> None:
    source = SourceFile(f"a = 1\nb = 2  {comment}\nc = 3".encode())
    (found,) = comments_of(source)
    assert (found.codes, found.reason) == (codes, reason)
    assert (found.first, found.last) == ((1, 3) if "file" in comment else (2, 2))


@pytest.mark.parametrize(
    "text",
    [
        "a = '# tidy: ignore[TDY1]'",
        'a = """\n# tidy: ignore[TDY1]\n"""',
        "a = 1  # untidy: ignore[TDY1]",
        "a = 1  # tidy: ignored[TDY1]",
        "a = (  # tidy: ignore[TDY1]",  # no Python
        "# tidy: ignore[TDY1]\n\0",
        "",
    ],
)
def test_what_is_no_comment(text: str) -> None:
    assert comments_of(SourceFile(text.encode())) == []


def test_other_encodings() -> None:
    text = "# -*- coding: latin-1 -*-\na = '\xe4'  # \xfc  # tidy: ignore[TDY1] -- \xf6\n"
    (comment,) = comments_of(SourceFile(text.encode("latin-1")))
    assert (comment.codes, comment.reason, comment.line) == (("TDY1",), "\xf6", 2)
    assert comments_of(SourceFile(b"# coding: none-such\na = 1  # tidy: ignore[TDY1]")) == []


def test_any_bytes_are_read() -> None:
    draw = random.Random(7)  # noqa: S311 - no secret
    pieces = [
        b"# tidy: ignore[TDY1]",
        b"\n",
        b"\r",
        b'"""',
        b"(",
        b")",
        b"if a:",
        b"  ",
        b"\xff",
        b"\\",
    ]
    for _ in range(300):
        comments_of(SourceFile(b"".join(draw.choices(pieces, k=12))))
