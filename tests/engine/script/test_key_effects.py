"""Every key of a job file does something, or JOB103 says that it does not."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any, Final

import pytest

from holdfast.catalog.scenarios.choosing import choose_settings
from holdfast.core.check.facts import Machine
from holdfast.core.errors import GroupedError, UsageError
from holdfast.core.job.document import Document, Set, apply_edits
from holdfast.core.job_file.examples import EXAMPLES
from holdfast.core.job_file.job import Job, job_values, parse_job
from holdfast.core.run.plan import Plan
from holdfast.core.run.remedy import AppliedRemedy
from holdfast.core.run.run_state import RunState
from holdfast.engine.check.job_facts import process_count
from holdfast.engine.recover.policy import decide
from holdfast.engine.run.naming import name_job
from holdfast.engine.run.plans import apply_job
from holdfast.engine.script.render import render_script
from holdfast.rules.job103_idle_key import RULE
from tests.helpers.failed_jobs import failed

PATH: Final = "job.yaml"
PLAIN: Final[dict[str, Any]] = {"method": "sft", "model": "a/b", "dataset": "c/d", "train": {"max_steps": 10}}
EVALUATED: Final[dict[str, Any]] = {
    **PLAIN,
    "dataset": {"path": "c/d", "eval_fraction": 0.1},
    "early_stopping": {"patience": 2},
    "track": {"with": "trackio", "space": "me/x"},
    "where": {"processes": 2},
    "output": {"push_to": "me/x"},
}
GENERATING: Final = {**EVALUATED, "method": "grpo", "rewards": ["think_format_reward"]}
WITH_WANDB: Final = {**EVALUATED, "track": {"with": "wandb"}}
MEASURING: Final = {**EVALUATED, "samples": {"metric": ["f1"]}}
SAMPLED: Final = {
    **PLAIN,
    "dataset": {"path": "c/d", "rows": 9, "sample": "length", "by": "text", "mix": [{"path": "e/f"}]},
}
JOBS: Final = (PLAIN, EVALUATED, GENERATING, WITH_WANDB, MEASURING, SAMPLED)
SOURCES: Final = {
    "template.jinja": "{{ messages }}",
    "prepare.py": "def to_messages(row): return row\n",
    "rewards.py": "def is_correct(completions, **columns): return [0.0]\n",
    "metrics.py": "def is_polite(predictions): return [0.0]\n",
}
OTHERWISE: Final[Mapping[str, Any]] = {
    "where.backend": "hf-jobs",
    "where.nodes": 2,
    "output.folder": "elsewhere",
    "environment.requirements": ["liger-kernel"],
}
"""Values for keys whose example is the default, or is for another release of TRL."""
OF_ITEMS: Final = tuple(key for key in EXAMPLES if key.startswith("evaluate."))


Effects = tuple[str, Plan, str, tuple[AppliedRemedy, ...]]


def effects(values: Mapping[str, Any]) -> Effects:
    """Return all that comes of a job on this machine: its script, its plan, its runs folder, and what is changed when memory runs out."""
    document = Document(path=PATH, kind="job", values=values)
    job = parse_job(document)
    if chosen := choose_settings(document, job, objections=lambda _: (), rows=None):
        job = parse_job(chosen[0])
    name = name_job(job, PATH)
    plan = Plan(name=name, script="", script_name="", cwd="/", processes=process_count(Machine(cpus=1), job))
    script = render_script(job, name=name, sources=SOURCES)
    return script, apply_job(plan, job), job.output.folder, tuple(_remedies(job, replace(plan, script=script)))


def _effects_or_refusal(values: Mapping[str, Any]) -> Effects | str:
    try:
        return effects(values)
    except UsageError as error:
        return error.what


def _remedies(job: Job, plan: Plan) -> Iterator[AppliedRemedy]:
    """Yield what is changed after a step of one row found no memory, if activations were kept."""
    last = failed(
        job, "cuda-oom-train-step", config={"per_device_train_batch_size": 1, "gradient_checkpointing": False}
    )
    state = RunState(attempts=(replace(last.attempt, diagnosed=last.cause),))
    _, *remedied = decide(last.cause, state, 9, replace(plan, job=job_values(job), sources=SOURCES))
    yield from (each.remedy for each in remedied)


def _edited(key: str, value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each job with a value set, as far as it is a job then: a key may need another one beside it."""
    place = key.replace("dataset.mix.", "dataset.mix.0.")
    for number, job in enumerate(JOBS):
        if place == key or job is SAMPLED:
            edited = apply_edits(job, [Set(place, value)])
            with suppress(GroupedError):
                parse_job(Document(path=PATH, kind="job", values=edited))
                yield number, edited


@cache
def usual_effects(number: int) -> Effects:
    return effects(JOBS[number])


@pytest.mark.parametrize("key", [key for key in EXAMPLES if key not in OF_ITEMS])
def test_a_key_has_an_effect_or_is_reported(key: str) -> None:
    """Whoever sets a key expects that something comes of it."""
    value = OTHERWISE.get(key, EXAMPLES[key])
    changed = {number: edited for number, edited in _edited(key, value) if edited != JOBS[number]}
    has_effect = any(_effects_or_refusal(edited) != usual_effects(number) for number, edited in changed.items())
    reported = [
        finding.key
        for edited in changed.values()
        for finding in RULE.check(Document(path=PATH, kind="job", values=edited))
        if key.startswith(finding.key) or finding.key.startswith(key)
    ]

    assert changed
    assert has_effect or len(reported) == len(changed)
