"""The command line as a person uses it: what it prints, where, and its exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result
from conftest import TESTS, TRACES, Trace

import pgo_advisor
from pgo_advisor.cli import main
from pgo_advisor.dynamo.source_list import parse
from pgo_advisor.render.env import FORMATS
from pgo_advisor.render.json import schema
from pgo_advisor.rules import RULES


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_twenty_lines_say_what_to_do_the_summary_last(trace: Trace) -> None:
    result = run("analyze", trace("2.13.0", "s02_batch_and_seq"))
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) <= 20
    assert (
        "export TORCH_COMPILE_DYNAMIC_SOURCES=\"L['ids']:0,L['ids']:1,L['mask']:0,L['mask']:1\""
        in lines
    )
    assert "    torch._dynamo.mark_dynamic(ids, 1)" in lines
    assert re.fullmatch(r"Save \d+ of \d+ ms of compiling: 3 → 1 compiles\.", lines[-3])
    assert lines[-1].startswith("Exact: ")


def test_the_limit_is_in_the_summary(trace: Trace) -> None:
    path = trace("2.13.0", "s20_recompile_limit")
    lines = run("analyze", path).stdout.splitlines()
    assert lines[-4].startswith("Runs uncompiled once the recompile limit is hit")
    assert "1 or more compiles" in lines[-3]
    assert any("seen: 3, 4, 5, 6, 7, 8, 9, 10, 11;" in line for line in lines)
    whole = run("analyze", "-v", path).stdout.splitlines()
    assert whole[-len(lines) :] == lines
    assert "Recompiles" in whole


@pytest.mark.slow
def test_all_outputs_at_once(trace: Trace, tmp_path: Path) -> None:
    result = run(
        "analyze",
        trace("2.13.0", "s02_batch_and_seq"),
        "-q",
        *("--html", tmp_path / "report.html"),
        *("--markdown", tmp_path / "comment.md"),
        *("--json", tmp_path / "advice.json"),
        *("--parquet", tmp_path / "tables"),
        *("--full", tmp_path / "tlparse"),
    )
    assert result.exit_code == 0
    assert result.output == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "advice.json",
        "comment.md",
        "report.html",
        "tables",
        "tlparse",
    ]
    report = json.loads((tmp_path / "advice.json").read_text())
    jsonschema.validate(report, schema())
    assert report["totals"]["compiles"] == 3
    assert report["frames"][0]["predicted_compiles"] == [1, 1]
    assert {(item["source"], item["dim"]) for item in report["advice"]} == {
        ("L['ids']", 0),
        ("L['ids']", 1),
        ("L['mask']", 0),
        ("L['mask']", 1),
    }


@pytest.mark.parametrize("option", ["--html", "--markdown", "--json"])
def test_an_output_that_exists_is_kept(trace: Trace, tmp_path: Path, option: str) -> None:
    out = tmp_path / "out"
    out.write_text("mine")
    log = trace("2.13.0", "s01_batch_dim")
    result = run("analyze", log, option, out)
    assert (result.exit_code, out.read_text()) == (2, "mine")
    assert "exists already" in result.stderr
    assert run("analyze", log, option, out, "--force").exit_code == 0
    assert out.read_text() != "mine"


def test_an_output_that_cannot_be_written(trace: Trace, tmp_path: Path) -> None:
    result = run(
        "analyze", trace("2.13.0", "s01_batch_dim"), "--json", tmp_path / "no" / "out.json"
    )
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "code"), [(None, 3), (b"", 3), (b"hello", 3), (b"\x1f\x8b\x08 compressed", 3)]
)
def test_bad_input_is_one_sentence(tmp_path: Path, content: bytes | None, code: int) -> None:
    path = tmp_path / "log"
    if content is not None:
        path.write_bytes(content)
    result = run("analyze", path)
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.startswith("pgo-advisor: ")
    assert result.stderr.count("\n") == 1


def test_a_log_without_any_compile(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        'V1129 12:36:55.773000 4314 torch/_logging/_internal.py:1328] {"artifact": {"name": "x"}}\n'
    )
    result = run("analyze", log)
    assert result.exit_code == 3
    assert "no compile" in result.stderr


def test_a_wrong_version(trace: Trace) -> None:
    result = run("env", trace("2.13.0", "s01_batch_dim"), "--torch-version", "new")
    assert result.exit_code == 2
    assert "not a PyTorch version" in result.stderr


def test_a_run_without_recompiles(trace: Trace, tmp_path: Path) -> None:
    content = trace("2.13.0", "s01_batch_dim").read_bytes()
    log = tmp_path / "once.log"
    log.write_bytes(content[: content.index(b"\nV", content.index(b'{"compilation_metrics"')) + 1])
    result = run("analyze", log)
    assert result.exit_code == 0
    assert "All is well" in result.stdout
    result = run("env", log)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "nothing to declare" in result.stderr


def test_env_is_fit_for_the_release(trace: Trace) -> None:
    log = trace("2.13.0", "s01_batch_dim")
    assert run("env", log, "--format", "value").stdout == "L['x']:0\n"
    assert run("env", log, "--format", "value", "--torch-version", "2.9").stdout == "L['x']\n"
    # the trace of 2.7 does not tell its release
    result = run("env", trace("2.7.1", "s01_batch_dim"), "--format", "value")
    assert result.stdout == "L['x']\n"
    assert "--torch-version" in result.stderr


def test_a_release_without_the_list(trace: Trace) -> None:
    result = run("env", trace("2.13.0", "s01_batch_dim"), "--torch-version", "2.6")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "2.7 and later" in result.stderr
    assert "nothing to declare" not in result.stderr


@pytest.mark.slow
def test_the_shell_reads_env_back(trace: Trace) -> None:
    for name in ("s02_batch_and_seq", "m02_layer_caches", "r01_bert_varlen"):
        log = trace("2.13.0", name)
        export = run("env", log).stdout
        script = f'{export}printf %s "$TORCH_COMPILE_DYNAMIC_SOURCES"'
        seen = subprocess.run(
            ["sh", "-c", script], capture_output=True, text=True, check=True
        ).stdout
        assert seen == run("env", log, "--format", "value").stdout.rstrip("\n")


def test_snippet_is_python(trace: Trace) -> None:
    result = run("snippet", trace("2.13.0", "s07_graph_break_resume"))
    compile(result.stdout, "snippet", "exec")
    assert "torch._dynamo.mark_dynamic(x, 0)" in result.stdout
    # resume functions are called from compiled code: the list only
    assert "mark_dynamic(y" not in result.stdout
    assert "TORCH_COMPILE_DYNAMIC_SOURCES" in result.stdout


def test_explain_knows_every_rule_and_cause() -> None:
    listed = run("explain").stdout
    for rule in RULES.values():
        assert rule.id in listed
        assert rule.title in run("explain", rule.id).stdout
        for cause in rule.causes:
            assert rule.id in run("explain", cause.value).stdout
    assert run("explain", "nonsense").exit_code == 2


@pytest.mark.slow
def test_the_installed_program_needs_no_torch(trace: Trace) -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from pgo_advisor.cli import main\n"
        f"main(['analyze', {str(trace('2.13.0', 's01_batch_dim'))!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def shell(command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    program = f"{sys.executable} -m pgo_advisor"
    return subprocess.run(
        ["bash", "-c", command.replace("pgo-advisor", program)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(Path(pgo_advisor.__file__).parents[1])},
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("env LOG >&-", 2, "standard output cannot be used: Bad file descriptor"),
        ("env LOG <&-", 0, ""),
        ("env LOG 2>&-", 0, ""),
        ("analyze nothing 2> /dev/full", 3, ""),
        ("patch LOG 2> /dev/full", 2, ""),
        ("env - <&-", 3, "standard input cannot be read: Bad file descriptor"),
        ("analyze -q LOG --json out.json <&- >&- 2>&-", 0, ""),
        ("analyze -q LOG --json - > /dev/full", 2, "standard output cannot be used: No space"),
        ("analyze -q LOG --json /dev/full", 2, "/dev/full cannot be written: No space left"),
        ("analyze -q LOG --html loop", 2, "loop cannot be written: Too many levels"),
        ("analyze -q LOG --html loop --force", 2, "loop cannot be written: Too many levels"),
        ("analyze -q LOG --markdown pipe", 2, "pipe cannot be written: No such device"),
        ("analyze -q LOG --markdown .", 2, ". is a directory"),
        ("analyze -q LOG --json - --html -", 2, "two outputs have the same name"),
        ("analyze ''", 3, "an input without a name"),
        ("analyze LOG ''", 3, "an input without a name"),
        (f"analyze {'x' * 300}", 3, "File name too long"),
        (f"analyze -q LOG --json {'x' * 300}", 2, "File name too long"),
        ("analyze -q LOG --json gone.json", 2, "the working directory was deleted"),
        ("(ulimit -f 4; pgo-advisor env LOG)", 3, "cannot be unpacked: File too large"),
    ],
)
def test_sick_streams_and_outputs(
    trace: Trace, tmp_path: Path, command: str, code: int, said: str
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "loop").symlink_to("loop")
    os.mkfifo(place / "pipe")
    if not command.startswith("("):
        command = f"pgo-advisor {command}"
    if "gone" in command:
        command = f"rmdir ../gone; {command}"
        place = tmp_path / "gone"
        place.mkdir()
    before = sorted(tmp_path.rglob("*"))
    log = TRACES / "2.13.0" / "s01_batch_dim.log.gz"
    done = shell(command.replace("LOG", str(log)), cwd=place)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert done.stderr.count("\n") == (1 if said else 0)
    left = set(tmp_path.rglob("*")) - set(before)
    assert {path.name for path in left} == ({"out.json"} if "out.json" in command else set())


@pytest.mark.slow
def test_a_pipe_that_is_read(trace: Trace, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    log = trace("2.13.0", "s01_batch_dim")
    done = shell(f"cat pipe & pgo-advisor analyze -q {log} --json pipe; wait", cwd=tmp_path)
    assert done.returncode == 0
    jsonschema.validate(json.loads(done.stdout), schema())


@pytest.mark.parametrize("option", ["--tlparse-timeout", "--unpack-limit"])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e300", "0", "-1", "x"])
def test_numbers_that_are_no_limit(trace: Trace, option: str, value: str) -> None:
    done = run("analyze", option, value, trace("2.13.0", "s01_batch_dim"))
    assert done.exit_code == 2
    assert f"Invalid value for '{option}'" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_what_the_user_may_not_read(trace: Trace, tmp_path: Path) -> None:
    for path in tmp_path, *tmp_path.parents[:-1]:
        path.chmod(path.stat().st_mode | 0o111)
    (tmp_path / "secret").mkdir()
    for path in tmp_path / "a.log", tmp_path / "secret" / "b.log":
        path.write_bytes(trace("2.13.0", "s01_batch_dim").read_bytes())
    (tmp_path / "a.log").chmod(0)
    (tmp_path / "secret").chmod(0)
    code = (
        "import os, sys\n"
        "from pgo_advisor.cli import main\n"
        "main(['env', sys.argv[1]], standalone_mode=False)  # imports what the user may not read\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "main(['analyze', sys.argv[2]])"
    )
    for given in tmp_path / "a.log", tmp_path / "secret", tmp_path / "secret" / "b.log":
        log = trace("2.13.0", "s01_batch_dim")
        command = [sys.executable, "-c", code, str(log), str(given)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr
        assert "Permission denied" in done.stderr


HOSTILE_NAME = "a\u202eb\x1b]0;x\x07\u2028\u200d\U000e0041\x85z"


@pytest.mark.slow
@pytest.mark.parametrize("where", ["source", "list in force"])
@pytest.mark.parametrize("release", ["2.7", "2.13"])
def test_nothing_recorded_acts_in_a_terminal(
    trace: Trace, tmp_path: Path, where: str, release: str
) -> None:
    log = TESTS / "fixtures" / "attacks" / "esc.log.gz"
    if where == "source":
        text = trace("2.13.0", "s01_batch_dim").read_text()
        log = tmp_path / "log"
        log.write_text(text.replace("L['x']", f"L['{json.dumps(HOSTILE_NAME)[1:-1]}']"))
    analysis = pgo_advisor.analyze(log, torch_version=release)
    assert analysis.totals.compiles == 2
    if where == "source" and release == "2.13":
        [(pattern, dim)] = parse(analysis.dynamic_sources, analysis.release)
        assert re.fullmatch(pattern, f"L['{HOSTILE_NAME}']")
        assert dim == 0
    texts = [
        analysis.to_text(),
        analysis.to_markdown(),
        analysis.to_html(),
        analysis.to_json(),
        analysis.snippet(),
        *map(analysis.env, FORMATS),
    ]
    for text in texts:
        assert [c for c in text if c not in "\n\t" and not c.isprintable()] == []


@pytest.mark.slow
def test_a_reader_that_stops_early(trace: Trace) -> None:
    command = (
        f"{sys.executable} -m pgo_advisor analyze {trace('2.13.0', 'r01_bert_varlen')} | head -n 1"
    )
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(trace: Trace, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(trace("2.13.0", "s01_batch_dim").read_bytes())
    log.chmod(0)
    assert run("analyze", log).exit_code == 3


def test_an_output_that_is_an_input_is_refused(trace: Trace, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(trace("2.13.0", "s01_batch_dim").read_bytes())
    result = run("analyze", log, "--json", log, "--force")
    assert result.exit_code == 2
    assert log.read_bytes() == trace("2.13.0", "s01_batch_dim").read_bytes()


@pytest.mark.slow
def test_an_output_is_written_through_a_link(trace: Trace, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert (
        run(
            "analyze", trace("2.13.0", "s01_batch_dim"), "-q", "--json", tmp_path / "link"
        ).exit_code
        == 0
    )
    assert (tmp_path / "link").is_symlink()
    json.loads((tmp_path / "target").read_text())


def test_a_device_is_written_to_and_not_replaced(trace: Trace) -> None:
    result = run("analyze", trace("2.13.0", "s01_batch_dim"), "-q", "-f", "--html", "/dev/null")
    assert result.exit_code == 0
    assert Path("/dev/null").is_char_device()


@pytest.mark.slow
def test_json_on_standard_output(trace: Trace) -> None:
    result = run("analyze", trace("2.13.0", "s01_batch_dim"), "--json", "-")
    jsonschema.validate(json.loads(result.stdout), schema())


@pytest.mark.slow
def test_standard_output_that_is_full(trace: Trace) -> None:
    command = f"{sys.executable} -m pgo_advisor env {trace('2.13.0', 's01_batch_dim')} > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("columns", [20, 40, 200])
def test_what_is_to_be_pasted_is_in_one_line(trace: Trace, columns: int) -> None:
    text = pgo_advisor.analyze(trace("2.13.0", "r01_bert_varlen")).to_text(width=columns)
    # the list, and the two of the option for sizes 0 and 1
    lines = [line for line in text.splitlines() if line.startswith("export ")]
    assert len(lines) == 3
    assert all(line.endswith('"') for line in lines)


def test_the_list_in_force_stays(trace: Trace, tmp_path: Path) -> None:
    content = trace("2.13.0", "s01_batch_dim").read_text()
    empty = r"\"dynamic_sources\": \"\""
    assert empty in content
    log = tmp_path / "log"
    log.write_text(content.replace(empty, empty[:-2] + "L['a']:0" + r"\""))
    result = run("env", log, "--format", "value")
    assert result.stdout == "L['a']:0,L['x']:0\n"
    assert "stays in the list" in result.stderr


@pytest.mark.slow
def test_standard_input_named_twice_is_read_once(trace: Trace) -> None:
    log = trace("2.13.0", "s01_batch_dim").read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "pgo_advisor", "env", "-", "-"], input=log, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"export TORCH_COMPILE_DYNAMIC_SOURCES=")
    assert b"is empty" in done.stderr


def test_a_value_that_a_format_cannot_hold(trace: Trace, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(trace("2.13.0", "s01_batch_dim").read_bytes().replace(b"L['x']", b"L['${A}']"))
    result = run("env", log, "--torch-version", "2.7", "--format", "dotenv")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "give another --format" in result.stderr


def test_another_release_than_the_recorded_one_is_told(trace: Trace) -> None:
    log = trace("2.13.0", "s01_batch_dim")
    differs = "The trace is of PyTorch 2.13.0, the advice is for"
    assert differs not in run("env", log, "--torch-version", "2.13").stderr
    assert differs in run("env", log, "--torch-version", "2.1").stderr


def test_a_path_alone_is_analysed(trace: Trace) -> None:
    log = trace("2.13.0", "s01_batch_dim")
    assert run(log).stdout == run("analyze", log).stdout
    assert "does not exist" in run("nothing.log").stderr
    assert "No such command 'analize'. Did you mean 'analyze'?" in run("analize", log).stderr


def test_the_ending_says_the_format(trace: Trace, tmp_path: Path) -> None:
    files = {
        "a.html": "<!doctype html>",
        "a.md": "<!-- pgo-advisor",
        "a.json": "{",
        "a.txt": "\nfunctions",
    }
    options = [word for name in files for word in ("-o", tmp_path / name)]
    done = run("analyze", trace("2.13.0", "s01_batch_dim"), *options)
    assert done.stderr.splitlines() == [f"pgo-advisor: wrote {tmp_path / name}" for name in files]
    for name, start in files.items():
        assert (tmp_path / name).read_text().lower().startswith(start)
    refused = run("analyze", trace("2.13.0", "s01_batch_dim"), "-o", tmp_path / "a.pdf")
    assert refused.exit_code == 2
    assert "a.pdf: the name must end with one of .html" in refused.stderr


@pytest.mark.slow
def test_the_page_is_shown(trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: not shown.append(url))  # type: ignore[func-returns-value]
    log = trace("2.13.0", "s01_batch_dim")
    assert run("analyze", log, "-o", tmp_path / "a b.html", "--open").exit_code == 0
    assert shown == [(tmp_path / "a b.html").as_uri()]
    refused = run("analyze", log, "--open")
    assert refused.exit_code == 2
    assert "add -o report.html" in refused.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    assert "_PGO_ADVISOR_COMPLETE" in run("completion", shell).stdout


@pytest.mark.slow
def test_bash_completes_commands() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pgo_advisor"],
        env={
            **os.environ,
            "_PGO_ADVISOR_COMPLETE": "bash_complete",
            "COMP_WORDS": "pgo-advisor ver",
            "COMP_CWORD": "1",
        },
        capture_output=True,
        text=True,
    )
    assert done.stdout == "plain,verify\n"


def test_help_is_whole_at_80_columns() -> None:
    assert "..." not in run("--help").stdout.replace("ARGS]...", "")
