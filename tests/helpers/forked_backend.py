"""This machine as a backend whose attempts are forked from a process that has imported TRL: see `tests/helpers/forked.py`."""

import os
import signal
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from holdfast.core.run.backends import LOCAL
from holdfast.core.run.event import Liveness
from holdfast.core.run.plan import Attempt, Plan
from holdfast.ports import PollResult
from tests.helpers.forked import Done, fork


class ForkedBackend:
    """Runs one attempt after the other."""

    capabilities = LOCAL
    retrieval = None

    def __init__(self) -> None:
        self._running: dict[str, Future[Done]] = {}
        self._pool = ThreadPoolExecutor(1)

    @classmethod
    def open(cls, plan: Plan | None, environment: Mapping[str, str]) -> "ForkedBackend":  # noqa: ARG003 - of the local one
        return cls()

    def submit(self, attempt: Attempt) -> str:
        words = [f"{attempt.folder}/attempt.py", *attempt.plan.arguments]
        variables = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", **attempt.variables()}
        self._running[attempt.folder] = self._pool.submit(self._play, attempt, words, variables)
        return attempt.folder

    def _play(self, attempt: Attempt, words: list[str], variables: dict[str, str]) -> Done:
        done = fork(words, Path(attempt.plan.cwd), variables)
        Path(attempt.folder, "stdout.log").write_text(done.stdout)
        Path(attempt.folder, "stderr.log").write_text(done.stderr)
        Path(attempt.folder, "exit.json").write_text('{"oom_kills": 0}')  # as the guard does: the kernel killed nothing
        return done

    def poll(self, attempt_id: str) -> PollResult:
        running = self._running[attempt_id]
        if not running.done():
            return PollResult(answer=Liveness.ALIVE)
        return PollResult(answer=Liveness.ENDED, exit_code=running.result().exit_code)

    def stop(self, attempt_id: str) -> None:
        self._signal(attempt_id, signal.SIGTERM)

    def kill(self, attempt_id: str) -> None:
        self._signal(attempt_id, signal.SIGKILL)

    def request_stacks(self, attempt_id: str) -> None:
        self._signal(attempt_id, signal.SIGUSR1)

    def _signal(self, attempt_id: str, number: signal.Signals) -> None:
        with suppress(OSError):
            os.kill(int(Path(attempt_id, "pids", "rank-0").read_text()), number)
