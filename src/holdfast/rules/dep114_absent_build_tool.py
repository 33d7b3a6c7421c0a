"""Build tool that the script runs, but that neither it nor its header installs.

## What it does
For a script with a header (PEP 723), which is meant to declare everything it needs, checks for `cmake` and `ninja`
among the programs that it runs with `subprocess` or `os.system`. Reports nothing if the script runs
`apt-get install`, if a package of that name is among the requirements, or if the script tests for the program with
`shutil.which`.

## Why is this bad
The images in which such scripts run on Hugging Face Jobs have git, make and a compiler, but no cmake. Converting to
GGUF needs cmake, since llama.cpp can no longer be built with make, and the conversion comes last, after the training
is paid for.

## Fix safety
There is no automatic fix: declare `cmake` or `ninja`, which are also packages on the index, or install it before the
training begins.
"""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from holdfast.catalog.environment.packages import REQUIREMENTS
from holdfast.catalog.environment.stated import declared_names
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document

TOOLS = ("cmake", "ninja")
LOOKING = "shutil.which"
STARTING = ("subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output", "subprocess.Popen")


def check(job: Document) -> Iterator[Finding]:
    """Report the first start of each tool that neither the script nor its header installs."""
    if not isinstance(job.get(REQUIREMENTS, None), list):
        return
    started = [(call, _words(call)) for call in job.calls if call.path in (*STARTING, "os.system", LOOKING)]
    handled = {*declared_names(job), *_installed_or_looked_for(started)}
    for call, words in started:
        tool = next(iter(words), "")
        if tool in TOOLS and tool not in handled and not call.guard.tolerates("FileNotFoundError"):
            handled.add(tool)
            fault = f"`{tool}` is started here, and nothing in this script installs it: declare `{tool}` in the header"
            yield Finding(call.key, fault, place=call.name_place)


def _installed_or_looked_for(started: Iterable[tuple[Call, Sequence[str]]]) -> Iterator[str]:
    """Yield the words of commands that install something, and the names of programs whose path is looked up."""
    for call, words in started:
        if "install" in words or call.path == LOOKING:
            yield from words


def _words(call: Call) -> list[str]:
    """Return the words of the command that a call starts, as far as they are known."""
    given: Any = call.arguments.get("args", next(iter(call.positional), None))
    if isinstance(given, list | tuple):
        return [each for each in given if isinstance(each, str)]
    try:
        return shlex.split(given) if isinstance(given, str) else []
    except ValueError:
        return []


SCRIPT = """# /// script
# dependencies = ["trl==1.16.0"]
# ///
import subprocess

subprocess.run(["git", "clone", "https://github.com/ggml-org/llama.cpp"], check=True)
subprocess.run(["cmake", "-B", "build", "-S", "llama.cpp"], check=True)
"""
FIRST = 'subprocess.run(["apt-get", "install", "-y", "cmake"], check=True)\n'

RULE = Rule(
    code="DEP114",
    name="absent-build-tool",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "The Dockerfile of buildpack-deps:bookworm, on which the default image of `run_uv_job` in huggingface_hub 2.4 stands; "
        "llama.cpp's pull request 15449. Tried: `cmake` and `ninja` of the index put these programs on the path."
    ),
    bad=(
        Case(script=SCRIPT, at="calls.1"),
        Case(script=SCRIPT.replace('["cmake", "-B", "build", "-S", "llama.cpp"]', '"cmake -B build"'), at="calls.1"),
    ),
    good=(
        Case(script=SCRIPT.replace('"trl==1.16.0"', '"trl==1.16.0", "cmake"')),
        Case(script=SCRIPT.replace("subprocess.run", FIRST + "subprocess.run", 1)),
        Case(script=SCRIPT.partition("# ///\n")[2]),
        Case(script=SCRIPT.replace("cmake", "make")),
    ),
    kinds=PROGRAMS,
)
