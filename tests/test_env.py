"""Environment variables as text: each format is read back by what it is written for."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pgo_advisor.render.env import FORMATS, render_env

NAME = "TORCH_COMPILE_DYNAMIC_SOURCES"
NASTY = [
    "",
    "L['x']:0,L['y']",
    r"L\['d'\]\[\"q'uote\"\]$:0",
    "$(touch pwned) `touch pwned` ${HOME} $HOME %PATH% !! ;touch pwned",
    "' ; touch pwned ; '",
    '" ; touch pwned ; "',
    "'\\''",
    "a\\",
    "a\\'b\\\\'",
    "line\nline\n",
    "carriage\rreturn\r\n",
    "tab\tbell\x07escape\x1b[31m",
    " leading and trailing ",
    "#no comment #none",
    "\u2018curly\u2019\u201a\u201b'\u201b",
    "é 😀 \u202e \x85 \u2028 \ufeff \x9b",
    "${{ secrets.TOKEN }}",
    "- yaml: [a, *b, &c] # d",
    "@('x')",
]
# Everything that an environment variable can hold as UTF-8.
values = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60)
quoting = st.text(st.sampled_from("'\"\\$`{}#!\n\r (a;&|\u2018\u2019\u201a\u201b:,[]"), max_size=25)


def read_by(command: list[str], text: str, cwd: Path) -> str:
    """What a shell has in the variable after it evaluated the text."""
    script = (
        f"{text}\n'{sys.executable}' -c 'import os; print(ascii(os.environ.get(\"{NAME}\")))'\n"
    )
    done = subprocess.run(
        [*command, "-c", script], capture_output=True, text=True, check=True, cwd=cwd, timeout=60
    )
    assert done.stderr == ""
    assert list(cwd.iterdir()) == []
    return str(eval(done.stdout))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fmt", "shell"),
    [("shell", "sh"), ("shell", "bash"), ("shell", "zsh"), ("fish", "fish"), ("slurm", "bash")],
)
def test_shells_read_it_back(fmt: str, shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    for value in NASTY:
        assert read_by([shell], render_env({NAME: value}, fmt), tmp_path) == value


@pytest.mark.slow
@pytest.mark.parametrize(("fmt", "shell"), [("shell", "sh"), ("fish", "fish")])
def test_shells_read_back_any_text(fmt: str, shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")

    @settings(max_examples=30, deadline=None)
    @given(st.lists(values | quoting, min_size=20, max_size=20))
    def check(texts: list[str]) -> None:
        # The shell's own printf, with many values at once: a process for each would take minutes.
        script = "".join(
            render_env({NAME: text}, fmt) + f'printf "%s\\0" "${NAME}"\n' for text in texts
        )
        done = subprocess.run([shell, "-c", script], capture_output=True, check=True, timeout=60)
        assert done.stdout.decode().split("\0")[:-1] == texts

    check()


def read_powershell(text: str) -> str:
    """By PowerShell's tokenizer (ScanStringLiteral): five quotes, of two in a row the second."""
    quotes = "'\u2018\u2019\u201a\u201b"
    prefix = f"$env:{NAME} = '"
    assert text.startswith(prefix)
    characters = iter(text[len(prefix) :])
    value: list[str] = []
    for character in characters:
        if character in quotes:
            character = next(characters)
            if character not in quotes:
                assert character == "\n"
                assert next(characters, None) is None
                return "".join(value)
        value.append(character)
    raise AssertionError("the string does not end")


def read_dockerfile(text: str) -> str:
    r"""By BuildKit's shell lexer (processDoubleQuote): \\, \" and \$ are escapes, $ is expanded."""
    found = re.fullmatch(rf'ENV {NAME}="((?:[^"\\$\n]|\\["\\$])*)"\n', text)
    assert found is not None
    return re.sub(r'\\(["\\$])', r"\1", found[1])


def read_dotenv(text: str) -> str | None:
    dotenv = pytest.importorskip("dotenv")
    # Another variable behind it: a quote that does not close would swallow it.
    read: dict[str, str | None] = dotenv.dotenv_values(
        stream=io.StringIO(text + "OTHER='1'\n", newline=None)
    )
    assert read["OTHER"] == "1"
    return read[NAME]


def read_yaml(text: str) -> str:
    return str(pytest.importorskip("yaml").safe_load(text)[NAME])


def read_python(text: str) -> str:
    before = dict(os.environ)
    try:
        exec(text, {})
        return os.environ[NAME]
    finally:
        os.environ.clear()
        os.environ.update(before)


def read_config(text: str) -> str:
    _, block = ast.parse(text).body
    assert isinstance(block, ast.With)
    call = block.items[0].context_expr
    assert isinstance(call, ast.Call)
    assert ast.unparse(call.func) == "torch.compiler.config.patch"
    assert [keyword.arg for keyword in call.keywords] == ["dynamic_sources"]
    return str(ast.literal_eval(call.keywords[0].value))


READERS: dict[str, Callable[[str], str | None]] = {
    "value": lambda text: text[:-1],
    "powershell": read_powershell,
    "dotenv": read_dotenv,
    "dockerfile": read_dockerfile,
    "yaml": read_yaml,
    "python": read_python,
    "config": read_config,
    "json": lambda text: str(json.loads(text)[NAME]),
}


def test_every_format_is_read_back_somewhere() -> None:
    assert set(FORMATS) == {*READERS, "shell", "fish", "slurm"}


@pytest.mark.parametrize("fmt", READERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(value=values | quoting)
@example(value=r"L\['cache'\]\[(?:[0-9]|1[01])\]\[[01]\]$:0,L['x']:1")
@example(value=r"\\'\'")
def test_read_back(fmt: str, value: str) -> None:
    try:
        text = render_env({NAME: value}, fmt)
    except ValueError:
        # What these two have no way to say; see the next test.
        assert fmt in ("dotenv", "dockerfile")
        assert re.search(r"\$\{|\\\Z|[\r\n]", value)
        return
    assert READERS[fmt](text) == value


@pytest.mark.parametrize(
    ("fmt", "value"),
    [
        ("dotenv", "${HOME}"),
        ("dotenv", "a b\\"),
        ("dotenv", "a\rb"),
        ("dockerfile", "a\nb"),
        ("dockerfile", "a\rb"),
    ],
)
def test_what_a_format_cannot_write_is_refused(fmt: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"cannot hold the value of {NAME}"):
        render_env({NAME: value}, fmt)


@pytest.mark.parametrize("fmt", FORMATS)
def test_what_no_variable_can_be_is_refused(fmt: str) -> None:
    for name, value in [("A", "a\0"), ("A", "\udc80"), ("A B", "x"), ("A;id", "x"), ("", "x")]:
        with pytest.raises(ValueError, match=r"NUL|not a name"):
            render_env({name: value}, fmt)


def test_unknown_format() -> None:
    with pytest.raises(ValueError, match="known are shell, value"):
        render_env({}, "csh")


def test_two_variables_keep_their_order_and_value_takes_one() -> None:
    two = {"B": "x y", "A": "$"}
    assert render_env(two, "shell") == "export B='x y'\nexport A='$'\n"
    assert render_env(two, "python") == (
        "import os\n\nos.environ[\"B\"] = 'x y'\nos.environ[\"A\"] = '$'\n"
    )
    assert list(json.loads(render_env(two, "json"))) == ["B", "A"]
    with pytest.raises(ValueError, match="takes one variable: B, A"):
        render_env(two, "value")


def test_config_refuses_other_variables() -> None:
    with pytest.raises(ValueError, match="no setting for HOME"):
        render_env({"HOME": "x"}, "config")


@pytest.mark.torch
def test_pytorch_obeys_the_config() -> None:
    """In the block the value is in force, as the list of what is dynamic, and afterwards not."""
    torch = pytest.importorskip("torch")
    value = "L['x']:0"
    text = render_env({NAME: value}, "config").replace("...", "seen.append(config.dynamic_sources)")
    seen: list[str] = []
    exec(text, {"seen": seen, "config": torch.compiler.config})
    assert seen == [value]
    assert torch.compiler.config.dynamic_sources != value


def test_no_variables() -> None:
    texts = {fmt: render_env({}, fmt) for fmt in FORMATS}
    assert json.loads(texts.pop("json")) == {}
    assert texts.pop("yaml") == "{}\n"
    assert set(texts.values()) == {""}
