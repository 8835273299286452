"""Source files that a trace names, whatever they are, and changing them whatever comes between."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from test_patch import SHAPES, analysis_of, patched, shape

from pgo_advisor.errors import OutputError
from pgo_advisor.patch import Patch, PathMap
from pgo_advisor.patch.parse_check import unparsable
from pgo_advisor.patch.result import FilePatch
from pgo_advisor.patch.write import write

TEXT = (SHAPES / "expression.py").read_text()


def patch_where(path: Path, root: Path, *maps: PathMap) -> Patch:
    """The patch of a program that was recorded as `path`, whatever that is now."""
    recorded = root / "recorded.txt"
    recorded.write_text(TEXT)
    return patched(analysis_of(recorded, recorded=path), root=root, maps=maps)


def reason(path: Path, root: Path) -> str:
    patch = patch_where(path, root)
    assert not patch.files
    (site,) = patch.sites
    assert site.diff == ""
    return site.reasons[0]


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def coded(cookie: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(f"# coding: {cookie}\n{TEXT}")


MADE: dict[str, tuple[Callable[[Path], object], str]] = {
    "fifo": (os.mkfifo, "is no regular file"),
    "directory": (os.mkdir, "is no regular file"),
    "socket": (listening, "is no regular file"),
    "loop": (lambda path: path.symlink_to(path), "is no regular file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "outside"),
    "process": (lambda path: path.symlink_to("/proc/self/environ"), "outside"),
    "link": (lambda path: path.symlink_to("/etc/passwd"), "outside"),
    "missing": (lambda path: None, "cannot be read: No such file"),
    "huge": (sparse, "is larger than 1 MiB"),
    "binary": (lambda path: path.write_bytes(b"\x7fELF\0\xff"), "cannot be read as Python"),
    "nul": (lambda path: path.write_bytes(b"x = 1\0\n"), "cannot be read as Python"),
    "latin": (lambda path: path.write_bytes(b"x = '\xe9'\n"), "cannot be read as Python"),
    **{
        cookie: (coded(cookie), "cannot be read")
        for cookie in (
            *("rot13", "zlib", "hex", "no-such", "../../x", "undefined", "punycode"),
            *("idna", "unicode_escape", "utf-7", "utf-16"),
        )
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", MADE)
def test_a_trace_names_what_is_no_source(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    MADE[kind][0](path)
    assert MADE[kind][1] in reason(path, tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        *("/dev/zero", "/proc/self/mem", "/etc/passwd", "../m.py", "m\0.py", "\ud800.py"),
        *("x" * 5000, "a/" * 3000 + "m.py", "<string>", ""),
    ],
)
def test_a_trace_names_a_path_that_is_none_of_the_users(name: str, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "m.py").write_text(TEXT)
    frame_file = tmp_path / "recorded.txt"
    frame_file.write_text(TEXT)
    analysis = analysis_of(frame_file)
    [frame] = analysis.frames
    sites = (replace(frame.call_sites[0], file=name),)
    named = replace(analysis, frames=(replace(frame, file=name, call_sites=sites),))
    patch = patched(named, root=tmp_path / "root")
    assert (patch.files, patch.diff) == ((), b"")
    assert patch.sites[0].reasons[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000 + ")" * 5000,
        "x = " + "+".join(["a"] * 20_000),
        "x = " + "-" * 20_000 + "1",
        "lambda:" * 20_000 + "1",
        "if a: pass\n" + "elif a: pass\n" * 3000,
        "x = [" + "1," * 200_000 + "]",
    ],
    ids=["parentheses", "sum", "minus", "lambda", "elif", "wide"],
)
def test_a_text_that_is_too_much_for_the_parser(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "libcst.py").write_text(
        "raise SystemExit('the current directory is imported from')"
    )
    path = tmp_path / "m.py"
    path.write_text(f"{TEXT}\n{text}\n")
    assert "nested too deeply" in reason(path, tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["libcst.py", "m.py", "recorded.txt"]


@pytest.mark.slow
def test_one_bad_text_does_not_harm_the_others() -> None:
    bad = "(" * 5000 + ")" * 5000
    reasons = unparsable(["x = 1\n", bad, "y = (\n", bad, "z = 1\n"])
    assert [reasons[0], reasons[4]] == [None, None]
    assert all("nested too deeply" in str(reasons[n]) for n in (1, 3))
    assert "cannot be read as Python" in str(reasons[2])


def test_a_file_that_changes_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shape(tmp_path)
    real = os.fstat

    def grows(handle: int) -> os.stat_result:
        with path.open("a") as file:
            file.write("# more\n")
        return real(handle)

    monkeypatch.setattr(os, "fstat", grows)
    assert "changes while it is read" in reason(path, tmp_path)


def test_a_file_that_becomes_a_link_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    path = shape(root)
    real = os.lstat

    def swapped(name: Path) -> os.stat_result:
        status = real(name)
        if name == path and not path.is_symlink():
            path.unlink()
            path.symlink_to("/etc/passwd")
        return status

    monkeypatch.setattr(os, "lstat", swapped)
    assert "cannot be read" in reason(path, root)


@pytest.mark.slow
def test_sources_below_a_mapped_directory_are_read_but_not_changed(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    root.mkdir()
    other.mkdir()
    path = shape(other)
    recorded = Path("/srv/train/m.py")
    assert "outside of" in reason(recorded, root)
    patch = patch_where(recorded, root, PathMap("/srv/train", other))
    assert "outside of" in patch.sites[0].reasons[0]
    assert path.read_text() == TEXT


@pytest.mark.slow
def test_a_link_within_the_root_stays_a_link(tmp_path: Path) -> None:
    path = shape(tmp_path)
    link = tmp_path / "link.py"
    link.symlink_to("m.py")
    patch = patch_where(link, tmp_path)
    assert [file.path for file in patch.files] == [path]
    write(patch.files, allow_dirty=True)
    assert os.readlink(link) == "m.py"
    assert b"mark_dynamic" in path.read_bytes()


def changed(path: Path) -> FilePatch:
    content = path.read_bytes()
    return FilePatch(path, path.name, content, b"import torch\n" + content)


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def test_what_git_could_not_bring_back(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("ignored*\n")
    for name in ("m.py", "ignored.py", ":(glob)*.py"):
        (tmp_path / name).write_text(TEXT)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "all")
    write([changed(tmp_path / "m.py"), changed(tmp_path / ":(glob)*.py")], allow_dirty=False)
    with pytest.raises(OutputError, match=r"m\.py has changes that are not committed"):
        write([changed(tmp_path / "m.py")], allow_dirty=False)
    with pytest.raises(OutputError, match=r"ignored\.py is ignored by git"):
        write([changed(tmp_path / "ignored.py")], allow_dirty=False)
    write([changed(tmp_path / "ignored.py")], allow_dirty=True)
    (tmp_path / ".git" / "HEAD").write_text("no head")
    with pytest.raises(OutputError, match="repository that git cannot read"):
        write([changed(tmp_path / "m.py")], allow_dirty=False)


def test_a_setting_of_the_repository_runs_nothing(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    shape(tmp_path)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "all")
    git(tmp_path, "config", "core.fsmonitor", f"touch {tmp_path}/ran; false")
    write([changed(tmp_path / "m.py")], allow_dirty=False)
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
@pytest.mark.parametrize("folder", [".git/hooks", "sub/.git", ".GIT"])
def test_a_file_of_git(folder: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir(parents=True)
    assert "is git's own" in reason(shape(tmp_path / folder), tmp_path)


def test_several_names_of_a_file_have_the_change(tmp_path: Path) -> None:
    path = shape(tmp_path)
    (tmp_path / "other.py").hardlink_to(path)
    path.chmod(0o754)
    number = path.stat().st_ino
    file = changed(path)
    write([file], allow_dirty=True)
    assert (tmp_path / "other.py").read_bytes() == path.read_bytes() == file.after
    assert (path.stat().st_ino, path.stat().st_mode & 0o777) == (number, 0o754)


@pytest.mark.parametrize("named_twice", [False, True])
def test_what_belongs_to_a_file_stays(named_twice: bool, tmp_path: Path) -> None:
    path = shape(tmp_path)
    if named_twice:
        (tmp_path / "other.py").hardlink_to(path)
    path.chmod(0o751)
    if os.geteuid() == 0:
        os.chown(path, 1234, 4321)
    try:
        os.setxattr(path, "user.origin", b"mine")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    before = path.stat()
    write([changed(path)], allow_dirty=True)
    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )
    assert os.getxattr(path, "user.origin") == b"mine"
    # compiled code of the old text is not to be taken for that of the new one
    assert after.st_mtime_ns > before.st_mtime_ns


def test_a_file_of_another_owner_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shape(tmp_path)
    number = path.stat().st_ino

    def forbidden(*arguments: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", forbidden)
    file = changed(path)
    write([file], allow_dirty=True)
    assert (path.stat().st_ino, path.read_bytes()) == (number, file.after)
    assert os.listdir(tmp_path) == ["m.py"]


def test_what_has_become_of_a_file_since(tmp_path: Path) -> None:
    path = shape(tmp_path)
    file = changed(path)
    path.chmod(0o444)
    with pytest.raises(OutputError, match="read-only"):
        write([file], allow_dirty=True)
    path.rename(tmp_path / "moved.py")
    with pytest.raises(OutputError, match="No such file"):
        write([file], allow_dirty=True)
    path.symlink_to("moved.py")
    with pytest.raises(OutputError, match="no regular file"):
        write([file], allow_dirty=True)
    assert (tmp_path / "moved.py").read_bytes() == file.before


def test_all_or_none_may_be_changed(tmp_path: Path) -> None:
    first, second = (tmp_path / name for name in ("a.py", "b.py"))
    for path in (first, second):
        shutil.copy(SHAPES / "expression.py", path)
    files = [changed(first), changed(second)]
    second.write_text("x = 1\n")
    with pytest.raises(OutputError, match=r"b\.py has changed in the meantime"):
        write(files, allow_dirty=True)
    assert first.read_bytes() == files[0].before


@pytest.mark.parametrize("named_twice", [False, True])
def test_a_full_disk(named_twice: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shape(tmp_path)
    if named_twice:
        (tmp_path / "other.py").hardlink_to(path)
    file = changed(path)
    real, calls = os.fsync, []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 1:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"m\.py cannot be written: No space left"):
        write([file], allow_dirty=True)
    assert path.read_bytes() == file.before
    assert len(os.listdir(tmp_path)) == 1 + named_twice


@pytest.mark.slow
def test_signals_at_any_moment_leave_whole_files(tmp_path: Path) -> None:
    """A hundred signals, each a little later, to a process that writes all the time."""
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("x = 1\n")
    os.link(tmp_path / "b.py", tmp_path / "c.py")
    code = textwrap.dedent("""
        import os, signal
        from pathlib import Path
        from pgo_advisor.patch.result import FilePatch
        from pgo_advisor.patch.write import write
        texts = [b"x = 1\\n" * n for n in (1, 4000)]
        os.fsync = lambda handle: None  # more writes in less time
        def end(*ignored): raise SystemExit(3)
        signal.signal(signal.SIGTERM, end)
        paths = [Path(name) for name in ("a.py", "b.py")]
        def swap(path):
            now = path.read_bytes()
            return FilePatch(path, path.name, now, texts[now == texts[0]])
        while True:
            try:
                print("ready", flush=True)
                input()
                print("on", flush=True)
                while True:
                    write([swap(path) for path in paths], allow_dirty=True)
            except SystemExit:
                pass
    """)
    child = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        for number in range(101):
            assert child.stdout.readline() == b"ready\n"
            assert sorted(os.listdir(tmp_path)) == ["a.py", "b.py", "c.py"]
            for name in ("a.py", "b.py"):
                assert (tmp_path / name).read_bytes() in (b"x = 1\n", b"x = 1\n" * 4000)
            child.stdin.write(b"\n")
            child.stdin.flush()
            assert child.stdout.readline() == b"on\n"
            time.sleep(number * 1e-4)
            child.send_signal(signal.SIGTERM)
    finally:
        child.kill()
        child.wait()
    assert (tmp_path / "b.py").stat().st_nlink == 2
