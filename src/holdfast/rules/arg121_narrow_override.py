"""Overridden trainer method without a parameter that the trainer passes.

## What it does
Checks the methods that the program's own subclass of a trainer overrides: `compute_loss`, `training_step`, `log`,
`get_batch_samples` and `_get_train_sampler`. Transformers added a parameter to each of them in 4.46 to 4.52, and
passes it whether or not the override takes it.

## Why is this bad
The training ends with `TypeError: compute_loss() got an unexpected keyword argument 'num_items_in_batch'`.

## Fix safety
There is no automatic fix. Add the parameter, and pass it on to `super()`. A `compute_loss` that takes
`num_items_in_batch` and does not use it returns a mean; with `gradient_accumulation_steps` the trainer may not divide
that mean again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import OverriddenMethod
from holdfast.core.job.document import Document

THEIRS: Final = "transformers."
STEP: Final = "training_step"
LOOPS: Final = frozenset({"train", "_inner_training_loop", "_run_epoch", "_maybe_log_save_evaluate", "_get_dataloader"})
"""Methods that call the others: where the program or TRL has its own, it may call them otherwise."""


@dataclass(frozen=True, slots=True)
class PassedArgument:
    """An argument that the trainer passes to a method of its own.

    Attributes:
        name: The parameter.
        since: The first release of transformers of which it is known that it always does.
        position: Which one it is, from 0; None where it is passed by keyword.
        callers: Methods that pass it, beside the loops.
    """

    name: str
    since: str
    position: int | None = None
    callers: frozenset[str] = frozenset()


PASSED: Final[Mapping[str, PassedArgument]] = {
    "compute_loss": PassedArgument("num_items_in_batch", "4.48.3", callers=frozenset({STEP})),
    STEP: PassedArgument("num_items_in_batch", "4.46.0", 2),
    "log": PassedArgument("start_time", "4.47.0", 1),
    "get_batch_samples": PassedArgument("device", "4.50.0", 2),
    "_get_train_sampler": PassedArgument("train_dataset", "4.52.1", 0, frozenset({"get_train_dataloader"})),
}
OWN_STEP: Final = frozenset({"OnlineDPOTrainer", "NashMDTrainer", "XPOTrainer"})
"""Trainers whose `training_step` computes the loss itself."""


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each overridden method that does not accept what the trainer passes."""
    for override in job.overrides:
        owner, _, name = override.path.rpartition(".")
        passed = PASSED.get(name)
        if passed is None or not since(api, "transformers", passed.since) or _takes(override, passed):
            continue
        if _is_called(job, api, owner, passed) and not override.beside & (LOOPS | passed.callers):
            what = f"`{override.label}()` takes no `{passed.name}`, which the trainer of transformers {api.versions['transformers']} passes"
            then = "add the parameter and pass it on to `super()`"
            yield Finding(override.key, f"{what}: {then}", place=override.place)


def _takes(override: OverriddenMethod, passed: PassedArgument) -> bool:
    """True if a method can be called with the argument, or may never be reached as it stands."""
    if override.guard.because:
        return True
    if passed.position is None:
        return override.open or passed.name in override.parameters
    return override.variadic or len(override.positional) > passed.position


def _is_called(job: Document, api: Api, owner: str, passed: PassedArgument) -> bool:
    """True if the program trains with a trainer that calls the method as that of transformers does."""
    callers = {"train"} | passed.callers - {STEP}  # TRL's own steps go on to that of transformers
    homes = [api.home(f"{owner}.{caller}") or "" for caller in callers]
    ours = owner.rpartition(".")[2] in OWN_STEP or not all(home.startswith(THEIRS) for home in homes)
    return not ours and any(
        call.path == f"{owner}.train" and not call.guard.tolerates("TypeError") for call in job.calls
    )


SCRIPT = """
from trl import SFTConfig, SFTTrainer


class WeightedTrainer(SFTTrainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        return super().compute_loss(model, inputs, return_outputs)


trainer = WeightedTrainer("Qwen/Qwen2.5-0.5B", args=SFTConfig(output_dir="out"), train_dataset=rows)
trainer.train()
"""
TAKES = SCRIPT.replace("False)", "False, num_items_in_batch=None)").replace(
    "return_outputs)\n", "return_outputs, num_items_in_batch)\n"
)
OPEN = SCRIPT.replace("False)", "False, **kwargs)").replace("return_outputs)\n", "return_outputs, **kwargs)\n")
OWN = SCRIPT.replace(
    "\n\n\ntrainer",
    "\n\n    def training_step(self, model, inputs, num_items_in_batch=None):\n        return self.compute_loss(model, inputs)\n\n\ntrainer",
)
LOG = """
from transformers import Trainer, TrainingArguments


class Quiet(Trainer):
    def log(self, logs):
        super().log({name: value for name, value in logs.items() if name != "epoch"})


trainer = Quiet(model=model, args=TrainingArguments(output_dir="out"), train_dataset=rows)
trainer.train()
"""
OWN_STEPS = LOG.replace("log(self, logs)", "training_step(self, model, inputs)").replace(
    'super().log({name: value for name, value in logs.items() if name != "epoch"})',
    "return super().training_step(model, inputs)",
)

RULE = Rule(
    code="ARG121",
    name="narrow-override",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "`Trainer` in the wheels of transformers 4.44.2 to 5.0.0 (eight of them) and 5.23.0; 4.47.0 and 4.48.0 pass `num_items_in_batch` for some models "
        "only. Each of the five methods was overridden without its parameter in a subclass of `SFTTrainer` and run with trl 1.16 and transformers "
        "5.23: TypeError."
    ),
    bad=(
        Case(script=SCRIPT, at="overrides.0"),
        Case(script=LOG, at="overrides.0"),
        Case(script=OWN_STEPS, at="overrides.0"),
        Case(script=LOG, versions={"trl": "0.13.0", "transformers": "4.47.0"}, at="overrides.0"),
    ),
    good=(
        Case(script=TAKES),
        Case(script=OPEN),
        Case(script=OWN),
        Case(script=SCRIPT.replace("compute_loss", "create_optimizer")),
        Case(script=SCRIPT.replace("trainer.train()", "print(trainer.model)")),
        Case(script=SCRIPT, versions={"trl": "0.11.4", "transformers": "4.44.2"}),
        Case(script=LOG, versions={"trl": "0.12.2", "transformers": "4.46.3"}),
    ),
    kinds=PROGRAMS,
)
