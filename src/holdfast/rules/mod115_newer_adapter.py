"""Adapter saved with settings that the installed peft does not know.

## What it does
Checks the keys of an adapter's `adapter_config.json` against the arguments of `LoraConfig` in the peft version in
use.

## Why is this bad
Since 0.14 peft ignores unknown keys, with a warning in the log. The adapter then computes something else than during
its training, as if those settings did not exist.

## Fix safety
There is no automatic fix: install the peft version that saved the adapter, or a newer one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.references import finding, found_references, once, some_of
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document

CONFIG, DROPS = "peft.LoraConfig", "0.14.0"
# Values that are saved beside the settings, and are not arguments in every release.
NOTES = {
    "peft_type",
    "peft_version",
    "auto_mapping",
    "revision",
    "base_model_name_or_path",
    "task_type",
    "inference_mode",
}
# Default values of settings.
UNSET: tuple[Any, ...] = (None, False, [], {}, 0)


def check(job: Document, api: Api, models: Sequence[Lookup[ModelFacts]]) -> Iterator[Finding]:
    """Report each adapter whose settings the installed peft would drop."""
    for reference, model in once(found_references(job, models)):
        unknown = _unknown(api, model.adapter) if model.adapter and reference.role == "adapter" else []
        if unknown:
            saved = model.adapter.get("peft_version") if model.adapter else None
            by = f" (it was saved with {saved})" if isinstance(saved, str) else ""
            fault = f"peft {api.versions['peft']} ignores {some_of(unknown)} of `{reference.name}`{by}"
            yield finding(reference, fault)


def _unknown(api: Api, adapter: Mapping[str, Any]) -> list[str]:
    """Return the settings that the adapter has and the installed peft does not."""
    signature = api.signature(CONFIG)
    if signature is None or signature.open or not since(api, "peft", DROPS) or adapter.get("peft_type") != "LORA":
        return []
    given = (name for name, value in adapter.items() if value not in UNSET)
    return sorted(name for name in given if name not in NOTES and name not in signature.parameters)


SCRIPT = """from peft import PeftModel
from transformers import AutoModelForCausalLM

base = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
model = PeftModel.from_pretrained(base, "acme/adapter")
"""


def _saved(**settings: object) -> dict[str, object]:
    reference = Reference(role="adapter", name="acme/adapter", key="calls.1.1")
    adapter = {"peft_type": "LORA", "peft_version": "0.99.0", "r": 8, "target_modules": ["q_proj"], **settings}
    return {"models": [Lookup(reference, ModelFacts(files=frozenset({"adapter_config.json"}), adapter=adapter))]}


RULE = Rule(
    code="MOD115",
    name="newer-adapter",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "peft 0.21, `PeftConfigMixin.from_peft_type`; releases back to 0.11 read. Tried with a key of a later day: it is dropped with a "
        "warning, and the adapter is loaded."
    ),
    bad=(
        Case(script=SCRIPT, facts=_saved(use_later_day=True), at="calls.1.1"),
        Case(script=SCRIPT, facts=_saved(use_qalora=True), versions={"peft": "0.14.0"}, at="calls.1.1"),
    ),
    good=(
        Case(script=SCRIPT, facts=_saved(use_dora=True)),
        Case(script=SCRIPT, facts=_saved(use_qalora=False), versions={"peft": "0.14.0"}),
    ),
    kinds=PROGRAMS,
)
