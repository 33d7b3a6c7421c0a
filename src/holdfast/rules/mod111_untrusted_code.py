"""Model with its own code, loaded without `trust_remote_code`.

## What it does
Checks for `trust_remote_code`, for a model whose type transformers does not know, and whose `config.json` names
Python files of its own.

## Why is this bad
Without it, transformers asks at the terminal whether to run that code. In a job nobody answers, and after 15 seconds
transformers raises ValueError.

## Fix safety
The fix is unsafe: the code runs with all permissions of the job, including its tokens. Read it first, and pin the
commit with `revision`.
"""

from collections.abc import Iterator, Mapping

from holdfast.catalog.api import Api
from holdfast.catalog.models.base_models import Base, base_of, is_plain, trusts_code
from holdfast.catalog.models.model_types import knows
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set


def check(job: Document, api: Api, model: ModelFacts) -> Iterator[Finding]:
    """Report code of a model that is needed, but not allowed."""
    base = base_of(job, model)
    if base is None or model.config is None or not is_plain(job, base):
        return
    kind, code = model.config.get("model_type"), model.config.get("auto_map")
    if not isinstance(kind, str) or not isinstance(code, Mapping) or "AutoConfig" not in code:
        return
    if knows(api, kind) is False and not trusts_code(job, base):
        fault = f"models of type `{kind}` need the code that `{base.name}` brings, but the job does not let it run"
        yield base.finding(fault, _fix(job, api, base))


def _fix(job: Document, api: Api, base: Base) -> Fix | None:
    config = job.call("train")
    signature = api.signature(config.path) if config else None
    if job.kind == "job" or base.loader:
        key = "model.trust_remote_code"
    elif job.kind == "script" and signature and "trust_remote_code" in signature.parameters:
        key = "train.trust_remote_code"
    else:
        return None
    return Fix("let the model's code run", (Set(key, value=True),), safe=False)


JOB = """
method: sft
model:
  path: acme/own-code
dataset: trl-lib/Capybara
"""
TRUSTED = JOB.replace("own-code\n", "own-code\n  trust_remote_code: true\n")
SCRIPT = """from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("acme/own-code")
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out"), train_dataset=rows)
"""
BY_NAME = """from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer(model="acme/own-code", args=SFTConfig(output_dir="out"), train_dataset=rows)
"""
COMMAND = "trl sft --model_name_or_path acme/own-code --dataset_name trl-lib/Capybara --trust_remote_code\n"


def _typed(kind: str) -> dict[str, object]:
    code = {"AutoConfig": "configuration_own.OwnConfig", "AutoModelForCausalLM": "modeling_own.Own"}
    config: dict[str, object] = {"model_type": kind, "auto_map": code}
    return {"model": ModelFacts(files=frozenset({"config.json", "model.safetensors", "tokenizer.json"}), config=config)}


RULE = Rule(
    code="MOD111",
    name="untrusted-code",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, `resolve_trust_remote_code`. Tried with trl 1.16 and a tiny model with code of its own: every trainer "
        "raises ValueError, and trains with `trust_remote_code`; of a type that transformers knows it needs no code."
    ),
    bad=(
        Case(job=JOB, facts=_typed("own"), at="model.path", fixed=TRUSTED),
        Case(
            script=SCRIPT,
            facts=_typed("own"),
            at="model.0",
            fixed=SCRIPT.replace('own-code"', 'own-code", trust_remote_code=True'),
        ),
        Case(
            script=BY_NAME,
            facts=_typed("own"),
            at="trainer.model",
            fixed=BY_NAME.replace('"out"', '"out", trust_remote_code=True'),
        ),
        Case(command=COMMAND.replace(" --trust_remote_code", ""), facts=_typed("own"), at="train.model_name_or_path"),
    ),
    good=(
        Case(job=TRUSTED, facts=_typed("own")),
        Case(job=JOB, facts=_typed("qwen2")),
        Case(script=SCRIPT.replace('own-code"', 'own-code", trust_remote_code=True'), facts=_typed("own")),
        Case(
            script=BY_NAME.replace('"out"', '"out", model_init_kwargs={"trust_remote_code": True}'), facts=_typed("own")
        ),
        Case(command=COMMAND, facts=_typed("own")),
    ),
    kinds=ANY_KIND,
)
