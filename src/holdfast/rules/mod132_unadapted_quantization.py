"""Model quantized while loading and trained without an adapter.

## What it does
Follows the model of a trainer, through variables and `prepare_model_for_kbit_training`, to the call that loads it,
and checks for a `quantization_config` of bitsandbytes, GPTQ, AWQ, HQQ or Quanto. Likewise checks trainers that load
the model themselves, and `--load_in_4bit` and `--load_in_8bit` of TRL's commands. MOD101 reports the same for a job
file, and MOD118 for weights that are stored quantized.

## Why is this bad
Quantized weights have no gradients. `Trainer` raises ValueError,
`You cannot perform fine-tuning on purely quantized models`, after the model is downloaded, loaded and quantized.
`prepare_model_for_kbit_training` prepares the model for an adapter, and adds none.

## Fix safety
There is no automatic fix. Pass `peft_config=LoraConfig(target_modules="all-linear")` to the trainer, or remove the
quantization.
"""

from collections.abc import Iterator
from typing import Any

from holdfast.catalog.models.base_models import LOADER, adapts
from holdfast.core.check.finding import PROGRAMS, Case, Finding, MissingFactError, Rule, Severity
from holdfast.core.job.calls import Call, CallResult
from holdfast.core.job.document import Document

TRAINERS = {f"trl.{name}Trainer" for name in ("SFT", "DPO", "KTO", "Reward", "GRPO", "RLOO", "ORPO", "CPO")}
TRAINERS |= {"transformers.Trainer", "transformers.Seq2SeqTrainer"}
FROZEN = ("BitsAndBytesConfig", "GPTQConfig", "AwqConfig", "HqqConfig", "QuantoConfig")
"""Classes that quantize weights so that they cannot be trained; weights of other methods may be trainable."""
ARGUMENT = "quantization_config"
PREPARES = "peft.prepare_model_for_kbit_training"
ADAPTING = ("add_adapter", "load_adapter", "get_peft_model", "from_pretrained")
BITS = ("load_in_4bit", "load_in_8bit")


def check(job: Document) -> Iterator[Finding]:
    """Report a quantized model that is trained without an adapter."""
    if job.kind == "command":
        yield from _command_findings(job)
        return
    trainer = job.call("trainer")
    if trainer is None or trainer.path not in TRAINERS or trainer.own or trainer.guard.tolerates("ValueError"):
        return
    found = _quantizes(job, trainer)
    if found is None or trainer.arguments.get("peft_config") is not None or _may_adapt(job):
        return
    if trainer.open:
        raise MissingFactError("trainer.peft_config", "it may be among arguments that the source does not show")
    yield Finding(found.key, _fault(found.name), place=found.name_place)


def _command_findings(job: Document) -> Iterator[Finding]:
    call = next((call for call in job.calls if call.path.startswith("trl ") and not call.open), None)
    for name in BITS if call and not adapts(job) else ():
        if str(job.get(f"train.{name}", default=False)).lower() == "true":
            yield Finding(f"train.{name}", _fault(f"--{name}"))
            return


def _fault(quantizes: str) -> str:
    return f"`{quantizes}` leaves nothing to train: quantized weights need an adapter, and the trainer gets none"


def _quantizes(job: Document, trainer: Call) -> Call | None:
    """Return the call that makes the settings by which a trainer's model is quantized; None if it is not, or may not be."""
    model = trainer.arguments.get("model", next(iter(trainer.positional), None))
    if isinstance(model, str):
        return _settings(job, trainer.arguments.get(ARGUMENT)) or _settings(job, _given_by_name(job))
    loader = _loader(job, model)
    return _settings(job, loader.arguments.get(ARGUMENT)) if loader else None


def _given_by_name(job: Document) -> Any:
    """Return the loading settings that a trainer takes from its config."""
    given = job.get("train.model_init_kwargs", None)
    return given.get(ARGUMENT) if isinstance(given, dict) else None


def _loader(job: Document, model: Any) -> Call | None:
    """Return the call that loaded a model, if nothing but a preparation lies between."""
    made = job.call(model.key) if isinstance(model, CallResult) else None
    if made and made.path == PREPARES:
        return _loader(job, next(iter(made.positional), made.arguments.get("model")))
    plain = (
        made
        and made.package == "transformers"
        and made.path.endswith(LOADER)
        and not made.guard.tolerates("ValueError")
    )
    return made if plain else None


def _settings(job: Document, given: Any) -> Call | None:
    made = job.call(given.key) if isinstance(given, CallResult) else None
    return made if made and made.package == "transformers" and made.name in FROZEN else None


def _may_adapt(job: Document) -> bool:
    """True if a program puts an adapter on some model, whatever becomes of it."""
    adding = [call for call in job.calls if call.name in ADAPTING]
    return any(call.package == "peft" or call.name.endswith("_adapter") for call in adding)


SCRIPT = """from datasets import load_dataset
from peft import LoraConfig, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig
from trl import SFTConfig, SFTTrainer

bits = BitsAndBytesConfig(load_in_4bit=True)
model = AutoModelForCausalLM.from_pretrained("acme/base", quantization_config=bits)
model = prepare_model_for_kbit_training(model)
rows = load_dataset("acme/chats", split="train")
adapter = LoraConfig(target_modules="all-linear")
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out"), train_dataset=rows, peft_config=adapter)
"""
BARE = SCRIPT.replace(", peft_config=adapter", "")
BY_NAME = """from transformers import BitsAndBytesConfig
from trl import DPOConfig, DPOTrainer

args = DPOConfig(output_dir="out", model_init_kwargs={"quantization_config": BitsAndBytesConfig(load_in_8bit=True)})
trainer = DPOTrainer(model="acme/base", args=args, train_dataset=rows)
"""
COMMAND = "trl sft --model_name_or_path acme/base --dataset_name acme/chats --load_in_4bit\n"

RULE = Rule(
    code="MOD132",
    name="unadapted-quantization",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, `validate_quantization_for_training`, and the same in the `__init__` of `Trainer` before. Tried on a CPU with trl "
        "1.16, bitsandbytes 0.50.2 and a tiny model: bare, prepared, loaded by the trainer, and with an adapter on another copy, ValueError; "
        "with `peft_config` or `add_adapter`, none."
    ),
    bad=(
        Case(script=BARE, at="calls.0"),
        Case(script=BARE.replace("model = prepare_model_for_kbit_training(model)\n", ""), at="quantization"),
        Case(script=BY_NAME, at="quantization"),
        Case(command=COMMAND, at="train.load_in_4bit"),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=BARE.replace(", quantization_config=bits", "")),
        Case(script=BARE.replace("trainer =", "model.add_adapter(adapter)\ntrainer =")),
        Case(
            script=BARE.replace("trainer =", "from peft import get_peft_model\ntrainer =").replace(
                "model=model", "model=get_peft_model(model, adapter)"
            )
        ),
        Case(command=COMMAND.replace("--load_in_4bit", "--load_in_4bit --use_peft")),
    ),
    kinds=PROGRAMS,
)
