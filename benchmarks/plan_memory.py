"""The closed form beside published measurements, and beside the estimators that people use.

    .venv/bin/python -m benchmarks.plan_memory [--trace] [-v]

With `--trace`, each step is traced too, which takes some minutes.
The rows are in `memory/published.jsonl`, each with its source. Those of quality A are read: every setting is stated. A row that the closed form does not claim to know is listed with the reason.
Nothing is fitted to the rows. The form was written with the Mistral rows in view; the families of HOLDOUT were only measured with.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.memory.errors import print_errors
from benchmarks.memory.traces import StepToTrace, Untraced, trace_all
from holdfast.catalog.behaviour import behaviour
from holdfast.catalog.hub.flavors import load_flavors
from holdfast.catalog.hub.gpus import GIB, load_ceilings, load_gpus
from holdfast.catalog.models.configs import load_configs
from holdfast.catalog.optimizers import load_optimizers
from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.methods import Method
from holdfast.core.plan.estimate import MemoryEstimate
from holdfast.engine.plan.card import estimate_memory
from holdfast.engine.plan.duration import step_seconds
from holdfast.engine.plan.head import SHIFTS
from holdfast.engine.plan.parameters import read_model, total_parameters
from holdfast.engine.plan.step import (
    FLOAT32,
    LoraAdapter,
    LossHead,
    Numerics,
    Sharding,
    TrainingStep,
    WeightQuantization,
)

Row = Mapping[str, Any]

PUBLISHED: Final = Path(__file__).parent / "memory" / "published.jsonl"
CARD: Final = "NVIDIA A100 80GB"
"""Of all rows that are supported."""
GPU: Final = "a100"
"""The same, by its name in `gpus.toml`."""
HOLDOUT: Final = ("ibm/PowerLM-3b",)
ATTENTION: Final = frozenset({"q_proj", "k_proj", "v_proj", "o_proj"})
FUSED_CROSS_ENTROPY: Final = {"4.45": 8.0, "4.48": 10.0}
"""Bytes per token and vocabulary entry of full logits with a cross entropy that writes gradients over its input: logits.float(), the
shifted copy, and from transformers 4.46 on the 16-bit logits."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A row with its estimate.

    Attributes:
        row: The row.
        step: The step that it measured.
        estimate: The closed form's.
        traced: The trace's; None where there is none.
    """

    row: Row
    step: TrainingStep
    estimate: MemoryEstimate
    traced: MemoryEstimate | None = None

    @property
    def driver(self) -> float | None:
        """What nvidia-smi showed, in GiB."""
        found = re.search(r"nvidia-smi peak ([\d.]+)", self.row["notes"] or "")
        return float(found[1]) if found else None

    @property
    def allocated(self) -> float | None:
        """What torch had allocated, in GiB."""
        return self.row["peak_gib"] if "max_memory_allocated" in self.row["peak_kind"] else None


def main() -> None:
    """Print the tables."""
    rows = [json.loads(line) for line in PUBLISHED.read_text(encoding="utf-8").splitlines()]
    scored, unsupported = score(rows)
    if "--trace" in sys.argv:
        scored = add_traces(scored, unsupported)
    for title, part in (
        ("all", scored),
        ("Mistral-7B", [each for each in scored if each.row["model"] not in HOLDOUT]),
        *((name, [each for each in scored if each.row["model"] == name]) for name in HOLDOUT),
    ):
        print_part(title, part)
    print_speeds(scored)
    print("\nnot supported:")
    for because, count in unsupported.most_common():
        print(f"  {count:3} {because}")
    if "-v" in sys.argv:
        for each in scored:
            print_row(each)


def score(rows: Sequence[Row]) -> tuple[list[Scored], Counter[str]]:
    """Return the rows of quality A that the closed form knows, and the reasons for all others."""
    scored: list[Scored] = []
    unsupported: Counter[str] = Counter()
    for row in rows:
        if row["quality"] != "A":
            continue
        try:
            step = step_of(row)
        except MissingFactError as error:
            unsupported[f"{error.because}"] += 1
            continue
        scored.append(Scored(row, step, estimate_memory(step, expandable=False)))
    return scored, unsupported


def add_traces(scored: Sequence[Scored], unsupported: Counter[str]) -> list[Scored]:
    """Return the rows with their traces; count those that have none by the reason."""
    gpu = load_gpus()[GPU]
    found = trace_all(
        {
            each.row["id"]: StepToTrace(
                config=load_configs()[each.row["model"]].config,
                step=each.step,
                closed=each.estimate,
                expandable=False,
                gpu=gpu,
            )
            for each in scored
        }
    )
    for each in found.values():
        if isinstance(each, Untraced):
            unsupported[f"not traced: {each.because}"] += 1
    traced = {key: each for key, each in found.items() if isinstance(each, MemoryEstimate)}
    return [replace(each, traced=traced.get(each.row["id"])) for each in scored]


def print_traced(scored: Sequence[Scored]) -> None:
    """Print the errors of the trace beside those of the closed form, on the rows that were traced."""
    rows = [(each, each.traced) for each in scored if each.traced]
    if not rows:
        return
    print_errors("  allocated, trace", ((traced.allocated / GIB, each.allocated) for each, traced in rows))
    print_errors(
        "  allocated, closed form, the same rows", ((each.estimate.allocated / GIB, each.allocated) for each, _ in rows)
    )
    print_errors("  driver, trace", ((traced.card.value / GIB, each.driver) for each, traced in rows))
    print_errors(
        "  driver, closed form, the same rows", ((each.estimate.card.value / GIB, each.driver) for each, _ in rows)
    )
    bounds = [traced.card.low / GIB <= each.driver <= traced.card.high / GIB for each, traced in rows if each.driver]
    print(f"  driver within the trace's bounds: {sum(bounds)} of {len(bounds)}")
    high = {each.row["id"]: traced.card.high / GIB for each, traced in rows}
    print_fits("trace", [each for each, _ in rows], lambda each: high[each.row["id"]])
    middle = {each.row["id"]: traced.card.value / GIB for each, traced in rows}
    print_fits("trace, without the bound", [each for each, _ in rows], lambda each: middle[each.row["id"]])


def print_part(title: str, scored: Sequence[Scored]) -> None:
    """Print the errors of each estimator on some rows."""
    print(f"\n{title}: {len(scored)} rows")
    estimators: dict[str, Callable[[Scored], float]] = {
        "closed form": lambda each: each.estimate.allocated / GIB,
        "accelerate estimate-memory": lambda each: accelerate(each.step) / GIB,
        "Transformer Math 101": lambda each: transformer_math(each.step) / GIB,
        "DeepSpeed estimate_zero2/3": lambda each: deepspeed(each.step) / GIB,
    }
    for name, estimate in estimators.items():
        print_errors(f"  allocated, {name}", ((estimate(each), each.allocated) for each in scored))
    print_fitcheck(scored)
    estimators["closed form"] = lambda each: each.estimate.card.value / GIB
    for name, estimate in estimators.items():
        print_errors(f"  driver, {name}", ((estimate(each), each.driver) for each in scored))
    driven = [each for each in scored if each.driver]
    within = sum((each.driver or 0) <= each.estimate.card.high / GIB for each in driven)
    print(f"  driver at most the bound: {within} of {len(driven)}")
    for name, estimate in {**estimators, "closed form": lambda each: each.estimate.card.high / GIB}.items():
        print_fits(name, scored, estimate)
    print_traced(scored)


def print_fits(name: str, scored: Sequence[Scored], estimate: Callable[[Scored], float]) -> None:
    """Print how often an estimator says that a run fits a card which it did not fit, and the other way round.

    Each row is asked about on each card of Hugging Face Jobs. A run does not fit if the driver showed more than the card has.
    """
    gpus = {gpu.name: gpu for flavor in load_flavors().values() for gpu in flavor.gpus}
    cards = [gpu.memory_bytes / GIB for gpu in gpus.values()]
    asked = [(estimate(each) <= card, each.driver <= card) for each in scored for card in cards if each.driver]
    if asked:
        wrong = sum(said and not true for said, true in asked)
        missed = sum(true and not said for said, true in asked)
        print(f"  fits, {name:38} n={len(asked):3}  false fits {wrong}, fits not seen {missed}")


def print_speeds(scored: Sequence[Scored]) -> None:
    """Print the error of the time of a step, by the tokens per second that were published. All are of A100 cards."""
    ceilings = load_ceilings()[CARD]
    ratios = sorted(
        each.step.tokens / step_seconds(each.step, ceilings, lengths=None).value / each.row["tokens_per_s_per_gpu"] - 1
        for each in scored
        if each.row["tokens_per_s_per_gpu"]
    )
    middle = median(abs(ratio) for ratio in ratios)
    print(f"\ntokens per second, n={len(ratios)}: median {middle:.1%}, worst {ratios[0]:+.1%} {ratios[-1]:+.1%}")


def print_row(each: Scored) -> None:
    """Print one row."""
    measured = each.allocated or float("nan")
    ours = each.estimate.allocated / GIB
    row = each.row
    what = f"{row['model'].split('/')[1]:16} {row['method']:5} {row['micro_batch']}x{row['seq_len']} gpus={row['gpus']}"
    config = re.search(r"framework_config=(\S+?);", row["notes"] or "")
    print(
        f"{row['id']} {what} {config[1] if config else '':30} {measured:7.2f} {ours:7.2f} {ours / measured - 1:+.1%} "
        f"{each.estimate.peak.name}{_traced(each)}  driver {each.driver} {each.estimate.card.low / GIB:.1f}..{each.estimate.card.high / GIB:.1f}"
    )


def _traced(each: Scored) -> str:
    if each.traced is None:
        return ""
    error = each.traced.allocated / GIB / (each.allocated or float("nan")) - 1
    return f"  traced {each.traced.allocated / GIB:.2f} {error:+.2%}, card {each.traced.card.value / GIB:.1f}"


def step_of(row: Row) -> TrainingStep:
    """Return the step that a row measured.

    Raises:
        MissingFactError: The closed form does not know it.
    """
    if "fms-acceleration" in row["source"]:
        return fms_step(row)
    raise MissingFactError("row", f"not trained by transformers' Trainer: {row['source'].split('/')[4]}")


def fms_step(row: Row) -> TrainingStep:
    """Return the step of a run of fms-acceleration: TRL's SFTTrainer with transformers 4.45 or 4.48, and torch 2.4."""
    known = load_configs().get(row["model"])
    if row["quant"] == "gptq-4bit":
        raise MissingFactError("row", "weights quantized by GPTQ")
    if known is None:
        raise MissingFactError("row", f"no config of {row['model']}")
    release = re.search(r"transformers (\d+\.\d+)\.\d+", row["versions"])
    assert release is not None  # noqa: S101 - every such row has it
    fused = row["loss_kernels"].startswith("fused")
    distributed = row["gpus"] > 1
    autocast = row["amp"] is not None
    # TRL's preparation leaves norms in float32, unless the weights are sharded; that of fms-acceleration does not.
    wide = "framework_config=baseline-peft-bnb;" in row["notes"] and not distributed
    model = read_model(known.config, known.parameters)
    return TrainingStep(
        method=Method.SFT,
        model=replace(model, attention=replace(model.attention, window=0, sliding=0)),  # flash attention
        batch=row["micro_batch"],
        length=row["seq_len"],
        numerics=Numerics(residual=4 if wide else 2, mlp=4 if wide else 2, autocast=autocast),
        adapter=None if row["method"] == "full" else LoraAdapter(rank=row["lora_r"], targets=ATTENTION, dropout=True),
        quantization=WeightQuantization(nested=True) if row["quant"] else None,
        optimizer=load_optimizers()["adamw_torch"],
        head=fms_head(row, release[1], fused=fused),
        checkpointing=True,
        reentrant=True,
        attention="flash",
        fused=frozenset({"norm"}) if fused else frozenset(),
        sharding=Sharding(
            strategy="fsdp" if distributed else "none", processes=row["gpus"], float32_shards=distributed and autocast
        ),
    )


def fms_head(row: Row, release: str, *, fused: bool) -> LossHead:
    """Return where the loss came from."""
    if "Liger" in row["loss_kernels"]:
        return LossHead(kind="liger")
    if fused:
        size = FUSED_CROSS_ENTROPY[release]
        shift = SHIFTS[size + 4.0]  # of the log-softmax, which this kernel does not keep
        return LossHead(kind="logits", forward=size, backward=size, shift=shift, overwrites=True)
    forward = behaviour("logits_forward", {"transformers": f"{release}.0"}).value
    assert isinstance(forward, float)  # noqa: S101 - the table says so
    return LossHead(kind="logits", forward=forward, backward=12.0, shift=SHIFTS[forward])


def accelerate(step: TrainingStep) -> float:
    """Return what `accelerate estimate-memory` says of training in bfloat16: the largest of 4, 6 and 8 bytes per parameter.

    Source: accelerate 1.15 commands/estimate.py, estimate_training_usage.
    """
    return 8.0 * total_parameters(step.model)


def transformer_math(step: TrainingStep) -> float:
    """Return what "Transformer Math 101" of EleutherAI says: weights, 14 bytes more per trained parameter, and checkpoints.

    Source: blog.eleuther.ai/transformer-math, 2023: mixed precision AdamW 12 B, gradients 2 B, activations 2sbhL with full recomputation.
    """
    frozen = 2.0 * total_parameters(step.model)
    activations = 2.0 * step.tokens * step.model.hidden * step.model.layers
    return (frozen + 14.0 * step.trained) / step.sharding.processes + activations


def deepspeed(step: TrainingStep) -> float:
    """Return what DeepSpeed's estimators say without offloading: of a sharded model that of ZeRO-3, else that of ZeRO-2.

    They count the states of a full training, and no activations; their only inputs are parameters and GPUs.

    Source: deepspeed 0.19.8 runtime/zero/stage_1_and_2.py, estimate_zero2_model_states_mem_needs; stage3.py, estimate_zero3_….
    """
    parameters, processes = total_parameters(step.model), step.sharding.processes
    if processes == 1:
        return 2.0 * parameters + 18.0 * parameters
    return 4.0 * step.model.vocabulary * step.model.hidden + 18.0 * parameters / processes


def print_fitcheck(scored: Sequence[Scored]) -> None:
    """Print the errors of fitcheck, if it is installed (`pip install fitcheck-llm`), on the rows with one GPU: it knows no other."""
    if find_spec("fitcheck") is None:
        return
    alone = [(each, report) for each in scored if (report := fitcheck(each)) is not None]
    print_errors(
        "  allocated, fitcheck, one GPU, without its overhead",
        ((tensors, each.allocated) for each, (tensors, _) in alone),
    )
    print_errors("  driver, fitcheck, one GPU", ((total, each.driver) for each, (_, total) in alone))
    print_errors(
        "  allocated, closed form, the same", ((each.estimate.allocated / GIB, each.allocated) for each, _ in alone)
    )
    print_errors(
        "  driver, closed form, the same", ((each.estimate.card.value / GIB, each.driver) for each, _ in alone)
    )
    print_fits("fitcheck, one GPU", [each for each, _ in alone], lambda each: (fitcheck(each) or (0.0, 0.0))[1])


def fitcheck(scored: Scored) -> tuple[float, float] | None:
    """Return what fitcheck says of a row's tensors and of the whole process, in GiB; None for what it refuses."""
    from fitcheck import estimator  # type: ignore[import-not-found]
    from fitcheck.config_parser import ModelConfig  # type: ignore[import-not-found]
    from fitcheck.gpu_db import GPU_DB  # type: ignore[import-not-found]

    step, row = scored.step, scored.row
    if step.sharding.processes > 1:
        return None
    config = load_configs()[row["model"]].config
    heads = config["num_attention_heads"]
    model = ModelConfig(
        name=row["model"],
        num_params=total_parameters(step.model),
        hidden_size=config["hidden_size"],
        num_layers=config["num_hidden_layers"],
        num_attention_heads=heads,
        num_kv_heads=config.get("num_key_value_heads", heads),
        intermediate_size=config["intermediate_size"],
        vocab_size=config["vocab_size"],
        head_dim=config.get("head_dim", config["hidden_size"] // heads),
        tie_word_embeddings=bool(config.get("tie_word_embeddings")),
    )
    training = estimator.TrainingConfig(
        precision="bf16",
        quantization="nf4" if step.quantization else "none",
        double_quant=bool(step.quantization),
        optimizer="adamw",
        optimizer_dtype="bf16" if step.adapter is None and step.trained_bytes < FLOAT32 else "fp32",
        batch_size=step.batch,
        seq_len=step.length,
        lora_rank=step.adapter.rank if step.adapter else None,
        lora_targets=sorted(ATTENTION),
        grad_checkpoint=True,
        flash_attn=True,
    )
    try:
        report = estimator.estimate(model, training, GPU_DB["a100-80"])
    except ValueError:
        return None
    return (report.total_mib - report.overhead_mib) / 1024, report.total_mib / 1024


if __name__ == "__main__":
    main()
