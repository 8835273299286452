"""Has a program count the calls of its compiled graphs, see `pgo_advisor.run.observer`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from pgo_advisor.files import temporary_directory
from pgo_advisor.run import observer

_MODULE = "pgo_advisor_observer"


@contextmanager
def observing(variables: dict[str, str]) -> Iterator[None]:
    """Sets PYTHONPATH in `variables` so that PyTorch starts the observer when it is imported.

    The path begins with a directory that exists within the context. It holds the observer as a module, and
    an entry point of the group `torch.backends` for it. Python does not look there under -I and -E, PyTorch
    not where TORCH_DEVICE_BACKEND_AUTOLOAD is 0: then no call is counted.
    """
    with temporary_directory("pgo-advisor-observer-") as directory:
        shutil.copyfile(observer.__file__, directory / f"{_MODULE}.py")
        told = directory / f"{_MODULE}-{observer.VERSION}.dist-info"
        told.mkdir()
        (told / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {_MODULE}\nVersion: {observer.VERSION}\n"
        )
        (told / "entry_points.txt").write_text(f"[torch.backends]\n{_MODULE} = {_MODULE}:start\n")
        before = variables.get("PYTHONPATH")
        variables["PYTHONPATH"] = os.pathsep.join([str(directory), *([before] if before else [])])
        yield
