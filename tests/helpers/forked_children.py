"""Takes the place of `marked_child` where a test need not start a fresh interpreter: the child is forked from a process that has imported TRL.

    pytestmark = pytest.mark.usefixtures("forked_evaluations")  # or `with evaluations_forked():`

The child has ended when the block begins: its output is read at once, and it cannot be killed.
"""

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, TypeVar

import msgspec
import pytest

from holdfast.adapters.export import process
from holdfast.core.export import StageAnswer
from tests.helpers.forked import fork

Answer = TypeVar("Answer", bound=StageAnswer)


@dataclass(frozen=True, slots=True)
class EndedChild:
    """A child that has ended, with what tests read of `subprocess.Popen`."""

    returncode: int
    stdout: IO[bytes]
    stderr: bytes

    def wait(self) -> int:
        """Return the exit code."""
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        """Return all that it wrote."""
        del timeout  # it has ended
        return self.stdout.read(), self.stderr


@contextmanager
def forked_child(
    words: Sequence[str],
    mark: str,
    *,
    variables: Mapping[str, str] | None = None,
    folder: Path | None = None,
    stdout: int | None = None,
    stderr: int | IO[bytes] | None = None,
) -> Iterator[EndedChild]:
    """Run a child to its end, with the arguments of `marked_child`; yield what came of it."""
    del stdout  # kept in any case
    _python, _isolated, *argv = words
    done = fork(argv, folder or Path.cwd(), {**os.environ, **(variables or {}), mark: "forked"})
    errors = done.stderr.encode()
    if stderr is not None and not isinstance(stderr, int):
        stderr.write(errors)
    yield EndedChild(done.exit_code, io.BytesIO(done.stdout.encode()), errors)


@contextmanager
def evaluations_forked() -> Iterator[None]:
    """Load models in forked processes, in this block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("holdfast.adapters.evaluation.process.marked_child", forked_child)
        yield


@pytest.fixture(scope="module", name="forked_evaluations")
def fork_evaluations() -> Iterator[None]:
    """Models are loaded in forked processes."""
    with evaluations_forked():
        yield


STAGE = """
import json, sys
from pathlib import Path
from holdfast.payload.export.__main__ import do
do(sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3]))
"""


def forked_stage(
    _: process.StageProcess, stage: str, request: Mapping[str, Any], answer: type[Answer], **__: object
) -> process.StageReport[Answer]:
    """Do a stage of an export, with the arguments of `StageProcess.run`."""
    with TemporaryDirectory() as box:
        out = Path(box, "answer.json")
        words = ["-c", STAGE, stage, msgspec.json.encode(request).decode(), str(out)]
        done = fork(words, Path.cwd(), {**os.environ, **process.VARIABLES})
        written = out.read_bytes() if out.exists() else b""
    return process.StageReport(process.read_answer(written, done.stderr.encode(), done.exit_code, answer), 0.1)


@pytest.fixture(name="forked_exports")
def fork_exports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages of an export run in forked processes."""
    monkeypatch.setattr(process.StageProcess, "run", forked_stage)
