"""Checkpoint whose class cannot be trained to generate text.

## What it does
For sft, dpo, kto, grpo and rloo, if the trainer loads the model by its name, checks `architectures` in its
`config.json` for the body alone (`Qwen2Model`, `BertModel`), a classifier, a masked encoder (`BertForMaskedLM`), and
T5 or a similar model.

## Why is this bad
TRL loads the class that the config names. A class that generates no text raises AttributeError,
`no attribute 'generation_config'`, while the trainer is built; T5 and similar models need labels for a decoder, and
raise ValueError at the first step.

## Fix safety
There is no automatic fix: choose a causal language model. You can load a body with `AutoModelForCausalLM` yourself,
if its checkpoint also has the head.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.models.base_models import GENERATING, base_of, is_plain
from holdfast.catalog.models.model_types import load_model_types
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

FIRST = "1.0.0"
# Ends of the names of classes that generate no text; all classes of transformers 5.23 were tried.
SILENT = (
    *("ForMaskedLM", "ForSequenceClassification", "ForTokenClassification", "ForMultipleChoice", "ForPreTraining"),
    *("ForNextSentencePrediction", "ForImageClassification", "ForMaskedImageModeling"),
)
TWO_PARTS = {"t5", "mt5", "umt5", "longt5", "switch_transformers", "pegasus"}


def check(job: Document, api: Api, model: ModelFacts) -> Iterator[Finding]:
    """Report a class that generates no text, or that generates text only for its own tasks."""
    base, config = base_of(job, model), model.config or {}
    if base is None or not base.by_name or job.get("method", None) not in GENERATING or not is_plain(job, base):
        return
    fault = _fault(config, str(job.get("method")))
    if fault and since(api, "trl", FIRST) and api.has_name("transformers", _architecture(config)):
        yield base.finding(fault)


def _fault(config: Mapping[str, Any], method: str) -> str:
    """Return why a method cannot train the class that a config names; empty if it can, or if it names none."""
    name = _architecture(config)
    if not name:
        return ""
    if name.endswith(SILENT) or name == _body(config):
        return f"it is a `{name}`, which has no language-model head: {method} needs a causal language model"
    if name.endswith("ForConditionalGeneration") and str(config.get("model_type")) in TWO_PARTS:
        return f"it is a `{name}`, whose decoder gets no labels from {method}: it needs a causal language model"
    return ""


def _architecture(config: Mapping[str, Any]) -> str:
    given = config.get("architectures")
    return given[0] if isinstance(given, list) and given and isinstance(given[0], str) else ""


def _body(config: Mapping[str, Any]) -> str:
    """Return the class of a model without any head; empty if the type has no class that generates text."""
    kind = load_model_types().get(str(config.get("model_type")))
    return f"{kind.config.removesuffix('Config')}Model" if kind and (kind.causal or kind.sequence) else ""


JOB = """
method: dpo
model: acme/small
dataset: trl-lib/ultrafeedback_binarized
"""
SCRIPT = """from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer(model="acme/small", args=SFTConfig(output_dir="out"), train_dataset=rows)
"""


def _is(name: str, kind: str) -> dict[str, object]:
    config = {"architectures": [name], "model_type": kind}
    return {"model": ModelFacts(files=frozenset({"config.json", "model.safetensors", "tokenizer.json"}), config=config)}


RULE = Rule(
    code="MOD128",
    name="untrainable-architecture",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16, `create_model_from_path`, which is the same in 1.0. Tried with transformers 5.23 and tiny models: Qwen2Model, "
        "Qwen2ForSequenceClassification, BertForMaskedLM, ModernBertForMaskedLM, T5, mT5, UMT5, LongT5, Switch and Pegasus raise; BART and "
        "mBART train, and nothing is said of them."
    ),
    bad=(
        Case(job=JOB, facts=_is("Qwen2Model", "qwen2"), at="model"),
        Case(job=JOB, facts=_is("BertForMaskedLM", "bert"), at="model"),
        Case(script=SCRIPT, facts=_is("T5ForConditionalGeneration", "t5"), at="trainer.model"),
        Case(script=SCRIPT, facts=_is("Qwen2ForSequenceClassification", "qwen2"), at="trainer.model"),
    ),
    good=(
        Case(job=JOB, facts=_is("Qwen2ForCausalLM", "qwen2")),
        Case(job=JOB, facts=_is("GPT2LMHeadModel", "gpt2")),
        Case(job=JOB, facts=_is("Gemma3ForConditionalGeneration", "gemma3")),
        Case(job=JOB.replace("dpo", "reward"), facts=_is("Qwen2ForSequenceClassification", "qwen2")),
        Case(script=SCRIPT, facts=_is("BartForConditionalGeneration", "bart")),
    ),
    kinds=ANY_KIND,
)
