"""The marks in the source: small programs with every shape of a call, and the change as a file."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import Trace
from fake_torch import fake_torch
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from pgo_advisor.analysis import Analysis
from pgo_advisor.cli import main
from pgo_advisor.dynamo.sources import parse, python_expression
from pgo_advisor.errors import OutputError
from pgo_advisor.patch import Patch, PathMap, SiteOutcome, locate, make_patch
from pgo_advisor.patch.diff import unified
from pgo_advisor.patch.source_file import SourceFile
from pgo_advisor.patch.write import write
from pgo_advisor.render.patch import html_section, markdown_section
from pgo_advisor.report import Advice, CallSite, FrameReport, Input, Range, Remedy, Verdict
from pgo_advisor.tables import Tables

SCENARIOS = Path(__file__).parent / "scenarios"
SHAPES = Path(__file__).parent / "call_sites"
NAMES = sorted(path.name.removesuffix(".expected.py") for path in SHAPES.glob("*.expected.py"))
_WANT = re.compile(r"(\S+) (\d)( maybe)?( none| number| lacking)?(?: with (\w+))?")


def wants(text: str) -> tuple[str, list[re.Match[str]]]:
    """The first line of a shape: the function, and the inputs that are advised."""
    name, _, rest = text.split("\n")[0].removeprefix("# ").partition(": ")
    return name, [match for item in rest.split(", ") if (match := _WANT.fullmatch(item.strip()))]


def analysis_of(
    path: Path, *, recorded: Path | None = None, known: bytes | None = None
) -> Analysis:
    """What a trace of a shape would give: a call at each line that ends in `# call`.

    `recorded` is the file's name there; `known` its content then, with its CRC-32 in the trace.
    """
    text = (known or path.read_bytes()).decode()
    name, matches = wants(text)
    file = str(recorded or path)
    lines = text.split("\n")
    first = next(
        number
        for number, line in enumerate(lines, 1)
        if re.search(rf"def {name}\(" if name != "<lambda>" else r"compile\(lambda", line)
    )
    while lines[first - 2].strip().startswith("@"):
        first -= 1
    sites = tuple(
        CallSite(file, number, line.strip(), None)
        for number, line in enumerate(lines, 1)
        if line.rstrip().endswith("# call")
    )
    frame = FrameReport(
        name, name, file, first, (None,), 2, 1.0, Range(1, 1), (), 1.0,
        Verdict.marking_helps, "", {}, sites,
    )  # fmt: skip
    advice = tuple(
        Advice(
            source=match[1],
            dim=int(match[2]),
            rule="varying-dim",
            frame=name,
            frames=(name,),
            remedy=Remedy.maybe_mark_dynamic if match[3] else Remedy.mark_dynamic,
            why_remedy="",
            list_entry=match[1],
            code="mark",
            saved=Range(1, 1),
            saved_seconds=1.0,
            values=(4, 5),
            together=(Input(f"L['{match[5]}']", 1 - int(match[2])),) if match[5] else (),
        )
        for match in matches
    )
    compiled = {"compile": 0, "file": file, "line": first, "name": name}
    return Analysis(
        frames=(frame,),
        advice=advice,
        tables=Tables.from_rows(
            {
                "compiles": [compiled, {**compiled, "compile": 1}],
                "inputs": [
                    {"compile": 0, "source": source}
                    for source in [*(match[1] for match in matches), "L['args'][0]"]
                ]
                + [
                    {"compile": 1, "source": source}
                    for source in ["L['other']", *(m[1] for m in matches if m[4] != " lacking")]
                ],
                "guards": [
                    {"compile": 0, "source": match[1]}
                    | (
                        {"kind": "NONE", "value": "None"}
                        if match[4] == " none"
                        else {"kind": "VALUE", "value": "int"}
                    )
                    for match in matches
                    if match[4] in (" none", " number")
                ],
                "pgo_entries": [
                    {"compile": 0, "file": file, "file_hash": f"{zlib.crc32(known):08x}"}
                ]
                if known is not None
                else [],
            }
        ),
    )


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """These sources are harmless; `test_patch_files` has the others, which are tried elsewhere first."""
    monkeypatch.setattr(locate, "unparsable", lambda texts: [None] * len(texts))


def patched(analysis: Analysis, **options: Any) -> Patch:
    return make_patch(analysis.frames, analysis.advice, analysis.tables, **options)


def patch_of(path: Path, **options: Any) -> Patch:
    return patched(analysis_of(path), root=path.parent, **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_shape(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.py"
    shutil.copy(SHAPES / f"{name}.py", path)
    before = path.read_text()
    traced = analysis_of(path)
    patch = patched(traced, root=tmp_path)
    write(patch.files, allow_dirty=True)
    assert path.read_text() == (SHAPES / f"{name}.expected.py").read_text()
    if refused := re.search("# refused: (.*)", before):
        assert any(refused[1] in reason for site in patch.sites for reason in site.reasons)
    # the trace of the file as it was: nothing is left to do
    again = patched(traced, root=tmp_path)
    assert not again.files
    if patch.files:
        assert SiteOutcome.present in {site.outcome for site in again.sites}
    # and that of a run of the patched file
    assert not patch_of(path).files


@pytest.mark.parametrize("name", [name for name in NAMES if "refused" not in name])
def test_patched_shape_marks_what_it_passes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = SHAPES / f"{name}.expected.py"
    function, matches = wants(path.read_text())
    wanted = {
        f"{python_expression(parse(match[1]))} {match[2]}": int(match[2]) for match in matches
    }
    unmarked: list[str] = []
    monkeypatch.setitem(sys.modules, "torch", fake_torch(function, wanted, unmarked))
    runpy.run_path(str(path))
    assert unmarked == []
    if name not in ("marked_already", "one_of_an_equality"):
        runpy.run_path(str(SHAPES / f"{name}.py"))
        assert unmarked != []


SOURCES = st.lists(
    st.sampled_from(
        [
            "x = 1",
            "if x:\n    y = [\n  1,\n]",
            "# é comment  ",
            "\f",
            "",
            "def f(a, *b):\n\treturn a  # ü",
            's = """one\n\ttwo"""',
            "t = 'é'; u = 2 ;",
            "class A: pass",
            "for _ in (): \\\n  pass",
        ]
    ),
    max_size=8,
)


@pytest.mark.slow
@settings(deadline=None)
@given(
    SOURCES,
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from(["", "utf-8-sig", "latin-1"]),
)
def test_a_file_without_marks_stays_as_it_is(
    lines: list[str], newline: str, ends: bool, encoding: str
) -> None:
    text = "\n".join(lines) + ("\n" if ends else "")
    if encoding == "latin-1":
        text = f"# -*- coding: latin-1 -*-\n{text}"
    content = text.replace("\n", newline).encode(encoding or "utf-8")
    assert SourceFile(Path("x.py"), content).changed([]) == content


@settings(deadline=None)
@given(
    st.text(st.characters(codec="utf-8"), max_size=60),
    st.text(st.characters(codec="utf-8"), max_size=60),
    st.sampled_from(["m.py", "ü/two words.py", 'q"uote.py', "back\\slash.py", "tab\t.py"]),
)
def test_git_applies_the_diff(
    tmp_path_factory: pytest.TempPathFactory, before: str, after: str, name: str
) -> None:
    folder = tmp_path_factory.mktemp("apply")
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(before.encode())
    diff = unified(name, before.encode(), after.encode())
    # git takes a change from or to an empty file for one that removes or makes it
    if diff and before and after:
        apply(folder, diff)
        assert path.read_bytes() == after.encode()


def apply(folder: Path, diff: bytes) -> None:
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"], cwd=folder, input=diff, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()


ENCODED = {
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "bom": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "form feed": lambda text: text.replace("\n\n", "\n\f\n").encode(),
    "no newline at the end": lambda text: text.rstrip("\n").encode(),
    "latin-1": lambda text: f"# coding: latin-1\n# é\n{text}".encode("latin-1"),
}


@pytest.mark.slow
@pytest.mark.parametrize("encode_", ENCODED.values(), ids=ENCODED.keys())
@pytest.mark.parametrize(
    "name", ["expression_in_loop", "one_line_loop", "import_before_torchs", "tabs"]
)
def test_write_and_git_apply_give_the_same_bytes(
    name: str, encode_: object, tmp_path: Path
) -> None:
    path = tmp_path / "m.py"
    text = (SHAPES / f"{name}.py").read_text()
    expected = (SHAPES / f"{name}.expected.py").read_text()
    traced = tmp_path / "m.txt"
    traced.write_text(text)
    path.write_bytes(encode_(text))  # type: ignore[operator]
    patch = patched(analysis_of(traced, recorded=path), root=tmp_path)
    apply(tmp_path, patch.diff)
    applied = path.read_bytes()
    assert applied == encode_(expected)  # type: ignore[operator]
    path.write_bytes(encode_(text))  # type: ignore[operator]
    write(patch.files, allow_dirty=True)
    assert path.read_bytes() == applied


def shape(tmp_path: Path, name: str = "expression") -> Path:
    path = tmp_path / "m.py"
    shutil.copy(SHAPES / f"{name}.py", path)
    return path


def test_a_file_that_changed_is_found_by_its_text(tmp_path: Path) -> None:
    path = shape(tmp_path)
    known = path.read_bytes()
    path.write_bytes(known.replace(b"import torch\n", b"import torch\n\nVERSION = 1\n"))
    patch = patched(analysis_of(path, known=known), root=tmp_path)
    assert [(site.line, site.found_line) for site in patch.sites] == [(8, 10)]
    assert patch.sites[0].outcome is SiteOutcome.marked


def test_a_statement_that_is_there_twice_is_refused_once_the_file_changed(tmp_path: Path) -> None:
    path = shape(tmp_path)
    known = path.read_bytes()
    path.write_bytes(known + known.splitlines()[-1] + b"\n")
    patch = patched(analysis_of(path, known=known), root=tmp_path)
    assert not patch.files
    assert "2 times" in patch.sites[0].reasons[0]


def test_a_statement_that_is_gone_is_refused(tmp_path: Path) -> None:
    path = shape(tmp_path)
    known = path.read_bytes()
    path.write_bytes(known.replace(b"f(torch.randn(4))", b"f(torch.randn(8))"))
    patch = patched(analysis_of(path, known=known), root=tmp_path)
    assert not patch.files
    assert "no longer has this line" in patch.sites[0].reasons[0]


def test_sources_of_another_machine(tmp_path: Path) -> None:
    path = shape(tmp_path)
    traced = analysis_of(path, recorded=Path("/srv/train/m.py"))
    patch = patched(traced, root=tmp_path)
    assert not patch.files
    assert (
        "/srv/train/m.py cannot be read" in patch.sites[0].reasons[0]
        or "outside" in patch.sites[0].reasons[0]
    )
    patch = patched(traced, root=tmp_path, maps=[PathMap("/srv/train", tmp_path)])
    assert [file.name for file in patch.files] == ["m.py"]


@pytest.mark.parametrize("folder", ["elsewhere", "root/lib/site-packages"])
def test_files_that_are_not_to_be_changed(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "root").mkdir(exist_ok=True)
    patch = patched(analysis_of(shape(tmp_path / folder)), root=tmp_path / "root")
    assert not patch.files
    assert patch.sites[0].outcome is SiteOutcome.refused


def test_write_keeps_permissions_and_uncommitted_changes(tmp_path: Path) -> None:
    path = shape(tmp_path)
    path.chmod(0o750)
    patch = patch_of(path)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    with pytest.raises(OutputError, match="not committed"):
        write(patch.files, allow_dirty=False)
    assert path.read_bytes() == patch.files[0].before
    write(patch.files, allow_dirty=True)
    assert (path.stat().st_mode & 0o777, path.read_bytes()) == (0o750, patch.files[0].after)
    with pytest.raises(OutputError, match="in the meantime"):
        write(patch.files, allow_dirty=True)


def test_bounds(tmp_path: Path) -> None:
    path = shape(tmp_path)
    assert "mark_dynamic(x, 0, min=4, max=5)" in patch_of(path, bounds="observed").diff.decode()
    patch = patch_of(path, bounds=(2, 64))
    assert "mark_dynamic(x, 0, min=2, max=64)" in patch.diff.decode()
    assert "ends the program" in patch.notes[0]


def test_a_call_that_a_library_makes_is_none_of_the_users(tmp_path: Path) -> None:
    path = shape(tmp_path)
    traced = analysis_of(path)
    frame = traced.frames[0]
    site = CallSite(str(path), 8, frame.call_sites[0].code, "/lib/site-packages/trainer.py")
    by_library = replace(traced, frames=(replace(frame, call_sites=(site,)),))
    patch = patched(by_library, root=tmp_path)
    assert not patch.files
    assert "trainer.py" in patch.sites[0].reasons[0]


@pytest.mark.parametrize(
    ("name", "statements"),
    [
        (
            "r01_bert_varlen",
            [
                "input_ids = torch.randint(0, 100, (b, s))",
                "attention_mask = torch.ones(b, s, dtype=torch.long)",
                "torch._dynamo.maybe_mark_dynamic(input_ids, 0)",
                "torch._dynamo.maybe_mark_dynamic(input_ids, 1)",
                "torch._dynamo.maybe_mark_dynamic(attention_mask, 0)",
                "torch._dynamo.maybe_mark_dynamic(attention_mask, 1)",
            ],
        ),
        (
            "u07_flags_and_none",
            [
                "q = torch.randn(n, 8)",
                "k = torch.randn(16, 8)",
                "mask = torch.zeros(n, 16) if with_mask else None",
                "torch._dynamo.mark_dynamic(q, 0)",
                "if mask is not None: torch._dynamo.mark_dynamic(mask, 0)",
            ],
        ),
        (
            "u03_train_and_validate",
            ["args_0 = torch.randn(n, 8)", "torch._dynamo.mark_dynamic(args_0, 0)"],
        ),
        ("s20_recompile_limit", ["x = torch.randn(n)", "torch._dynamo.maybe_mark_dynamic(x, 0)"]),
    ],
)
def test_recorded_programs(
    name: str, statements: list[str], analysis: Callable[[str, str], Analysis], tmp_path: Path
) -> None:
    shutil.copy(SCENARIOS / f"{name}.py", tmp_path)
    made = analysis("2.13.0", name).patch(root=tmp_path, maps=[PathMap("/home/user/app", tmp_path)])
    assert {site.outcome for site in made.sites} == {SiteOutcome.marked}
    for site in made.sites:
        assert list(site.statements) == statements


def test_the_command(trace: Trace, tmp_path: Path) -> None:
    shutil.copy(SCENARIOS / "s01_batch_dim.py", tmp_path)
    arguments = [
        "patch",
        str(trace("2.13.0", "s01_batch_dim")),
        "--root",
        str(tmp_path),
        "--map",
        f"/home/user/app={tmp_path}",
    ]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0
    apply(tmp_path, result.stdout_bytes)
    assert "marked: " in result.stderr
    changed = (tmp_path / "s01_batch_dim.py").read_bytes()
    shutil.copy(SCENARIOS / "s01_batch_dim.py", tmp_path)
    assert CliRunner().invoke(main, [*arguments, "--write"]).stdout == ""
    assert (tmp_path / "s01_batch_dim.py").read_bytes() == changed
    assert CliRunner().invoke(main, [*arguments, "--bounds", "9:3"]).exit_code == 2
    again = CliRunner().invoke(main, arguments)
    assert (again.stdout, "already marked: " in again.stderr) == ("", True)


def test_sections_for_reports(tmp_path: Path) -> None:
    path = shape(tmp_path)
    path.write_text(path.read_text().replace("randn(4)", 'randn(4, "</pre><script>")', 1))
    made = patch_of(path)
    page = html_section(made, "https://example.org/blob/main")
    assert 'href="https://example.org/blob/main/m.py#L8"' in page
    assert '<span class="hl-gi">+torch._dynamo.mark_dynamic(x, 0)</span>' in page
    assert "<script>" not in page
    assert "href" not in html_section(made, "javascript:alert(1)//")
    assert "+torch._dynamo.mark_dynamic(x, 0)\n" in markdown_section(made)
    report = analysis_of(path)
    assert "hl-gi" in report.to_html(patch=made)
    assert "```diff\n" in report.to_markdown(patch=made)


def test_the_report_shows_the_patch(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(SCENARIOS / "s01_batch_dim.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    arguments = ["analyze", str(trace("2.13.0", "s01_batch_dim")), "-q", "--patch"]
    options = ["--map", f"/home/user/app={tmp_path}", "--html", "r.html", "--markdown", "r.md"]
    url = "https://example.org/blob/main"
    result = CliRunner().invoke(main, [*arguments, *options, "--repo-url", url])
    assert result.exit_code == 0, result.output
    assert f'href="{url}/s01_batch_dim.py#L6"' in Path("r.html").read_text()
    assert f"({url}/s01_batch_dim.py#L6)" in Path("r.md").read_text()


def test_code_that_is_in_no_file(tmp_path: Path) -> None:
    profile = tmp_path / "profile.txt"
    profile.write_text(
        "hash(<string>)<string>:1:made:\n  L['x']: tensor size=[?, 3] stride=[S(1), 1]\n"
    )
    result = CliRunner().invoke(main, ["patch", str(profile), "--root", str(tmp_path)])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "nothing" in result.output or result.exit_code == 0
