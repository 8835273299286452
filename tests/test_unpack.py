"""Compressed and packed inputs: the same tables as the bare log, and nothing that harms."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import shutil
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow
import pytest
from conftest import TESTS, TRACES, Trace

from pgo_advisor.errors import InputError
from pgo_advisor.ingest.job import Ingested, ingest
from pgo_advisor.ingest.limits import Limits
from pgo_advisor.ingest.locate import archives
from pgo_advisor.ingest.trace import tlparse


def tar(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def zipped(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def zstd(content: bytes) -> bytes:
    return bytes(pyarrow.compress(content, codec="zstd", asbytes=True))


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "log.gz": gzip.compress,
    "log.zst": zstd,
    "log.xz": lzma.compress,
    "log.bz2": bz2.compress,
    "log.zip": lambda log: zipped(**{"logs/log": log}),
    "log.tar": lambda log: tar(**{"./logs/log": log}),
    "log.tar.gz": lambda log: gzip.compress(tar(log=log)),
    "log.tgz": lambda log: gzip.compress(tar(log=log)),
    "log.tar.zst": lambda log: zstd(tar(log=log)),
    "log.tar.xz": lambda log: lzma.compress(tar(log=log)),
    "gzip in tar in zip": lambda log: zipped(trace=tar(**{"log.gz": gzip.compress(log)})),
    "two gzip members": lambda log: gzip.compress(log[:5000]) + gzip.compress(log[5000:]),
    "two zstd frames": lambda log: zstd(log[:5000]) + zstd(log[5000:]),
}


def assert_same(one: Ingested, other: Ingested) -> None:
    for (name, first), (_, second) in zip(one.tables, other.tables, strict=True):
        pd.testing.assert_frame_equal(first, second, obj=name)


@pytest.mark.slow
@pytest.mark.parametrize("name", PACKINGS)
def test_a_packed_log_gives_what_the_log_gives(trace: Trace, tmp_path: Path, name: str) -> None:
    log = trace("2.13.0", "s01_batch_dim")
    packed = tmp_path / name
    packed.write_bytes(PACKINGS[name](log.read_bytes()))
    read = ingest([packed])
    assert_same(read, ingest([log]))
    assert read.losses == ()
    assert_same(ingest([tmp_path]), read)


@pytest.mark.parametrize("kind", ["zip", "gztar", "xztar"])
def test_packed_output_of_tlparse(trace: Trace, tmp_path: Path, kind: str) -> None:
    log = trace("2.13.0", "s10_user_branch")
    tlparse.run_tlparse(log, tmp_path / "out" / "tl_out", timeout=60)
    packed = Path(shutil.make_archive(str(tmp_path / "tl_out"), kind, tmp_path / "out"))
    assert_same(ingest([packed]), ingest([log]))


def test_ranks_in_an_archive(trace: Trace, tmp_path: Path) -> None:
    packed = Path(
        shutil.make_archive(str(tmp_path / "a"), "gztar", trace("2.13.0", "m01_two_ranks"))
    )
    assert ingest([packed]).tables.compiles["rank"].tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    "name", ["log.gz", "log.zst", "log.xz", "log.bz2", "log.tar", "log.tar.gz"]
)
def test_a_cut_archive_gives_what_comes_before_the_cut(
    trace: Trace, tmp_path: Path, name: str
) -> None:
    packed = tmp_path / name
    content = PACKINGS[name](trace("2.13.0", "s02_batch_and_seq").read_bytes())
    packed.write_bytes(content[: len(content) * 9 // 10])
    if name == "log.bz2":  # its block is larger than the log
        with pytest.raises(InputError, match="cannot be unpacked"):
            ingest([packed])
        return
    read = ingest([packed])
    assert "graph" in set(read.tables.compiles["outcome"])
    assert any("cut or damaged" in loss for loss in read.losses)


def test_a_log_beside_its_gzip_counts_once(trace: Trace, tmp_path: Path) -> None:
    content = trace("2.13.0", "s01_batch_dim").read_bytes()
    (tmp_path / "a.log").write_bytes(content)
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(content))
    read = ingest([tmp_path])
    assert len(read.tables.compiles) == 2
    assert any("a copy of" in loss for loss in read.losses)


def _no_space(*arguments: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


ATTACKS = TESTS / "fixtures" / "attacks"


@pytest.mark.parametrize("name", ["empty_name.zip", "pax.tar"])
def test_found_archives(trace: Trace, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="1 member was left out"):
        ingest([ATTACKS / name])
    log = trace("2.13.0", "s01_batch_dim")
    assert len(ingest([ATTACKS / name, log]).tables.compiles) == 2


class TestHostileArchives:
    @pytest.fixture(autouse=True)
    def in_own_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "temporary").mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "name",
        ["../evil", "a/../../evil", "/evil", "..\\evil", "C:\\evil", "C:/evil", "a/..", "a\0b"],
    )
    @pytest.mark.parametrize("pack", [tar, zipped])
    def test_names_that_lead_out(
        self, trace: Trace, tmp_path: Path, name: str, pack: Callable[..., bytes]
    ) -> None:
        log = trace("2.13.0", "s01_batch_dim").read_bytes()
        packed = tmp_path / "a"
        packed.write_bytes(pack(**{name: b"evil", "log": log}))
        before = set(tmp_path.rglob("*"))
        read = ingest([packed])
        assert len(read.tables.compiles) == 2
        # zipfile itself cuts a name at NUL
        assert any("leads out" in loss for loss in read.losses) or "\0" in name
        assert set(tmp_path.rglob("*")) == before

    @pytest.mark.parametrize("pack", [tar, zipped])
    def test_a_name_of_thousands_of_directories(
        self, trace: Trace, tmp_path: Path, pack: Callable[..., bytes]
    ) -> None:
        log = trace("2.13.0", "s01_batch_dim").read_bytes()
        packed = tmp_path / "a"
        packed.write_bytes(pack(**{"a/" * 5000 + "b": b"deep", "log": log}))
        read = ingest([packed])
        assert len(read.tables.compiles) == 2
        assert any("more than 100 directories" in loss for loss in read.losses)

    @pytest.mark.parametrize(
        ("kind", "target"),
        [
            (tarfile.SYMTYPE, "/etc/passwd"),
            (tarfile.SYMTYPE, ".."),
            (tarfile.LNKTYPE, "/etc/passwd"),
            (tarfile.CHRTYPE, ""),
            (tarfile.FIFOTYPE, ""),
        ],
    )
    def test_links_and_devices(
        self, trace: Trace, tmp_path: Path, kind: bytes, target: str
    ) -> None:
        log = trace("2.13.0", "s01_batch_dim").read_bytes()
        with tarfile.open(tmp_path / "a.tar", "w") as archive:
            link = tarfile.TarInfo("way")
            link.type, link.linkname = kind, target
            archive.addfile(link)
            for name in ("way/evil", "log"):
                info = tarfile.TarInfo(name)
                info.size = len(log)
                archive.addfile(info, io.BytesIO(log))
        before = set(tmp_path.rglob("*"))
        read = ingest([tmp_path / "a.tar"])
        assert any("links and devices" in loss for loss in read.losses)
        assert set(tmp_path.rglob("*")) == before

    def test_a_link_in_a_zip(self, trace: Trace, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            link = zipfile.ZipInfo("way")
            link.external_attr = 0o120777 << 16
            archive.writestr(link, "/etc/passwd")
            archive.writestr("log", trace("2.13.0", "s01_batch_dim").read_bytes())
        read = ingest([tmp_path / "a.zip"])
        assert any("links and devices" in loss for loss in read.losses)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["log.gz", "log.zst", "log.xz", "log.bz2", "log.zip"])
    def test_a_bomb(self, tmp_path: Path, name: str) -> None:
        packed = tmp_path / name
        packed.write_bytes(PACKINGS[name](bytes(100 << 20)))
        with pytest.raises(InputError, match="--unpack-limit"):
            ingest([packed])
        assert list((tmp_path / "temporary").iterdir()) == []

    def test_limits_are_for_everything_together(self, trace: Trace, tmp_path: Path) -> None:
        log = trace("2.13.0", "s01_batch_dim").read_bytes()
        for number in range(3):
            (tmp_path / f"{number}.gz").write_bytes(gzip.compress(log + b"\n" * number))
        shutil.rmtree(tmp_path / "temporary")
        (tmp_path / "temporary").mkdir()
        read = ingest([tmp_path], limits=Limits(bytes=2 * len(log) + 100))
        assert len(read.tables.compiles) == 4
        assert any("unpacks to more than" in loss for loss in read.losses)

    @pytest.mark.parametrize(
        "content",
        [
            gzip.compress(b"") * 101,
            bz2.compress(b"") * 101,
            lzma.compress(b"") * 101,
            tar(**{str(number): b"" for number in range(101)}),
            tar(**{f"{number}/": b"" for number in range(101)}),
            gzip.compress(tar(**{str(number): b"" for number in range(101)})),
        ],
        ids=["gzip", "bzip2", "xz", "tar", "directories", "tar.gz"],
    )
    def test_headers_without_content(self, trace: Trace, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "a").write_bytes(content)
        log = gzip.compress(trace("2.13.0", "s01_batch_dim").read_bytes())
        (tmp_path / "b.gz").write_bytes(log)
        read = ingest([tmp_path], limits=Limits(members=100))
        assert len(read.tables.compiles) == 2
        assert any("more than 100 members" in loss for loss in read.losses)

    @pytest.mark.parametrize("way", ["plain", "end in the comment", "zip64"])
    def test_a_zip_with_a_huge_directory(self, tmp_path: Path, way: str) -> None:
        header = b"PK\3\4" + bytes(26)
        entry = b"PK\1\2" + bytes(42)
        directory = entry * 1000
        size, at = len(directory), len(header)
        content = header + directory
        if way == "zip64":
            content += struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1000, 1000, size, at)
            content += struct.pack("<4sLQL", b"PK\6\7", 0, at + size, 1)
            size = at = 0xFFFFFFFF
        comment = b"PK\5\6" if way == "end in the comment" else b""
        end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1000, 1000, size, at, len(comment))
        (tmp_path / "a.zip").write_bytes(content + end + comment)
        with pytest.raises(InputError, match=r"too large|not a zip file"):
            ingest([tmp_path / "a.zip"], limits=Limits(members=100))

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["path", "GNU.sparse.map", "size"])
    @pytest.mark.parametrize("value", ["", "x", "-1", "1,x", "1" * 400_000])
    def test_damaged_extended_headers(
        self, trace: Trace, tmp_path: Path, name: str, value: str
    ) -> None:
        log = trace("2.13.0", "s01_batch_dim").read_bytes()
        with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as archive:
            for file, headers in (("x", {name: value}), ("log", {})):
                info = tarfile.TarInfo(file)
                info.pax_headers = headers
                info.size = len(log)
                archive.addfile(info, io.BytesIO(log))
        shutil.copy(trace("2.13.0", "s02_batch_and_seq"), tmp_path / "b.log")
        assert len(ingest([tmp_path]).tables.compiles) in (3, 3 + 2)

    def test_digits_as_an_extended_header(self, trace: Trace, tmp_path: Path) -> None:
        header = tarfile.TarInfo("x")
        header.type, header.size = tarfile.XHDTYPE, 1 << 20
        (tmp_path / "a.tar").write_bytes(
            header.tobuf()
            + b"1" * header.size
            + tar(log=trace("2.13.0", "s01_batch_dim").read_bytes())
        )
        assert len(ingest([tmp_path / "a.tar"]).tables.compiles) == 2

    def test_a_long_name_in_a_gzip(self, trace: Trace, tmp_path: Path) -> None:
        packed = gzip.compress(trace("2.13.0", "s01_batch_dim").read_bytes())
        name = b"x" * 10_000_000 + b"\0"
        (tmp_path / "a.gz").write_bytes(packed[:3] + b"\x08" + packed[4:10] + name + packed[10:])
        read = ingest([tmp_path / "a.gz"])
        assert (len(read.tables.compiles), read.losses) == (2, ())

    def test_an_xz_that_wants_much_memory(self, tmp_path: Path) -> None:
        content = bytearray(lzma.compress(b"hello"))
        content[16] = 38  # the size of the dictionary: 2 GiB
        content[20:24] = zlib.crc32(content[12:20]).to_bytes(4, "little")
        (tmp_path / "a.xz").write_bytes(content)
        with pytest.raises(InputError, match=r"(?i)memory"):
            ingest([tmp_path / "a.xz"])

    def test_a_member_of_a_zip_that_is_damaged(self, trace: Trace, tmp_path: Path) -> None:
        log = trace("2.13.0", "s01_batch_dim").read_bytes()
        content = bytearray(zipped(a=b"x" * 1000 + bytes(1000), b=log))
        content[31:40] = b"\xff" * 9
        (tmp_path / "a.zip").write_bytes(content)
        read = ingest([tmp_path / "a.zip"])
        assert len(read.tables.compiles) == 2
        assert any("1 member was left out: it cannot be read" in loss for loss in read.losses)

    def test_a_full_disk(
        self, trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "a.gz").write_bytes(gzip.compress(b"x" * 100_000))
        monkeypatch.setattr(archives, "_write", _no_space)
        with pytest.raises(InputError, match=r"a\.gz cannot be unpacked: No space left"):
            ingest([tmp_path / "a.gz"])

    def test_too_many_members(self, tmp_path: Path) -> None:
        (tmp_path / "a.zip").write_bytes(zipped(**{str(number): b"" for number in range(101)}))
        with pytest.raises(InputError, match="more than 100 members"):
            ingest([tmp_path / "a.zip"], limits=Limits(members=100))

    def test_headers_without_end(self, tmp_path: Path) -> None:
        info = tarfile.TarInfo("log")
        info.pax_headers = {"comment": "x" * (8 << 20)}
        with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as archive:
            archive.addfile(info)
        with pytest.raises(InputError, match="headers are too long"):
            ingest([tmp_path / "a.tar"])

    def test_archives_without_end(self, tmp_path: Path) -> None:
        content = b"nothing"
        for _ in range(20):
            content = gzip.compress(content)
        (tmp_path / "a.gz").write_bytes(content)
        with pytest.raises(InputError, match="holds nothing"):
            ingest([tmp_path / "a.gz"])

    def test_an_encrypted_zip(self, tmp_path: Path) -> None:
        content = bytearray(zipped(log=b"x" * 100))
        for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            content[content.index(signature) + offset] |= 1
        (tmp_path / "a.zip").write_bytes(content)
        with pytest.raises(InputError, match=r"a\.zip"):
            ingest([tmp_path / "a.zip"])


class TestJobs:
    @pytest.fixture
    def folder(self, trace: Trace, tmp_path: Path) -> Path:
        for job, recording in (("monday", "s01_batch_dim"), ("tuesday", "s02_batch_and_seq")):
            (tmp_path / job / "rank_0").mkdir(parents=True)
            shutil.copy(trace("2.13.0", recording), tmp_path / job / "rank_0" / "trace.log")
        return tmp_path

    def test_all_are_one_unless_one_is_chosen(self, folder: Path) -> None:
        read = ingest([folder])
        assert len(read.tables.compiles) == 2 + 3
        assert set(read.tables.compiles["rank"]) == {0}
        assert read.notes == ("2 jobs are analysed as one (monday, tuesday); --job chooses one",)
        chosen = ingest([folder], job="tuesday")
        assert len(chosen.tables.compiles) == 3
        assert chosen.notes == ()

    def test_a_job_that_is_none(self, folder: Path) -> None:
        with pytest.raises(InputError, match="there are: monday, tuesday"):
            ingest([folder], job="sunday")

    def test_logs_that_are_compressed_one_by_one_are_no_jobs(self) -> None:
        job = TRACES / "2.13.0" / "m01_two_ranks"
        assert [log.suffix for log in job.iterdir()] == [".gz", ".gz"]
        assert ingest([job]).notes == ()
        assert len(ingest([job], job=".").logs) == 2
