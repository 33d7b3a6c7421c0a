"""Shell syntax in a job's command that no shell runs.

## What it does
Checks the `command` of `run_job` and `create_scheduled_job` for `&&`, `|`, `>` and similar words, and for a first
word with a space in it, if the command does not begin with a shell.

## Why is this bad
The words of the list are a program and its arguments, passed unchanged. `&&` becomes an argument of the first
program, and the commands after it never run; a program named `pip install trl` does not exist.

## Fix safety
The fix is unsafe: it passes the whole line to `bash -c`, which runs it as intended only in an image that has bash.
"""

from collections.abc import Iterator
from shlex import quote

from holdfast.catalog.hub.jobs import IMAGES, Submission, submissions
from holdfast.catalog.hub.sent_words import words_given
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set

OPERATORS = frozenset({"&&", "||", "|", ";", ">", ">>", "<", "2>&1", "&"})
SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ash"})


def check(job: Document) -> Iterator[Finding]:
    """Report each command that only a shell understands."""
    for sent in submissions(job, IMAGES):
        command = words_given(sent, "command")
        if command and command[0].rpartition("/")[2] not in SHELLS:
            yield from _unshelled(sent, command)


def _unshelled(sent: Submission, command: list[str]) -> Iterator[Finding]:
    key = sent.key("command")
    fix = Fix("run it with bash", (Set(key, ["bash", "-c", _line(command)]),), safe=False)
    if found := next(filter(OPERATORS.__contains__, command), None):
        yield Finding(key, f"`{found}` is given to {command[0]} as an argument: no shell reads the command", fix)
    elif " " in command[0].strip():
        yield Finding(key, f"there is no program named {command[0]!r}: no shell reads the command", fix)


def _line(command: list[str]) -> str:
    first = command[0] if " " in command[0] else quote(command[0])
    return " ".join([first, *(word if word in OPERATORS else quote(word) for word in command[1:])])


SCRIPT = """
from huggingface_hub import run_job

run_job(image="python:3.12", command=["bash", "-c", "pip install trl && python -V"])
"""
WORDS = SCRIPT.replace('"bash", "-c", "pip install trl && python -V"', '"pip", "install", "trl", "&&", "python", "-V"')

RULE = Rule(
    code="JOB111",
    name="unshelled-command",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "huggingface_hub 2.4, `_create_job_spec`: tried, the list is sent as it stands. Containers start such a "
        "list without a shell; that the Hub's do so too was not tried."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=WORDS, at="calls.0.command", fixed=SCRIPT),
        Case(script=SCRIPT.replace('"bash", "-c", ', ""), at="calls.0.command", fixed=SCRIPT),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace('"bash", "-c", "pip install trl && python -V"', '"python", "-V"')),
        Case(script=SCRIPT.replace('"bash", "-c", "pip install trl && python -V"', '"python", "-c", "a = 1 | 2"')),
    ),
)
