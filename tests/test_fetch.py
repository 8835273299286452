"""Remote inputs, by fsspec."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import TRACES, Trace

from pgo_advisor.errors import InputError
from pgo_advisor.ingest.job import ingest
from pgo_advisor.ingest.limits import Limits

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


def test_https(server: str) -> None:
    read = ingest([f"http://me:secret@{server}/s01_batch_dim.log.gz?signature=secret"])
    assert len(read.tables.compiles) == 2
    assert "secret" not in str(read.logs)


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


def test_what_is_no_url() -> None:
    with pytest.raises(InputError, match="no URL"):
        ingest(["http://[secret/"])


def test_an_empty_directory_read_by_workers(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match="nothing that can be analysed"):
        ingest([f"file://{tmp_path}"], cluster="local")
