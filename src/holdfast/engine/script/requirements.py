"""What a rendered script installs: the packages that its job needs, each with its reason, as a PEP 723 header."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.catalog.builtin import MODELS
from holdfast.catalog.environment.stack import load_stack
from holdfast.catalog.metrics import METRICS
from holdfast.catalog.trl_rewards import MATHEMATICAL
from holdfast.core.environment.requirement import Requirement, parse_requirement
from holdfast.core.errors import UsageError
from holdfast.core.job_file.job import Job

PYTHON = re.compile(r"[0-9<>=!~.,* ]+")
"""Versions of Python as PEP 440 spells them."""

MEASURING = ("rouge-score", "sacrebleu")
"""Packages that compute metrics of answers."""

ALWAYS = ("torch", "transformers", "trl", "accelerate", "datasets", "huggingface-hub")


@dataclass(frozen=True, slots=True)
class HeaderRequirement:
    """One line of a header.

    Attributes:
        name: Normalized name of the package.
        text: The requirement as it is installed.
        because: Why it is there.
    """

    name: str
    text: str
    because: str


def list_requirements(job: Job) -> list[HeaderRequirement]:
    """Return the packages that the job's script installs: pinned, except where the job states otherwise.

    Raises:
        UsageError: An entry of `environment.requirements` is not a requirement, or asks for a TRL that is not served.
    """
    stack = load_stack()
    pinned = [
        HeaderRequirement(name, f"{name}=={package.version}", package.because)
        for name, package in stack.items()
        if name in _needed(job)
    ]
    own = {each.name: each for each in map(_requirement_of_job, job.environment.requirements)}
    if "trl" in own:
        _check_trl(own["trl"].text, stack["trl"].version)
    return [own.pop(each.name, each) for each in pinned] + list(own.values())


def list_data_requirements(job: Job) -> list[HeaderRequirement]:
    """Return the packages that a script needs which only reads the job's data: without the libraries that train.

    Raises:
        UsageError: An entry of `environment.requirements` is not a requirement.
    """
    trains = {*load_stack()} - {"datasets"}
    return [each for each in list_requirements(job) if each.name not in trains]


def render_header(python: str, requirements: list[HeaderRequirement]) -> str:
    """Return the PEP 723 header; each package bears its reason.

    Raises:
        UsageError: `python` names no versions.
    """
    if not PYTHON.fullmatch(python):
        raise UsageError(f"{python!r} names no Python", where="environment.python", fix="write it as in `>=3.11,<3.14`")
    lines = [f"    {json.dumps(each.text)},  # {each.because}" for each in requirements]
    header = [f"requires-python = {json.dumps(python)}", "dependencies = [", *lines, "]"]
    return "\n".join(["# /// script", *(f"# {line}" for line in header), "# ///"])


def _needed(job: Job) -> set[str]:
    return {*ALWAYS, *_optional_packages(job)}


def _optional_packages(job: Job) -> Iterator[str]:
    """Yield the packages that only some jobs need."""
    conditions = {
        "tokenizers": job.model.path in MODELS,
        "peft": job.peft is not None,
        "bitsandbytes": job.quantization is not None or "bnb" in str(job.train.get("optim", "")),
        "deepspeed": job.where.strategy in ("zero2", "zero3"),
        "liger-kernel": bool(job.train.get("use_liger_kernel")),
        "math-verify": any(name in MATHEMATICAL for name in job.rewards),
        **{library: library in _metric_libraries(job) for library in MEASURING},
        "rich": bool(job.train.get("log_completions")),
        job.track.with_: job.track.with_ != "none",
    }
    return (name for name, needed in conditions.items() if needed)


def _metric_libraries(job: Job) -> set[str]:
    """Return the packages that compute the metrics of an evaluation; of macro F1, the script computes the mean itself."""
    return {METRICS[name].library for name in job.samples.metric if name in METRICS}


def _requirement_of_job(text: str) -> HeaderRequirement:
    parsed = parse_requirement(text) if text.isprintable() else None
    if not isinstance(parsed, Requirement):
        fix = "write it as pip would take it, such as `flash-attn==2.8.3`"
        raise UsageError(f"{text!r} is not a requirement", where="environment.requirements", fix=fix)
    return HeaderRequirement(parsed.name, parsed.text.strip(), "asked for by the job")


def _check_trl(text: str, served: str) -> None:
    line = re.escape(served.rpartition(".")[0])
    if not re.fullmatch(rf"(?i)trl(\[.*\])?\s*(==\s*{line}\.(\d+|\*)|~=\s*{line}\.\d+)", text):
        raise UsageError(
            f"job files are rendered for TRL {served.rpartition('.')[0]}, not for {text!r}",
            where="environment.requirements",
            fix=f"write trl=={served} or leave it out; a script of your own may pin any version",
        )
