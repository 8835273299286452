"""Remote inputs, by fsspec."""

from __future__ import annotations

import contextlib
import functools
import gzip
import http.server
import itertools
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import TRACES, Trace

from pgo_advisor.errors import InputError
from pgo_advisor.ingest.job import ingest
from pgo_advisor.ingest.limits import Limits
from pgo_advisor.ingest.locate import fetch

fsspec = pytest.importorskip("fsspec")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    pytest.importorskip("aiohttp")
    handler = functools.partial(Quiet, directory=str(TRACES / "2.13.0"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{serving.server_port}"
        serving.shutdown()


class Hostile(Quiet):
    """Answers by the path."""

    log = gzip.decompress((TRACES / "2.13.0" / "s01_batch_dim.log.gz").read_bytes())

    zeros = gzip.compress(bytes(70 << 20), 1)

    def do_GET(self) -> None:
        code, headers, body = getattr(self, self.path.strip("/"))()
        self.send_response(code)
        for header in headers.items():
            self.send_header(*header)
        self.end_headers()
        with contextlib.suppress(OSError):
            for piece in body:
                self.wfile.write(piece)
                self.wfile.flush()

    do_HEAD = do_GET

    def to_a_file(self) -> Any:
        return 302, {"Location": f"file://{TRACES / '2.13.0' / 's01_batch_dim.log.gz'}"}, []

    def in_a_circle(self) -> Any:
        return 302, {"Location": "/in_a_circle"}, []

    def endless(self) -> Any:
        return 200, {}, itertools.repeat(bytes(1 << 16))

    def silent(self) -> Any:
        return 200, {}, self.slowly()

    def slowly(self) -> Iterator[bytes]:
        for _ in range(10):
            time.sleep(1)
            yield b""

    def too_short(self) -> Any:
        return 200, {"Content-Length": str(len(self.log) + 1000)}, [self.log]

    def too_long(self) -> Any:
        return 200, {"Content-Length": "1000"}, [self.log]

    def encoded(self) -> Any:
        return 200, {"Content-Encoding": "gzip"}, [gzip.compress(self.log)]

    def bomb(self) -> Any:
        return 200, {"Content-Encoding": "gzip"}, [self.zeros]

    def name_of_a_bell(self) -> Any:
        return 200, {"Content-Type": "\x1b]0;x\x07"}, [b"nothing"]


@pytest.fixture
def hostile() -> Iterator[str]:
    pytest.importorskip("aiohttp")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("to_a_file", None),
        ("in_a_circle", None),
        ("endless", "--unpack-limit"),
        ("silent", "the server was silent for 5 s"),
        ("too_short", None),
        ("bomb", "--unpack-limit"),
        ("name_of_a_bell", None),
    ],
)
def test_a_hostile_server(
    hostile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, said: str | None
) -> None:
    monkeypatch.setattr(fetch, "_MAX_SILENCE", 5.0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(InputError, match=said) as error:
        ingest([f"{hostile}/{path}"], limits=Limits(bytes=64 << 20))
    assert f"{hostile}/{path} " in str(error.value)
    assert str(error.value).isprintable()
    assert list(tmp_path.iterdir()) == []


def test_what_a_server_compressed(hostile: str) -> None:
    assert len(ingest([f"{hostile}/encoded"]).tables.compiles) == 2


def test_a_server_that_never_ends(hostile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_MAX_SECONDS", 0.0)
    with pytest.raises(InputError, match=r"cannot be read|takes more than"):
        ingest([f"{hostile}/endless"])


def test_https(server: str) -> None:
    read = ingest([f"http://me:secret@{server}/s01_batch_dim.log.gz?signature=secret"])
    assert len(read.tables.compiles) == 2
    (log,) = map(str, read.logs)
    assert log.startswith(f"http://{server}/s01_batch_dim.log.gz")
    assert "secret" not in log


def test_https_that_fails(server: str) -> None:
    with pytest.raises(InputError, match="does not exist") as error:
        ingest([f"http://me:secret@{server}/nothing.log"])
    assert "secret" not in str(error.value)


@pytest.fixture
def bucket(trace: Trace) -> Iterator[str]:
    system = fsspec.filesystem("memory")
    for log in trace("2.13.0", "m01_two_ranks").iterdir():
        system.pipe(f"/bucket/monday/{log.name}", log.read_bytes())
    yield "memory://bucket"
    system.rm("/bucket", recursive=True)


def test_a_bucket(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for url in (bucket, f"{bucket}/monday", f"{bucket}/"):
        assert ingest([url]).tables.compiles["rank"].tolist() == [0, 1, 1]
    assert list(tmp_path.iterdir()) == []


def test_a_bucket_larger_than_wanted(bucket: str) -> None:
    with pytest.raises(InputError, match="--unpack-limit"):
        ingest([bucket], limits=Limits(bytes=1000))


def test_names_that_lead_out(trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    content = trace("2.13.0", "s01_batch_dim").read_bytes()

    class Hostile(fsspec.AbstractFileSystem):  # type: ignore[misc, name-defined]
        protocol = "hostile"

        def isdir(self, path: str) -> bool:
            return True

        def find(self, path: str, **options: object) -> list[str]:
            return ["bucket/../../evil", "bucket//etc/evil", "bucket/a\\..\\evil"]

        def _open(self, path: str, *args: object, **options: object) -> object:
            import io

            return io.BytesIO(content)

    fsspec.register_implementation("hostile", Hostile, clobber=True)
    before = set(tmp_path.rglob("*"))
    assert len(ingest(["hostile://bucket"]).tables.compiles) == 2
    assert set(tmp_path.rglob("*")) == before


def test_a_system_that_is_not_installed() -> None:
    with pytest.raises(InputError, match=r"is remote|cannot be read"):
        ingest(["s3://bucket/trace"])
    with pytest.raises(InputError, match="cannot be read"):
        ingest(["nonsense://bucket/trace"])


def test_a_chain_of_urls_is_shown_without_its_secrets(server: str) -> None:
    with pytest.raises(InputError) as error:
        ingest([f"zip://x.log::http://me:secret@{server}/s01_batch_dim.log.gz?key=secret"])
    assert "secret" not in str(error.value)


def test_a_local_url_is_read_as_a_path(trace: Trace) -> None:
    read = ingest([f"file://{trace('2.13.0', 's01_batch_dim')}"])
    assert len(read.tables.compiles) == 2
    with pytest.raises(InputError, match="is no regular file"):
        ingest(["file:///dev/zero"])


def test_what_is_no_url() -> None:
    with pytest.raises(InputError, match="no URL"):
        ingest(["http://[secret/"])


def test_an_empty_directory_read_by_workers(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match="nothing that can be analysed"):
        ingest([f"file://{tmp_path}"], cluster="local")
