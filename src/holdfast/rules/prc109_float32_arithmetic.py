"""Four-bit weights multiplied in float32.

## What it does
Checks for `BitsAndBytesConfig(load_in_4bit=True)` without `bnb_4bit_compute_dtype`, for a model that is trained in
bf16 or fp16.

## Why is this bad
The default is float32: every packed layer converts its input to float32 and multiplies in float32, whatever the
trainer uses. This is several times slower than half precision on a GPU that supports it, and takes more memory.
bitsandbytes gives one warning.

## Fix safety
The fix is unsafe: half precision rounds more, although the trainer is configured for it.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import ABSENT, Document, Set

KEY = "quantization.bnb_4bit_compute_dtype"
HALVES = {"train.bf16": "bfloat16", "train.fp16": "float16"}


def check(job: Document) -> Iterator[Finding]:
    """Report four-bit weights that are multiplied in float32."""
    call = job.call("quantization")
    if call is None or call.name != "BitsAndBytesConfig" or call.open or call.guard.because:
        return
    if job.get("quantization.load_in_4bit", None) is not True or job.get(KEY) is not ABSENT:
        return
    half = next((name for key, name in HALVES.items() if job.get(key, None) is True), None)
    if half is not None:
        fix = Fix(f"multiply in {half}", (Set(KEY, half),), safe=False)
        fault = f"the 4-bit layers multiply in float32 by default, and the trainer is set to {half}"
        yield Finding("quantization", fault, fix, place=call.name_place)


SCRIPT = """
from peft import LoraConfig
from transformers import AutoModelForCausalLM, BitsAndBytesConfig
from trl import SFTConfig, SFTTrainer

bits = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype="bfloat16")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", quantization_config=bits)
args = SFTConfig(output_dir="out", bf16=True)
trainer = SFTTrainer(model=model, args=args, train_dataset=rows, peft_config=LoraConfig())
"""
SLOW = SCRIPT.replace(', bnb_4bit_compute_dtype="bfloat16"', "")

RULE = Rule(
    code="PRC109",
    name="float32-arithmetic",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "transformers 5.23, `BitsAndBytesConfig`, which puts float32 where nothing is given, and bitsandbytes "
        "0.50.2, `Linear4bit.forward`, which turns its input to that type where one was given. Read, not measured."
    ),
    kinds=PROGRAMS,
    bad=(Case(script=SLOW, at="quantization", fixed=SCRIPT),),
    good=(
        Case(script=SCRIPT),
        Case(script=SLOW.replace("4bit", "8bit")),
        Case(script=SLOW.replace("bf16=True", "bf16=False")),
    ),
)
