"""Quantized weights without the packages to load them.

## What it does
Checks `quantization_config` in the model's `config.json`, and whether the job, or the header of the script, installs
the packages that load such weights.

## Why is this bad
transformers installs none of them. Loading raises ImportError, after the weights are downloaded.

## Fix safety
The fix is safe: installing what the model's own files need changes nothing else.
"""

from collections.abc import Iterator, Mapping

from holdfast.catalog.api import Api
from holdfast.catalog.environment.packages import REQUIREMENTS
from holdfast.catalog.environment.stated import declared_names, known_installed, stated_requirements
from holdfast.catalog.models.base_models import base_of
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set

READERS = {
    "bitsandbytes": ("bitsandbytes",),
    "gptq": ("optimum", "gptqmodel"),
    "awq": ("gptqmodel",),
    "compressed-tensors": ("compressed-tensors",),
    "hqq": ("hqq",),
    "torchao": ("torchao",),
}


def check(job: Document, api: Api, model: ModelFacts) -> Iterator[Finding]:
    """Report quantized weights that the installed packages cannot load."""
    base, method = base_of(job, model), _stored_by(model)
    if base is None or method not in READERS:
        return
    texts = stated_requirements(job)
    if texts is None:
        return
    if lacking := _lacking(job, READERS[method], texts, api):
        fix = Fix(f"install {' and '.join(lacking)}", (Set(REQUIREMENTS, [*texts, *lacking]),))
        fault = f"its weights are stored quantized by {method}, which cannot be loaded without {' and '.join(lacking)}"
        yield base.finding(fault, fix)


def _stored_by(model: ModelFacts) -> str:
    """Return the method by which a model's weights are stored quantized; empty if they are not."""
    stored = (model.config or {}).get("quantization_config")
    method = stored.get("quant_method") if isinstance(stored, Mapping) else None
    return method if isinstance(method, str) else ""


def _lacking(job: Document, names: tuple[str, ...], texts: list[str], api: Api) -> list[str]:
    at_hand = declared_names(job)
    undeclared = [name for name in names if name not in at_hand]
    brought = _brought(job, texts, api) if undeclared else frozenset[str]()
    return [name for name in undeclared if name not in brought]


def _brought(job: Document, texts: list[str], api: Api) -> frozenset[str]:
    """Return the packages that are also installed: for a job file those that holdfast adds, for a script those in its requirements."""
    if job.kind == "job":
        return frozenset({"bitsandbytes"} if job.get("quantization", None) is not None else ())
    return known_installed(texts, api.versions)


JOB = """
method: sft
model: acme/small-bnb-4bit
dataset: trl-lib/Capybara
peft: {target_modules: all-linear}
"""
READ = JOB + "environment:\n  requirements: [bitsandbytes]\n"
SCRIPT = """# /// script
# dependencies = ["trl==1.16.0", "transformers==5.23.0", "peft==0.21.2"]
# ///
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

adapter = LoraConfig(target_modules="all-linear")
trainer = SFTTrainer(model="acme/small", args=SFTConfig(output_dir="out"), train_dataset=rows, peft_config=adapter)
"""


def _stored(method: str) -> dict[str, object]:
    config = {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "quantization_config": {"quant_method": method},
    }
    return {"model": ModelFacts(files=frozenset({"config.json", "model.safetensors", "tokenizer.json"}), config=config)}


RULE = Rule(
    code="MOD120",
    name="unread-quantization",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, `transformers.quantizers`. Tried with trl 1.16 and tiny models whose config says so, in an environment with "
        "none of these packages: each raises ImportError, GPTQ first for optimum, and then, by its source, for gptqmodel."
    ),
    bad=(
        Case(job=JOB, facts=_stored("bitsandbytes"), at="model", fixed=READ),
        Case(
            script=SCRIPT,
            facts=_stored("gptq"),
            at="trainer.model",
            fixed=SCRIPT.replace('0.21.2"]', '0.21.2", "optimum", "gptqmodel"]'),
        ),
    ),
    good=(
        Case(job=READ, facts=_stored("bitsandbytes")),
        Case(job=JOB + "quantization: {load_in_4bit: true}\n", facts=_stored("bitsandbytes")),
        Case(job=JOB, facts=_stored("fp8")),
        Case(script=SCRIPT.replace('0.21.2"', '0.21.2", "gptqmodel"'), facts=_stored("awq")),
        Case(script=SCRIPT.partition("# ///\n")[2], facts=_stored("gptq")),
    ),
    kinds=ANY_KIND,
)
