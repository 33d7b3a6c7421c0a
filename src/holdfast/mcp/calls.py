"""Calling a verb in a process of its own, from the server: with progress, and an end if the client no longer wants the answer."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final, TypeVar

import anyio
from anyio.abc import Process
from msgspec import json

from holdfast.core.errors import BackendError, UsageError
from holdfast.mcp.messages import GRACE_S, EffectsAnswer, EffectsCall, ProgressNote, VerbAnswer, VerbCall, VerbErrors
from holdfast.results import Json
from holdfast.results.run import RunEffects

COMMAND: Final = (sys.executable, "-P", "-m", "holdfast.mcp.verb_process")

Answer = TypeVar("Answer", VerbAnswer, EffectsAnswer)
ReportProgress = Callable[[str], Awaitable[None]]


class CallError(Exception):
    """A verb did not take a call.

    Attributes:
        errors: Each error, as `docs/contract.md` shows it.
    """

    def __init__(self, errors: Sequence[Json]) -> None:
        super().__init__(*errors)
        self.errors = errors


async def call_verb(call: VerbCall, folder: str, on_progress: ReportProgress) -> Json | str:
    """Return what a verb answers: an object, or a text.

    Args:
        call: The verb and its arguments.
        folder: The folder that it is called in.
        on_progress: Called with each message about its progress.

    Raises:
        CallError: It did not take the arguments.
        BackendError: Its process ended without an answer, or cannot be started.
    """
    return (await _ask(call, VerbAnswer, folder, on_progress)).answer


async def call_effects(call: EffectsCall, folder: str, on_progress: ReportProgress) -> RunEffects:
    """Return what a verb would do; as `call_verb`."""
    return (await _ask(call, EffectsAnswer, folder, on_progress)).effects


async def _ask(call: VerbCall | EffectsCall, kind: type[Answer], folder: str, on_progress: ReportProgress) -> Answer:
    async with _verb_process(folder) as process:
        async for line in _exchange(process, json.encode(call)):
            message = json.decode(line, type=ProgressNote | VerbAnswer | EffectsAnswer | VerbErrors)
            if isinstance(message, VerbErrors):
                raise CallError(message.errors)
            if isinstance(message, ProgressNote):
                await on_progress(message.message)
            elif isinstance(message, kind):
                return message
        code = await process.wait()
    what = f"`{call.verb}` ended without an answer: exit code {code}"
    raise BackendError(what, where=folder, fix="see the server's standard error, and report it")


async def _exchange(process: Process, request: bytes) -> AsyncIterator[bytes]:
    """Send a process its input, and yield the lines that it answers with. Its input stays open, for it ends when that does."""
    assert process.stdin is not None  # noqa: S101 - a pipe
    assert process.stdout is not None  # noqa: S101 - a pipe
    await process.stdin.send(request + b"\n")
    kept = b""
    async for chunk in process.stdout:
        *lines, kept = (kept + chunk).split(b"\n")
        for line in lines:
            yield line


@asynccontextmanager
async def _verb_process(folder: str) -> AsyncIterator[Process]:
    """A process in a session of its own; whatever is left of it at the end is interrupted, and killed if that is not enough."""
    try:
        process = await anyio.open_process(
            COMMAND, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None, start_new_session=True
        )
    except (OSError, ValueError) as error:  # ValueError: a zero byte in it
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"the folder cannot be used: {why}", where=repr(folder), fix="name another folder") from error
    try:
        yield process
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
            await process.aclose()


async def _end(process: Process) -> None:
    with anyio.move_on_after(GRACE_S if process.returncode is None else 0):
        await _wait_or_interrupt(process)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


async def _wait_or_interrupt(process: Process) -> None:
    with anyio.move_on_after(0.2):  # one that has answered ends by itself
        await process.wait()
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    await process.wait()
