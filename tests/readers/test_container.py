"""Packings and encodings are told by content, and a damaged one gives what could be unpacked."""

from __future__ import annotations

import codecs
import gzip
import io
import tarfile
import zipfile
import zlib

import pytest

from tidy.readers import read_trace

from .conftest import Read, Refuse
from .written import document, event, names

TEXT = document([event("a", 1), event("b", 10), event("c", 20)], schemaVersion=1).encode()
LONG = document([event(f"op{n}", 10 * n) for n in range(20_000)]).encode()


def zipped(*members: tuple[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, packing)  # of 1980, every time
    return buffer.getvalue()


def _packed_five_times(text: bytes) -> bytes:
    for _ in range(5):
        text = gzip.compress(text, mtime=0)
    return text


class Pipe(io.BytesIO):
    """A stream that cannot be rewound."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: int) -> int:
        raise io.UnsupportedOperation("seek")


def tarred(*members: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["t.json", "t.gz", "t.zip", "t", "t.pt.trace.json.gz"])
@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        gzip.compress(TEXT, mtime=0),
        zipped(("t.json", TEXT)),
        zipped(("t.json", TEXT), packing=zipfile.ZIP_STORED),
        zipped(("rank0/", b""), ("rank0/t.json.gz", gzip.compress(TEXT, mtime=0))),
        zipped(("t.json", TEXT), ("__MACOSX/._t.json", b"\0\5\x16\7"), ("README", b"hello")),
        gzip.compress(gzip.compress(TEXT, mtime=0), mtime=0),
        tarred(("t.json", TEXT)),
        gzip.compress(tarred(("rank0/._t.json", b"\0"), ("rank0/t.json", TEXT)), mtime=0),
        gzip.compress(tarred(("README", b"x"), ("t.json.gz", gzip.compress(TEXT, mtime=0)))),
        gzip.compress(TEXT[:50], mtime=0) + gzip.compress(TEXT[50:], mtime=0),
        gzip.compress(TEXT, mtime=0) + bytes(512),
        codecs.BOM_UTF8 + TEXT,
        TEXT.decode().encode("utf-16"),
        codecs.BOM_UTF16_BE + TEXT.decode().encode("utf-16-be"),
        TEXT.decode().encode("utf-16-le"),
        TEXT.decode().encode("utf-16-be"),
        TEXT.replace(b", ", b",\r\n"),
        b"\n  " + TEXT + b"\n\n",
        TEXT + bytes(100),
    ],
)
def test_packing_is_told_by_content(read: Read, content: bytes, name: str) -> None:
    trace = read(content, name)
    assert names(trace) == ["a", "b", "c"]
    assert trace.info.warnings == []
    assert trace.info.header["schemaVersion"] == 1


def test_a_zip_written_to_a_pipe_has_sizes_after_its_members(read: Read) -> None:
    class Unseekable(io.RawIOBase):
        written = b""

        def writable(self) -> bool:
            return True

        def write(self, data: bytes) -> int:  # type: ignore[override]
            self.written += bytes(data)
            return len(data)

    pipe = Unseekable()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README", "hello")
        archive.writestr("t.json", TEXT)
        archive.writestr("LICENSE", "free")
    assert names(read(pipe.written)) == ["a", "b", "c"]


@pytest.mark.parametrize("content", [TEXT, gzip.compress(TEXT, mtime=0), zipped(("t.json", TEXT))])
def test_standard_input_need_not_be_seekable(
    content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(Pipe(content)))
    trace = read_trace("-")
    assert names(trace) == ["a", "b", "c"]
    assert trace.info.path == "<stdin>"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_progress_counts_bytes_of_the_file(pack: object, tmp_path: object) -> None:
    content = pack(LONG)  # type: ignore[operator]
    path = tmp_path / "t"  # type: ignore[operator]
    path.write_bytes(content)
    seen: list[int] = []
    read_trace(path, seen.append)
    assert seen == sorted(set(seen))
    assert seen[-1] == len(content)


@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
def test_truncated_gzip_keeps_what_was_whole(read: Read, part: float) -> None:
    packed = gzip.compress(LONG, mtime=0)
    trace = read(packed[: int(part * len(packed))])
    assert 0.5 * part * 20_000 < len(trace) < 20_000
    assert names(trace) == [f"op{n}" for n in range(len(trace))]
    assert any("gzip stream ends early" in warning for warning in trace.info.warnings)
    assert f"cut off after {len(trace):,} events" in " ".join(trace.info.warnings)


def test_truncated_zip_keeps_what_was_whole(read: Read) -> None:
    packed = zipped(("t.json", LONG))
    trace = read(packed[: len(packed) // 2])
    assert names(trace) == [f"op{n}" for n in range(len(trace))]
    assert len(trace) > 5000
    assert any("zip archive is damaged or cut off" in warning for warning in trace.info.warnings)


def test_truncated_tar_keeps_what_was_whole(read: Read) -> None:
    packed = tarred(("t.json", LONG))
    trace = read(packed[: len(packed) // 2])
    assert names(trace) == [f"op{n}" for n in range(len(trace))]
    assert len(trace) > 5000
    assert any("tar archive is damaged or cut off" in warning for warning in trace.info.warnings)


def test_a_damaged_gzip_stream_is_read_up_to_the_damage(read: Read) -> None:
    body = zlib.compressobj(wbits=31)
    intact = body.compress(LONG) + body.flush(zlib.Z_FULL_FLUSH)
    trace = read(intact + b"\xff" * 1000)
    assert len(trace) == 20_000
    assert any("gzip stream is damaged" in warning for warning in trace.info.warnings)


def test_a_wrong_checksum_costs_no_event(read: Read) -> None:
    packed = bytearray(gzip.compress(TEXT, mtime=0))
    packed[-8] ^= 1
    trace = read(bytes(packed))
    assert names(trace) == ["a", "b", "c"]
    assert len(trace.info.warnings) == 1


@pytest.mark.parametrize(
    ("content", "phrase"),
    [
        (zipped(("a.json", TEXT), ("b.json", TEXT)), "several .json files"),
        (zipped(("README", b"x")), "zip archive without a .json file"),
        (tarred(("a.json", TEXT), ("b.json", TEXT)), "tar archive with several .json files"),
        (tarred(("README", b"x")), "tar archive without a .json file"),
        (zipped(("archive/data.pkl", b"x"), ("archive/version", b"3")), "torch.save"),
        (zipped(("t.json", TEXT), packing=zipfile.ZIP_LZMA), "rare kind"),
        (zipped(("t.json", TEXT))[:20], "damaged zip archive"),
        (b"\x28\xb5\x2f\xfd" + bytes(20), "zstd"),
        (b"BZh91AY&SY" + bytes(20), "bzip2"),
        (b"\xfd7zXZ\x00" + bytes(20), "xz"),
        (b"\x1f\x8b" + bytes(20), "damaged"),
        (_packed_five_times(TEXT), "unpack it first"),
        (gzip.compress(b"[") + gzip.compress(b" " * (32 << 20)) * 9, "100 times its size"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_packings_are_refused(refuse: Refuse, content: bytes, phrase: str) -> None:
    assert phrase in refuse(content)
