"""Model type that the auto class does not support.

## What it does
Checks whether `AutoModelForCausalLM`, or `AutoModelForSequenceClassification`, with which `RewardTrainer` loads a
model by its name, supports the type in the model's `config.json`.

## Why is this bad
Encoders and T5 have no causal language model, and some causal models, such as Granite and OLMoE, have no class with a
head for scores. Loading raises ValueError, `Unrecognized configuration class`.

## Fix safety
There is no automatic fix: use another model.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.models.base_models import Base, base_of, is_plain
from holdfast.catalog.models.model_types import TRANSFORMERS, is_of_table, load_model_types
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

CAUSAL, SCORING = "AutoModelForCausalLM", "AutoModelForSequenceClassification"


def check(job: Document, api: Api, model: ModelFacts) -> Iterator[Finding]:
    """Report a model type that the auto class does not support."""
    base, config = base_of(job, model), model.config or {}
    kind = load_model_types().get(str(config.get("model_type")))
    if base is None or kind is None or config.get("auto_map") or not is_of_table(api, TRANSFORMERS):
        return
    loader = _loader(job, base)
    takes = {CAUSAL: kind.causal, SCORING: kind.sequence}
    if not takes.get(loader, True) and is_plain(job, base):
        version = api.versions[TRANSFORMERS]
        yield base.finding(f"`{loader}` of transformers {version} takes no models of type `{kind.name}`")


def _loader(job: Document, base: Base) -> str:
    if base.by_name:
        return SCORING if job.get("method", None) == "reward" else ""
    return base.class_name


JOB = """
method: reward
model: acme/small
dataset: trl-lib/ultrafeedback_binarized
"""
SCRIPT = """from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("acme/small")
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out"), train_dataset=rows)
"""


NAMES = {"granite": "GraniteForCausalLM", "modernbert": "ModernBertForMaskedLM", "qwen2": "Qwen2ForCausalLM"}


def _is(kind: str, **more: object) -> dict[str, object]:
    files = frozenset({"config.json", "model.safetensors", "tokenizer.json"})
    return {"model": ModelFacts(files=files, config={"architectures": [NAMES[kind]], "model_type": kind, **more})}


RULE = Rule(
    code="MOD130",
    name="unfit-auto-class",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, the tables of `modeling_auto`. Tried with trl 1.16 and tiny models: `AutoModelForCausalLM` raises ValueError "
        "for T5, mT5, UMT5, LongT5, Switch and ModernBERT, and takes BERT, BART and Pegasus; `RewardTrainer` raises for Granite."
    ),
    bad=(
        Case(job=JOB, facts=_is("granite"), at="model"),
        Case(script=SCRIPT, facts=_is("modernbert"), at="model.0"),
    ),
    good=(
        Case(job=JOB, facts=_is("qwen2")),
        Case(job=JOB.replace("reward", "sft"), facts=_is("granite")),
        Case(script=SCRIPT, facts=_is("granite")),
        Case(script=SCRIPT, facts=_is("modernbert", auto_map={"AutoModelForCausalLM": "modeling.Own"})),
        Case(script=SCRIPT, facts=_is("modernbert"), versions={"transformers": "4.57.6"}),
    ),
    kinds=ANY_KIND,
)
