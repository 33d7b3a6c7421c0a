"""Model type that the transformers version does not know.

## What it does
Checks the `model_type` in the model's `config.json` against the release of transformers that first has it.

## Why is this bad
New models need new releases: an older one raises ValueError, `does not recognize this architecture`, after the
environment is built. No setting helps, unless the model brings its own code.

## Fix safety
There is no automatic fix: a newer transformers may take other arguments than the script passes. `holdfast check`
reports them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.catalog.api import Api
from holdfast.catalog.models.base_models import Base, base_of, is_plain
from holdfast.catalog.models.model_types import known_since, knows
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document, api: Api, model: ModelFacts) -> Iterator[Finding]:
    """Report a model type that a later release added, or that does not exist."""
    base = base_of(job, model)
    if base is None or model.config is None or not is_plain(job, base) or not _chooses_class(base):
        return
    kind = model.config.get("model_type")
    if not isinstance(kind, str):
        if "adapter_config.json" not in (model.files or ()):
            yield base.finding("its config.json has no `model_type`, by which transformers chooses the model's class")
    elif knows(api, kind) is False and "AutoConfig" not in _own_code(model.config):
        yield base.finding(
            f"transformers {api.versions['transformers']} does not know models of type `{kind}`{_since(api, kind)}"
        )


def _chooses_class(base: Base) -> bool:
    return base.by_name or base.class_name.startswith("AutoModel")


def _own_code(config: Mapping[str, Any]) -> Mapping[str, Any]:
    given = config.get("auto_map")
    return given if isinstance(given, Mapping) else {}


def _since(api: Api, kind: str) -> str:
    span = known_since(api, kind)
    return f": it comes with transformers {span.first}" if span else ", and no release of it that holdfast knows does"


JOB = """
method: sft
model: acme/new-1b
dataset: trl-lib/Capybara
"""
SCRIPT = """from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-0.6B")
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out"), train_dataset=rows)
"""


def _typed(kind: str | None, **more: object) -> dict[str, object]:
    config = {"architectures": ["Qwen3ForCausalLM"], **({"model_type": kind} if kind else {}), **more}
    return {"model": ModelFacts(files=frozenset({"config.json", "model.safetensors", "tokenizer.json"}), config=config)}


OLD = {"transformers": "4.46.3", "trl": "0.12.2"}
CODE = {"AutoConfig": "configuration_new.NewConfig"}

RULE = Rule(
    code="MOD110",
    name="unknown-architecture",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, `CONFIG_MAPPING_NAMES`; older releases by the config classes that they export. Tried with trl 1.16 and a "
        "tiny model of a type that is not there, and of none: each trainer raises ValueError."
    ),
    bad=(
        Case(job=JOB, facts=_typed("brand_new"), at="model"),
        Case(job=JOB, facts=_typed(None, hidden_size=64), at="model"),
        Case(script=SCRIPT, facts=_typed("qwen3"), versions=OLD, at="model.0"),
    ),
    good=(
        Case(job=JOB, facts=_typed("qwen3")),
        Case(script=SCRIPT, facts=_typed("qwen3")),
        Case(script=SCRIPT, facts=_typed("qwen2"), versions=OLD),
        Case(
            job=JOB.replace("acme/new-1b", "{path: acme/new-1b, trust_remote_code: true}"),
            facts=_typed("brand_new", auto_map=CODE),
        ),
    ),
    kinds=ANY_KIND,
)
