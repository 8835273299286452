"""The steps of action.yml as they stand, against a stand-in for GitHub's API that checks the calls."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jsonschema
import pytest
import yaml  # type: ignore[import-untyped]
from conftest import TESTS
from programs import MINE
from sample_repository import LINE, Repository

ROOT = TESTS.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
TOKEN = "a-token"
PULL = 7


@dataclass
class GitHub:
    """What the stand-in holds, and what it was asked."""

    url: str = ""
    denies: bool = False
    comments: list[dict[str, Any]] = field(default_factory=list)
    artifacts: list[tuple[dict[str, Any], bytes]] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)

    def answer(
        self, method: str, path: str, query: dict[str, list[str]], body: Any
    ) -> tuple[int, Any]:
        self.calls.append((method, path))
        if self.denies and method != "GET":
            return 403, {"message": "Resource not accessible by integration"}
        if path == "/repos/me/app/actions/artifacts":
            named = [item for item, _ in self.artifacts if [item["name"]] == query["name"]]
            return 200, {"total_count": len(named), "artifacts": named}
        if path == f"/repos/me/app/pulls/{PULL}":
            return 200, {"head": {"sha": "abc"}}
        if path == f"/repos/me/app/issues/{PULL}/comments":
            if method == "GET":
                start = 100 * (int(query["page"][0]) - 1)
                return 200, self.comments[start : start + 100]
            self.comments.append(self._comment(len(self.comments), body["body"], "Bot"))
            return 201, self.comments[-1]
        if match := re.fullmatch(r"/repos/me/app/issues/comments/(\d+)", path):
            assert method == "PATCH"
            self.comments[int(match[1])]["body"] = body["body"]
            return 200, self.comments[int(match[1])]
        return 404, {"message": "Not Found"}

    def _comment(self, number: int, body: str, kind: str) -> dict[str, Any]:
        assert list(body) == list(body)[:65_536]
        return {"id": number, "body": body, "user": {"type": kind}}

    def said_by_a_person(self, body: str) -> None:
        self.comments.append(self._comment(len(self.comments), body, "User"))

    def keep(self, folder: Path, name: str, branch: str = "main", fork: bool = False) -> None:
        """Keeps a folder as an artifact, as actions/upload-artifact does."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for path in sorted(folder.rglob("*")):
                archive.write(path, path.relative_to(folder))
        run = {"head_branch": branch, "repository_id": 1, "head_repository_id": 2 if fork else 1}
        number = len(self.artifacts)
        told = {
            "name": name,
            "expired": False,
            "workflow_run": run,
            "archive_download_url": f"{self.url}/repos/me/app/actions/artifacts/{number}/zip",
        }
        self.artifacts.insert(0, (told, packed.getvalue()))


@pytest.fixture
def github() -> Iterator[GitHub]:
    state = GitHub()

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            parts = urlsplit(self.path)
            if parts.path.startswith("/signed/"):
                # the store of artifacts refuses a token that is not its own
                assert "Authorization" not in self.headers
                return self._send(200, state.artifacts[int(parts.path[8:])][1], "application/zip")
            assert self.headers["Authorization"] == f"Bearer {TOKEN}"
            assert self.headers["Accept"] == "application/vnd.github+json"
            if match := re.fullmatch(r"/repos/me/app/actions/artifacts/(\d+)/zip", parts.path):
                self.send_response(302)
                at = len(state.artifacts) - 1 - int(match[1])
                self.send_header("Location", f"{state.url}/signed/{at}")
                return self.end_headers()
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            code, told = state.answer(self.command, parts.path, parse_qs(parts.query), body)
            return self._send(code, json.dumps(told).encode(), "application/json")

        def _send(self, code: int, content: bytes, kind: str) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None: ...

        do_GET = do_POST = do_PATCH = _handle

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


class Runner:
    """Runs the steps: what a runner does with `if`, `env`, `${{ }}`, outputs and exit codes."""

    def __init__(self, folder: Path, workspace: Path, github: GitHub) -> None:
        self.folder = folder
        self.workspace = workspace
        self.github = github
        self.summary = folder / "summary.md"
        self.log = ""
        programs = folder / "bin"
        programs.mkdir()
        for name, command in (("python", ""), ("pgo-advisor", " -m pgo_advisor")):
            path = programs / name
            path.write_text(f'#!/bin/sh\nexec "{sys.executable}"{command} "$@"\n')
            path.chmod(0o755)
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in MINE},
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_API_URL": github.url,
            "GITHUB_REPOSITORY": "me/app",
            "GITHUB_STEP_SUMMARY": str(self.summary),
        }

    def run(self, event: str, **inputs: str) -> int:
        """The exit code of the first step that fails, or 0."""
        temporary = self.folder / "temporary"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        pull = {"number": PULL, "base": {"ref": "main"}} if event == "pull_request" else None
        told = self.folder / "event.json"
        told.write_text(json.dumps({"pull_request": pull} if pull else {}))
        output = self.folder / "output"
        output.touch()
        known = {
            "github.event_name": event,
            "github.token": TOKEN,
            "github.event.pull_request.number": str(PULL) if pull else "",
            "runner.temp": str(temporary),
        }
        for name, setting in ACTION["inputs"].items():
            known[f"inputs.{name}"] = inputs.pop(name, fill(setting["default"], known))
        assert not inputs
        for step in ACTION["runs"]["steps"]:
            output.write_text("")
            if not holds(step.get("if", ""), known):
                continue
            if "uses" in step:
                self._use(step, known)
                continue
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=self.workspace,
                env={
                    **self.environment,
                    "GITHUB_EVENT_PATH": str(told),
                    "GITHUB_OUTPUT": str(output),
                    **{name: fill(value, known) for name, value in step.get("env", {}).items()},
                },
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=600,
            )
            self.log += done.stdout.decode() + done.stderr.decode()
            if done.returncode:
                return done.returncode
            for line in output.read_text().splitlines():
                name, _, value = line.partition("=")
                known[f"steps.{step['id']}.outputs.{name}"] = value
        return 0

    def _use(self, step: dict[str, Any], known: dict[str, str]) -> None:
        given = {name: fill(value, known) for name, value in step["with"].items()}
        if step["uses"].startswith("actions/upload-artifact@"):
            self.github.keep(Path(given["path"]), given["name"], known["github.event_name"])
        else:
            assert step["uses"].startswith("github/codeql-action/upload-sarif@")
            schema = TESTS / "fixtures" / "sarif" / "sarif-schema-2.1.0.json"
            log = json.loads(Path(given["sarif_file"]).read_bytes())
            jsonschema.Draft4Validator(json.loads(schema.read_text("utf-8"))).validate(log)

    @property
    def report(self) -> Path:
        return self.folder / "temporary" / "pgo-advisor" / "pgo-advisor" / "report"


def fill(text: str, known: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda match: known[match[1]], text)


def holds(condition: str, known: dict[str, str]) -> bool:
    """Comparisons for equality that `&&` joins: all that action.yml uses."""
    for part in filter(None, condition.split(" && ")):
        match = re.fullmatch(r"([\w.]+) == '(\w*)'", part)
        assert match
        if known[match[1]] != match[2]:
            return False
    return True


@pytest.fixture
def runner(tmp_path: Path, sample: Repository, github: GitHub) -> Runner:
    return Runner(tmp_path, sample.root, github)


def test_no_text_of_others_is_put_into_a_script() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


def test_a_pull_request_that_recompiles_and_its_mending(
    runner: Runner, sample: Repository, github: GitHub
) -> None:
    github.said_by_a_person("<!-- pgo-advisor -->\nnot the comment, though it looks so")
    # the first run of all: there is nothing to compare with
    sample.check_out("base")
    assert runner.run("pull_request", trace=str(sample.traces["base"])) == 0, runner.log
    assert "has no artifact pgo-advisor-trace yet" in runner.log
    assert [call for call in github.calls if call[0] != "GET"] == [
        ("POST", f"/repos/me/app/issues/{PULL}/comments")
    ]
    # the base branch is run; a fork's branch of the same name does not count
    github.artifacts.clear()
    github.keep(sample.traces["base"], "pgo-advisor-trace")
    github.keep(sample.traces["regressed"], "pgo-advisor-trace", fork=True)
    github.keep(sample.traces["regressed"], "pgo-advisor-trace", branch="other")

    sample.check_out("regressed")
    github.calls.clear()
    regressed = str(sample.traces["regressed"])
    assert runner.run("pull_request", trace=regressed, sarif="true") == 1, runner.log
    assert github.calls[-1] == ("PATCH", "/repos/me/app/issues/comments/1")
    assert len(github.comments) == 2
    body = github.comments[1]["body"].splitlines()
    assert body[0] == "<!-- pgo-advisor -->"
    assert body[1] == "**3 → 6 compiles, 1 → 4 recompiles**"
    assert f"`model.py:{LINE} self.step += 1`" in github.comments[1]["body"]
    assert f"file=model.py,line={LINE}::Attention.forward: 3 new recompiles" in runner.log
    assert "3 → 6 compiles" in runner.summary.read_text()
    assert {path.name for path in runner.report.iterdir()} == {
        *("check.sarif", "check.xml", "comment.md", "diff.html", "pull", "report.html")
    }

    sample.check_out("mended")
    assert runner.run("pull_request", trace=str(sample.traces["mended"])) == 0, runner.log
    assert "**No difference: 3 compiles, 1 recompile**" in github.comments[1]["body"]
    assert github.comments[0]["body"].endswith("looks so")


def test_a_token_that_may_not_write(runner: Runner, sample: Repository, github: GitHub) -> None:
    github.denies = True
    sample.check_out("base")
    assert runner.run("pull_request", trace=str(sample.traces["base"])) == 0, runner.log
    assert (
        "::notice title=pgo-advisor::The token may not do this (GitHub answered 403)" in runner.log
    )
    assert github.comments == []
    # what the second workflow does
    github.denies = False
    assert (runner.report / "pull").read_text() == f"{PULL}\n"
    script = [sys.executable, f"{ROOT}/action/github.py", "comment", "pgo-advisor"]
    arguments = [*script, f"{runner.report}/comment.md", str(PULL)]
    token = {"GITHUB_TOKEN": TOKEN}
    wrong = subprocess.run(
        arguments, env=runner.environment | token | {"HEAD_SHA": "other"}, capture_output=True
    )
    assert wrong.returncode == 1
    assert github.comments == []
    right = runner.environment | token | {"HEAD_SHA": "abc"}
    assert subprocess.run(arguments, env=right).returncode == 0
    assert len(github.comments) == 1


def test_a_command_and_a_baseline_file(
    runner: Runner, sample: Repository, github: GitHub, tmp_path: Path
) -> None:
    baseline = tmp_path / "compiles.json"
    baseline.write_text('{"about": "", "version": 1, "functions": []}')
    sample.check_out("base")
    # Head recompiles once in train.py
    inputs = {"command": "python train.py", "baseline": str(baseline), "name": "other"}
    assert runner.run("push", **inputs) == 1, runner.log
    assert "Head.forward: 1 new recompile" in runner.log
    assert github.calls == []
    assert runner.run("push", **inputs, options="--expected-static Head.forward") == 0, runner.log
    assert runner.run("push", command="exit 9") == 9
