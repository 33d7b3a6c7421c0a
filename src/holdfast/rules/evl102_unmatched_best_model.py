"""Best model requested, but checkpoints and evaluations do not coincide.

## What it does
For `load_best_model_at_end` and `early_stopping`, which requires it, checks whether the trainer saves when it
evaluates: `eval_strategy` against `save_strategy`, and `save_steps` against `eval_steps`. holdfast fills in what the
job leaves open: it evaluates and saves after each tenth of all steps, and under `early_stopping` it saves when it
evaluates. `save_strategy: best` needs a metric and an evaluation. In a script, the config class's own checks are run,
with the defaults of the versions in use.

## Why is this bad
The evaluation at a checkpoint's own step decides whether it is the best, so the config class raises ValueError if the
two do not coincide. `eval_strategy: steps` alone evaluates every `logging_steps` (10), and `save_strategy: steps`
alone saves every 500.

## Fix safety
The fix is safe where it sets only what the job leaves open, to match what the job sets. It is unsafe where the job
sets both, because either may be meant: with data to evaluate on, it evaluates. It is unsafe too where it removes
`load_best_model_at_end` from a script that does not evaluate.
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from math import ceil, inf
from typing import Any, TypeGuard

from holdfast.catalog.api import Api
from holdfast.catalog.calls.arguments import has_edits
from holdfast.catalog.calls.constructions import Construction, refusals
from holdfast.catalog.calls.train_arguments import setting
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import ABSENT, Document, Remove, Set

SAVE, EVAL = "train.save_strategy", "train.eval_strategy"
SAVE_STEPS, EVAL_STEPS = "train.save_steps", "train.eval_steps"
# The interval at which holdfast evaluates and saves by default, as a part of all steps.
PART = 0.1
# Schedulers that watch a metric, and so make the trainer choose one.
WATCHING = ("reduce_lr_on_plateau", "greedy")


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report checkpoints and evaluations that do not coincide, in a job that evaluates."""
    return _in_job_file(job) if job.kind == "job" else _in_program(job, api)


def _in_program(job: Document, api: Api) -> Iterator[Finding]:
    for made, raised in refusals(job, api, "unmatched-best-model"):
        words = " ".join(raised.message.split()).removeprefix("--").replace(" --", " ")
        message = f"`{made.call.name}` of {made.versions(api)}: {words}"
        key = made.key(job, raised)
        unnamed = raised.message.startswith("`args.metric_for_best_model` must")
        fix = _named(key.rpartition(".")[0]) if unnamed else _evaluating(job, made) or _matching(made)
        yield Finding(key, message, fix if has_edits(job, made.call) else None)


def _named(config: str) -> Fix:
    return Fix("choose by the evaluation loss", (Set(f"{config}.metric_for_best_model", "eval_loss"),))


def _evaluating(job: Document, construction: Construction) -> Fix | None:
    """Return the edit with which a training that has data to evaluate on evaluates when it saves; None for any other."""
    call = construction.call
    evals, saves = call.arguments.get("eval_strategy"), call.arguments.get("save_strategy", "steps")
    trainer = next((each for each in job.calls if each.key == "trainer"), None)
    has_data = call.key == "train" and trainer is not None and trainer.arguments.get("eval_dataset") is not None
    if not has_data or evals != "no" or saves not in ("epoch", "steps"):
        return None
    return Fix(f"evaluate by {saves} too", (Set(f"{call.key}.eval_strategy", saves),), safe=False)


def _matching(construction: Construction) -> Fix | None:
    """Return the edit with which it saves when the model is evaluated; unsafe where both are written."""
    call = construction.call
    given = call.arguments
    evals = given.get("eval_strategy", given.get("evaluation_strategy", "no"))
    saves = given.get("save_strategy", "steps")
    if evals == "no":
        return Fix("keep the last model", (Remove(f"{call.key}.load_best_model_at_end"),), safe=False)
    if evals == saves == "steps":
        return _matching_steps(call.key, call.arguments, given.get("eval_steps"), given.get("save_steps"))
    if evals == saves or evals not in ("epoch", "steps"):
        return None
    return Fix(f"save by {evals} too", (Set(f"{call.key}.save_strategy", evals),), safe="save_strategy" not in given)


def _matching_steps(config: str, given: Container[str], evals: object, saves: object) -> Fix | None:
    """Return the edit that makes the steps between two saves a multiple of those between two evaluations.

    Args:
        config: Key of the config.
        given: Names of the settings that are written.
        evals: Steps between two evaluations.
        saves: Steps between two saves.
    """
    if "save_steps" not in given:
        fix = Fix("save whenever it evaluates", (Set(f"{config}.save_steps", evals),))
        return fix if _is_step(evals) else None
    if "eval_steps" not in given:
        fix = Fix("evaluate whenever it saves", (Set(f"{config}.eval_steps", saves),))
        return fix if _is_step(saves) else None
    return _saving_less_often(config, evals, saves)


def _saving_less_often(config: str, evals: object, saves: object) -> Fix | None:
    if not (_is_step(evals) and _is_step(saves)) or min(evals, saves) < 1:
        return None
    multiple = ceil(saves / evals) * int(evals)
    return Fix(f"save every {multiple} steps", (Set(f"{config}.save_steps", multiple),), safe=False)


def _in_job_file(job: Document) -> Iterator[Finding]:
    default = _default_strategy(job)
    if default == "no" and job.get(EVAL, "no") == "no" and job.get(SAVE, None) != "best":
        return
    schedule = _Schedule.of(job, default)
    if schedule.saves == "best":
        yield from _best(job, schedule)
    elif schedule.wanted:
        yield from _unmatched(job, schedule)


def _default_strategy(job: Document) -> str:
    """Return the default strategy of evaluation: by steps if there is data for it."""
    has_data = job.get("dataset.eval_split", None) is not None or job.get("dataset.eval_fraction", None) is not None
    return "steps" if has_data else "no"


@dataclass(frozen=True, slots=True)
class _Schedule:
    """When a job file evaluates and saves.

    Attributes:
        evals: By what it evaluates: `steps`, `epoch` or `no`.
        saves: By what it saves; also `best`.
        stopping: Whether it stops early.
        wanted: Whether it keeps the best model.
        follows: Whether it saves whenever it evaluates, because it stops early and does not say when to save.
    """

    evals: Any
    saves: Any
    stopping: bool
    wanted: bool
    follows: bool

    @classmethod
    def of(cls, job: Document, default: str) -> "_Schedule":
        """Read a job file that evaluates by `default` if it does not say when."""
        stopping = job.get("early_stopping", None) is not None
        wanted = stopping or setting(job, "load_best_model_at_end") is True
        follows = stopping and job.get(SAVE) is ABSENT and job.get(SAVE_STEPS) is ABSENT
        evals = job.get(EVAL, default)
        return cls(evals, job.get(SAVE, evals if follows else "steps"), stopping, wanted, follows)

    @property
    def by_own_steps(self) -> bool:
        """Whether it evaluates and saves after numbers of steps that do not depend on each other."""
        return self.evals == self.saves == "steps" and not self.follows

    @property
    def leaves_no_choice(self) -> bool:
        """Whether no checkpoint is both saved and evaluated; without either, only early stopping needs one."""
        return "no" in (self.evals, self.saves) and (self.stopping or self.evals != self.saves)


def _unmatched(job: Document, schedule: _Schedule) -> Iterator[Finding]:
    evals, saves = schedule.evals, schedule.saves
    if schedule.leaves_no_choice:
        key = EVAL if evals == "no" else SAVE
        fault = f"`load_best_model_at_end` is set, but `{key}: no` leaves no model to choose from"
        yield Finding(key, fault, _without_no(job, evals, saves))
    elif evals != saves:
        default = job.get(SAVE) is ABSENT
        fix = Fix(f"save by {evals} too", (Set(SAVE, evals),), safe=default)
        fault = f"`load_best_model_at_end` needs both strategies to match: it evaluates by {evals} and saves by {saves}"
        yield Finding(EVAL if default else SAVE, fault, fix)
    elif schedule.by_own_steps:
        yield from _unmatched_steps(job)


def _without_no(job: Document, evals: Any, saves: Any) -> Fix:
    """Return the edit with which the job evaluates, or saves, as it does the other."""
    if evals != "no":
        return Fix(f"save by {evals} too", (Set(SAVE, evals),), safe=False)
    if job.get(SAVE) is ABSENT or saves == "no":
        return Fix("evaluate", (Remove(EVAL),), safe=False)
    return Fix(f"evaluate by {saves} too", (Set(EVAL, saves),), safe=False)


def _best(job: Document, schedule: _Schedule) -> Iterator[Finding]:
    watching = schedule.wanted or setting(job, "lr_scheduler_type") in WATCHING
    if not watching and not setting(job, "metric_for_best_model"):
        yield Finding(SAVE, "`save_strategy: best` needs `train.metric_for_best_model`", _named("train"))
    elif schedule.evals == "no":
        key = SAVE if job.get(EVAL) is ABSENT else EVAL
        yield Finding(key, "without evaluation no model is ever the best, and none is saved", None, Severity.WARNING)


def _unmatched_steps(job: Document) -> Iterator[Finding]:
    evals, saves = _steps_between(job)
    if _is_step(evals) and _is_step(saves) and not _meet(evals, saves):
        written = [key for key in (SAVE_STEPS, EVAL_STEPS, SAVE, EVAL) if job.get(key) is not ABSENT]
        fault = f"`load_best_model_at_end` needs `save_steps` ({saves}) to be a multiple of `eval_steps` ({evals})"
        names = {key.removeprefix("train.") for key in written}
        yield Finding((*written, SAVE_STEPS)[0], fault, _matching_steps("train", names, evals, saves))


def _steps_between(job: Document) -> tuple[Any, Any]:
    """Return the steps between two evaluations and between two saves; below 1, a part of all steps."""
    written = job.get(SAVE_STEPS) is not ABSENT
    evals = job.get(EVAL_STEPS, None) or (PART if job.get(EVAL) is ABSENT else setting(job, "logging_steps"))
    saves = setting(job, "save_steps") if written or job.get(SAVE) is not ABSENT else PART
    return evals, saves


def _is_step(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and 0 < value < inf


def _meet(evals: float, saves: float) -> bool:
    """True if the config class takes the two; below 1 a step is a part of all steps."""
    if saves % evals == 0:
        return True
    return evals < 1 and saves < 1 and (saves * 1_000_000) % (evals * 1_000_000) == 0


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset:
  path: trl-lib/Capybara
  eval_fraction: 0.1
train:
  load_best_model_at_end: true
"""
EPOCH = JOB + "  eval_strategy: epoch\n"
COUNTED = JOB + "  eval_strategy: steps\n  eval_steps: 200\n"
WRITTEN = COUNTED + "  save_steps: 300\n"
BEST = JOB.replace("load_best_model_at_end: true", "save_strategy: best")
STOPPING = EPOCH.replace("train:\n  load_best_model_at_end: true", "early_stopping: {}\ntrain:")

SCRIPT = """
from transformers import TrainingArguments

args = TrainingArguments("out", eval_strategy="epoch", load_best_model_at_end=True)
"""
UNNAMED = """
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

rows = load_dataset("trl-lib/Capybara")
args = SFTConfig("out", eval_strategy="epoch", save_strategy="best")
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows["train"], eval_dataset=rows["test"])
"""
UNEVALUATED = UNNAMED.replace(
    'eval_strategy="epoch", save_strategy="best"',
    "eval_strategy='no', save_strategy='epoch', load_best_model_at_end=True",
)
STEPPED = SCRIPT.replace('"epoch"', '"steps", eval_steps=200')

RULE = Rule(
    code="EVL102",
    name="unmatched-best-model",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    kinds=ANY_KIND,
    source=(
        "transformers 5.23, `TrainingArguments._validate_args` and `Trainer._validate_args`. Each example and 20 other "
        "pairs of strategies and steps were given to `SFTConfig`: ValueError where the rule objects."
    ),
    bad=(
        Case(job=EPOCH, at=EVAL, fixed=EPOCH + "  save_strategy: epoch\n"),
        Case(job=COUNTED, at=EVAL_STEPS, fixed=COUNTED + "  save_steps: 200\n"),
        Case(job=JOB + "  save_steps: 50\n", at=SAVE_STEPS, fixed=JOB + "  save_steps: 50\n  eval_steps: 50\n"),
        Case(job=WRITTEN, at=SAVE_STEPS, fixed=WRITTEN.replace("300", "400")),
        Case(job=JOB + "  save_strategy: steps\n", at=SAVE, fixed=JOB + "  save_strategy: steps\n  save_steps: 0.1\n"),
        Case(job=JOB + "  eval_strategy: steps\n", at=EVAL, fixed=JOB + "  eval_strategy: steps\n  save_steps: 10\n"),
        Case(job=STOPPING + "  save_strategy: steps\n", at=SAVE, fixed=STOPPING + "  save_strategy: epoch\n"),
        Case(
            job=JOB + "  save_strategy: epoch\n  eval_strategy: 'no'\n",
            at=EVAL,
            fixed=JOB + "  save_strategy: epoch\n  eval_strategy: 'epoch'\n",
        ),
        Case(job=JOB + "  eval_strategy: 'no'\n", at=EVAL, fixed=JOB),
        Case(
            job=EPOCH + "  save_strategy: 'no'\n",
            at=SAVE,
            fixed=EPOCH + "  save_strategy: 'epoch'\n",
        ),
        Case(job=BEST, at=SAVE, fixed=BEST + "  metric_for_best_model: eval_loss\n"),
        Case(job=JOB + "  eval_strategy: steps\n  eval_steps: 0.2\n  save_steps: 0.5\n", at=SAVE_STEPS),
        Case(
            script=SCRIPT,
            at="calls.0.eval_strategy",
            fixed=SCRIPT.replace("end=True)", 'end=True, save_strategy="epoch")'),
        ),
        Case(script=STEPPED, at="calls.0.eval_steps", fixed=STEPPED.replace("end=True)", "end=True, save_steps=200)")),
        Case(
            script=SCRIPT.replace("eval_", "evaluation_"),
            versions={"transformers": "4.40.0"},
            at="calls.0.evaluation_strategy",
            fixed=SCRIPT.replace("eval_", "evaluation_").replace("end=True)", 'end=True, save_strategy="epoch")'),
        ),
        Case(
            script=UNNAMED,
            at="train.save_strategy",
            fixed=UNNAMED.replace('"best")', '"best", metric_for_best_model="eval_loss")'),
        ),
        Case(
            script=SCRIPT.replace('eval_strategy="epoch", ', ""),
            at="calls.0.load_best_model_at_end",
            fixed=SCRIPT.replace(', eval_strategy="epoch", load_best_model_at_end=True', ""),
        ),
        Case(
            script=UNEVALUATED,
            at="train.save_strategy",
            fixed=UNEVALUATED.replace("'no'", '"epoch"'),
        ),
        Case(
            script=STEPPED.replace("end=True", "end=True, save_steps=500"),
            at="calls.0.save_steps",
            fixed=STEPPED.replace("end=True", "end=True, save_steps=600"),
        ),
        Case(
            script=SCRIPT.replace("end=True", 'end=True, save_strategy="steps"'),
            at="calls.0.save_strategy",
            fixed=SCRIPT.replace("end=True", 'end=True, save_strategy="epoch"'),
        ),
    ),
    good=(
        Case(job=JOB),
        Case(script=SCRIPT.replace("end=True", 'end=True, save_strategy="epoch"')),
        Case(script=SCRIPT.replace("end=True", 'end=True, save_strategy="best"')),
        Case(script=STEPPED.replace("200", "250")),
        Case(job=COUNTED + "  save_steps: 400\n"),
        Case(job=EPOCH + "  save_strategy: epoch\n"),
        Case(job=EPOCH + "  save_strategy: best\n"),
        Case(job=JOB + "  eval_strategy: steps\n  eval_steps: 0.1\n  save_steps: 0.5\n"),
        Case(job=STOPPING),
        Case(job=STOPPING.replace("eval_strategy: epoch", "eval_steps: 20")),
        Case(job=EPOCH.replace("load_best_model_at_end: true", "save_strategy: steps")),
    ),
)
