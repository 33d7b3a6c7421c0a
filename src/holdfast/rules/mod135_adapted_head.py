"""Adapter on the language-model head.

## What it does
Checks for `lm_head` among the `target_modules` of a LoRA adapter that a TRL trainer adds to its model.

## Why is this bad
Since trl 1.15 the trainers compute log-probabilities directly from `lm_head.weight`, which bypasses any adapter on
it, so that the adapter would never be trained. SFT, DPO, KTO, GRPO and RLOO raise ValueError after the model is
loaded: `Applying a PEFT adapter to lm_head is not supported`.

## Fix safety
The fix is unsafe because it trains less than you asked for: it removes the name, and the other modules are adapted as
before. `modules_to_save=["lm_head"]` trains the whole head.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.models.adapter_settings import adapter_targets
from holdfast.catalog.models.base_models import lora_key
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set

HEAD = "lm_head"
METHODS = ("sft", "dpo", "kto", "grpo", "rloo")


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report the language-model head among the targets of an adapter."""
    if job.get("method", None) not in METHODS or not since(api, "trl", "1.15.0") or _uses_another_trainer(job):
        return
    targets = adapter_targets(job)
    if isinstance(targets, list | tuple) and HEAD in targets:
        fault = f"the trainer reads `{HEAD}.weight` past an adapter on it, and raises ValueError"
        yield Finding(lora_key(job, "target_modules"), fault, _without_head(job, targets))


def _without_head(job: Document, targets: Sequence[Any]) -> Fix | None:
    others = [name for name in targets if name != HEAD]
    if not others or job.kind == "command":
        return None
    return Fix("adapt the other modules", (Set(lora_key(job, "target_modules"), others),), safe=False)


def _uses_another_trainer(job: Document) -> bool:
    trainer = job.call("trainer")
    return trainer is not None and (
        trainer.package != "trl" or bool(trainer.own) or trainer.guard.tolerates("ValueError")
    )


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
peft:
  target_modules: [q_proj, v_proj]
"""
SCRIPT = """from peft import LoraConfig
from trl import DPOConfig, DPOTrainer

adapter = LoraConfig(target_modules=["q_proj", "v_proj"])
trainer = DPOTrainer(model="acme/small", args=DPOConfig(output_dir="out"), train_dataset=rows, peft_config=adapter)
"""
COMMAND = "trl sft --model_name_or_path acme/small --dataset_name trl-lib/Capybara --use_peft --lora_target_modules q_proj lm_head\n"


def _with_head(source: str) -> str:
    return source.replace("q_proj, v_proj", "q_proj, v_proj, lm_head").replace('"v_proj"', '"v_proj", "lm_head"')


RULE = Rule(
    code="MOD135",
    name="adapted-head",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.15 and 1.16, the `__init__` of the five trainers. Tried with trl 1.16, peft 0.21 and a tiny model with tied weights and one without: ValueError; with "
        "`modules_to_save=['lm_head']` and with `all-linear` it trains. A model whose head has another name ignores it, and MOD123 reports that."
    ),
    bad=(
        Case(job=_with_head(JOB), at="peft.target_modules", fixed=JOB),
        Case(script=_with_head(SCRIPT), at="peft.target_modules", fixed=SCRIPT),
        Case(command=COMMAND, at="train.lora_target_modules"),
    ),
    good=(
        Case(job=JOB),
        Case(job=_with_head(JOB).replace("sft", "reward")),
        Case(job=JOB + "  modules_to_save: [lm_head]\n"),
        Case(script=_with_head(SCRIPT), versions={"trl": "1.14.0"}),
        Case(script=_with_head(SCRIPT).replace(", peft_config=adapter", "")),
        Case(command=COMMAND.replace(" lm_head", "")),
    ),
    kinds=ANY_KIND,
)
