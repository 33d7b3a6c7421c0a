"""Keyword in `lr_scheduler_kwargs` that the schedule does not take.

## What it does
Checks the keywords in `lr_scheduler_kwargs` against the parameters of the function that creates the named schedule,
in the versions in use.

## Why is this bad
The config accepts any keyword. The trainer creates the schedule when training begins, after the model and the data
are loaded, and the function raises TypeError. The usual case is `min_lr`: `cosine` does not take it, and
`cosine_with_min_lr` does.

## Fix safety
The fix is unsafe: another schedule that takes all of the keywords is a guess.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.calls.schedules import FUNCTIONS, OWN, schedule_keywords
from holdfast.catalog.calls.train_arguments import setting
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set

KWARGS, TYPE = "train.lr_scheduler_kwargs", "train.lr_scheduler_type"
READ_FROM = "4.40.2"
"""The oldest transformers whose schedules were read."""


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report keywords that the schedule does not take."""
    given = job.get(KWARGS, None)
    if not isinstance(given, Mapping) or not _reads_schedule(job, api):
        return
    schedule = setting(job, "lr_scheduler_type", api)
    if refused := _refused(api, schedule, given):
        other = _schedule_of(api, schedule, given)
        takes = _quoted(sorted(schedule_keywords(api, schedule)))
        fix = Fix(f"take the schedule `{other}`", (Set(TYPE, other),), safe=False) if other else None
        hint = f": `{other}` does" if other else f"; it takes {takes}"
        yield Finding(KWARGS, f"the schedule `{schedule}` does not take {_quoted(refused)}{hint}", fix)


def _reads_schedule(job: Document, api: Api) -> bool:
    """True if the trainer takes a schedule of a known release, and an error would end the program."""
    train = job.call("train")
    if train is None or train.guard.tolerates("TypeError") or not since(api, "transformers", READ_FROM):
        return False
    return not any(each in job.text for each in OWN)


def _refused(api: Api, schedule: object, given: Mapping[str, Any]) -> list[str]:
    """Return the keywords that a schedule does not take; none if it is not known."""
    known = schedule_keywords(api, schedule) if isinstance(schedule, str) else None
    return [name for name in given if name not in known] if known else []


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _schedule_of(api: Api, schedule: str, given: Mapping[str, Any]) -> str:
    """Return the schedule of the same family that takes all of the keywords."""
    family = (name for name in FUNCTIONS if name.startswith(f"{schedule}_"))
    return next((name for name in family if given.keys() <= schedule_keywords(api, name)), "")


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  lr_scheduler_type: cosine
  lr_scheduler_kwargs: {min_lr: 1.0e-6}
"""
SCRIPT = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", lr_scheduler_type="linear", lr_scheduler_kwargs={"num_cycles": 2})
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""

RULE = Rule(
    code="CMB107",
    name="foreign-schedule-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, `get_scheduler`. Tried with trl 1.16 and a tiny model: `min_lr` for `cosine` and `num_cycles` for `linear` raise TypeError, "
        "`num_warmup_steps` for `cosine` too; `cosine_with_min_lr` trains, and `constant` drops what it is given."
    ),
    bad=(
        Case(job=JOB, at=KWARGS, fixed=JOB.replace("cosine", "cosine_with_min_lr")),
        Case(script=SCRIPT, at=KWARGS),
    ),
    good=(
        Case(job=JOB.replace("cosine", "cosine_with_min_lr")),
        Case(job=JOB.replace("min_lr: 1.0e-6", "num_cycles: 0.5")),
        Case(job=JOB.replace("cosine", "constant")),
        Case(script=SCRIPT.replace('"linear"', '"cosine_with_restarts"')),
        Case(script=SCRIPT.replace('"linear"', "SCHEDULE")),
    ),
    kinds=ANY_KIND,
)
