"""float16 weights trained with `fp16=True`.

## What it does
Checks for `dtype=torch.float16` (or `"float16"`) of the model together with `fp16=True` of the trainer, if all
weights are trained.

## Why is this bad
`fp16=True` scales the loss so that small gradients survive, and removes the scale from the gradients before the step.
It refuses gradients that are float16 themselves, as those of such weights are: "Attempting to unscale FP16
gradients", at the first step. With an adapter the trained weights are float32, and training works.

## Fix safety
The fix is unsafe: `fp16=True` is made for float32 weights, but they need twice the memory.
"""

from collections.abc import Iterator

from holdfast.catalog.models.model_settings import set_to, written_at
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import LibraryName
from holdfast.core.job.document import ABSENT, Document

DTYPE, FP16 = "model.dtype", "train.fp16"
HALF = ("float16", "half", "torch.float16", "torch.half")


def check(job: Document) -> Iterator[Finding]:
    """Report float16 weights that are trained with `fp16=True`."""
    dtype = job.get(DTYPE, None)
    name = dtype.path if isinstance(dtype, LibraryName) else dtype
    if name not in HALF or job.get(FP16, None) is not True or _adapts(job) or _scales_otherwise(job):
        return
    if not any(call.guard.tolerates("ValueError") for call in job.calls if call.key in ("model", "train", "trainer")):
        fix = Fix("hold the weights in float32", (set_to(job, "dtype", "float32"),), safe=False)
        fault = "`fp16=True` scales the loss, and the scaler refuses the gradients of float16 weights"
        yield Finding(written_at(job, "dtype"), fault, fix)


def _adapts(job: Document) -> bool:
    """True if an adapter may be trained instead."""
    return job.get("peft", ABSENT) is not ABSENT or any(each.module.startswith("peft") for each in job.imports)


def _scales_otherwise(job: Document) -> bool:
    """True if DeepSpeed or FSDP scales the gradients, or a CPU trains without scaling."""
    keys = ("train.deepspeed", "train.fsdp", "train.use_cpu", "train.no_cuda", "quantization")
    return any(job.get(key, None) not in (None, False, "") for key in keys)


SCRIPT = """
import torch
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", dtype="float32")
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out", fp16=True), train_dataset=rows)
"""

RULE = Rule(
    code="PRC103",
    name="float16-weights",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "torch 2.13, `torch.amp.GradScaler`, which `fp16=True` uses on a GPU. Tried on a CPU: its `unscale_` raises"
        " ValueError for float16 gradients, and not for bfloat16. With `use_cpu` there is no scaler, and the "
        "training runs."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=SCRIPT.replace('"float32"', "torch.float16"), at=DTYPE, fixed=SCRIPT),
        Case(script=SCRIPT.replace('"float32"', '"float16"'), at=DTYPE, fixed=SCRIPT),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace('"float32"', "torch.float16").replace("fp16", "bf16")),
        Case(
            script=SCRIPT.replace('"float32"', "torch.float16")
            .replace("=None)", "=None, peft_config=LoraConfig())")
            .replace("import torch\n", "import torch\nfrom peft import LoraConfig\n")
        ),
        Case(script=SCRIPT.replace('"float32"', "torch.float16").replace("fp16=True", "fp16=True, use_cpu=True")),
    ),
)
