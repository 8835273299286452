"""Inputs that are no files here: standard input, pipes, URLs. They are copied as streams, within limits."""

from __future__ import annotations

import os
import posixpath
import re
import stat
import sys
import time
from asyncio import TimeoutError as AsyncTimeout
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pgo_advisor.errors import InputError
from pgo_advisor.ingest.limits import GIB, Limits

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_SCHEME = re.compile(r"((?:^|::)[A-Za-z][A-Za-z0-9+.-]{0,40}:)/")
_FILES_ONLY = {"http", "https"}
_MAX_DEPTH = 6
_MAX_SECONDS = 1800.0
"""For all that one analysis fetches."""
_MAX_SILENCE = 60.0
"""Seconds for a server to answer, or to go on."""


class Local(NamedTuple):
    """Where an input can be read, and how it is named to the user."""

    path: Path
    shown: PurePath


class UrlPath(PurePosixPath):
    """A URL as a path, which keeps both slashes behind its scheme when it is shown."""

    def __str__(self) -> str:
        return _SCHEME.sub(r"\1//", super().__str__())


class Fetcher:
    """Brings inputs into numbered directories below `directory`."""

    def __init__(self, directory: Path, limits: Limits) -> None:
        self._directory = directory
        self._limits = limits
        self._number = self._bytes = 0
        self._until = time.monotonic() + _MAX_SECONDS

    def fetch(self, given: str | os.PathLike[str]) -> Local:
        """`-` is standard input. Raises InputError for what cannot be fetched, or is too large."""
        # what is not regular is refused so, as that of a path
        given = text = os.fspath(given).removeprefix("file://")
        if not text:
            raise InputError("an input without a name was given, as of a variable that is not set")
        if text == "-":
            return self._spool("standard input", lambda: nullcontext(sys.stdin.buffer))
        if is_url(text):
            return self._remote(text)
        path = Path(given)
        try:
            if stat.S_ISFIFO(path.stat().st_mode):
                return self._spool(text, lambda: path.open("rb", buffering=0))
        except (OSError, ValueError):
            pass  # the finder says what is wrong with it
        return Local(path, path)

    def _new_directory(self) -> Path:
        self._number += 1
        directory = self._directory / str(self._number)
        directory.mkdir(parents=True)
        return directory

    def _spool(self, name: str, open_source: Callable[[], Any]) -> Local:
        path = self._new_directory() / "input"
        try:
            with open_source() as source:
                self._copy(source, path, name)
        except OSError as error:
            raise InputError(f"{name} cannot be read: {error.strerror}") from error
        return Local(path, Path(name))

    def _copy(self, source: Any, path: Path, name: str) -> None:
        read = getattr(source, "read1", source.read)
        with path.open("wb") as copy:
            while chunk := read(1 << 16):
                self._bytes += len(chunk)
                if self._bytes > self._limits.bytes:
                    raise InputError(
                        f"{name} is larger than {self._limits.bytes / GIB:g} GiB; give --unpack-limit a "
                        "larger number"
                    )
                if name != "standard input" and time.monotonic() > self._until:
                    raise InputError(
                        f"{name} takes more than {_MAX_SECONDS / 60:g} minutes; fetch it first"
                    )
                copy.write(chunk)

    def _remote(self, url: str) -> Local:
        directory = self._new_directory()
        with _opened(url) as (system, root, shown):
            if not _is_directory(system, root, url):
                path = directory / _safe(root.rstrip("/").rpartition("/")[2])
                with system.open(root, "rb") as source:
                    self._copy(source, path, shown)
                return Local(path, UrlPath(shown))
            for name, below in _files(system, root, shown, self._limits):
                path = directory.joinpath(*map(_safe, below.split("/")))
                path.parent.mkdir(parents=True, exist_ok=True)
                with system.open(name, "rb") as source:
                    self._copy(source, path, shown)
            return Local(directory, UrlPath(shown))


def remote_parts(url: str, limits: Limits) -> list[tuple[str, str, str]]:
    """What at a URL can be read for itself: its URL, the given one as it is shown, and the path below that.

    That is each file, but as a whole each directory that tlparse wrote. Raises InputError.
    """
    with _opened(url) as (system, root, shown):
        if "::" in url or not _is_directory(system, root, url):
            return [(url, shown, "")]
        files = _files(system, root, shown, limits)
        written = {
            posixpath.dirname(below)
            for _, below in files
            if posixpath.basename(below) in {"raw.jsonl", "compile_directory.json"}
        }
        parts: dict[str, str] = {}
        for name, below in files:
            above = posixpath.dirname(below)
            while above and above not in written:
                above = posixpath.dirname(above)
            whole = above if above in written else below
            part = name.removesuffix(below) + whole
            parts[system.unstrip_protocol(part.rstrip("/"))] = whole
        return [(part, shown, whole) for part, whole in parts.items()]


@contextmanager
def _opened(url: str) -> Iterator[tuple[Any, str, str]]:
    """The file system of a URL, the path in it, and the URL as it is shown. Raises InputError."""
    shown = _without_secrets(url)
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise InputError(
            f"{shown} is remote: reading it takes fsspec; install it with: "
            "pip install 'pgo-advisor[remote]'"
        ) from error
    try:
        yield (*url_to_fs(url, **_web_options(url)), shown)
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"{shown} does not exist, or may not be read") from error
    except (TimeoutError, AsyncTimeout) as error:  # one since Python 3.11
        raise InputError(
            f"{shown} cannot be read: the server was silent for {_MAX_SILENCE:g} s, or took more than "
            f"{_MAX_SECONDS / 60:g} minutes"
        ) from error
    except Exception as error:  # each backend has errors of its own
        why = str(error).partition("\n")[0][:300] or type(error).__name__
        raise InputError(f"{shown} cannot be read: {why.replace(url, shown)}") from error


def _web_options(url: str) -> dict[str, Any]:
    """Bounds the time of each request, and leaves what is compressed to the unpacker, which has limits."""
    if "::" in url or urlsplit(url).scheme not in _FILES_ONLY:
        return {}
    from aiohttp import ClientTimeout

    timeout = ClientTimeout(_MAX_SECONDS, sock_connect=_MAX_SILENCE, sock_read=_MAX_SILENCE)
    return {
        "client_kwargs": {"timeout": timeout, "auto_decompress": False},
        "headers": {"Accept-Encoding": "identity"},
    }


def _is_directory(system: Any, root: str, url: str) -> bool:
    return urlsplit(url).scheme not in _FILES_ONLY and system.isdir(root)


def _files(system: Any, root: str, shown: str, limits: Limits) -> list[tuple[str, str]]:
    """The files below a directory: their names, and these without the directory's."""
    names = system.find(root, maxdepth=_MAX_DEPTH)
    if len(names) > limits.members:
        raise InputError(f"{shown} holds too many files; name the trace directory itself")
    return [(name, name.removeprefix(root.rstrip("/")).strip("/")) for name in names]


def _safe(name: str) -> str:
    name = re.sub(r'[<>:"/\\|?*\x00-\x1f]', "_", name)[:200]
    return name if name.strip(".") else "_"


def is_url(given: str | os.PathLike[str]) -> bool:
    """Whether fsspec has to fetch it."""
    return bool(_URL.match(os.fspath(given)))


def _without_secrets(url: str) -> str:
    """The URL, or each of a chain, less user, password, and query, which can hold a signature.

    Raises InputError if it is none.
    """
    try:
        chain = [urlsplit(part) for part in url.split("::")]
    except ValueError as error:
        raise InputError(f"an input that begins with {url.split('://')[0]}:// is no URL") from error
    return "::".join(
        f"{part.scheme}://{part.netloc.rpartition('@')[2]}{part.path}" if part.scheme else part.path
        for part in chain
    )
