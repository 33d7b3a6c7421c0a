"""Adapter without `target_modules`, for a model type without a default in peft.

## What it does
Checks a LoRA adapter without `target_modules` for whether peft has a default for models of this type.

## Why is this bad
Peft knows some thirty types: Llama, Qwen 2 and 3, Mistral, Gemma and older ones; not Phi 3, Qwen3-MoE, SmolLM3, OLMo
2 or gpt-oss. For all others it raises ValueError, `Please specify target_modules`, after the model is loaded.

## Fix safety
The fix is unsafe: `all-linear` is what most users choose for such a model, but the choice of modules is yours.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.models.adapter_settings import adapter_settings
from holdfast.catalog.models.base_models import Base, base_of, lora_key
from holdfast.catalog.models.model_types import is_of_table, load_model_types
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set

TARGETS, PARAMETERS = "target_modules", "target_parameters"


def check(job: Document, api: Api, model: ModelFacts) -> Iterator[Finding]:
    """Report an adapter for which peft has no default targets."""
    base, config = base_of(job, model), model.config or {}
    kind = load_model_types().get(str(config.get("model_type")))
    if base is None or kind is None or kind.targets or "text_config" in config or not is_of_table(api, "peft"):
        return
    settings = adapter_settings(job)
    if settings is not None and settings.get(TARGETS) is None and settings.get(PARAMETERS) is None:
        fault = f"peft {api.versions['peft']} has no default `target_modules` for models of type `{kind.name}`"
        yield _finding(job, base, fault)


def _finding(job: Document, base: Base, fault: str) -> Finding:
    key, made = lora_key(job, TARGETS), job.call("peft")
    fix = Fix("adapt all linear layers", (Set(key, "all-linear"),), safe=False) if job.kind != "command" else None
    if made is None:
        return base.finding(fault, fix)
    return Finding(key.rpartition(".")[0], fault, fix, place=made.name_place)


JOB = """
method: sft
model: microsoft/Phi-4-mini-instruct
dataset: trl-lib/Capybara
peft:
  r: 16
"""
AIMED = JOB + "  target_modules: all-linear\n"
SCRIPT = """from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

adapter = LoraConfig(r=16, target_modules="all-linear")
trainer = SFTTrainer(model="acme/small", args=SFTConfig(output_dir="out"), train_dataset=rows, peft_config=adapter)
"""
COMMAND = "trl sft --model_name_or_path acme/small --dataset_name trl-lib/Capybara --use_peft\n"


def _typed(kind: str, name: str) -> dict[str, object]:
    files = frozenset({"config.json", "model.safetensors", "tokenizer.json"})
    return {"model": ModelFacts(files=files, config={"architectures": [name], "model_type": kind})}


RULE = Rule(
    code="MOD124",
    name="untargeted-adapter",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "peft 0.21, `TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING`. Tried with trl 1.16 and a tiny OLMo 2: all six trainers raise "
        "ValueError; with a tiny Qwen2 they are made."
    ),
    bad=(
        Case(job=JOB, facts=_typed("phi3", "Phi3ForCausalLM"), at="peft", fixed=AIMED),
        Case(
            script=SCRIPT.replace(', target_modules="all-linear"', ""),
            facts=_typed("olmo2", "Olmo2ForCausalLM"),
            at="peft",
            fixed=SCRIPT,
        ),
        Case(command=COMMAND, facts=_typed("smollm3", "SmolLM3ForCausalLM"), at="train.model_name_or_path"),
    ),
    good=(
        Case(job=AIMED, facts=_typed("phi3", "Phi3ForCausalLM")),
        Case(job=JOB, facts=_typed("qwen3", "Qwen3ForCausalLM")),
        Case(script=SCRIPT, facts=_typed("olmo2", "Olmo2ForCausalLM")),
        Case(command=COMMAND.replace(" --use_peft", ""), facts=_typed("smollm3", "SmolLM3ForCausalLM")),
        Case(job=JOB, facts=_typed("mpt", "MptForCausalLM")),
    ),
    kinds=ANY_KIND,
)
