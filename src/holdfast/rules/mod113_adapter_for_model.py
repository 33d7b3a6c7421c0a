"""Adapter loaded as if it were a model, so it stays frozen.

## What it does
Checks for a repository that holds an adapter and is loaded with `AutoModelForCausalLM.from_pretrained`, if nothing
trainable is added to it.

## Why is this bad
Transformers then loads the adapter's base and the adapter for inference: no weight has a gradient. `SFTTrainer`
finishes without an error, and has learned nothing.

## Fix safety
There is no automatic fix. To continue training the adapter, load its base, and the adapter with
`PeftModel.from_pretrained(base, name, is_trainable=True)`; to train a new one, pass a `peft_config` to the trainer.
"""

from collections.abc import Iterator

from holdfast.catalog.models.base_models import base_of, is_plain, trainer_of_trl
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

ADAPTER = "adapter_config.json"


def check(job: Document, model: ModelFacts) -> Iterator[Finding]:
    """Report an adapter that is loaded as a model."""
    base, trainer = base_of(job, model), trainer_of_trl(job)
    if base is None or base.loader is None or trainer is None or trainer.open or ADAPTER not in (model.files or ()):
        return
    if (
        trainer.arguments.get("peft_config") is not None
        or not is_plain(job, base)
        or _is_changed(job, base.loader.path)
    ):
        return
    whose = (model.adapter or {}).get("base_model_name_or_path")
    base_text = f", of `{whose}`" if isinstance(whose, str) else ""
    yield base.finding(f"`{base.name}` holds an adapter{base_text}: it is loaded frozen, and nothing will be trained")


def _is_changed(job: Document, path: str) -> bool:
    """True if something is done to the model since it was loaded, such as `model.add_adapter(...)`."""
    return any(call.path.startswith(f"{path}().") or call.package == "peft" for call in job.calls)


SCRIPT = """from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("acme/adapter")
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out"), train_dataset=rows)
"""
ON_TOP = SCRIPT.replace("=rows", "=rows, peft_config=LoraConfig()").replace(
    "from trl", "from peft import LoraConfig\nfrom trl"
)
HELD = ModelFacts(
    files=frozenset({"adapter_config.json", "adapter_model.safetensors"}),
    adapter={"base_model_name_or_path": "Qwen/Qwen2.5-0.5B"},
)
WHOLE = ModelFacts(files=frozenset({"config.json", "model.safetensors", "tokenizer.json"}))

RULE = Rule(
    code="MOD113",
    name="adapter-for-model",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, peft 0.21 and trl 1.16. Tried with an adapter of a tiny model: `SFTTrainer`, `DPOTrainer`, `GRPOTrainer` and "
        "`KTOTrainer` train to their ends with no parameter that has `requires_grad`; with a `peft_config` the new one is trained."
    ),
    bad=(Case(script=SCRIPT, facts={"model": HELD}, at="model.0"),),
    good=(
        Case(script=SCRIPT, facts={"model": WHOLE}),
        Case(script=ON_TOP, facts={"model": HELD}),
    ),
    kinds=PROGRAMS,
)
