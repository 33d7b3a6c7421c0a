"""Job with several GPUs that starts only one process.

## What it does
Checks uv jobs on a flavor with more than one GPU that run one of TRL's own scripts or install TRL, and `run_job`
whose command is `python …` or `uv run …` with such a script.

## Why is this bad
`uv run` and `python` start one process, and nothing distributes the work over the GPUs. Since TRL 1.15 the trainers
raise ValueError if one process sees several GPUs and the model is on one of them; a model that is spread over them,
as TRL loads a name, uses one GPU after the other. Older releases copy the model to each GPU in every step. You pay
for every GPU all the same.

## Fix safety
There is no automatic fix: start the script with `accelerate launch`, `torchrun`, or `trl sft … --num_processes`, or
choose a flavor with one GPU.
"""

import re
from collections.abc import Iterator

from holdfast.catalog.hub.jobs import Submission, submissions
from holdfast.catalog.hub.named_flavor import flavor_named
from holdfast.catalog.hub.sent_words import words_given
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

SCRIPTS = re.compile(r"(^|/)trl/scripts/(sft|dpo|grpo|kto|rloo|reward)\.py$")
TRL = re.compile(r"trl(\W|$)", re.IGNORECASE)
SHARES = ("vllm", "deepspeed", "accelerate", "ray", "torchrun", "sglang")
"""What may start the other processes itself."""


def check(job: Document) -> Iterator[Finding]:
    """Report each job that pays for GPUs which it does not use."""
    for sent in submissions(job):
        flavor = sent.given("flavor")
        found = flavor_named(flavor)
        if found and len(found.gpus) > 1 and (what := _one_process(sent)):
            fault = f"{flavor} has {len(found.gpus)} GPUs, and {what} starts one process"
            yield Finding(sent.key("flavor"), f"{fault}: launch it with accelerate or torchrun")


def _one_process(sent: Submission) -> str | None:
    """Return the words that certainly start one process that trains with TRL."""
    return _by_uv(sent) if sent.is_uv else _by_command(sent)


def _by_command(sent: Submission) -> str | None:
    words = words_given(sent, "command")
    starts = words[:1] == ["python"] or words[:2] == ["uv", "run"]
    return f"`{words[0]}`" if starts and any(map(SCRIPTS.search, words)) and not _shares(words) else None


def _by_uv(sent: Submission) -> str | None:
    listed = sent.given("dependencies")
    packages = [text for text in listed if isinstance(text, str)] if isinstance(listed, list | tuple) else []
    script = sent.given("script")
    trains = any(map(TRL.match, packages)) or (isinstance(script, str) and SCRIPTS.search(script))
    return "`uv run`" if trains and not _shares(packages) else None


def _shares(words: list[str]) -> bool:
    return any(word.lower().startswith(SHARES) for word in words)


SCRIPT = """
from huggingface_hub import run_uv_job

run_uv_job("train.py", dependencies=["trl"], flavor="a10g-largex2", timeout="4h")
"""
COMMAND = """
from huggingface_hub import run_job

run_job(image="me/trl", command=["python", "/app/trl/scripts/sft.py"], flavor="l4x4", timeout="4h")
"""

RULE = Rule(
    code="DST101",
    name="one-process-on-several-gpus",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "trl 1.15 and 1.16, the `__init__` of each trainer (`args.n_gpu > 1`), and transformers 5.23, "
        "`TrainingArguments`; read, as is how TRL loads a name with `device_map='auto'`. Not run: there were no two"
        " GPUs."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=SCRIPT, at="calls.0.flavor"),
        Case(script=SCRIPT.replace('"trl"', '"trl[peft]==1.16.0", "trackio"'), at="calls.0.flavor"),
        Case(script=COMMAND, at="calls.0.flavor"),
    ),
    good=(
        Case(script=SCRIPT.replace("a10g-largex2", "a10g-large")),
        Case(script=SCRIPT.replace('"trl"', '"polars"')),
        Case(script=SCRIPT.replace('"trl"', '"trl", "vllm"')),
        Case(script=COMMAND.replace('"python"', '"accelerate", "launch"')),
    ),
)
