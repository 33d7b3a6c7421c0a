"""This machine: an attempt is a process in a session of its own; its output and its exit code are files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from holdfast.adapters.environment.guarded import GuardedProcess
from holdfast.adapters.environment.interpreters import select_interpreter
from holdfast.core.errors import BackendError, UsageError
from holdfast.core.run.backends import LOCAL
from holdfast.core.run.event import Liveness
from holdfast.core.run.plan import Attempt, Plan
from holdfast.ports import NamedBackend, PollResult


class LocalBackend(NamedBackend):
    """Runs attempts as child processes that outlive the supervisor.

    Args:
        interpreter: Words that run a Python file in an environment that has the packages of the script.
        environment: Variables that the attempt inherits, including the values of secrets.
        script: The script that this environment was selected for: a remedy may add packages to it. Empty if it serves for all.

    Covered: several processes under torchrun (the attempt starts them itself), reattaching, at-most-once
    starts, process ids that other processes have got since, supervisors that were killed.
    Not covered: several machines; a guard killed by hand, whose attempt then ends with an unknown exit code.
    """

    capabilities = LOCAL
    retrieval = None

    def __init__(self, interpreter: Sequence[str], environment: Mapping[str, str], script: str) -> None:
        self._interpreter, self._environment, self._script = interpreter, environment, script

    @classmethod
    def open(cls, plan: Plan | None, environment: Mapping[str, str]) -> Self:
        """Return the backend for a plan, with an interpreter for its script; without a plan, one that follows running attempts.

        Raises:
            UsageError: Nothing on this machine can run the script.
        """
        if plan is None:
            return cls((), environment, "")
        return cls(_select_interpreter(plan), environment, plan.script)

    def submit(self, attempt: Attempt) -> str:
        """Start the attempt under a guard and return its folder, which is its id."""
        command = [*self._words(attempt.plan), str(Path(attempt.folder, "attempt.py")), *attempt.plan.arguments]
        _process(attempt.folder).start(command, attempt.plan.cwd, {**self._environment, **attempt.variables()})
        return attempt.folder

    def _words(self, plan: Plan) -> Sequence[str]:
        """Return the words that run the script of a plan.

        Raises:
            BackendError: A remedy has changed it, and nothing on this machine can run it.
        """
        if self._script in ("", plan.script):
            return self._interpreter
        try:
            return _select_interpreter(plan)
        except UsageError as error:
            raise BackendError(error.what, where=error.where, fix=error.fix) from error

    def poll(self, attempt_id: str) -> PollResult:
        """Return what the files of the guard say about the attempt."""
        process = _process(attempt_id)
        try:
            is_alive, has_ended, exit_code = _signs(process)
        except OSError as error:
            return PollResult(answer=Liveness.UNKNOWN, because=f"{error.filename}: {error.strerror}")
        if not has_ended and (orphans := process.orphans()):
            because = (
                f"its folder was deleted, and {len(orphans)} of its processes are alive: `holdfast stop` ends them"
            )
            return PollResult(answer=Liveness.UNKNOWN, because=because)
        if has_ended or not is_alive:
            return PollResult(answer=Liveness.ENDED, exit_code=exit_code, ended_s=process.last_sign_s)
        return PollResult(answer=Liveness.ALIVE)

    def stop(self, attempt_id: str) -> None:
        """Send SIGTERM to the training processes."""
        _process(attempt_id).stop()

    def kill(self, attempt_id: str) -> None:
        """Send SIGKILL to every process of the attempt."""
        _process(attempt_id).kill()

    def request_stacks(self, attempt_id: str) -> None:
        """Send SIGUSR1 to the training processes."""
        _process(attempt_id).request_stacks()


def _select_interpreter(plan: Plan) -> tuple[str, ...]:
    return select_interpreter(str(Path(plan.cwd, plan.script_name)), plan.script, plan.options)


def _process(folder: str) -> GuardedProcess:
    return GuardedProcess(Path(folder), folder)


def _signs(process: GuardedProcess) -> tuple[bool, bool, int | None]:
    """Return whether a process is alive, whether it is known to have ended, and its exit code.

    Raises:
        OSError: They cannot be read.
    """
    # In this order: a process that is gone has already written its exit code, if ever.
    is_alive = process.is_alive or process.has_ranks
    has_ended = process.has_exit_code and not process.has_ranks
    return is_alive, has_ended, process.exit_code if has_ended else None
