"""Mixture of experts whose router loss TRL cannot compute.

## What it does
For sft, checks the model type in the model's `config.json`. GraniteMoe, PhiMoE and a few others give the number of
experts only as `num_local_experts`, and TRL reads `num_experts`.

## Why is this bad
`SFTTrainer` adds the router's load-balancing loss to its own, weighted by `router_aux_loss_coef`; if that is not set,
by the value in the model's config. The first step raises AttributeError: `object has no attribute 'num_experts'`.

## Fix safety
The fix is unsafe: a coefficient of 0.0 turns the load-balancing loss off, and the experts may be used less evenly.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import all_since
from holdfast.catalog.models.base_models import base_of
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set

KEY: Final = "train.router_aux_loss_coef"
TRIED: Final = {"trl": "1.16.0", "transformers": "5.23.0"}
WEIGHTED: Final = 0.001
TYPES: Final[Mapping[str, float]] = {
    **dict.fromkeys(("granitemoe", "granitemoe_swa", "granitemoeshared", "phimoe"), WEIGHTED),
    **dict.fromkeys(("deepseek_v3", "glm4_moe", "jetmoe"), 0.0),
}
"""The default coefficient of each model type whose config has no `num_experts`."""


def check(job: Document, api: Api, model: ModelFacts) -> Iterator[Finding]:
    """Report a router loss whose number of experts TRL does not find."""
    base, config = base_of(job, model), model.config or {}
    own = _own_coefficient(config)
    if (
        base is None
        or own is None
        or not all_since(api, TRIED)
        or job.get("method", None) != "sft"
        or _is_off(job, own)
    ):
        return
    kind = config["model_type"]
    fault = f"the first step raises AttributeError: the config of a `{kind}` model has no `num_experts`, which its router loss needs"
    fix = Fix("turn the router loss off", (Set(KEY, 0.0),), safe=False) if job.kind != "command" else None
    if job.get(KEY, None) is None:
        yield base.finding(f"{fault}; set `router_aux_loss_coef` to 0.0", fix)
    else:
        yield Finding(KEY, f"{fault}; set it to 0.0", fix)


def _is_off(job: Document, own: float) -> bool:
    """True if no router loss is computed by TRL: the coefficient is 0, or Liger's kernel computes the loss."""
    given = job.get(KEY, None)
    return (own if given is None else given) == 0 or bool(job.get("train.use_liger_kernel", None))


def _own_coefficient(config: Mapping[str, Any]) -> float | None:
    """Return the coefficient that a model's config has; None where its experts are counted."""
    kind = str(config.get("model_type"))
    if kind not in TYPES or "num_experts" in config:
        return None
    own = config.get("router_aux_loss_coef", TYPES[kind])
    return own if isinstance(own, int | float) else None


JOB = """
method: sft
model: acme/experts
dataset: trl-lib/Capybara
"""
OFF = JOB + "train:\n  router_aux_loss_coef: 0.0\n"
SCRIPT = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", router_aux_loss_coef=0.01)
trainer = SFTTrainer(model="acme/experts", args=args, train_dataset=rows)
"""


CLASSES = {
    "granitemoe": "GraniteMoeForCausalLM",
    "jetmoe": "JetMoeForCausalLM",
    "mixtral": "MixtralForCausalLM",
    "phimoe": "PhimoeForCausalLM",
}


def _is(kind: str, **more: object) -> dict[str, object]:
    config = {"model_type": kind, "architectures": [CLASSES[kind]], **more}
    return {"model": ModelFacts(files=frozenset({"config.json", "model.safetensors", "tokenizer.json"}), config=config)}


RULE = Rule(
    code="MOD134",
    name="uncounted-experts",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16 with transformers 5.23, one step of each type on a tiny model, with the coefficient not given, 0.0 and 0.01: the types "
        "above raise; Mixtral, Qwen3-MoE, OLMoE, FlexOlmo, gpt-oss, MiniMax, MiniMax-M2, ERNIE 4.5 and Laguna train. GraniteMoe raises with LoRA, "
        "with `dft`, with label smoothing and with a loss function too."
    ),
    bad=(
        Case(job=JOB, facts=_is("granitemoe"), at="model", fixed=OFF),
        Case(job=JOB, facts=_is("phimoe", router_aux_loss_coef=0.001), at="model", fixed=OFF),
        Case(script=SCRIPT, facts=_is("jetmoe"), at=KEY, fixed=SCRIPT.replace("0.01", "0.0")),
    ),
    good=(
        Case(job=OFF, facts=_is("granitemoe")),
        Case(job=JOB, facts=_is("granitemoe", router_aux_loss_coef=0.0)),
        Case(job=JOB, facts=_is("granitemoe", num_experts=4)),
        Case(job=JOB, facts=_is("jetmoe")),
        Case(job=JOB, facts=_is("mixtral")),
        Case(script=SCRIPT, facts=_is("mixtral")),
        Case(script=SCRIPT, versions={"trl": "1.14.0", "transformers": "5.10.0"}, facts=_is("granitemoe")),
    ),
    kinds=ANY_KIND,
)
