"""A folder in which a user types commands of holdfast: runs start, are looked at, stopped and killed there."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

PATIENCE_S = 120.0


def quiet_runs(cache: Path) -> dict[str, str]:
    """The environment of runs that ask nobody, with a cache of their own."""
    own = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
    return {**os.environ, "HOLDFAST_CACHE": str(cache), **own}


class Place:
    """A folder in which a user types commands."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.folder, self.env = folder, env

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """Start a command; a run is not rehearsed, which `test_rehearsal_run.py` sees to."""
        unrehearsed = ["--no-rehearse"] if words[0] == "run" and "--rehearse" not in words else []
        given = [word for word in words[1:] if word != "--rehearse"]
        command = [sys.executable, "-m", "holdfast", words[0], *unrehearsed, *given]
        return subprocess.Popen(
            command, cwd=self.folder, env=self.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def type(self, *words: str) -> tuple[int, dict[str, Any], str]:
        """Type a command; return its exit code, its answer and what it showed."""
        process = self.start(words[0], "--format", "json", *words[1:])
        out, err = process.communicate(timeout=PATIENCE_S)
        assert out, err
        return process.returncode, json.loads(out), err

    @property
    def run(self) -> Path:
        (folder,) = (path for path in (self.folder / "runs").iterdir() if path.is_dir())
        return folder

    def steps(self, attempt: int = 1) -> int:
        """The steps an attempt has reported."""
        events = [*self.folder.glob(f"runs/*/attempts/{attempt}/events.jsonl")]
        whole = events[0].read_text().rpartition("\n")[0] if events else ""  # the last line may still be written
        lines = whole.splitlines()
        return max((said.get("step") or 0 for said in map(json.loads, lines) if said["event"] == "step"), default=0)

    def wait_for(self, what: Callable[[], object], process: "subprocess.Popen[str] | None" = None) -> None:
        """Wait for something, and no longer than the process that is to bring it about lives."""
        end = time.monotonic() + PATIENCE_S
        while not what():
            assert process is None or process.poll() is None, process.communicate()
            assert time.monotonic() < end
            time.sleep(0.05)  # noqa: TID251 - a real process

    def training_processes(self) -> list[psutil.Process]:
        ids = [int(path.read_text()) for path in self.folder.glob("runs/*/attempts/*/pids/rank-*")]
        return [psutil.Process(pid) for pid in ids if psutil.pid_exists(pid)]


def weights(answer: dict[str, Any]) -> dict[str, bytes]:
    """Return the files of weights of a run's model."""
    return {path.name: path.read_bytes() for path in Path(answer["output"]).glob("*.safetensors")}
