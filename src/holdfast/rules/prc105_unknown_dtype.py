"""Dtype that torch does not have.

## What it does
Checks a model's `dtype` (`torch_dtype`), if it is a text, against the floating-point types of torch and `auto`.

## Why is this bad
`fp16`, `bf16` and `fp32` are names of settings, not of types: `from_pretrained` looks for `torch.bf16` and raises,
and so does TRL for `model_init_kwargs`. `"torch.bfloat16"` raises as well: the lookup is inside torch, which has no
attribute of that name.

## Fix safety
The fix is safe: it writes the correct name of the same type.
"""

from collections.abc import Iterator

from holdfast.catalog.models.model_settings import set_to, written_at
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document

KEY = "model.dtype"
KNOWN = frozenset(
    {"auto", "float16", "bfloat16", "float32", "float64", "half", "float", "double", "float8_e4m3fn", "float8_e5m2"}
)
MEANT = {
    "fp16": "float16",
    "f16": "float16",
    "float16": "float16",
    "bf16": "bfloat16",
    "bfloat16": "bfloat16",
    "bfp16": "bfloat16",
    "fp32": "float32",
    "f32": "float32",
    "float32": "float32",
    "auto": "auto",
}


def check(job: Document) -> Iterator[Finding]:
    """Report a dtype that torch does not have."""
    dtype = job.get(KEY, None)
    if not isinstance(dtype, str) or not dtype or dtype in KNOWN:
        return
    raising = {"model": "AttributeError", "trainer": "ValueError"}
    if any(call.guard.tolerates(raising[call.key]) for call in job.calls if call.key in raising):
        return
    meant = MEANT.get("".join(filter(str.isalnum, dtype.lower().removeprefix("torch."))))
    fix = Fix(f"write `{meant}`", (set_to(job, "dtype", meant),)) if meant else None
    near = f": write `{meant}`" if meant else ""
    yield Finding(written_at(job, "dtype"), f"torch has no floating-point type {dtype!r}{near}", fix)


SCRIPT = """
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", dtype="bfloat16")
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out"), train_dataset=rows)
"""
INIT = """
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", model_init_kwargs={"dtype": "bfloat16"})
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""

RULE = Rule(
    code="PRC105",
    name="unknown-dtype",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23 and trl 1.16: 16 texts were given to `from_pretrained`, and 6 to `SFTTrainer`, with a "
        "tiny model. AttributeError, and ValueError from TRL, for each that is named here; ValueError for `int8`, "
        "which is no floating-point type."
    ),
    kinds=ANY_KIND,
    bad=(
        Case(script=SCRIPT.replace("bfloat16", "bf16"), at=KEY, fixed=SCRIPT),
        Case(script=SCRIPT.replace("bfloat16", "torch.bfloat16"), at=KEY, fixed=SCRIPT),
        Case(script=INIT.replace("bfloat16", "bf16"), at="train.model_init_kwargs", fixed=INIT),
        Case(script=SCRIPT.replace("bfloat16", "int8"), at=KEY),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("bfloat16", "auto")),
        Case(
            script=SCRIPT.replace("from transformers", "import torch\nfrom transformers").replace(
                '"bfloat16"', "torch.bfloat16"
            )
        ),
        Case(script=INIT),
    ),
)
