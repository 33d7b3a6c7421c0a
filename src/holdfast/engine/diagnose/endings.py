"""How a process ended, in the numbers and words of shells, launchers and schedulers, as evidence.

    read_ending("137")            # a shell's or a container's; "-9" is a launcher's, "0:9" Slurm's, "SIGKILL" anybody's
    read_ending("OUT_OF_MEMORY")  # the state that a scheduler tells

A process that is killed writes nothing: only who waited for it knows by what.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from signal import SIGABRT, SIGBUS, SIGHUP, SIGINT, SIGKILL, SIGSEGV, SIGTERM, Signals
from typing import Final

from holdfast.core.diagnose.log import Line
from holdfast.core.errors import UsageError
from holdfast.engine.diagnose.metric_history import ClassEvidence

ENDING: Final = "how it ended"
"""In place of a log's path: what the caller knows of the process' end."""
SHELL: Final = 128
"""What a shell, or a container, adds to the number of the signal that ended a process."""
SIGNALS: Final[Mapping[int, tuple[str, float]]] = {
    SIGTERM: ("job-preempted-or-requeued", 0.85),
    SIGINT: ("job-cancelled-externally", 0.85),
    SIGHUP: ("killed-by-sighup", 0.85),
    SIGBUS: ("shm-too-small", 0.6),
    SIGSEGV: ("native-crash-segfault", 0.6),
    SIGABRT: ("native-crash-segfault", 0.5),
}
"""The class, and its weight, by the signal that ended a process and that holdfast did not send."""
RECORD: Final = "the scheduler's record (`sacct -j JOB --format=State,ExitCode,MaxRSS,ReqMem`, `kubectl describe pod`)"
KILLER: Final = (
    "who sent SIGKILL: if `dmesg -T` of the node has `Out of memory: Killed process`, it was the kernel, for lack of host memory; "
    "else a person, a scheduler, or a launcher that cleaned up"
)
CRASH: Final = (
    "the lines of `python -X faulthandler`, which show where it crashed",
    "`dmesg -T` of the node (`segfault at …`, `NVRM: Xid`)",
)
CODES: Final[Mapping[int, tuple[str, ...]]] = {
    0: ("why it is taken for a failure: exit code 0 is that of success",),
    1: (
        "the traceback: Python and launchers end with 1 after an exception, and write it to standard error (`> train.log 2>&1`)",
    ),
    2: ("the message on standard error: programs end with 2 if they refuse an argument, or do not find the script",),
    126: ("the shell's message: it ends with 126 if a file cannot be executed",),
    127: ("the shell's message: it ends with 127 if it does not find a command",),
}
"""What tells more of an exit code that stands for no signal."""
STATES: Final = (
    (re.compile(r"\bOUT_OF_MEMORY\b|\bOOMKilled\b"), "cpu-ram-oom-kill", 0.95),
    (re.compile(r"\b(?:TIMEOUT|DEADLINE)\b|^[Jj]ob timeout\b"), "job-time-limit", 0.95),
    (re.compile(r"\b(?:PREEMPTED|REQUEUED)\b"), "job-preempted-or-requeued", 0.95),
    (re.compile(r"\bNodeLost\b|\bnode was lost\b|\bimminent node shutdown\b"), "job-preempted-or-requeued", 0.9),
    (re.compile(r"\b(?:CANCELLED|CANCELED)\b"), "job-cancelled-externally", 0.9),
    (re.compile(r"\bNODE_FAIL\b|\bBOOT_FAIL\b"), "gpu-hardware-fault", 0.6),
)
"""States of schedulers (Slurm, Kubernetes, Hugging Face Jobs), as a backend passes them on."""
SLURMS: Final = re.compile(r"(?P<code>\d+):(?P<signal>\d+)")
"""`ExitCode` of sacct and scontrol."""


@dataclass(frozen=True, slots=True)
class EndingFact:
    """A fact in the words of people, the class it speaks for, values for the signature's words, and what would tell more."""

    text: str
    name: str = ""
    weight: float = 0.0
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    needs: tuple[str, ...] = (RECORD,)


def read_ending(text: str) -> EndingFact:
    """Return the fact that an exit code, a signal's name or a scheduler's state stands for.

    Raises:
        UsageError: It is none of these.

    >>> read_ending("143").text, read_ending("0:15").name, read_ending("1").text
    ('SIGTERM ended it', 'job-preempted-or-requeued', 'the training process ended with exit code 1')
    """
    if state := name_state(text):
        return state
    slurms = SLURMS.fullmatch(text)
    signalled = bool(slurms and int(slurms["signal"]))
    number = text if slurms is None else f"-{slurms['signal']}" if signalled else slurms["code"]
    name = f"SIG{number.upper().removeprefix('SIG')}"
    if name in Signals.__members__:
        return _of_signal(Signals[name])
    try:
        code = int(number)
    except ValueError:
        raise UsageError(
            f"`{text}` is not an exit code, a signal or a scheduler's state",
            where=f"--ended {text}",
            fix="give a number such as 1, 137 or -9, a name such as SIGTERM, or a state such as TIMEOUT or OUT_OF_MEMORY",
        ) from None
    signal = signal_of(code)
    if signal:
        return _of_signal(signal)
    needs = CODES.get(code, ("what the program says of this exit code: it is its own, and no signal's",))
    return EndingFact(f"the training process ended with exit code {code}", needs=needs)


def signal_of(code: int) -> Signals | None:
    """Return the signal that an exit code stands for, a launcher's (-15) or a shell's (143)."""
    number = -code if code < 0 else code - SHELL
    return Signals(number) if number in set(Signals) else None


def name_state(text: str) -> EndingFact | None:
    """Return the fact that a scheduler's state stands for."""
    return next((EndingFact(text, name, weight) for words, name, weight in STATES if words.search(text)), None)


def _of_signal(signal: Signals) -> EndingFact:
    name, weight = SIGNALS.get(
        signal, ("", 0.0)
    )  # of SIGKILL the text is a pattern of its class, as a shell's `Killed` is
    needs = (KILLER,) if signal == SIGKILL else CRASH if name == "native-crash-segfault" else (RECORD,)
    return EndingFact(f"{signal.name} ended it", name, weight, needs=needs)


def as_log(facts: Sequence[EndingFact], path: str) -> tuple[str, Iterator[bytes]]:
    """Return facts as a log to be read beside the others."""
    return path, iter(["".join(f"{fact.text}\n" for fact in facts).encode()])


def ending_evidence(facts: Sequence[EndingFact], path: str) -> list[ClassEvidence]:
    """Return the facts as evidence; their lines are counted as in the log that is made of them."""
    return [
        ClassEvidence(
            name=fact.name,
            weight=fact.weight,
            lines=(Line(number, fact.text, path),),
            values=fact.values,
            explains=True,
        )
        for number, fact in enumerate(facts, start=1)
        if fact.name
    ]
