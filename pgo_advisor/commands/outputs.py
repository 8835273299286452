"""The reports that a command writes: their formats, and that no file is overwritten unasked."""

from __future__ import annotations

import os
import shutil
import sys
import webbrowser
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import cloup

from pgo_advisor.commands.common import remark
from pgo_advisor.errors import OutputError

if TYPE_CHECKING:
    from pgo_advisor.analysis import Analysis
    from pgo_advisor.patch import Patch

Command = TypeVar("Command", bound=Callable[..., Any])

_KEY = "pgo_advisor.outputs"
_STANDARD_OUTPUT = Path("-")
_FORMATS = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".txt": "text",
}


def _add(
    context: click.Context, option: click.Parameter, values: Path | tuple[Path, ...] | None
) -> None:
    """Keeps a file of the option's format, or of that which its suffix names, for `Reports`."""
    files = values if isinstance(values, tuple) else () if values is None else (values,)
    asked = context.meta.setdefault(_KEY, [])
    for file in files:
        name = option.name or ""
        asked.append((_FORMATS.get(file.suffix.lower()) if name == "output" else name, file))


def outputs(command: Command) -> Command:
    """The options that say which reports are written; `Reports` has what they say."""
    path = click.Path(path_type=Path, allow_dash=True)
    file = partial(cloup.option, type=path, expose_value=False, callback=_add)
    flag = partial(cloup.option, is_flag=True, expose_value=False, callback=_remember)
    return cloup.option_group(
        "Reports",
        file(
            "-o",
            "--output",
            multiple=True,
            metavar="FILE",
            help="Write a report: NAME.html the page, NAME.md a pull-request comment, NAME.json "
            "everything, NAME.txt the whole text. Repeat it for several.",
        ),
        file("--html", help="The same as -o NAME.html."),
        file("--markdown", help="The same as -o NAME.md."),
        file("--json", help="The same as -o NAME.json."),
        flag("--open", "open_", help="Show the HTML report in the web browser."),
        flag("-v", "--verbose", help="Print the whole report, not only its 20 lines."),
        flag("-q", "--quiet", help="Print no report."),
        flag("-f", "--force", help="Replace output files that exist."),
    )(command)


def _remember(context: click.Context, option: click.Parameter, value: bool) -> None:
    context.meta[f"{_KEY}.{option.name}"] = value


class Reports:
    """Writes what the options of `outputs` ask for; made before the work, so that it fails early.

    `inputs` are files that no output may replace. An output `-` is standard output, instead of the report.
    `trace` is the directory that -o names where the command can `keep` a trace.
    """

    def __init__(self, inputs: Iterable[str] = (), *, keep: bool = False) -> None:
        from pgo_advisor.files import check_writable

        told = click.get_current_context().meta
        asked: list[tuple[str | None, Path]] = told[_KEY]
        self.force, self.verbose, self._open = (
            bool(told.get(f"{_KEY}.{name}")) for name in ("force", "verbose", "open_")
        )
        others = [path for name, path in asked if name is None]
        if len(others) > keep:
            raise click.BadParameter(
                f"{others[-1]}: the name must end with one of {', '.join(_FORMATS)}",
                param_hint="-o",
            )
        self.trace = others[0] if others else None
        self._files = [(name, path) for name, path in asked if name is not None]
        paths = [path for _, path in self._files]
        self.quiet = bool(told.get(f"{_KEY}.quiet"))
        self._prints = not self.quiet and _STANDARD_OUTPUT not in paths
        files = [path for path in paths if path != _STANDARD_OUTPUT]
        for path in files:
            check_writable(path, force=self.force)
            for given in inputs:
                if os.path.exists(path) and os.path.exists(given) and path.samefile(given):
                    raise OutputError(f"{path} is an input; name another file")
        if len({os.path.realpath(path) for path in files}) < len(files) or (
            paths.count(_STANDARD_OUTPUT) > 1
        ):
            raise OutputError("two outputs have the same name; name two files")
        if self._open and self._page is None:
            raise click.UsageError("--open shows the page that is written; add -o report.html")

    @property
    def _page(self) -> Path | None:
        """The HTML file."""
        pages = [path for name, path in self._files if name == "html" and path != _STANDARD_OUTPUT]
        return pages[0] if pages else None

    def write(
        self,
        analysis: Analysis,
        *,
        patch: Patch | None = None,
        repo_url: str | None = None,
        err: bool = False,
    ) -> None:
        """Writes the files, and prints the report, on standard error with `err`."""
        page = self._page
        self.write_each(
            {
                "html": partial(
                    analysis.to_html,
                    patch=patch,
                    repo_url=repo_url,
                    directory=page and page.parent,
                ),
                "markdown": partial(analysis.to_markdown, patch=patch, repo_url=repo_url),
                "json": analysis.to_json,
                "text": analysis.to_text,
            },
            lambda color: analysis.to_text(width=_width(), color=color, verbose=self.verbose),
            err=err,
        )

    def write_each(
        self,
        renderings: Mapping[str, Callable[[], str]],
        text: Callable[[bool], str],
        *,
        err: bool = False,
    ) -> None:
        """Writes each file by the rendering of its format, and prints `text`, with or without color."""
        from pgo_advisor.files import write_text

        for name, path in self._files:
            if path == _STANDARD_OUTPUT:
                click.echo(renderings[name](), nl=False)
            else:
                write_text(path, renderings[name](), force=self.force)
        if self._prints:
            stream = sys.stderr if err else sys.stdout
            plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
            color = stream.isatty() and not plain
            click.echo(text(color), nl=False, color=color, err=err)
        if not self.quiet:
            for _, path in self._files:
                if path != _STANDARD_OUTPUT:
                    remark(f"wrote {path}")
        if self._open and self._page:
            _show(self._page)


def _show(page: Path) -> None:
    if not webbrowser.open(page.resolve().as_uri()):
        remark(f"no web browser was found; open {page} in one")


def _width() -> int:
    return min(120, max(60, shutil.get_terminal_size((100, 24)).columns))
