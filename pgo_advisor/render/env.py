"""Environment variables as text for the place where they are to be set.

The values come from traces, so they are hostile: whatever they hold, the text sets the variables
to exactly them and does nothing else, or there is no text and a ValueError says why.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping

from pgo_advisor.report import Report

DYNAMIC = "TORCH_COMPILE_DYNAMIC_SOURCES"
UNBACKED = "TORCH_COMPILE_UNBACKED_SOURCES"


def export(report: Report, fmt: str = "shell") -> str:
    """The advised list, in one of FORMATS."""
    return render_env({DYNAMIC: report.dynamic_sources} if report.dynamic_sources else {}, fmt)


def unbacked_option(report: Report) -> str:
    """Shell lines that set the lists of the option for sizes 0 and 1; empty if there is none."""
    if not report.unbacked_sources:
        return ""
    lists = {UNBACKED: report.unbacked_sources, DYNAMIC: report.dynamic_sources_beside_unbacked}
    return render_env({name: value for name, value in lists.items() if value}, "shell")


def render_env(variables: Mapping[str, str], fmt: str) -> str:
    """Text in one of FORMATS that sets these variables in their order, ending in a newline.

    Without variables it is empty (in `json` and `yaml` an empty mapping): to say that there is
    nothing to set is for the caller, who knows how a comment looks and whether one is wanted.

    - shell: POSIX, safe to eval. fish, powershell: likewise.
    - value: the bare value, for one variable only; what reads it must not interpret it.
    - dotenv: as python-dotenv reads it. Unquoted where that will do, which Node's dotenv and
      `docker run --env-file` read the same; none of these is a shell.
    - dockerfile: an ENV instruction with the default escape character.
    - yaml: a mapping. Compose and GitHub Actions interpret `$` and `${{` after YAML has been read.
    - slurm: for a batch script; srun hands the variable on to all ranks.
    - python: assignments to os.environ, to stand before `import torch`.
    - config: the same settings of torch.compiler.config, around the calls that compile.
    - json: an object.

    Raises ValueError for an unknown format, a variable name that is none, and a value that no
    environment variable can hold or that the format cannot write.
    """
    if fmt not in _WRITERS:
        raise ValueError(f"unknown format {fmt!r}; known are {', '.join(FORMATS)}")
    for name, value in variables.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError(f"not a name of an environment variable: {name[:40]!r}")
        if re.search("[\\0\ud800-\udfff]", value):
            raise ValueError(f"the value of {name} holds a NUL or a lone surrogate")
    return _WRITERS[fmt](variables)


def _by_line(write: Callable[[str, str], str]) -> Callable[[Mapping[str, str]], str]:
    return lambda variables: "".join(write(*pair) + "\n" for pair in variables.items())


def _value(variables: Mapping[str, str]) -> str:
    if len(variables) > 1:
        raise ValueError("the format 'value' takes one variable: " + ", ".join(variables))
    return "".join(value + "\n" for value in variables.values())


def _shell(name: str, value: str) -> str:
    single = shlex.quote(value)
    double = '"' + re.sub(r'[\\$`"]', r"\\\g<0>", value) + '"'
    # between double quotes an interactive bash replaces what follows a "!"
    shorter = len(double) < len(single) and "!" not in value
    return f"export {name}={double if shorter else single}"


def _fish(name: str, value: str) -> str:
    # Between single quotes fish knows two escapes, \\ and \'.
    quoted = re.sub(r"[\\']", r"\\\g<0>", value)
    return f"set -gx {name} '{quoted}'"


def _powershell(name: str, value: str) -> str:
    # PowerShell takes any of these five for a single quote; doubled, it stands for itself.
    quoted = re.sub("['\u2018\u2019\u201a\u201b]", r"\g<0>\g<0>", value)
    return f"$env:{name} = '{quoted}'"


def _dotenv(name: str, value: str) -> str:
    if "${" in value:
        raise ValueError(f"a .env file cannot hold the value of {name}: '${{' is replaced there")
    if re.fullmatch(r"(?:[^\s#'\"`][^\s#]*)?", value):
        return f"{name}={value}"
    if value.endswith("\\") or "\r" in value:
        raise ValueError(
            f"a .env file cannot hold the value of {name}: "
            "it has a carriage return, or needs quotes and ends in a backslash"
        )
    quoted = re.sub(r"[\\']", r"\\\g<0>", value)
    return f"{name}='{quoted}'"


def _dockerfile(name: str, value: str) -> str:
    if re.search(r"[\r\n]", value):
        raise ValueError(f"an ENV instruction cannot hold the value of {name}: it has a line end")
    quoted = re.sub(r"[\\\"$]", r"\\\g<0>", value)
    return f'ENV {name}="{quoted}"'


def _yaml(variables: Mapping[str, str]) -> str:
    return _by_line(_yaml_pair)(variables) or "{}\n"


def _yaml_pair(name: str, value: str) -> str:
    # Not JSON: YAML reads the two halves of a surrogate pair as two characters.
    quoted = re.sub(
        r"[^ -~]|[\\\"]",
        lambda found: "\\" + found[0] if found[0] in '\\"' else f"\\U{ord(found[0]):08X}",
        value,
    )
    return f'{name}: "{quoted}"'


def _python(variables: Mapping[str, str]) -> str:
    lines = _by_line(lambda name, value: f'os.environ["{name}"] = {value!r}')(variables)
    return lines and f"import os\n\n{lines}"


def _slurm(variables: Mapping[str, str]) -> str:
    how = "# In the batch script, before srun. Not by --export: it splits the list at its commas.\n"
    return how + _by_line(_shell)(variables) if variables else ""


def _config(variables: Mapping[str, str]) -> str:
    if unknown := variables.keys() - _SETTINGS.keys():
        raise ValueError("torch.compiler.config has no setting for " + ", ".join(sorted(unknown)))
    settings = ", ".join(f"{_SETTINGS[name]}={value!a}" for name, value in variables.items())
    return settings and (
        f"import torch\n\nwith torch.compiler.config.patch({settings}):\n"
        "    ...  # the calls that compile, not torch.compile() itself\n"
    )


_SETTINGS = {DYNAMIC: "dynamic_sources", UNBACKED: "unbacked_sources"}

_WRITERS: dict[str, Callable[[Mapping[str, str]], str]] = {
    "shell": _by_line(_shell),
    "value": _value,
    "fish": _by_line(_fish),
    "powershell": _by_line(_powershell),
    "dotenv": _by_line(_dotenv),
    "dockerfile": _by_line(_dockerfile),
    "yaml": _yaml,
    "slurm": _slurm,
    "python": _python,
    "config": _config,
    "json": lambda variables: json.dumps(dict(variables), indent=2) + "\n",
}

FORMATS = tuple(_WRITERS)
"""The formats of `render_env`, the usual one first."""
