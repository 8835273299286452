"""What the action asks of GitHub: the base branch's trace, and the sticky comment. Standard library only.

    python github.py base ARTIFACT FILE        the newest artifact of the base branch
    python github.py comment NAME FILE         on the pull request of the event
    python github.py comment NAME FILE PULL    from a second workflow, for the run that HEAD_SHA names

The API: https://docs.github.com/rest/issues/comments, https://docs.github.com/rest/actions/artifacts.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

MARKER = "<!-- pgo-advisor -->"
LIMIT = 65_536
_PAGES = 30
_MAX_BYTES = 2 << 30


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the token is for GitHub alone."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_Stay)


def _open(method: str, url: str, body: object = None) -> IO[bytes]:
    api = os.environ["GITHUB_API_URL"]
    if not url.startswith(f"{api}/"):
        url = f"{api}/repos/{os.environ['GITHUB_REPOSITORY']}/{url}"
    request = urllib.request.Request(  # noqa: S310
        url,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
            "Content-Type": "application/json",
            "X-GitHub-Api-Version": "2022-11-28",
        },
    )
    opened: IO[bytes] = _OPENER.open(request, timeout=60)
    return opened


def _asked(method: str, url: str, body: object = None) -> Any:
    with _open(method, url, body) as answer:
        return json.load(answer)


def _pages(url: str, key: str | None = None) -> Iterator[dict[str, Any]]:
    for page in range(1, _PAGES + 1):
        answer = _asked("GET", f"{url}{'&' if '?' in url else '?'}per_page=100&page={page}")
        items = answer[key] if key else answer
        yield from items
        if len(items) < 100:
            return


def _event() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_bytes())
    return found


def base(artifact: str, file: str) -> None:
    """Writes the newest artifact of the base branch into a file; none if there is none."""
    branch = _event()["pull_request"]["base"]["ref"]
    for item in _pages(f"actions/artifacts?name={quote(artifact)}", "artifacts"):
        run = item.get("workflow_run") or {}
        # a fork's branch may have the same name
        own = run.get("head_repository_id") == run.get("repository_id")
        if own and run.get("head_branch") == branch and not item.get("expired"):
            _download(item["archive_download_url"], Path(file))
            return
    print(f"The branch {branch} has no artifact {artifact} yet: there is nothing to compare with.")


def _download(url: str, file: Path) -> None:
    try:
        source = _open("GET", url)
    except urllib.error.HTTPError as error:
        if error.code not in (301, 302, 307, 308):
            raise
        # the place is signed by itself
        source = urllib.request.urlopen(error.headers["Location"], timeout=600)  # noqa: S310
    with source, file.open("wb") as target:
        while part := source.read(1 << 20):
            target.write(part)
            if target.tell() > _MAX_BYTES:
                raise SystemExit(f"The artifact is larger than {_MAX_BYTES >> 30} GiB.")


def comment(name: str, file: str, pull: str = "") -> None:
    """Posts the file as a comment, or puts it into the place of the one that is there."""
    marker = MARKER if name == "pgo-advisor" else f"<!-- pgo-advisor {quote(name)} -->"
    text = Path(file).read_text("utf-8", errors="replace")[: LIMIT - 100]
    body = marker + text.removeprefix(MARKER)
    number = int(pull) if pull else int(_event()["pull_request"]["number"])
    if pull and _asked("GET", f"pulls/{number}")["head"]["sha"] != os.environ["HEAD_SHA"]:
        raise SystemExit(f"Pull request {number} is not what was run: no comment.")
    for known in _pages(f"issues/{number}/comments"):
        if known["body"].startswith(marker) and known["user"]["type"] == "Bot":
            _asked("PATCH", f"issues/comments/{known['id']}", {"body": body})
            print(f"Updated the comment on pull request {number}.")
            return
    _asked("POST", f"issues/{number}/comments", {"body": body})
    print(f"Commented on pull request {number}.")


def main() -> None:
    """Does what the first argument says. What the token may not do is told, and is no failure."""
    try:
        work: dict[str, Callable[..., None]] = {"base": base, "comment": comment}
        work[sys.argv[1]](*sys.argv[2:])
    except urllib.error.HTTPError as error:
        if error.code not in (401, 403, 404):
            raise SystemExit(f"GitHub answered {error.code} to {error.url}.") from error
        print(
            f"::notice title=pgo-advisor::The token may not do this (GitHub answered {error.code}), as "
            "in a pull request from a fork. The report is in the step's summary and the artifact; "
            "docs/ci.md tells how a second workflow comments."
        )
    except (OSError, ValueError, KeyError) as error:
        raise SystemExit(f"GitHub could not be asked: {error!r}") from error


if __name__ == "__main__":
    main()
