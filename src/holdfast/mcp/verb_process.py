"""The process that plays one verb for the server: `python -m holdfast.mcp.verb_process`, with a call on standard input.

A verb may run a user's code, print, take minutes, or die. None of that may reach the server, whose standard output is the
protocol's. Messages leave by what was standard output; whatever the verb prints goes to standard error.
"""

import inspect
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from json import dumps
from typing import Any, BinaryIO, Final

from msgspec import json, to_builtins

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.secrets import redacted_parts
from holdfast.app import load_verb
from holdfast.app.run.effects import effects_of_resume, effects_of_run
from holdfast.app.run.observers import NullObserver
from holdfast.app.study.effects import effects_of_study
from holdfast.core.errors import HoldfastError, UsageError, flatten
from holdfast.core.exit_codes import INTERRUPTED
from holdfast.mcp.messages import GRACE_S, EffectsAnswer, EffectsCall, ProgressNote, VerbAnswer, VerbCall, VerbErrors
from holdfast.results import Json, Result, to_json
from holdfast.results.check import CheckResult
from holdfast.results.explain import ExplainResult
from holdfast.results.run import RunEffects

EFFECTS: Final[Mapping[str, Callable[..., RunEffects]]] = {
    "run": effects_of_run,
    "resume": effects_of_resume,
    "study": effects_of_study,
}
VerbMessage = ProgressNote | VerbAnswer | EffectsAnswer | VerbErrors
Send = Callable[[VerbMessage], None]


def main() -> None:
    """Play one verb. Standard input stays open as long as the server wants the answer."""
    call = json.decode(sys.stdin.buffer.readline(), type=VerbCall | EffectsCall)
    end_with_server(os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)
        send = sender(out)
        try:
            send(play(call, send))
        except (HoldfastError, ExceptionGroup, OSError) as error:
            if not (errors := flatten(error)):
                raise
            send(VerbErrors(errors=[redacted_parts(each.as_json()) for each in errors]))
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)


def end_with_server(lifeline: int) -> None:
    """Have this process, and all of its group, end when the server closes its end of a pipe or dies."""

    def watch() -> None:
        os.read(lifeline, 1)
        os.killpg(0, signal.SIGINT)
        SystemClock().sleep(GRACE_S)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def sender(out: BinaryIO) -> Send:
    """Return what writes a message to a file, a line each. No message can hold the half of a character, as names of files do."""

    def send(message: VerbMessage) -> None:
        out.write(dumps(to_builtins(message), ensure_ascii=False).encode(errors="replace") + b"\n")
        out.flush()

    return send


def play(call: VerbCall | EffectsCall, send: Send) -> VerbMessage:
    """Play a verb, or find out what it would do.

    Raises:
        UsageError: It would do something else than was agreed to.
    """
    if isinstance(call, EffectsCall):
        return EffectsAnswer(effects=effects_of(call.verb, call.arguments))
    if call.digest and effects_of(call.verb, call.arguments).digest != call.digest:
        what = "the job's files changed while it was being started"
        raise UsageError(what, where=call.verb, fix="call it again once they are as they should be")
    answer = load_verb(call.verb)(**call.arguments, **progress_arguments(call.verb, send))
    return VerbAnswer(answer=redacted_parts(for_agents(answer)))


def effects_of(verb: str, arguments: Mapping[str, Any]) -> RunEffects:
    """Return what a verb would do; of its arguments, some have no part in that."""
    find = EFFECTS[verb]
    known = inspect.signature(find).parameters
    return find(**{name: value for name, value in arguments.items() if name in known})


def for_agents(answer: Result | str) -> Json | str:
    """Return the answer for an agent: the object of `--format json`, or a text."""
    if isinstance(answer, ExplainResult):
        return answer.text
    return answer if isinstance(answer, str) else to_json(answer)


class ProgressObserver(NullObserver):
    """Passes on how far the preparation of a run is."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def on_checked(self, check: CheckResult) -> None:
        """Say that the job is checked."""
        self._send(ProgressNote(message=f"checked: {check.verdict}"))

    def on_planned(self, said: str) -> None:
        """Pass on what the job is estimated to need."""
        self._send(ProgressNote(message=f"planned: {said}"))

    def on_note(self, said: str) -> None:
        """Pass on a remark on the files that the run starts from."""
        self._send(ProgressNote(message=said))

    def on_rehearsal_progress(self, said: str) -> None:
        """Pass on a message of the rehearsal."""
        self._send(ProgressNote(message=f"rehearsing: {said}"))


def progress_arguments(verb: str, send: Send) -> dict[str, Any]:
    """Return the argument by which a verb tells how far it is; none for the quick ones."""
    if verb == "rehearse":
        return {"on_progress": lambda said: send(ProgressNote(message=str(said)))}
    return {"observer": ProgressObserver(send)} if verb in ("run", "resume", "stop") else {}


if __name__ == "__main__":
    main()
