"""`device_map` in a run that distributes the model by other means.

## What it does
Checks for `device_map="auto"` (or `balanced`, `balanced_low_0`, `sequential`) in `from_pretrained`, together with
`fsdp` or `deepspeed` in the trainer's config.

## Why is this bad
Every process would spread its model over all GPUs. Accelerate refuses such a model in any distributed run: "You can't
train a model that has been loaded with `device_map='auto'` in any distributed mode". ZeRO-3 refuses it while loading.
FSDP and DeepSpeed place the model themselves.

## Fix safety
The fix is safe: without `device_map`, the config decides where the model goes.
"""

from collections.abc import Iterator, Mapping

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Remove

MAP = "model.device_map"
SPREADING = ("auto", "balanced", "balanced_low_0", "sequential")


def check(job: Document) -> Iterator[Finding]:
    """Report a `device_map` that spreads the model in a run with FSDP or DeepSpeed."""
    device_map = job.get(MAP, None)
    if device_map not in SPREADING or not any(call.key == "model" for call in job.calls):
        return  # if TRL loads the model by its name, it ignores the map
    if _guarded(job):
        return
    if job.get("train.fsdp", None) not in (None, "", [], False):
        by, severity = "`fsdp`", Severity.ERROR
    elif deepspeed := job.get("train.deepspeed", None):
        # The other stages do not shard the model, and on one GPU they only save memory.
        by, severity = "`deepspeed`", Severity.ERROR if _stage(deepspeed) == 3 else Severity.WARNING  # noqa: PLR2004 - ZeRO stage 3
    else:
        return
    fault = f"`device_map={device_map!r}` spreads the model in every process, and {by} spreads it too"
    yield Finding(MAP, fault, Fix("leave it to the launcher", (Remove(MAP),)), severity)


def _guarded(job: Document) -> bool:
    return any(call.guard.tolerates("ValueError") for call in job.calls if call.key in ("model", "train", "trainer"))


def _stage(deepspeed: object) -> object:
    zero = deepspeed.get("zero_optimization") if isinstance(deepspeed, Mapping) else None
    return zero.get("stage") if isinstance(zero, Mapping) else None


SCRIPT = """
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out", fsdp="full_shard"), train_dataset=rows)
"""
AUTO = SCRIPT.replace('2.5-0.5B"', '2.5-0.5B", device_map="auto"')
ZERO = {
    "fsdp": 'fsdp="full_shard"',
    "3": 'deepspeed={"zero_optimization": {"stage": 3}}',
    "file": 'deepspeed="ds.json"',
}

RULE = Rule(
    code="DST102",
    name="auto-map-when-distributed",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "accelerate 0.22 to 1.15, `Accelerator.prepare` and `prepare_model`, and transformers 4.36 to 5.23, "
        "`from_pretrained` under ZeRO-3; read in each, not run: there were no two GPUs. With one GPU the map has "
        "one place, and only ZeRO-3 objects."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=AUTO, at=MAP, fixed=SCRIPT),
        Case(
            script=AUTO.replace(ZERO["fsdp"], ZERO["3"]),
            at=MAP,
            fixed=SCRIPT.replace(ZERO["fsdp"], ZERO["3"]),
        ),
        Case(
            script=AUTO.replace(ZERO["fsdp"], ZERO["file"]),
            at=MAP,
            fixed=SCRIPT.replace(ZERO["fsdp"], ZERO["file"]),
        ),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=AUTO.replace(f", {ZERO['fsdp']}", "")),
        Case(script=AUTO.replace('"auto"', "None")),
        Case(script=AUTO.replace(ZERO["fsdp"], 'fsdp=""')),
    ),
)
