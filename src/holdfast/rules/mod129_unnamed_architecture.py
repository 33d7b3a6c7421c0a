"""Checkpoint that names no class, or a class that does not exist.

## What it does
For sft, dpo, kto, grpo and rloo, if the trainer loads the model by its name, checks whether `architectures` in its
`config.json` names a class of transformers.

## Why is this bad
TRL loads only the class that the config names. Without a name it raises TypeError,
`'NoneType' object is not subscriptable`, and for an unknown class AttributeError. `AutoModelForCausalLM` uses
`model_type` instead, and would load the model.

## Fix safety
There is no automatic fix: load the model with `AutoModelForCausalLM.from_pretrained` yourself, or add the class to a
copy of the config.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.models.base_models import GENERATING, base_of, is_plain
from holdfast.catalog.models.model_types import knows
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

FIRST = "1.0.0"
LOAD = "trl loads by its name alone; load it with `AutoModelForCausalLM.from_pretrained`"


def check(job: Document, api: Api, model: ModelFacts) -> Iterator[Finding]:
    """Report a class that TRL does not find."""
    base, config = base_of(job, model), model.config
    if base is None or config is None or not base.by_name or job.get("method", None) not in GENERATING:
        return
    if (
        not _knows_type(api, config)
        or config.get("auto_map")
        or not since(api, "trl", FIRST)
        or not is_plain(job, base)
    ):
        return
    if fault := _fault(api, config.get("architectures")):
        yield base.finding(f"{fault}, and {LOAD}")


def _knows_type(api: Api, config: Mapping[str, Any]) -> bool:
    kind = config.get("model_type")
    return isinstance(kind, str) and bool(knows(api, kind))


def _fault(api: Api, named: object) -> str:
    """Return what is wrong with the classes that a config names; empty if transformers has the first."""
    if not named:
        return "its config.json names no class in `architectures`"
    if isinstance(named, list) and isinstance(named[0], str) and api.has_name("transformers", named[0]) is False:
        return f"transformers {api.versions['transformers']} has no `{named[0]}`, the class that its config.json names"
    return ""


JOB = """
method: sft
model: acme/small
dataset: trl-lib/Capybara
"""
SCRIPT = """from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("acme/small")
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out"), train_dataset=rows)
"""
BY_NAME = SCRIPT.replace("model=model", 'model="acme/small"')


def _is(named: list[str] | None, kind: str = "qwen2", **more: object) -> dict[str, object]:
    config = {"architectures": named, "model_type": kind, **more}
    return {"model": ModelFacts(files=frozenset({"config.json", "model.safetensors", "tokenizer.json"}), config=config)}


RULE = Rule(
    code="MOD129",
    name="unnamed-architecture",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16, `create_model_from_path`, which is the same in 1.0. Tried with transformers 5.23 and a tiny Qwen2: without "
        "`architectures` TypeError, with an empty list IndexError, with a class of another name AttributeError, for sft, dpo, kto, grpo "
        "and rloo; reward trains, and a model that was loaded before."
    ),
    bad=(
        Case(job=JOB, facts=_is(None), at="model"),
        Case(job=JOB, facts=_is([]), at="model"),
        Case(script=BY_NAME, facts=_is(["MyQwenForCausalLM"]), at="trainer.model"),
    ),
    good=(
        Case(job=JOB, facts=_is(["Qwen2ForCausalLM"])),
        Case(job=JOB.replace("sft", "reward"), facts=_is(None)),
        Case(job=JOB, facts=_is(["OwnForCausalLM"], auto_map={"AutoModelForCausalLM": "modeling.OwnForCausalLM"})),
        Case(script=SCRIPT, facts=_is(None)),
    ),
    kinds=ANY_KIND,
)
