"""uv job in an image without uv.

## What it does
Checks the `image` of calls that submit a uv job, and of `run_job` whose command begins with `uv`, for the official
images of Python, Debian, Ubuntu, Alpine and CUDA.

## Why is this bad
The job's command is `uv run …`, and these images do not contain uv: the container starts, and ends at once.

## Fix safety
The fix is unsafe: without `image`, the client uses astral's own image with uv, for Python 3.12, to which `python=`
adds any other version. Whatever else the named image provides is lost.
"""

import re
from collections.abc import Iterator

from holdfast.catalog.hub.jobs import submissions
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Remove

BARE = re.compile(r"^(?:docker\.io/)?(?:library/)?(python|debian|ubuntu|alpine|nvidia/cuda)(?::[^/]*)?$")
STARTERS = ("uv", "uvx")


def check(job: Document) -> Iterator[Finding]:
    """Report each image without uv."""
    for sent in submissions(job):
        image = sent.given("image")
        found = BARE.match(image) if isinstance(image, str) else None
        if found is None:
            continue
        key = sent.key("image")
        fault = f"the image {image} of {found[1]} has no uv, and the job starts with `uv`"
        if sent.is_uv:
            fix = Fix("use the image with uv", (Remove(key),), safe=False)
            yield Finding(key, fault, fix)
        elif _starts_with_uv(sent.given("command")):
            yield Finding(key, f"{fault}; ghcr.io/astral-sh/uv:python3.12-bookworm has it")


def _starts_with_uv(command: object) -> bool:
    return isinstance(command, list) and bool(command) and command[0] in STARTERS


SCRIPT = """
from huggingface_hub import run_uv_job

run_uv_job("train.py", timeout="2h")
"""
COMMAND = """
from huggingface_hub import run_job

run_job(image="python:3.12", command=["uv", "run", "train.py"])
"""

RULE = Rule(
    code="JOB110",
    name="image-without-uv",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4, `run_uv_job`: tried, the command sent is `uv run …` whatever the image. The recipe of"
        " the Python image (docker-library/python, 3.12/bookworm) was read: nothing in it installs uv. No container"
        " was started."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(
            script=SCRIPT.replace('"2h"', '"2h", image="python:3.12-slim"'),
            at="calls.0.image",
            fixed=SCRIPT,
        ),
        Case(script=COMMAND, at="calls.0.image"),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace('"2h"', '"2h", image="ghcr.io/astral-sh/uv:python3.11-bookworm"')),
        Case(script=SCRIPT.replace('"2h"', '"2h", image="vllm/vllm-openai:latest"')),
        Case(script=COMMAND.replace('"uv", "run"', '"python"')),
    ),
)
