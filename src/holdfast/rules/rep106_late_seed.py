"""Seed set after the weights are drawn.

## What it does
Checks for `set_seed()` or `torch.manual_seed()` after `get_peft_model()`, both at the top level of the same script,
with no seed set before.

## Why is this bad
The adapter draws its weights when it is added to the model, from a generator whose seed is not yet set. The script
looks reproducible, but two runs of it differ from the first step on.

## Fix safety
There is no automatic fix: set the seed at the beginning of the script.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document
from holdfast.core.job.notebook import is_notebook

DRAWING = "peft.get_peft_model"
SEEDING = ("set_seed", "manual_seed", "seed_everything", "enable_full_determinism")


def check(job: Document) -> Iterator[Finding]:
    """Report the first seed that is set too late for an adapter."""
    drawn, seeded = list(filter(_draws, job.calls)), list(filter(_seeds, job.calls))
    if not drawn or not seeded or not all(_is_outermost(job, call) for call in (drawn[0], *seeded)):
        return
    first = min(seeded, key=_line)
    if _line(drawn[0]) < _line(first) and not _seeds_before(job, _line(drawn[0])):
        fault = (
            f"the adapter's weights were drawn in line {_line(drawn[0])}, before this: set the seed at the beginning"
        )
        yield Finding(first.key, fault, place=first.name_place)


def _draws(call: Call) -> bool:
    return call.path == DRAWING and not call.guard.because


def _seeds(call: Call) -> bool:
    """True if a call sets the seed of everything, not that of one generator."""
    return call.name in SEEDING and call.path.islower()


def _line(call: Call) -> int:
    return call.place.line or 0


def _seeds_before(job: Document, line: int) -> bool:
    """True if a line before that one may set a seed in some way of the program's own."""
    before = job.text.splitlines()[: line - 1]
    return any("seed" in each.lower() and not each.startswith(("from ", "import ", "#")) for each in before)


def _is_outermost(job: Document, call: Call) -> bool:
    """True if a call's line stands in no function, branch or other file, so that lines run in their order."""
    lines = [] if is_notebook(job.path) or call.place.path != job.path else job.text.splitlines()
    return 0 < _line(call) <= len(lines) and not lines[_line(call) - 1][:1].isspace()


SCRIPT = """from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, set_seed

set_seed(42)
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
model = get_peft_model(model, LoraConfig())
"""
LATE = SCRIPT.replace("set_seed(42)\n", "") + "set_seed(42)\n"
HELPED = LATE.replace("\nset_seed(42)", "\ndef main():\n    set_seed(42)\n\n\nmain()")

RULE = Rule(
    code="REP106",
    name="late-seed",
    explain=__doc__,
    severity=Severity.INFO,
    check=check,
    source=(
        "peft 0.21 and torch 2.13. Tried in two processes each: with `set_seed` after `get_peft_model` the sums of the "
        "adapter's weights differ, with it before they are equal."
    ),
    bad=(
        Case(script=LATE, at="calls.3"),
        Case(
            script=LATE.replace(", set_seed", "").replace("set_seed(42)", "import torch\n\ntorch.manual_seed(1)"),
            at="calls.3",
        ),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT + "set_seed(42)\n"),
        Case(script=HELPED),
        Case(script=LATE.replace("model =", "from mine import seed_all\n\nseed_all(1)\nmodel =", 1)),
        Case(script=LATE.replace("set_seed(42)\n", "import torch\n\nrows = torch.Generator().manual_seed(1)\n")),
    ),
    kinds=PROGRAMS,
)
