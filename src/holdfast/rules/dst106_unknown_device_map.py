"""`device_map` that is neither a device nor a placement strategy.

## What it does
Checks a `device_map` that is a text against `auto`, `balanced`, `balanced_low_0`, `sequential`, and devices as torch
spells them, such as `cuda:0`.

## Why is this bad
`from_pretrained` raises ValueError for `gpu`, `automatic` or `cuda0`, before it loads anything.

## Fix safety
The fix is safe: `gpu` becomes `cuda`, and another spelling of `auto` becomes `auto`.
"""

import re
from collections.abc import Iterator

from holdfast.catalog.models.model_settings import set_to, written_at
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document

KEY = "model.device_map"
WAYS = frozenset({"auto", "balanced", "balanced_low_0", "sequential"})
DEVICE = re.compile(
    r"(cpu|cuda|ipu|xpu|mkldnn|opengl|opencl|ideep|hip|ve|fpga|maia|xla|lazy|vulkan|mps|meta|hpu|mtia|privateuseone"
    r"|npu|mlu|musa|sdaa|neuron|tpu|disk)(:\d+)?"
)
MEANT = {"gpu": "cuda", "gpu:0": "cuda:0", "cuda0": "cuda:0", "automatic": "auto"}


def check(job: Document) -> Iterator[Finding]:
    """Report a `device_map` that neither torch nor transformers can read."""
    device_map = job.get(KEY, None)
    if not isinstance(device_map, str) or device_map in WAYS or DEVICE.fullmatch(device_map):
        return
    if any(call.guard.tolerates("ValueError") for call in job.calls if call.key == "model"):
        return
    low = device_map.strip().lower()
    meant = low if low in WAYS else MEANT.get(low)
    fix = Fix(f"write `{meant}`", (set_to(job, "device_map", meant),)) if meant else None
    fault = f"{device_map!r} is neither a device, such as `cuda:0`, nor one of {', '.join(sorted(WAYS))}"
    yield Finding(written_at(job, "device_map"), fault, fix)


SCRIPT = """
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", device_map="auto")
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out"), train_dataset=rows)
"""

RULE = Rule(
    code="DST106",
    name="unknown-device-map",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, `check_and_set_device_map`. Tried with a tiny model: ValueError for `gpu` and for "
        "`automatic`. The devices are those that `torch.device` of 2.13 reads, and those of packages that add their"
        " own."
    ),
    kinds=ANY_KIND,
    bad=(
        Case(script=SCRIPT.replace('"auto"', '"gpu"'), at=KEY, fixed=SCRIPT.replace('"auto"', '"cuda"')),
        Case(script=SCRIPT.replace('"auto"', '"Auto"'), at=KEY, fixed=SCRIPT),
        Case(script=SCRIPT.replace('"auto"', '"first"'), at=KEY),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace('"auto"', '"cuda:0"')),
        Case(script=SCRIPT.replace('"auto"', '{"": 0}')),
        Case(script=SCRIPT.replace('"auto"', "None")),
    ),
)
