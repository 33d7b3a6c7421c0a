"""Config file that `accelerate launch` refuses.

## What it does
Checks the keys of the file that `--config_file` names against those of any release of accelerate, and its
`distributed_type` against the known types. Also checks each file of a folder that has a `compute_environment` and a
`distributed_type`. Does not check the content of `deepspeed_config`, `fsdp_config` and similar keys, or files for
SageMaker.

## Why is this bad
accelerate ends before the script starts: "The config file at accelerate.yaml had unknown keys
(['main_training_functon'])".

## Fix safety
There is no automatic fix: the nearest name is a guess.
"""

from collections.abc import Iterator, Mapping

from holdfast.catalog.environment.accelerate_file import DISTRIBUTED, HERE, KEYS
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.text.nearest import nearest

KEY = "launch.accelerate"
KIND = "distributed_type"
NAMED = "where.accelerate_config"


def check(job: Document, accelerate_file: Mapping[str, object] | None) -> Iterator[Finding]:
    """Report each unknown key, and an unknown kind of distribution."""
    if accelerate_file is None or accelerate_file.get("compute_environment", HERE) != HERE:
        return
    unknown = [str(name) for name in accelerate_file if name not in KEYS]
    meant = {name: nearest(name, frozenset(KEYS.difference(accelerate_file))) for name in unknown}
    for name, near in meant.items():
        hint = f": did you mean `{near}`?" if near else ""
        yield _finding(job, f"{KEY}.{name}", f"accelerate's file has no key `{name}`{hint}")
    yield from _kind(job, accelerate_file, lacks=KIND not in accelerate_file and KIND not in meant.values())


def _kind(job: Document, settings: Mapping[str, object], *, lacks: bool) -> Iterator[Finding]:
    if lacks:
        yield _finding(
            job, KEY, "accelerate's file needs a `distributed_type`, such as `MULTI_GPU`, or `'NO'` for one process"
        )
    kind = settings.get(KIND)
    if isinstance(kind, str) and kind not in DISTRIBUTED:
        near = nearest(kind, DISTRIBUTED)
        hint = f": did you mean `{near}`?" if near else f"; there are {', '.join(sorted(DISTRIBUTED))}"
        yield _finding(job, f"{KEY}.{KIND}", f"accelerate knows no `distributed_type` `{kind}`{hint}")


def _finding(job: Document, key: str, message: str) -> Finding:
    """Return a finding in the file; at its name in the command, where the key stands nowhere."""
    place = job.place(key)
    return Finding(key, message, place=place if place.line else job.place(NAMED))


COMMAND = (
    "accelerate launch --config_file accelerate.yaml -m trl.scripts.sft --model_name_or_path Qwen/Qwen2.5-0.5B "
    "--dataset_name trl-lib/Capybara\n"
)
GOOD = {"compute_environment": HERE, KIND: "MULTI_GPU", "num_processes": 2, "main_training_function": "main"}


def _facts(**settings: object) -> dict[str, object]:
    return {"accelerate_file": settings}


RULE = Rule(
    code="DST114",
    name="refused-accelerate-file",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "accelerate 1.15, `accelerate launch --config_file` tried with an unknown key, without a `distributed_type`, and with `MULTI-GPU`: "
        "ValueError each. The keys were read in 9 releases, 0.21 to 1.15."
    ),
    bad=(
        Case(
            command=COMMAND,
            facts=_facts(main_training_functon="main", distributed_type="NO"),
            at=f"{KEY}.main_training_functon",
        ),
        Case(command=COMMAND, facts=_facts(**{**GOOD, KIND: "MULTI-GPU"}), at=f"{KEY}.{KIND}"),
        Case(command=COMMAND, facts=_facts(compute_environment=HERE, num_processes=2), at=KEY),
    ),
    good=(
        Case(command=COMMAND, facts=_facts(**GOOD)),
        Case(command=COMMAND, facts=_facts(**{**GOOD, KIND: False}, fp16=True)),
        Case(command=COMMAND, facts=_facts(compute_environment="AMAZON_SAGEMAKER", ec2_instance_type="ml.p3")),
        Case(command=COMMAND, facts={"accelerate_file": None}),
    ),
    kinds=PROGRAMS,
)
