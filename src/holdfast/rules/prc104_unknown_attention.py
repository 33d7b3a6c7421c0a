"""Attention implementation that transformers does not have.

## What it does
Checks a model's `attn_implementation` against those that transformers knows. Ignores a name with a `/` in it, which
is a kernel on the Hub, and all names if the script registers attention functions of its own.

## Why is this bad
`from_pretrained` raises ValueError, after the config is downloaded: for `flash_attn`, `fa2`, `xformers`, and for
`SDPA` in capitals.

## Fix safety
The fix is safe: it corrects the spelling of `flash_attention_2`, `sdpa` or `eager`.
"""

from collections.abc import Iterator

from holdfast.catalog.models.model_settings import set_to, written_at
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document

KEY = "model.attn_implementation"
KNOWN = frozenset({"eager", "sdpa", "flash_attention_2", "flash_attention_3", "flash_attention_4", "flex_attention"})
MEANT = {
    "flash": "flash_attention_2",
    "flash2": "flash_attention_2",
    "flashattn": "flash_attention_2",
    "flashattention": "flash_attention_2",
    "flashattention2": "flash_attention_2",
    "flashattn2": "flash_attention_2",
    "fa2": "flash_attention_2",
    "flashattention3": "flash_attention_3",
    "flashattn3": "flash_attention_3",
    "fa3": "flash_attention_3",
    "sdpa": "sdpa",
    "sdp": "sdpa",
    "eager": "eager",
    "flexattention": "flex_attention",
    "flexattn": "flex_attention",
}


def check(job: Document) -> Iterator[Finding]:
    """Report an attention implementation that transformers does not have."""
    attention = job.get(KEY, None)
    if not isinstance(attention, str) or attention.removeprefix("paged|") in KNOWN or _is_own(job, attention):
        return
    if any(call.guard.tolerates("ValueError") for call in job.calls if call.key == "model"):
        return
    meant = MEANT.get("".join(filter(str.isalnum, attention.lower())))
    fix = Fix(f"write `{meant}`", (set_to(job, "attn_implementation", meant),)) if meant else None
    yield Finding(
        written_at(job, "attn_implementation"),
        f"transformers has no attention implementation {attention!r}; it has {', '.join(sorted(KNOWN))}",
        fix,
    )


def _is_own(job: Document, attention: str) -> bool:
    """True if the name may come from elsewhere: the Hub, or the script."""
    return "/" in attention or any(
        "AttentionInterface" in call.path or "ALL_ATTENTION" in call.path for call in job.calls
    )


SCRIPT = """
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", attn_implementation="flash_attention_2")
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out"), train_dataset=rows)
"""
JOB = """
method: sft
model: {path: Qwen/Qwen2.5-0.5B, attn_implementation: sdpa}
dataset: trl-lib/Capybara
"""

RULE = Rule(
    code="PRC104",
    name="unknown-attention",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, `get_correct_attn_implementation`. 13 names were tried with a tiny model: ValueError "
        "for each that is not listed here. The list is that of the newest release, so that no older one is promised"
        " what it lacks."
    ),
    kinds=ANY_KIND,
    bad=(
        Case(script=SCRIPT.replace("flash_attention_2", "flash-attention-2"), at=KEY, fixed=SCRIPT),
        Case(script=SCRIPT.replace("flash_attention_2", "flash_attn"), at=KEY, fixed=SCRIPT),
        Case(script=SCRIPT.replace("flash_attention_2", "xformers"), at=KEY),
        Case(job=JOB.replace("sdpa", "SDPA"), at=KEY, fixed=JOB),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("flash_attention_2", "kernels-community/flash-attn2")),
        Case(script=SCRIPT.replace('"flash_attention_2"', "None")),
        Case(job=JOB),
    ),
)
