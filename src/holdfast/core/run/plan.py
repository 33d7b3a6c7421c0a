"""The plan: a job resolved down to what one attempt needs to start anywhere."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from holdfast.core.run.backends import DEFAULT_BACKEND
from holdfast.core.run.notice import NoticeFormat
from holdfast.core.run.remedy import SettingChange


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The arguments of `holdfast run`, so that a run that was killed before it had a plan can continue.

    Attributes:
        target: The job file or script, absolute; of one that lies elsewhere, the copy.
        cwd: The folder that it was started in, absolute.
        sets: Overrides of the job's keys, as `KEY=VALUE`.
        arguments: The script's own arguments.
        despite: Codes of rules that do not refuse the job.
        offline: Whether the check and the rehearsal leave the Hub out.
        rehearse: Whether it is rehearsed first.
        address: Where the target lies, if not here.
        study: The study that the run is a trial of; empty if it is none.
        trial: The hash of the trial's content; empty if it is none.
        resume_from: The checkpoint that the first attempt continues from: a folder, absolute, or `hf://…`; empty if it begins anew.
        sha256: The hash of the target's content when the run was requested; empty if it is not known.
    """

    target: str
    cwd: str
    sets: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    despite: tuple[str, ...] = ()
    offline: bool = False
    rehearse: bool = True
    address: str | None = None
    study: str = ""
    trial: str = ""
    resume_from: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedEvaluation:
    """An evaluation of the final model: the options of `holdfast evaluate` that a job file gives, with absolute paths.

    Attributes:
        dataset: The datasets.
        task: Benchmark tasks.
        few_shot: How many examples precede each row of a task; None if the tasks say it.
        limit: The first rows of each task that are evaluated; None for all.
        allow_code: Whether tasks may run code that the model writes.
        split: The split; None for the first of test, validation and train.
        config: The configuration of Hub datasets.
        rows: The most rows of a dataset; None for all.
        metric: Metrics, by name or as `FILE:FUNCTION`; none for those that fit the columns.
        rewards: Reward functions.
        by: Columns to break the figures down by.
        at_least: Conditions.
        not_worse_than: The model that must not be better; None if there is none.
        max_new_tokens: The longest answer, in tokens.
        seed: Of the rows that are drawn.
    """

    dataset: tuple[str, ...] = ()
    task: tuple[str, ...] = ()
    few_shot: int | None = None
    limit: int | None = None
    allow_code: bool = False
    split: str | None = None
    config: str | None = None
    rows: int | None = None
    metric: tuple[str, ...] = ()
    rewards: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    at_least: tuple[str, ...] = ()
    not_worse_than: str | None = None
    max_new_tokens: int = 256
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A job as it will run: what every attempt of a run starts from.

    Attributes:
        name: The job's name.
        script: Source of the training script, rendered from a job file or the user's own; references replace its secrets.
        script_name: The name in its tracebacks.
        cwd: The folder that the script runs in, absolute. Relative paths of the job start from it.
        backend: Name of the backend.
        arguments: The script's own arguments.
        hardware: What it runs on, as the backend names it; None if that is not chosen.
        processes: Processes per machine; above 1 the attempt starts itself under torchrun.
        variables: Environment variables of the training process; never a secret's value.
        secrets: Names of variables whose values come from where holdfast runs, or from the job's own file.
        timeout_s: Seconds that the run may take; None if it has no limit.
        stall_timeout_s: Seconds without a sign of life after which an attempt is stopped; None for what its own rhythm says.
        budget_usd: What all attempts together may cost; None for no limit.
        attempts: How many attempts the run may have without being asked for.
        usd_per_hour: What an hour of each hardware of the backend cost when the plan was made; empty if it has no prices.
        options: The backend's own options.
        files: Files that a machine which shares none needs, by their paths from `cwd`, with their sizes in bytes.
        job: The job that the script was rendered from, as a job file gives it; None for a script of the user's own. It holds no secret.
        sources: The text of each file that the script carries, by the name in the job.
        key: A random text, made once for the run: names of runs are unique in one runs folder only.
        webhook: Where messages about the run go, or `$NAME`; empty if nowhere.
        webhook_format: What is received there.
        evaluations: What the final model is evaluated on when training has ended.
        gguf: The quantizations of the GGUF files that are made of it after that.
        export_on: The host name of the machine that makes them; empty for the one that holdfast runs on.
        resume_from: The checkpoint that attempts continue from while the run has none of its own, absolute; empty if they begin anew.
    """

    name: str
    script: str
    script_name: str
    cwd: str
    backend: str = DEFAULT_BACKEND.name
    arguments: tuple[str, ...] = ()
    hardware: str | None = None
    processes: int = 1
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    secrets: tuple[str, ...] = ()
    timeout_s: float | None = None
    stall_timeout_s: float | None = None
    budget_usd: float | None = None
    attempts: int = 1
    usd_per_hour: Mapping[str, float] = field(default_factory=dict[str, float])
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    files: Mapping[str, int] = field(default_factory=dict[str, int])
    job: Mapping[str, Any] | None = None
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    key: str = ""
    webhook: str = ""
    webhook_format: NoticeFormat = "json"
    evaluations: tuple[PlannedEvaluation, ...] = ()
    gguf: tuple[str, ...] = ()
    export_on: str = ""
    resume_from: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The nth try of a run, ready for a backend.

    Attributes:
        run: Name of the run.
        number: Counts from 1.
        folder: The attempt's own folder, absolute; its `attempt.py` is there.
        plan: What to start.
        resume_from: The checkpoint that it continues from; None if it begins anew.
        passed_over: Newer checkpoints that it cannot continue from, each with the reason.
        accepted: The settings that may differ from those of this checkpoint, and the values that they may have; None stands for any.
        timeout_s: Seconds that attempts before it have left of the plan's timeout; None for all of them.
        refused: The settings that differ from those of this checkpoint, as the job alone shows, and that nobody accepted: it is not started.
    """

    run: str
    number: int
    folder: str
    plan: Plan
    resume_from: str | None = None
    passed_over: tuple[str, ...] = ()
    accepted: Mapping[str, Any] = field(default_factory=dict[str, Any])
    timeout_s: float | None = None
    refused: tuple[SettingChange, ...] = ()

    @property
    def id(self) -> str:
        """The key by which a backend starts the attempt at most once."""
        return f"{self.run_id}/{self.number}"

    @property
    def run_id(self) -> str:
        """The run, as no other run of anybody is called."""
        return f"{self.run}/{self.plan.key}" if self.plan.key else self.run

    @property
    def run_folder(self) -> str:
        """The run's folder."""
        return str(PurePosixPath(self.folder).parents[1])

    def variables(self, run_folder: str | None = None) -> dict[str, str]:
        """Return the variables that describe the attempt to its processes; see `payload/runtime.py`.

        Args:
            run_folder: The run's folder on the machine of the attempt. Default: the same folder as here; otherwise that folder
                does not reach this machine by itself, and so the events go into the log too.

        >>> plan = Plan(name="a", script="", script_name="a.py", cwd="/")
        >>> attempt = Attempt(run="a", number=2, folder="/runs/a/attempts/2", plan=plan, resume_from="/runs/a/c/checkpoint-8")
        >>> there = attempt.variables("/data/a")
        >>> there["HOLDFAST_ATTEMPT"], there["HOLDFAST_RESUME"], there["HOLDFAST_EVENTS"]
        ('/data/a/attempts/2', '/data/a/c/checkpoint-8', 'log')
        >>> begun = Plan(name="a", script="", script_name="a.py", cwd="/", resume_from="/b/checkpoint-2")
        >>> first = Attempt(run="a", number=1, folder="/runs/a/attempts/1", plan=begun, resume_from="/b/checkpoint-2")
        >>> first.variables()["HOLDFAST_BASE"], "HOLDFAST_BASE" in there
        ('1', False)
        """
        values = self._variables_here()
        if run_folder is None:
            return values
        moved = {name: _moved(value, self.run_folder, run_folder) for name, value in values.items()}
        return {**moved, "HOLDFAST_EVENTS": "log"}

    @property
    def _limit_s(self) -> float | None:
        """Seconds after which it is ended: its own limit, or the plan's."""
        return self.plan.timeout_s if self.timeout_s is None else self.timeout_s

    def _variables_here(self) -> dict[str, str]:
        """Return the variables on a machine where the run's folder is the same as here."""
        timeout_s = self._limit_s
        values = {
            "HOLDFAST_ATTEMPT": self.folder,
            "HOLDFAST_RESUME": self.resume_from or "",
            "HOLDFAST_PROCESSES": str(self.plan.processes),
            "PYTHONUNBUFFERED": "1",  # or the last lines before a kill are lost
            **self.plan.variables,
        }
        if timeout_s is not None:
            values["HOLDFAST_TIMEOUT"] = str(timeout_s)
        if self.resume_from and self.resume_from == self.plan.resume_from:
            values["HOLDFAST_BASE"] = "1"
        if self.accepted:
            values["HOLDFAST_ACCEPTED"] = json.dumps(dict(self.accepted))
        return values


def _moved(path: str, old: str, new: str) -> str:
    """Return a path in a folder as it is after the folder has moved; any other text unchanged."""
    return new + path[len(old) :] if path == old or path.startswith(f"{old}/") else path
