"""The copy of a source tree in which a changed program runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pgo_advisor.patch.mirror import Mirror
from pgo_advisor.patch.result import FilePatch


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with sources, data, an environment, and links of every kind; beside it more data."""
    root = tmp_path / "above" / "project"
    for name, text in {
        "train.py": "import pkg.model\n",
        "pkg/__init__.py": "",
        "pkg/model.py": "x = 1\n",
        "pkg/__pycache__/model.pyc": "",
        "data/numbers.txt": "3\n",
        "config.yaml": "a: 1\n",
        "venv/pyvenv.cfg": "",
        "venv/lib/some.py": "",
        ".git/hooks/hook.py": "",
        "lib/site-packages/some.py": "",
        "../shared.txt": "shared\n",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "train.py").chmod(0o754)
    (root / "pkg" / "loop").symlink_to("..")
    (root / "pkg" / "relative.py").symlink_to("model.py")
    (root / "absolute.py").symlink_to(root / "pkg" / "model.py")
    (root / "pkg" / "outside.txt").symlink_to(tmp_path / "above" / "shared.txt")
    return root


def content(folder: Path) -> dict[str, tuple[bytes | str, int, int]]:
    """Every file and link below a folder, with its permissions and the time of its last change."""
    found = {}
    for directory, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(directory, name)
            status = path.lstat()
            what = os.readlink(path) if path.is_symlink() else b""
            found[str(path)] = (
                path.read_bytes() if path.is_file() else what,
                status.st_mode,
                status.st_mtime_ns,
            )
    return found


def test_what_is_copied_and_what_is_linked(root: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    mirror = Mirror(root, place)
    model = root / "pkg" / "model.py"
    before = content(root)
    with mirror.copy([FilePatch(model, "pkg/model.py", b"x = 1\n", b"x = 2\n")]):
        copy = Path(f"{place}{root}")
        assert Path(mirror.path(str(root))) == copy
        assert (copy / "train.py").read_text() == "import pkg.model\n"
        assert not (copy / "train.py").is_symlink()
        assert (copy / "train.py").stat().st_mode & 0o777 == 0o754
        for name in ("pkg/model.py", "pkg/relative.py", "absolute.py", "pkg/loop/absolute.py"):
            assert (copy / name).read_text() == "x = 2\n"
        for name in ("data", "config.yaml", "venv", ".git", "lib"):
            assert (copy / name).is_symlink()
            assert (copy / name).resolve() == root / name
        assert os.readlink(copy / "pkg" / "loop") == ".."
        assert (copy / "pkg" / "outside.txt").read_text() == "shared\n"
        # compiled code of the copy must not replace that of the original
        assert not (copy / "pkg" / "__pycache__").exists()
        assert (copy / ".." / "shared.txt").read_text() == "shared\n"
        (copy / "written.txt").write_text("")
    assert not place.exists()
    assert content(root) == before


def test_a_program_in_the_copy_imports_from_it(root: Path, tmp_path: Path) -> None:
    (root / "train.py").write_text(
        "import pkg.model; print(pkg.model.x, open('data/numbers.txt').read())"
    )
    mirror = Mirror(root, tmp_path / "place")
    files = [FilePatch(root / "pkg" / "model.py", "pkg/model.py", b"x = 1\n", b"x = 2\n")]
    with mirror.copy(files):
        for script in ("train.py", mirror.path(str(root / "train.py"))):
            done = subprocess.run(
                [sys.executable, script],
                cwd=mirror.path(str(root)),
                capture_output=True,
                check=True,
            )
            assert done.stdout == b"2 3\n\n"


def test_the_place_may_be_in_the_root(root: Path) -> None:
    place = root / "pkg" / "tmp" / "place"
    place.parent.mkdir()
    for _ in range(2):
        with Mirror(root, place).copy([]):
            assert (Path(f"{place}{root}") / "train.py").is_file()
    assert not place.exists()


def test_the_current_directory_has_no_sources(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root / "data")
    mirror = Mirror(root, tmp_path / "place")
    with mirror.copy([]):
        here = Path(mirror.path(str(root / "data")))
        assert (here / ".." / "train.py").resolve() == Path(mirror.path(str(root / "train.py")))
        assert (here / "numbers.txt").resolve() == root / "data" / "numbers.txt"


def test_what_becomes_of_paths(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "place"
    mirror = Mirror(root, place)
    (tmp_path / "alias").symlink_to(root)
    monkeypatch.chdir(root)
    model = FilePatch(root / "pkg" / "model.py", "pkg/model.py", b"", b"")
    train = FilePatch(root / "train.py", "train.py", b"", b"")
    with mirror.copy([]):
        assert mirror.command(
            [
                f"{root}/venv/bin/python",
                "train.py",
                f"{root}/train.py",
                f"{tmp_path}/alias/train.py",
                f"--data={root}/data",
                f"--out={root}/out.txt",
                "--lr=1/2",
                str(tmp_path),
            ]
        ) == [
            f"{root}/venv/bin/python",
            "train.py",
            f"{place}{root}/train.py",
            f"{place}{root}/train.py",
            f"--data={root}/data",
            f"--out={place}{root}/out.txt",
            "--lr=1/2",
            str(tmp_path),
        ]
        given = {"PYTHONPATH": f"{root}/pkg:/elsewhere:."}
        assert mirror.variables([model, train], given) == {
            "PYTHONPATH": f"{place}{root}:{place}{root}/pkg:/elsewhere",
            "PWD": f"{place}{root}",
        }
        assert mirror.variables([train], {})["PYTHONPATH"] == ""
    assert mirror.original(f"{place}{root}/train.py") == f"{root}/train.py"
    assert mirror.original("/elsewhere/x.py") == "/elsewhere/x.py"


def test_lines_of_the_original() -> None:
    before = b"import torch\nfor n in (3, 4):\n    f(\n        g(n)\n    )\n    f(g(n))\nend()\n"
    after = (
        b"import torch\nfor n in (3, 4):\n    x = g(n)\n    mark(x)\n    f(\n        x\n    )\n"
        b"    x = g(n)\n    mark(x)\n    f(x)\nend()\n"
    )
    file = FilePatch(Path("a.py"), "a.py", before, after)
    assert [file.line_before(line) for line in (1, 2, 5, 6, 7, 10, 11)] == [1, 2, 3, 4, 5, 6, 7]
