"""Precision or attention kernel that the machine does not support.

## What it does
Checks `bf16`, `fp16`, `tf32`, `use_cpu`, `model.dtype` and `model.attn_implementation` against the machine's GPUs, or
their absence; for a job on Hugging Face Jobs, against the GPUs of its flavor (`where.hardware`).

## Why is this bad
`tf32` and the flash attention kernels raise on a CPU and on GPUs older than Ampere (compute capability 8.0). Without
a GPU, bf16 with `use_cpu: false` raises, and fp16 silently trains in float32, which is a warning. bfloat16 on an
older GPU, such as a T4, does not raise: torch reports it as supported, emulates it, and training is slow. This is a
warning, too. Such a GPU is fast in float16 arithmetic, but weights in float16 cannot be trained in it: the loss is
scaled, and the scaler refuses float16 gradients.

## Fix safety
The fix is unsafe where it writes float16 instead of an emulated bfloat16: this uses the same memory and is faster,
but the range of float16 is smaller. It is also unsafe where it removes `fp16`, or stores the weights in float32. It
is safe where it removes another setting that the machine does not support, because that could not be used anyway.
"""

from collections.abc import Iterator

from holdfast.catalog.hub.named_flavor import flavor_named
from holdfast.core.check.facts import Gpu, Machine
from holdfast.core.check.finding import Case, Finding, Fix, MissingFactError, Rule, Severity
from holdfast.core.job.document import Document, Remove, Set
from holdfast.core.run.backends import backend_of

TF32, BF16, FP16, CPU = "train.tf32", "train.bf16", "train.fp16", "train.use_cpu"
ATTENTION, DTYPE = "model.attn_implementation", "model.dtype"
UNKNOWN = (0, 0)
FLASH = ("flash_attention_2", "flash_attention_3")


def check(job: Document, machine: Machine) -> Iterator[Finding]:
    """Report each setting that the machine does not support."""
    gpus = _gpus(job, machine)
    old = next((gpu for gpu in gpus if not gpu.bf16), None)
    if gpus and old is None:
        return
    lacks = f"{old.name} (compute capability {_capability(old)})" if old else "the job has no GPU, and a CPU"
    yield from _without_ampere(job, lacks)
    yield from _old_gpu(job, lacks) if old else _without_gpu(job)


def _gpus(job: Document, machine: Machine) -> tuple[Gpu, ...]:
    """Return the job's GPUs.

    Raises:
        MissingFactError: It runs elsewhere and the backend does not say on what, or no driver says what a GPU is.
    """
    gpus = machine.gpus if backend_of(job).is_here else _gpus_elsewhere(job)
    if any(gpu.capability == UNKNOWN for gpu in gpus):
        raise MissingFactError("machine", "no driver says what its GPUs are")
    return gpus


def _gpus_elsewhere(job: Document) -> tuple[Gpu, ...]:
    flavor = flavor_named(job.get("where.hardware", None))
    if flavor is None or not backend_of(job).has_flavors:
        raise MissingFactError("where.hardware", "what the backend runs it on is not known")
    return flavor.gpus


def _without_ampere(job: Document, lacks: str) -> Iterator[Finding]:
    """Yield what neither a CPU nor a GPU older than Ampere does."""
    if job.get(TF32, default=False) is True:
        yield Finding(TF32, f"{lacks} does not compute in tf32", Fix("remove `tf32`", (Remove(TF32),)))
    attention = job.get(ATTENTION, None)
    if attention in FLASH:
        fix = Fix("leave the choice to transformers", (Remove(ATTENTION),))
        yield Finding(ATTENTION, f"{lacks} does not run {attention}", fix)


def _without_gpu(job: Document) -> Iterator[Finding]:
    if job.get(CPU, None) is False and True in (job.get(BF16, None), job.get("train.bf16_full_eval", None)):
        fix = Fix("leave it to holdfast", (Remove(CPU),))
        yield Finding(CPU, "there is no GPU, and without `use_cpu` bf16 needs one", fix)
    if job.get(FP16, None) is True and job.get(BF16, None) is not True:  # both at once are an error of `PRC102`
        what = "there is no GPU, and a CPU trains in float32: `fp16` has no effect"
        yield Finding(FP16, what, Fix("remove `fp16`", (Remove(FP16),), safe=False), Severity.WARNING)


def _old_gpu(job: Document, lacks: str) -> Iterator[Finding]:
    if job.get(BF16, None) is True:
        fix = Fix("train in float16", (Remove(BF16), Set(FP16, value=True)), safe=False)
        yield Finding(BF16, f"{lacks} emulates bfloat16, slowly", fix, Severity.WARNING)
    if job.get(DTYPE, None) == "bfloat16":
        yield Finding(DTYPE, f"{lacks} emulates bfloat16, slowly", None, Severity.WARNING)
    scaled = job.get(BF16, None) is not True and job.get(FP16, None) is not False
    if job.get(DTYPE, None) == "float16" and job.get("peft", None) is None and scaled:
        fix = Fix("hold the weights in float32", (Set(DTYPE, "float32"),), safe=False)
        yield Finding(DTYPE, "float16 weights cannot be trained in float16: the scaler refuses their gradients", fix)


def _capability(gpu: Gpu) -> str:
    return ".".join(map(str, gpu.capability))


JOB = """
method: sft
model: {path: Qwen/Qwen2.5-0.5B, dtype: float32}
dataset: trl-lib/Capybara
train:
  max_steps: 100
"""
TF = JOB + "  tf32: true\n"
BF = JOB + "  bf16: true\n"
FLASHED = JOB.replace("float32", "float32, attn_implementation: flash_attention_2")
T4 = {"machine": Machine(cpus=4, gpus=(Gpu(name="Tesla T4", memory_bytes=15 << 30, capability=(7, 5)),))}
A100 = {"machine": Machine(cpus=12, gpus=(Gpu(name="NVIDIA A100", memory_bytes=80 << 30, capability=(8, 0)),))}
T4_SMALL = "where: {backend: hf-jobs, hardware: t4-small, timeout: 2h}\n"
NO_GPU = {"machine": Machine(cpus=2)}

RULE = Rule(
    code="PRC101",
    name="unsupported-precision",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, `TrainingArguments`, and `torch.cuda.is_bf16_supported` of torch 2.13. Tried on a CPU: tf32 and "
        "bf16 without `use_cpu` raise ValueError, flash attention ImportError; bf16 and fp16 with `use_cpu` train, and so does fp16 without it, in float32 (accelerate 1.15). The scaler "
        "was tried on a CPU. What is said of a T4 was read in the source, not run."
    ),
    bad=(
        Case(job=TF, facts=NO_GPU, at=TF32, fixed=JOB),
        Case(job=TF, facts=T4, at=TF32, fixed=JOB),
        Case(job=FLASHED, facts=NO_GPU, at=ATTENTION, fixed=JOB),
        Case(job=BF + "  use_cpu: false\n", facts=NO_GPU, at=CPU, fixed=BF),
        Case(job=JOB + "  fp16: true\n", facts=NO_GPU, at=FP16, fixed=JOB),
        Case(job=BF, facts=T4, at=BF16, fixed=JOB + "  fp16: true\n"),
        Case(job=JOB.replace("float32", "bfloat16"), facts=T4, at=DTYPE),
        Case(job=TF + T4_SMALL, facts=A100, at=TF32, fixed=JOB + T4_SMALL),
        Case(job=BF + T4_SMALL, facts=A100, at=BF16, fixed=JOB + "  fp16: true\n" + T4_SMALL),
        Case(job=JOB.replace("float32", "float16"), facts=T4, at=DTYPE, fixed=JOB),
    ),
    good=(
        Case(job=BF, facts=NO_GPU),
        Case(job=JOB + "  use_cpu: true\n", facts=NO_GPU),
        Case(job=TF + "  bf16: true\n", facts=A100),
        Case(job=FLASHED, facts=A100),
        Case(job=BF + T4_SMALL.replace("t4-small", "a10g-large"), facts=T4),
        Case(job=JOB + "  fp16: true\n", facts=T4),
        Case(job=JOB.replace("float32", "float16") + "peft: {r: 8}\n", facts=T4),
    ),
)
