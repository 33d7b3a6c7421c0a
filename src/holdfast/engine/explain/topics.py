"""Pages about topics: where the memory of a training goes, and how to read a plan."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from holdfast.catalog.models.configs import load_configs
from holdfast.catalog.optimizers import load_optimizers
from holdfast.core.job.methods import Method
from holdfast.core.plan.estimate import MemoryEstimate, TermName
from holdfast.engine.plan.adapters import linear_names
from holdfast.engine.plan.card import estimate_memory
from holdfast.engine.plan.parameters import read_model
from holdfast.engine.plan.step import (
    FLOAT16,
    FLOAT32,
    LoraAdapter,
    LossHead,
    Numerics,
    TrainingStep,
    WeightQuantization,
)
from holdfast.engine.units import render_bytes

MODEL: Final = "Qwen/Qwen3-8B"
RANK: Final = 16
COLUMN: Final[Mapping[str, tuple[TermName, ...]]] = {
    "weights": ("weights", "reference"),
    "gradients": ("gradients",),
    "optimizer": ("optimizer",),
    "activations": ("activations", "logits"),
    "rest": ("overhead", "generation"),
}
BAR: Final = 32
PLAN_PAGE: Final = """# plan

`holdfast plan job.yaml` says what a job needs before it costs anything.

- **fits** means that the upper end of the memory fits. **may not fit** means that only the lower end fits.
- **The card must have** what torch allocates, what its allocator holds beside that, and the CUDA context.
- **Phases** are parts of a step. The one with the largest bar decides; under it are its terms, each with its formula.
- **time** has a lower end, where the GPU waits for nothing but launches, and an upper one, where every row is as long as `max_length`.
- **timeout** is the upper time, with saving and pushing, and 30 % more.
- **what fits** lists for each hardware the smallest change that fits, the cheapest first. The effective batch stays. `--apply` writes
  the first. Without the number of rows, it shows what a step and 1000 steps cost.
- **what would fit** stands in its place if nothing fits: changes of the job, each planned.
- **what this rests on** names each default that decides, with the releases in which it was read.

What a script cannot say, `--hardware`, `--processes`, `--strategy` and `--budget` do. `holdfast explain memory` shows where the
gigabytes go.
"""


def render_memory() -> str:
    """Return where the gigabytes of a training go, with the closed form's own numbers."""
    return "\n".join(_memory_lines())


TOPICS: Final[Mapping[str, Callable[[], str]]] = {"memory": render_memory, "plan": lambda: PLAN_PAGE}


def _memory_lines() -> Iterator[str]:
    yield "# memory"
    yield f"\nWhere the memory of a GPU goes: {MODEL} (8.2 billion parameters), 4 rows of 2048 tokens, checkpoints on.\n"
    yield "```text"
    estimates = memory_examples()
    yield f"{'':24}{''.join(f'{name:>12}' for name in COLUMN)}{'card':>10}"
    for name, estimate in estimates.items():
        amounts = "".join(f"{render_bytes(_sum(estimate, names)):>12}" for names in COLUMN.values())
        yield f"{name:24}{amounts}{render_bytes(round(estimate.card.value)):>10}"
    yield ""
    largest = max(estimate.card.value for estimate in estimates.values())
    for name, estimate in estimates.items():
        yield f"{name:24}{_bar(estimate, largest)}"
    yield f"{'':24}W weights  G gradients  O optimizer  A activations  x rest"
    yield "```\n"
    yield "- **weights**: 4 B a parameter in float32, 2 in 16 bits, 0.52 in 4 bits. TRL 0.27 and later load a name in float32."
    yield "- **gradients** and **optimizer**: of what is trained alone. AdamW keeps two numbers a parameter; an adapter has few."
    yield "- **activations**: grow with batch x length. Checkpoints keep one tensor a layer, and compute the rest again."
    yield "- **logits**: batch x length x vocabulary, in up to 14 B each. TRL 1.15 and later compute a tile at a time."
    yield "- **rest**: what the allocator holds beside that, the CUDA context, libraries."
    yield "\nTo need less: an adapter, `model.dtype: bfloat16`, 4 bits, a smaller micro-batch with more accumulation, a shorter"
    yield "`max_length`. `holdfast plan` tries them, and says which fits where. docs/plan.md has this as a picture."


def memory_examples() -> Mapping[str, MemoryEstimate]:
    """Return the memory of one model, trained in four ways."""
    return {name: estimate_memory(step, expandable=True) for name, step in _steps().items()}


def _steps() -> Mapping[str, TrainingStep]:
    known = load_configs()[MODEL]
    model = read_model(known.config, known.parameters)
    adapter = LoraAdapter(rank=RANK, targets=linear_names(model))
    wide, narrow = Numerics(weights=FLOAT32, residual=FLOAT32, autocast=True), Numerics(autocast=True)
    full = TrainingStep(
        method=Method.SFT,
        model=model,
        batch=4,
        length=2048,
        numerics=wide,
        optimizer=load_optimizers()["adamw_torch_fused"],
        head=LossHead(kind="fused"),
        masked=True,
    )
    lora = replace(full, adapter=adapter)
    return {
        "all, float32": full,
        "LoRA, float32": lora,
        "LoRA, bfloat16": replace(lora, numerics=narrow),
        "LoRA, 4 bits (QLoRA)": replace(
            lora,
            numerics=narrow,
            adapter=replace(adapter, bytes=FLOAT16),
            quantization=WeightQuantization(nested=True),
        ),
    }


def _sum(estimate: MemoryEstimate, names: tuple[TermName, ...]) -> int:
    return sum(term.bytes for term in (*estimate.peak.terms, *estimate.beside) if term.name in names)


def _bar(estimate: MemoryEstimate, largest: float) -> str:
    letters = {"weights": "W", "gradients": "G", "optimizer": "O", "activations": "A", "rest": "x"}
    bar, done = "", 0
    for column, names in COLUMN.items():
        done += _sum(estimate, names)
        bar += letters[column] * (round(BAR * done / largest) - len(bar))
    return bar
