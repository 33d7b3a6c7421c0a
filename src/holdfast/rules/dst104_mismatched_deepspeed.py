"""DeepSpeed config that contradicts the trainer's config.

## What it does
Checks the numbers in a `deepspeed` dict against the trainer's own arguments: batch size, gradient accumulation,
clipping, learning rate, weight decay, fp16 and bf16. An argument that the trainer's config does not set is compared
by its default.

## Why is this bad
The trainer compares them too, when training begins, and raises ValueError: "Please correct the following DeepSpeed
config values that mismatch TrainingArguments values". By then the model is loaded.

## Fix safety
The fix is unsafe: `"auto"` takes the trainer's value, but the script does not show which of the two is meant.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.catalog.api import Api
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.api import REQUIRED
from holdfast.core.job.calls import Call
from holdfast.core.job.document import ABSENT, Document, Set, Unknown

KEY = "train.deepspeed"
AUTO = "auto"
SAME = {
    "train_micro_batch_size_per_gpu": "per_device_train_batch_size",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
    "gradient_clipping": "max_grad_norm",
    "optimizer.params.lr": "learning_rate",
    "optimizer.params.weight_decay": "weight_decay",
    "scheduler.params.warmup_max_lr": "learning_rate",
    "fp16.enabled": "fp16",
    "bf16.enabled": "bf16",
}
OWN_WAY = frozenset({"fp16", "bf16"})  # TRL turns bf16 on by default, so only written values are compared


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each value of a DeepSpeed config that differs from the trainer's config."""
    config = job.get(KEY, None)
    call = job.call("train")
    if not isinstance(config, Mapping) or call is None or call.guard.tolerates("ValueError"):
        return
    for path, name in SAME.items():
        theirs = _at(config, path)
        if (
            isinstance(theirs, bool | int | float)
            and (ours := _setting(job, api, call, name)) is not None
            and theirs != ours
        ):
            fault = f"DeepSpeed's `{path}` is {theirs}, and `{name}` is {ours}: the trainer refuses to start"
            yield Finding(KEY, fault, Fix('write "auto"', (Set(KEY, _with_auto(config, path)),), safe=False))
            return  # one at a time, since each fixes the whole dict


def _setting(job: Document, api: Api, call: Call, name: str) -> bool | int | float | None:
    """Return the trainer's setting, or its default; None where it is unknown."""
    value = job.get(f"train.{name}")
    if value is ABSENT and not call.open and name not in OWN_WAY:
        signature = api.signature(call.path)
        parameter = signature.parameters.get(name) if signature else None
        value = None if parameter is None or parameter.default is REQUIRED else parameter.default
    return value if isinstance(value, bool | int | float) else None


def _at(config: Mapping[str, Any], path: str) -> Any:
    value: Any = config
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return None if isinstance(value, Unknown) else value


def _with_auto(config: Mapping[str, Any], path: str) -> dict[str, Any]:
    first, _, rest = path.partition(".")
    return {**config, first: _with_auto(config[first], rest) if rest else AUTO}


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  learning_rate: 1.0e-4
  deepspeed: {train_micro_batch_size_per_gpu: auto, zero_optimization: {stage: 2}}
"""
SCRIPT = """
from trl import SFTConfig, SFTTrainer

args = SFTConfig(
    gradient_accumulation_steps=2,
    deepspeed={"gradient_accumulation_steps": "auto", "zero_optimization": {"stage": 2}},
)
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""

RULE = Rule(
    code="DST104",
    name="mismatched-deepspeed",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 4.36 to 5.23, `HfTrainerDeepSpeedConfig`. Four configs were given to that of 5.23, with a "
        "stand-in for the package deepspeed: ValueError for a batch size that differs from the default, for an "
        "accumulation that differs, for bf16."
    ),
    kinds=ANY_KIND,
    bad=(
        Case(script=SCRIPT.replace('"auto"', "4"), at=KEY, fixed=SCRIPT),
        Case(
            script=SCRIPT.replace('"gradient_accumulation_steps": "auto"', '"optimizer": {"params": {"lr": 1e-3}}'),
            at=KEY,
            fixed=SCRIPT.replace('"gradient_accumulation_steps": "auto"', '"optimizer": {"params": {"lr": "auto"}}'),
        ),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace('"auto"', "2")),
        Case(
            script=SCRIPT.replace(
                '{"gradient_accumulation_steps": "auto", "zero_optimization": {"stage": 2}}', '"ds.json"'
            )
        ),
        Case(job=JOB),
    ),
)
