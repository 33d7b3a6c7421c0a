"""Adapter on only one of two fused expert projections.

## What it does
Checks the `target_modules` of a LoRA adapter for one of `gate_proj` and `up_proj` without the other, and for `w1` or
`w3` of Mixtral. Reads the model type from the model's `config.json`.

## Why is this bad
transformers 5 stores both projections of all experts as one tensor, and peft converts the names to adapters on that
tensor. With only one of the two names, it raises ValueError after the model is loaded:
`Cannot convert PEFT target(s) gate_proj without also targeting up_proj because they are fused into gate_up_proj.`

## Fix safety
The fix is unsafe because it trains more: it adds the other projection. The alternative is to remove the name.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import all_since
from holdfast.catalog.models.adapter_settings import adapter_targets
from holdfast.catalog.models.base_models import adapts, base_of, lora_key, trusts_code
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, MissingFactError, Rule, Severity
from holdfast.core.job.document import Document, Set, Unknown

TARGETS: Final = "target_modules"
TRIED: Final = {"peft": "0.19.1", "transformers": "5.23.0"}
USUAL: Final = ("gate_proj", "up_proj")
FUSED: Final[Mapping[str, tuple[str, str]]] = {
    **dict.fromkeys(
        (
            "deepseek_v2",
            "deepseek_v3",
            "ernie4_5_moe",
            "exaone_moe",
            "glm4_moe",
            "hunyuan_v1_moe",
            "olmoe",
            "qwen3_moe",
        ),
        USUAL,
    ),
    **dict.fromkeys(("afmoe", "qwen3_next", "solar_open"), USUAL),
    "mixtral": ("w1", "w3"),
}
"""The names of the two projections that are one tensor, by model type."""


def check(job: Document, api: Api, model: ModelFacts) -> Iterator[Finding]:
    """Report one of two fused projections among the targets without the other."""
    base, kind = base_of(job, model), str((model.config or {}).get("model_type"))
    if base is None or not all_since(api, TRIED) or kind not in FUSED or not adapts(job) or trusts_code(job, base):
        return
    names = _names(job)
    given = [name for name in FUSED[kind] if _is_among(names, name)]
    if len(given) != 1:
        return
    (present,) = given
    (missing,) = set(FUSED[kind]) - {present}
    key = lora_key(job, TARGETS)
    fault = f"peft raises ValueError: experts of the type `{kind}` hold `{present}` and `{missing}` as one tensor; name both, or neither"
    yield Finding(key, fault, Fix(f"name `{missing}`, too", (Set(key, [*names, missing]),), safe=False))


def _names(job: Document) -> list[str]:
    """Return the names in a list of targets; none of a text, which is an expression."""
    targets = adapter_targets(job)
    if isinstance(targets, Unknown):
        raise MissingFactError(lora_key(job, TARGETS), targets.because)
    known = isinstance(targets, list) and all(isinstance(each, str) for each in targets)
    return list(targets) if known else []


def _is_among(targets: list[str], name: str) -> bool:
    return any(target == name or target.endswith(f".{name}") for target in targets)


JOB = """
method: sft
model: acme/experts
dataset: trl-lib/Capybara
peft:
  target_modules: [q_proj, v_proj, up_proj, down_proj]
"""
BOTH = JOB.replace("down_proj]", "down_proj, gate_proj]")
SCRIPT = """from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

adapter = LoraConfig(target_modules=["q_proj", "w1", "w3"])
trainer = SFTTrainer(model="acme/experts", args=SFTConfig(output_dir="out"), train_dataset=rows, peft_config=adapter)
"""
COMMAND = "trl sft --model_name_or_path acme/experts --dataset_name trl-lib/Capybara --use_peft --lora_target_modules q_proj gate_proj\n"
CLASSES = {
    "gpt_oss": "GptOssForCausalLM",
    "llama": "LlamaForCausalLM",
    "mixtral": "MixtralForCausalLM",
    "olmoe": "OlmoeForCausalLM",
    "qwen3_moe": "Qwen3MoeForCausalLM",
}


def _is(kind: str) -> dict[str, object]:
    config = {"model_type": kind, "architectures": [CLASSES[kind]]}
    return {"model": ModelFacts(files=frozenset({"config.json", "model.safetensors", "tokenizer.json"}), config=config)}


RULE = Rule(
    code="MOD140",
    name="half-fused-target",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "peft 0.21 with transformers 5.23, `get_peft_model` on a tiny model: `gate_proj` alone raises for each type above but Mixtral, which raises "
        "for `w1` and `w3`. With Qwen3-MoE and Mixtral, each name raises also with `down_proj` or `w2`, and as the end of a longer name; both names, "
        "and `down_proj` or `w2` alone, do not. peft 0.19.1 and 0.20 raise for Qwen3-MoE, OLMoE and Mixtral. Qwen2-MoE, GraniteMoe, PhiMoE and gpt-oss "
        "do not raise. peft 0.18 does not have this conversion. trl 1.16: one step of Mixtral with `w1`, `w2` and `w3` trains, and without `w3` it is refused."
    ),
    bad=(
        Case(job=JOB, facts=_is("qwen3_moe"), at="peft.target_modules", fixed=BOTH),
        Case(
            script=SCRIPT.replace(', "w3"', ""),
            facts=_is("mixtral"),
            at="peft.target_modules",
            fixed=SCRIPT,
        ),
        Case(
            command=COMMAND,
            facts=_is("olmoe"),
            at="train.lora_target_modules",
            fixed=COMMAND.replace("gate_proj", "gate_proj up_proj"),
        ),
    ),
    good=(
        Case(job=BOTH, facts=_is("qwen3_moe")),
        Case(job=JOB.replace("up_proj, ", ""), facts=_is("qwen3_moe")),
        Case(job=JOB, facts=_is("mixtral")),
        Case(job=JOB, facts=_is("gpt_oss")),
        Case(job=JOB, facts=_is("llama")),
        Case(script=SCRIPT, facts=_is("mixtral")),
        Case(
            script=SCRIPT.replace(', "w3"', ""),
            versions={"trl": "1.14.0", "peft": "0.18.1", "transformers": "5.10.0"},
            facts=_is("mixtral"),
        ),
    ),
    kinds=ANY_KIND,
)
