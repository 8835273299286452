"""A real browser opens a report of hostile names: by its own logs nothing runs and nothing is loaded."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hostile import TEXTS, hostile

from pgo_advisor.analysis import Analysis

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OWN = re.compile(r"(?:^|\.)(?:google|googleapis|gvt1)\.com$")
"""Hosts that the browser itself asks for updates and the time."""

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium"),
]


class Opened:
    """What the browser logged of a page."""

    def __init__(self, page: Path, folder: Path) -> None:
        log = folder / "net.json"
        done = subprocess.run(
            [
                *(CHROMIUM or "", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
                *("--no-first-run", "--disable-background-networking", "--disable-sync"),
                *("--disable-component-update", f"--user-data-dir={folder / 'profile'}"),
                *("--enable-logging=stderr", f"--log-net-log={log}", "--virtual-time-budget=5000"),
                *("--net-log-capture-mode=Everything", "--dump-dom", page.as_uri()),
            ],
            capture_output=True,
            timeout=120,
        )
        self.dom = done.stdout.decode(errors="replace")
        self.console = re.findall(r"CONSOLE[^\n]*", done.stderr.decode(errors="replace"))
        events = json.loads(log.read_text("utf-8"))["events"]
        urls = {str(event.get("params", {}).get("url", "")) for event in events}
        hosts = {urlsplit(url).hostname or "" for url in urls}
        self.hosts = {host for host in hosts if host and not OWN.search(host)}


def test_the_logs_tell_what_a_page_does(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        "<script>document.title = 'it ran'; console.log('it ran')</script>"
        "<img src='http://images.example.com/x.png'>"
    )
    opened = Opened(page, tmp_path)
    assert "<title>it ran</title>" in opened.dom
    assert "it ran" in "".join(opened.console)
    assert opened.hosts == {"images.example.com"}


@pytest.mark.parametrize("patched", [False, True])
def test_nothing_runs_and_nothing_is_loaded(
    analysis: Callable[[str, str], Analysis], tmp_path: Path, patched: bool
) -> None:
    report = hostile(analysis("2.13.0", "s10_user_branch"), len(TEXTS) * 4)
    page = tmp_path / "report.html"
    made = report.patch(root=tmp_path) if patched else None
    page.write_text(report.to_html(patch=made), "utf-8")
    opened = Opened(page, tmp_path)
    assert "onerror=alert(1)" in opened.dom
    assert opened.console == []
    assert opened.hosts == set()
