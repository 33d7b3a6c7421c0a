"""Model without the head that its trainer needs.

## What it does
Checks the class that loads the trainer's model: `AutoModel` for sft, dpo, grpo, kto and rloo.

## Why is this bad
`AutoModel` is the body alone: it returns hidden states, not tokens. TRL's trainers raise while they are built or at
the first step, after the weights are loaded.

## Fix safety
There is no automatic fix: load the model with `AutoModelForCausalLM`; or pass its name to the trainer, which loads
the right class itself.
"""

from collections.abc import Iterator

from holdfast.catalog.models.base_models import GENERATING
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import CallResult
from holdfast.core.job.document import Document


def check(job: Document) -> Iterator[Finding]:
    """Report a model class without the head that the trainer needs."""
    trainer = job.call("trainer")
    if trainer is None or trainer.package != "trl" or trainer.own or trainer.guard.because:
        return
    model = trainer.arguments.get("model", next(iter(trainer.positional), None))
    loaded = next((call for call in job.calls if isinstance(model, CallResult) and call.key == model.key), None)
    method = job.get("method", "")
    if loaded is not None and loaded.path == "transformers.AutoModel.from_pretrained" and method in GENERATING:
        fault = f"`AutoModel` has no language-model head, which {method} needs: use `AutoModelForCausalLM`"
        yield Finding(loaded.key, fault, place=loaded.name_place)


SCRIPT = """from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out"), train_dataset=rows)
"""
RULE = Rule(
    code="MOD104",
    name="headless-model",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="Tried with trl 1.16 and a tiny model: `AutoModel` raises with sft, dpo, grpo, kto and rloo.",
    bad=(Case(script=SCRIPT.replace("ForCausalLM", ""), at="model"),),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("model=model", 'model="Qwen/Qwen2.5-0.5B"').replace("ForCausalLM", "")),
    ),
    kinds=PROGRAMS,
)
