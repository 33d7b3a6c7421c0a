"""Value that its argument does not accept.

## What it does
Checks words, such as the name of an optimizer or of a strategy, against the values that the versions in use know.
Reports an error if the library itself checks the value, and a warning if only the command line does and Python code
gets no error.

## Why is this bad
A name that must belong to an enum raises ValueError when the config is built. Others are accepted: an unknown
`train_sampling_strategy` silently selects the default, and an unknown `loss_type` raises after the model and the data
are loaded.

## Fix safety
The fix is safe where it writes the new name of a renamed value. It is unsafe where it writes the nearest value, which
is a guess.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.calls.adapter_words import Words, adapter_words
from holdfast.catalog.calls.arguments import has_edits, signatures, versioned_callee
from holdfast.catalog.calls.familiar_names import VALUES
from holdfast.catalog.calls.losses import LOSSES
from holdfast.catalog.calls.renames import replaced
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.api import Parameter
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Set
from holdfast.core.text.nearest import nearest_of_role

MANY = 10
REFUSED_LATER = {"peft.tuners.lora.config.LoraConfig.bias", *LOSSES}
"""Arguments that the config accepts with any value, and that raise when the adapter is made or in the first step."""
OWN_TRAINER = re.compile(r"^\s*class \w+\(.*Trainer\b", re.MULTILINE)


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each value that its argument does not accept."""
    for call, signature in signatures(job, api):
        for name in call.arguments:
            if name in signature.parameters and name not in call.own:
                yield from _judged(job, api, call, signature.parameters[name])


def _judged(job: Document, api: Api, call: Call, parameter: Parameter) -> Iterator[Finding]:
    words = adapter_words(api, call, parameter.name)
    parameter = replace(parameter, choices=words.names if words else _choices(job, api, call, parameter))
    if not parameter.choices:
        return
    value = call.arguments[parameter.name]
    if _is_none_of(value, parameter, words):
        yield _finding(job, api, call, parameter, value)
    elif value is False and _reads_no_as_false(call, parameter):
        what = "YAML reads `no` as false, which is not one of its values: put it in quotes"
        yield Finding(f"{call.key}.{parameter.name}", f"`{parameter.name}` of {versioned_callee(api, call)}: {what}")


def _choices(job: Document, api: Api, call: Call, parameter: Parameter) -> tuple[Any, ...]:
    """Return the values that an argument accepts; of a loss, those that the trainer computes; empty if any may be accepted."""
    is_loss = _home(parameter) in LOSSES and call.name in parameter.home
    return _losses(job, api, parameter) if is_loss else parameter.choices


def _home(parameter: Parameter) -> str:
    return f"{parameter.home}.{parameter.name}"


def _losses(job: Document, api: Api, parameter: Parameter) -> tuple[str, ...]:
    """Return the losses that a trainer computes; nothing where the program has a trainer of its own."""
    first, names = LOSSES[_home(parameter)]
    return names if since(api, "trl", first) and not OWN_TRAINER.search(job.text) else ()


def _is_none_of(value: Any, parameter: Parameter, words: Words | None = None) -> bool:
    """True if a value, or one in a list of them, is a word and none of the choices."""
    if words:
        return isinstance(value, str) and not words.spelled.fullmatch(value)
    if isinstance(value, list | tuple):
        return "list" in parameter.types and any(_is_none_of(each, parameter) for each in value)
    return isinstance(value, str) and value not in parameter.choices


def _reads_no_as_false(call: Call, parameter: Parameter) -> bool:
    """True if an argument comes from a YAML file, and `no` is one of its values."""
    return parameter.name in call.defaults and parameter.enforced and "no" in parameter.choices


def _finding(job: Document, api: Api, call: Call, parameter: Parameter, value: Any) -> Finding:
    key = f"{call.key}.{parameter.name}"
    words = [str(choice) for choice in parameter.choices if isinstance(choice, str)]
    change = replaced("value", f"{parameter.name}={value}")
    note = f"; {change.note}" if change and change.note else ""
    whose = versioned_callee(api, call, parameter.home.partition(".")[0] or call.package)
    message = f"{value!r} is not a value of `{parameter.name}` of {whose}{note}; valid: {_listed(words, value)}"
    renamed = change.new if change else ""
    fix = _writing_another(key, parameter.name, value, words, renamed) if has_edits(job, call) else None
    return Finding(key, message, fix, _severity(api, call, parameter))


def _severity(api: Api, call: Call, parameter: Parameter) -> Severity | None:
    """Return a warning for a value that no library checks."""
    later = _home(parameter) in REFUSED_LATER or adapter_words(api, call, parameter.name) is not None
    parsed = call.via == "parser" and parameter.name not in call.defaults
    return None if parameter.enforced or later or parsed else Severity.WARNING


def _writing_another(key: str, name: str, value: Any, words: list[str], renamed: str) -> Fix | None:
    """Return the edit that writes the new name of a value, empty if it has none, or else the one that is likely meant."""
    known = renamed if renamed in words else ""
    new = known or _meant(name, value, words)
    return Fix(f"write `{new}`", (Set(key, new),), safe=bool(known)) if new else None


def _meant(name: str, value: Any, words: list[str]) -> str | None:
    """Return the choice that was meant by a word; None where none is plausible."""
    if not isinstance(value, str):
        return None
    usual = VALUES.get(name, {}).get(value)
    if usual in words:
        return usual
    spelled = next((each for each in words if each.casefold() == value.casefold()), None)
    return spelled or nearest_of_role(value, tuple(words))


def _listed(words: list[str], value: Any) -> str:
    """Return the choices, the most alike first where there are many."""
    if len(words) <= MANY:
        return ", ".join(words)
    alike = get_close_matches(str(value), words, n=MANY // 2, cutoff=0)
    return f"{', '.join(alike)} and {len(words) - len(alike)} others"


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  optim: adamw_torch_fused
"""
OPTIMIZER = JOB.replace("fused", "fuse")
SAMPLED = JOB.replace("optim: adamw_torch_fused", "train_sampling_strategy: group_by_lenght")
GRPO = (
    JOB.replace("optim: adamw_torch_fused", "loss_type: dapo").replace("method: sft", "method: grpo")
    + "rewards: [rewards.py:score]\n"
)

SCRIPT = """
from transformers import TrainingArguments

args = TrainingArguments(output_dir="out", optim="adamw_torch", save_strategy="best", load_best_model_at_end=False)
"""
BIASED = """
from peft import LoraConfig

lora = LoraConfig(r=16, bias="both", task_type="CAUSAL_LM")
"""
STARTED = BIASED.replace('bias="both"', 'init_lora_weights="gausian"')
STARTED_RIGHT = STARTED.replace("gausian", "gaussian")
PEFT = JOB.replace("train:\n  optim: adamw_torch_fused\n", "peft: {init_lora_weights: pissa_nitr_4}\n")
VERA = """
from peft import VeraConfig

adapter = VeraConfig(bias="{}", task_type="CAUSAL_LM")
"""
LOSS = """
from trl import DPOConfig

args = DPOConfig(output_dir="out", loss_type="sigmoidd")
"""
OLD_OPTIMIZER = SCRIPT.replace("adamw_torch", "adamw_hf")
UPPER = SCRIPT.replace('"best"', '"Epoch"')

RULE = Rule(
    code="ARG110",
    name="unknown-choice",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The enums and `metadata` choices in the history in `catalog/api`. Tried with trl 1.16 and transformers 5.23: a "
        "choice that is an enum raises ValueError at once; `train_sampling_strategy`, `packing_strategy`, `loss_type` and "
        "`truncation_mode` pass; the losses of `DPOConfig` and `GRPOConfig` were read in the wheels of trl, and others raise ValueError in the first step; an adapter's `bias` raises NotImplementedError when it is put on a model, and `init_lora_weights` ValueError (peft 0.21.2; AdaLoRA takes any); `task_type` raises ValueError at once. The optimizers of transformers 4.49.0 and strategies of 4.46.3 were read in the wheels."
    ),
    bad=(
        Case(script=BIASED, at="calls.0.bias"),
        Case(script=STARTED, at="calls.0.init_lora_weights", fixed=STARTED_RIGHT),
        Case(script=STARTED.replace("gausian", "true"), at="calls.0.init_lora_weights"),
        Case(script=STARTED.replace("gausian", "olora"), versions={"peft": "0.11.1"}, at="calls.0.init_lora_weights"),
        Case(job=PEFT, at="peft.init_lora_weights", fixed=PEFT.replace("nitr", "niter")),
        Case(script=STARTED_RIGHT.replace("CAUSAL_LM", "CAUSAL_LMM"), at="calls.0.task_type", fixed=STARTED_RIGHT),
        Case(script=VERA.format("both"), at="calls.0.bias"),
        Case(script=LOSS, at="calls.0.loss_type", fixed=LOSS.replace("dd", "d")),
        Case(script=LOSS.replace('"sigmoidd"', '["sigmoid", "stf"]'), at="calls.0.loss_type"),
        Case(job=GRPO.replace("dapo", "dappo"), at="train.loss_type", fixed=GRPO),
        Case(job=OPTIMIZER, at="train.optim", fixed=JOB),
        Case(job=SAMPLED, at="train.train_sampling_strategy", fixed=SAMPLED.replace("lenght", "length")),
        Case(script=OLD_OPTIMIZER, at="calls.0.optim", fixed=SCRIPT),
        Case(script=UPPER, at="calls.0.save_strategy", fixed=UPPER.replace("Epoch", "epoch")),
        Case(script=SCRIPT, versions={"transformers": "4.46.3"}, at="calls.0.save_strategy"),
        Case(script=STARTED_RIGHT.replace("CAUSAL_LM", "causal_lm"), at="calls.0.task_type", fixed=STARTED_RIGHT),
    ),
    good=(
        Case(job=JOB),
        Case(job=GRPO),
        Case(script=SCRIPT),
        Case(script=OLD_OPTIMIZER.replace('"best"', '"no"'), versions={"transformers": "4.49.0"}),
        Case(script=SCRIPT.replace('"best"', "STRATEGY")),
        Case(script=LOSS.replace('"sigmoidd"', '["sigmoid", "sft"]')),
        Case(script=LOSS, versions={"trl": "0.24.0"}),
        Case(script=STARTED_RIGHT.replace("gaussian", "Gaussian")),
        Case(script=STARTED_RIGHT.replace("gaussian", "pissa_niter_16")),
        Case(script=STARTED.replace('"gausian"', "True")),
        Case(script=STARTED.replace("LoraConfig", "AdaLoraConfig").replace("r=16", "total_step=100")),
        Case(script=VERA.format("vera_only")),
        Case(script=f"{LOSS}\n\nclass Trainer(trl.DPOTrainer):\n    pass\n"),
    ),
    kinds=ANY_KIND,
)
