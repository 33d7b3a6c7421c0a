"""Loading argument of transformers 4 in `model_init_kwargs`.

## What it does
With transformers 5.0 or newer, checks for `load_in_4bit`, `load_in_8bit`, `use_flash_attention_2` and
`use_auth_token` in the `model_init_kwargs` of a TRL config.

## Why is this bad
TRL passes all of these to `from_pretrained`, which no longer knows these four and passes them on to the model's
class. That raises TypeError, whatever their value is, after the config was created without an error.

## Fix safety
There is no automatic fix. Quantization belongs in `quantization_config` of the trainer or of `model_init_kwargs`, as
a `BitsAndBytesConfig`; the others are now `attn_implementation="flash_attention_2"` and `token`.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

KEY = "train.model_init_kwargs"
REMOVED = "5.0.0"
INSTEAD = {
    "load_in_4bit": "quantization_config=BitsAndBytesConfig(load_in_4bit=True)",
    "load_in_8bit": "quantization_config=BitsAndBytesConfig(load_in_8bit=True)",
    "use_flash_attention_2": 'attn_implementation="flash_attention_2"',
    "use_auth_token": "token",
}


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each loading argument that transformers removed."""
    config = job.call("train")
    if not since(api, "transformers", REMOVED) or config is None or config.package != "trl":
        return
    given = config.arguments.get("model_init_kwargs")
    for name, instead in INSTEAD.items():
        if isinstance(given, dict) and name in given:
            fault = f"`from_pretrained` of transformers {api.versions['transformers']} takes no `{name}`, and raises TypeError: use `{instead}`"
            yield Finding(f"{KEY}.{name}", fault)


SCRIPT = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", model_init_kwargs={"attn_implementation": "sdpa"})
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""

RULE = Rule(
    code="MOD105",
    name="removed-loading-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="transformers 4.57 and 5.0. Tried with trl 1.16 and transformers 5.23 on a tiny model: each raises TypeError.",
    bad=(
        Case(script=SCRIPT.replace('"attn_implementation": "sdpa"', '"load_in_4bit": True'), at=f"{KEY}.load_in_4bit"),
        Case(
            script=SCRIPT.replace('"attn_implementation": "sdpa"', '"use_auth_token": True'), at=f"{KEY}.use_auth_token"
        ),
    ),
    good=(
        Case(script=SCRIPT),
        Case(
            script=SCRIPT.replace('"attn_implementation": "sdpa"', '"load_in_4bit": True'),
            versions={"transformers": "4.57.6"},
        ),
    ),
    kinds=PROGRAMS,
)
