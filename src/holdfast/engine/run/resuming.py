"""How the settings of an attempt compare with those of its checkpoint, in words."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import PurePosixPath
from typing import Any, Final

from holdfast.core.environment.requirement import Requirement, parse_requirement
from holdfast.core.environment.script_header import read_header
from holdfast.core.environment.versions import numbers, spelled_release
from holdfast.core.job_file.job import Job
from holdfast.core.run.event import EndReason, Event, Liveness, Polled, Reported
from holdfast.core.run.plan import Attempt
from holdfast.core.run.remedy import SettingChange
from holdfast.core.run.training_event import Resumed

RESTORED: Final = ("learning_rate", "weight_decay")
"""Settings that the optimizer's state brings along, whatever the job says. Source: `Optimizer.load_state_dict` of torch 2.13."""

COMPARED: Final = (
    "optim",
    "learning_rate",
    "weight_decay",
    "adam_beta1",
    "adam_beta2",
    "adam_epsilon",
    "lr_scheduler_type",
    "max_steps",
    "seed",
)
"""Settings that a trainer has as the job gives them. It compares all of them, and its data and its versions, but after its model is loaded."""


def refused_settings(
    job: Job, script: str, saved: Mapping[str, Any], accepted: Mapping[str, Any]
) -> Iterator[SettingChange]:
    r"""Yield the settings that a job gives otherwise than its checkpoint was saved with, and that nobody accepted.

    Args:
        job: The job.
        script: The script that the attempt runs. Its header names the versions.
        saved: The settings of the checkpoint.
        accepted: The settings that may differ, and the values that they may have; None stands for any.

    >>> job = Job(method="sft", model="tiny", dataset="rows.jsonl", train={"learning_rate": 2e-4, "max_steps": -1})
    >>> script = '# /// script\n# dependencies = ["trl==1.16.0", "peft==0.18"]\n# ///\n'
    >>> saved = {"learning_rate": 1e-4, "max_steps": 40, "seed": 7, "trl": "1.15.0", "peft": "0.18.0"}
    >>> [str(each) for each in refused_settings(job, script, saved, {"seed": None})]
    ['`learning_rate` from 0.0001 to 0.0002', '`trl` from 1.15.0 to 1.16.0']
    """
    given: dict[str, Any] = {"seed": job.seed, **{name: job.train[name] for name in COMPARED if name in job.train}}
    if _has_epochs(given):
        del given["max_steps"]
    versions = {} if "python" in job.where.options else _pinned_versions(script)
    for name, after in {**given, **versions}.items():
        before = saved.get(name)
        is_accepted = name in accepted and accepted[name] in (None, after)
        if _is_other(before, after) and not is_accepted:
            yield SettingChange(key=name, before=before, after=after)


def _has_epochs(given: Mapping[str, Any]) -> bool:
    """True if the number of epochs decides how long a job trains. Source: `max_steps` of transformers 5.23, which counts if above 0."""
    steps = given.get("max_steps")
    return isinstance(steps, (int, float)) and steps <= 0


def _pinned_versions(script: str) -> dict[str, str]:
    """The versions that a script's header pins, by importable name, as the libraries spell them; those of more than numbers are left out."""
    lines = map(parse_requirement, read_header(script, "attempt.py").get("dependencies", ()))
    pins = {each.package: each.pin for each in lines if isinstance(each, Requirement) and each.pin and not each.marker}
    public = {name: numbers(pin.partition("+")[0]) for name, pin in pins.items()}
    return {name: spelled_release(version) for name, version in public.items() if version is not None}


def _is_other(before: Any, after: Any) -> bool:
    """True if two values are of a kind, and not the same; of a value that is not given, or spelled otherwise, nothing is known."""
    kind = str if isinstance(before, str) else (int, float)
    return isinstance(before, kind) and isinstance(after, kind) and before != after


def events_of_refusal(attempt: Attempt, at_s: float) -> tuple[Event, ...]:
    """Return the events of an attempt that is not started because its settings are refused, as its process would report them."""
    changes = [asdict(each) for each in attempt.refused]
    resumed = {"event": "resume", "checkpoint": attempt.resume_from, "verdict": "refused", "changes": changes}
    because = f"the checkpoint was saved with other settings: {'; '.join(map(str, attempt.refused))}"
    end = {"event": "end", "status": "failed", "reason": str(EndReason.SETTINGS_CHANGED), "because": because}
    said = tuple(Reported(at_s=at_s, attempt=attempt.number, said=each) for each in (resumed, end))
    return (*said, Polled(at_s=at_s, attempt=attempt.number, answer=Liveness.ENDED))


def describe_resumption(resumed: Resumed) -> str:
    """Return what is to be said of the settings of an attempt that continues from a checkpoint; empty if nothing differs.

    >>> describe_resumption(Resumed(checkpoint="/out/checkpoint-8"))
    'the settings were not compared: checkpoint-8 does not say how it was saved'
    >>> describe_resumption(Resumed(checkpoint="/out/checkpoint-8", verdict="ignored", step=0))
    'training did not continue from checkpoint-8: it began at step 0'
    """
    name = PurePosixPath(resumed.checkpoint).name
    changes = "; ".join(map(str, resumed.changes))
    match resumed.verdict:
        case "unknown":
            return f"the settings were not compared: {name} does not say how it was saved"
        case "refused":
            return f"it did not continue from {name}, which was saved with other settings: {changes}{_kept_if_accepted(resumed)}"
        case "accepted":
            return f"it continues from {name} with other settings: {changes}{_kept_settings(resumed)}"
        case "ignored":
            return f"training did not continue from {name}: it began at step {resumed.step or 0}"
        case "same":
            return ""


def _kept_if_accepted(resumed: Resumed) -> str:
    """Return which settings stay as the checkpoint has them even if the changes are accepted."""
    kept = [f"`{each.key}` stays {each.before}" for each in resumed.changes if each.key in RESTORED]
    return f"; if that is accepted, {' and '.join(kept)}, as the optimizer's state has it" if kept else ""


def _kept_settings(resumed: Resumed) -> str:
    """Return which settings stay as the checkpoint has them, in brackets."""
    kept = [f"`{each.key}` stays {each.before}" for each in resumed.changes if each.key in RESTORED]
    return f" ({' and '.join(kept)}: the optimizer's state has it)" if kept else ""
