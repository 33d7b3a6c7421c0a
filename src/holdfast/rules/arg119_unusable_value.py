"""Value that an argument accepts, but training does not.

## What it does
Checks for numbers out of range: a negative seed, learning rate or weight decay, betas of Adam of 1 or more, a batch
size, gradient accumulation or `max_length` below 1, a dropout above 1, a negative `top_p`, and any NaN. For peft,
also checks for a `task_type` that does not match the method, and for numbers passed to `LoraConfig` by position.

## Why is this bad
The configs accept these values. Most of them raise later: the seed when the trainer is built, the batch size when the
first batch is drawn, the learning rate when the optimizer is created, the dropout when the adapter is added to the
model, which is downloaded by then. Two raise nothing: a negative `max_length` removes the last tokens of each row,
and a NaN `weight_decay` makes all weights NaN. The first argument of `LoraConfig` is `task_type`, not `r`. An adapter
for another task trains, and then `AutoPeftModelForCausalLM` refuses it; with `CAUSAL_LM`, `RewardTrainer` cannot be
built.

## Fix safety
The fix is unsafe: it changes `task_type` to that of the method. The other values have no fix, because only you know
which value you meant.
"""

from collections.abc import Iterator, Mapping
from math import inf, isnan
from typing import Any, Final, NamedTuple

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.calls.own_optimizer import has_own_optimizer
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Set
from holdfast.core.text.numbers import is_number


class Range(NamedTuple):
    """The numbers that an argument works with: from `low` to `high`, without the ends that are open."""

    low: float
    high: float = inf
    open_low: bool = False
    open_high: bool = False

    def fault(self, value: float) -> str:
        """Why a number is not in the range; empty where it is."""
        if isnan(value):
            return "which is not a number"
        if value < self.low or (self.open_low and value == self.low):
            return f"not above {self.low:g}" if self.open_low else f"less than {self.low:g}"
        return self._fault_above(value)

    def _fault_above(self, value: float) -> str:
        if value > self.high or (self.open_high and value == self.high):
            return f"not below {self.high:g}" if self.open_high else f"more than {self.high:g}"
        return ""


LARGEST_SEED = 2**32 - 1
"""The largest seed that numpy accepts."""
ANY, COUNT, NOT_NEGATIVE, SHARE = Range(-inf), Range(1), Range(0), Range(0, 1)
FINITE = Range(0, inf, open_high=True)
BETA = Range(0, 1, open_high=True)
RANGES: Mapping[str, Range] = {
    "seed": Range(0, LARGEST_SEED),
    "per_device_train_batch_size": COUNT,
    "per_device_eval_batch_size": COUNT,
    "gradient_accumulation_steps": COUNT,
    "dataloader_num_workers": NOT_NEGATIVE,
    "dataset_num_proc": NOT_NEGATIVE,
    "max_length": COUNT,
    "pad_to_multiple_of": COUNT,
    "neftune_noise_alpha": FINITE,
    "learning_rate": NOT_NEGATIVE,
    "weight_decay": FINITE,
    "adam_beta1": BETA,
    "adam_beta2": BETA,
    "adam_epsilon": NOT_NEGATIVE,
    "max_completion_length": COUNT,
    "num_iterations": COUNT,
    "steps_per_generation": COUNT,
    "generation_batch_size": COUNT,
    "temperature": NOT_NEGATIVE,
    "top_p": NOT_NEGATIVE,
    "min_p": SHARE,
    "repetition_penalty": Range(0, open_low=True),
}
MEANT: Mapping[str, str] = {
    "max_length": "use None for no limit, or null in a job file",
}
"""Advice for arguments whose number is out of range."""
IN_EVALUATION: Final = "per_device_eval_batch_size"
"""An argument that has no effect without evaluation."""
OF_ADAM = ("learning_rate", "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon")
ADAM = "adamw_torch"
"""The optimizer with which these were tried, fused or not; it is the default."""
TASKS = ("CAUSAL_LM", "SEQ_CLS", "SEQ_2_SEQ_LM", "TOKEN_CLS", "QUESTION_ANS", "FEATURE_EXTRACTION")
GENERATING: Final = ("CAUSAL_LM", "SEQ_2_SEQ_LM")
CAUSAL: Final = ("sft", "dpo", "kto", "grpo", "rloo")
"""Methods that train a causal language model."""
DROPOUT, TASK = "lora_dropout", "task_type"


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each value that training cannot use."""
    train, adapter = job.call("train"), job.call("peft")
    if train and not train.own and not train.guard.tolerates("ValueError"):
        yield from _training_findings(job, train)
    if adapter and adapter.path == "peft.LoraConfig" and not adapter.own and not adapter.guard.tolerates("ValueError"):
        yield from _adapter_findings(job, adapter, api)


def _training_findings(job: Document, train: Call) -> Iterator[Finding]:
    nans = (name for name, value in train.arguments.items() if _is_nan(value))
    for name in dict.fromkeys((*RANGES, *nans)):
        value = job.get(f"train.{name}", None)
        if is_number(value) and (name not in OF_ADAM or _is_nan(value) or _optimizes_by_adam(job)):
            yield from _judged(f"train.{name}", name, value, RANGES.get(name, ANY))


def _judged(key: str, name: str, value: float, numbers: Range) -> Iterator[Finding]:
    if fault := numbers.fault(value):
        hint = f": {MEANT[name]}" if name in MEANT and not isnan(value) else ""
        severity = Severity.WARNING if name == IN_EVALUATION else None
        yield Finding(key, f"`{name}` is {value}, {fault}{hint}", severity=severity)


def _adapter_findings(job: Document, adapter: Call, api: Api) -> Iterator[Finding]:
    dropout = job.get(f"peft.{DROPOUT}", None)
    if is_number(dropout):
        yield from _judged(f"peft.{DROPOUT}", DROPOUT, dropout, SHARE)
    if not since(api, "peft", "0.21.0"):
        return  # older releases accept any name as a task
    first, task = next(iter(adapter.positional), None), job.get(f"peft.{TASK}", None)
    if is_number(first):
        fault = f"the first argument of `LoraConfig` is `{TASK}`, but {first} is not one: pass arguments by name, `r={first}`"
        yield Finding(adapter.key, fault, place=adapter.name_place)
    elif isinstance(task, str) and task in TASKS:  # ARG110 reports any other word
        yield from _task_findings(job, task)


def _task_findings(job: Document, task: str) -> Iterator[Finding]:
    """Report a task that is not the model's: peft wraps the model for it, and writes it into the adapter's files."""
    method, key = job.get("method", None), f"peft.{TASK}"
    if method == "reward" and task in GENERATING:
        fault = f"{task!r} is for models that generate text; `RewardTrainer` trains a model that scores text"
        yield Finding(key, fault, Fix("write `SEQ_CLS`", (Set(key, "SEQ_CLS"),), safe=False))
    elif method in CAUSAL and task != "CAUSAL_LM":
        fault = f"{task!r} is not the task of a model that generates text: its adapter cannot be loaded for that, nor merged"
        severity = None if job.kind == "job" else Severity.WARNING  # holdfast exports a job's adapter with it
        yield Finding(key, fault, Fix("write `CAUSAL_LM`", (Set(key, "CAUSAL_LM"),), safe=False), severity)


def _optimizes_by_adam(job: Document) -> bool:
    return not has_own_optimizer(job) and str(job.get("train.optim", ADAM)).startswith(ADAM)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and isnan(value)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train: {per_device_train_batch_size: 8, learning_rate: 1.0e-4, seed: 1}
peft: {r: 8, lora_dropout: 0.05, task_type: CAUSAL_LM}
"""
SCRIPT = """from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", gradient_accumulation_steps=4, adam_beta2=0.95)
adapter = LoraConfig(r=8, lora_alpha=16, task_type="CAUSAL_LM")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows, peft_config=adapter)
"""
GROUPS = """from trl import GRPOConfig, GRPOTrainer

args = GRPOConfig(output_dir="out", top_p=0.9, temperature=0.7)
trainer = GRPOTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows, reward_funcs=[score])
"""

RULE = Rule(
    code="ARG119",
    name="unusable-value",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16, transformers 5.23, peft 0.21 and a tiny model, one argument at a time: each bad example but those below raises ValueError or "
        "ZeroDivisionError before the first step, `torch.optim.AdamW` those of the optimizer. With a `max_length` of -5 each row of SFT loses its last five "
        "tokens, DPO and reward raise ValueError, and KTO makes no step; with a `weight_decay` of NaN or infinity each weight is NaN after a step. Each `task_type` was trained with SFT, DPO, GRPO and reward for a step, saved and loaded by "
        "`AutoPeftModelForCausalLM`: ValueError but for CAUSAL_LM and none; `SEQ_CLS` with KTO and RLOO likewise."
    ),
    bad=(
        Case(job=JOB.replace("seed: 1", "seed: -1"), at="train.seed"),
        Case(job=JOB.replace("size: 8", "size: 0"), at="train.per_device_train_batch_size"),
        Case(job=JOB.replace("1.0e-4", "-1.0e-4"), at="train.learning_rate"),
        Case(job=JOB.replace("seed: 1", "max_length: -5"), at="train.max_length"),
        Case(job=JOB.replace("seed: 1", "weight_decay: .nan"), at="train.weight_decay"),
        Case(job=JOB.replace("seed: 1", "max_grad_norm: .nan"), at="train.max_grad_norm"),
        Case(job=JOB.replace("0.05", "5"), at="peft.lora_dropout"),
        Case(job=JOB.replace("CAUSAL_LM", "SEQ_CLS"), at="peft.task_type", fixed=JOB),
        Case(
            job=JOB.replace("sft", "reward"),
            at="peft.task_type",
            fixed=JOB.replace("sft", "reward").replace("CAUSAL_LM", "SEQ_CLS"),
        ),
        Case(script=SCRIPT.replace("CAUSAL_LM", "SEQ_CLS"), at="peft.task_type", fixed=SCRIPT),
        Case(script=SCRIPT.replace("steps=4", "steps=0"), at="train.gradient_accumulation_steps"),
        Case(script=SCRIPT.replace("0.95", "1.0"), at="train.adam_beta2"),
        Case(script=SCRIPT.replace("adam_beta2=0.95", "max_length=0"), at="train.max_length"),
        Case(script=GROUPS.replace("top_p=0.9", "top_p=-0.9"), at="train.top_p"),
        Case(script=SCRIPT.replace("r=8, lora_alpha=16", "8, 16"), at="peft"),
    ),
    good=(
        Case(job=JOB),
        Case(job=JOB.replace("sft", "reward").replace("CAUSAL_LM", "SEQ_CLS")),
        Case(job=JOB.replace(", task_type: CAUSAL_LM", "")),
        Case(script=SCRIPT),
        Case(script=GROUPS),
        Case(script=SCRIPT.replace("adam_beta2=0.95", "max_length=None, max_steps=-1, dataloader_num_workers=0")),
        Case(script=SCRIPT.replace("0.95", '1.0, optim="adafactor"')),
        Case(script=SCRIPT.replace("LoraConfig(r=8, lora_alpha=16", "LoraConfig(None, None")),
    ),
    kinds=ANY_KIND,
)
