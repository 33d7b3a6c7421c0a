"""Whole model where an adapter is expected.

## What it does
Checks for an `adapter_config.json` in each repository that is loaded with peft's `from_pretrained` or with
`load_adapter`.

## Why is this bad
Peft raises ValueError, `Can't find 'adapter_config.json'`, after the base model is loaded. The usual causes are that
the merged model was pushed, or that the adapter is in another folder or revision of the repository.

## Fix safety
There is no automatic fix: load a merged model with `AutoModelForCausalLM` alone.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.references import finding, found_references, is_there, once
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.check.hub import Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document

ADAPTER = "adapter_config.json"


def check(job: Document, models: Sequence[Lookup[ModelFacts]]) -> Iterator[Finding]:
    """Report each repository or folder without an adapter."""
    for reference, model in once(found_references(job, models)):
        if reference.role != "adapter" or reference.files or not model.files or not is_there(model.repo):
            continue
        if ADAPTER not in model.files:
            inside = sorted(name for name in model.files if name.endswith(f"/{ADAPTER}"))
            elsewhere = f"; there is one in `{inside[0].rpartition('/')[0]}`" if inside else ""
            yield finding(reference, f"`{reference.name}` holds no adapter: it has no {ADAPTER}{elsewhere}")


SCRIPT = """from peft import PeftModel
from transformers import AutoModelForCausalLM

base = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
model = PeftModel.from_pretrained(base, "acme/tuned")
"""


def _facts(*names: str, subfolder: bool = False) -> dict[str, object]:
    reference = Reference(role="adapter", name="acme/tuned", key="calls.1.1", files=("last/**",) if subfolder else ())
    return {"models": [Lookup(reference, ModelFacts(files=frozenset(names), repo=Repo(name="acme/tuned")))]}


RULE = Rule(
    code="MOD114",
    name="model-for-adapter",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "peft 0.21. Tried with a tiny model's folder in the place of an adapter's: `PeftModel.from_pretrained` and "
        "`AutoPeftModelForCausalLM.from_pretrained` raise ValueError."
    ),
    bad=(
        Case(script=SCRIPT, facts=_facts("config.json", "model.safetensors"), at="calls.1.1"),
        Case(script=SCRIPT, facts=_facts("README.md", "last/adapter_config.json"), at="calls.1.1"),
    ),
    good=(
        Case(script=SCRIPT, facts=_facts("adapter_config.json", "adapter_model.safetensors")),
        Case(script=SCRIPT, facts=_facts("config.json", "last/adapter_config.json", subfolder=True)),
    ),
    kinds=PROGRAMS,
)
