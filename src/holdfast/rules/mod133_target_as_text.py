"""Module names in one text, where peft needs a list.

## What it does
Checks for a `target_modules` that is one text with the name of a layer, such as `q_proj`, or with several names, such
as `q_proj, v_proj`, and for `all_linear` instead of `all-linear`.

## Why is this bad
peft compares a list with the ends of module names, but a text as a regular expression with the whole name:
`model.layers.0.self_attn.q_proj`. So the text matches nothing, and peft raises ValueError after the model is loaded.
On TRL's command line, names are separated by spaces, and a single name is not a list either.

## Fix safety
The fix is safe because the text can match nothing. It writes a list of the names, or `all-linear`.
"""

import re
from collections.abc import Iterator

from holdfast.catalog.models.adapter_settings import adapter_targets
from holdfast.catalog.models.base_models import lora_key
from holdfast.catalog.models.lora_targets import ALL_LINEAR, named_in_text
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, MissingFactError, Rule, Severity
from holdfast.core.job.document import Document, Set, Unknown

TARGETS = "target_modules"
MISSPELT = frozenset({"all_linear", "all_linears", "all-linears", "all linear", "alllinear"})


def check(job: Document) -> Iterator[Finding]:
    """Report each text that was meant as a list of names."""
    targets, key = adapter_targets(job), lora_key(job, TARGETS)
    if isinstance(targets, Unknown):
        raise MissingFactError(key, targets.because)
    if not isinstance(targets, str):
        return
    if targets in MISSPELT:
        yield Finding(key, f"no module is called `{targets}`", Fix(f"write `{ALL_LINEAR}`", (Set(key, ALL_LINEAR),)))
    if names := named_in_text(targets):
        what = f"{targets!r} is one string, which is matched against a module's whole name"
        yield _on_command_line(key, what, names) if job.kind == "command" else _in_file(key, what, names)


def _in_file(key: str, what: str, names: list[str]) -> Finding:
    listed = str(names).replace("'", '"')
    return Finding(key, f"{what}: write `{listed}`", Fix(f"write `{listed}`", (Set(key, names),)))


def _on_command_line(key: str, what: str, names: list[str]) -> Finding:
    if names[1:]:
        words = " ".join(names)
        return Finding(key, f"{what}: write `{words}`", Fix(f"write `{words}`", (Set(key, names),)))
    hint = f"name a second, or write `.*{re.escape(names[0])}`"
    return Finding(key, f"{what}, and TRL reads a single name as a string: {hint}")


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
peft:
  target_modules: [q_proj, v_proj]
"""
SCRIPT = """from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

adapter = LoraConfig(target_modules=["q_proj"])
trainer = SFTTrainer(model="acme/small", args=SFTConfig(output_dir="out"), train_dataset=rows, peft_config=adapter)
"""
COMMAND = "trl sft --model_name_or_path acme/small --dataset_name trl-lib/Capybara --use_peft --lora_target_modules q_proj v_proj\n"

RULE = Rule(
    code="MOD133",
    name="target-as-text",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "peft 0.21, `check_target_module_exists`. Tried with trl 1.16 and a tiny Qwen2: a single name and two in one text raise "
        "NoMatchingPeftModuleError, and lists of them train."
    ),
    bad=(
        Case(
            job=JOB.replace("[q_proj, v_proj]", "q_proj"),
            at="peft.target_modules",
            fixed=JOB.replace("[q_proj, v_proj]", "[q_proj]"),
        ),
        Case(
            script=SCRIPT.replace('["q_proj"]', '"q_proj, v_proj"'),
            at="peft.target_modules",
            fixed=SCRIPT.replace('["q_proj"]', '["q_proj", "v_proj"]'),
        ),
        Case(command=COMMAND.replace(" v_proj", ""), at="train.lora_target_modules"),
        Case(command=COMMAND.replace(" v_proj", ",v_proj"), at="train.lora_target_modules", fixed=COMMAND),
        Case(
            job=JOB.replace("[q_proj, v_proj]", "all_linear"),
            at="peft.target_modules",
            fixed=JOB.replace("[q_proj, v_proj]", "all-linear"),
        ),
        Case(
            script=SCRIPT.replace('["q_proj"]', '"all_linear"'),
            at="peft.target_modules",
            fixed=SCRIPT.replace('["q_proj"]', '"all-linear"'),
        ),
    ),
    good=(
        Case(job=JOB),
        Case(job=JOB.replace("[q_proj, v_proj]", "all-linear")),
        Case(job=JOB.replace("[q_proj, v_proj]", "'.*(q|v)_proj'")),
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace('["q_proj"]', '"lm_head"')),
        Case(command=COMMAND),
    ),
    kinds=ANY_KIND,
)
