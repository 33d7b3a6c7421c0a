"""What a rehearsal teaches about the job at its full size: rows and tokens a step, steps, bytes of a checkpoint.

The settings are those that were requested, the rows those that the script gave its trainer, the parameters those of the
model that it named. For one process: more of them take as many times the rows a step. Sources: `Trainer` of transformers
5.23 (`set_initial_training_values`), `RepeatSampler` of TRL 1.16.
"""

from collections.abc import Mapping
from math import ceil, inf
from typing import Any, Final

from holdfast.core.rehearse.rehearsal import LearntFigures, PartResult, TokenFigures
from holdfast.core.run.training_event import StepDone
from holdfast.results.inspect import TokenReport

Fact = Mapping[str, Any]
BYTES: Final = {"float32": 4, "bfloat16": 2, "float16": 2}
STATES: Final = {"adamw_torch": 2, "adamw_torch_fused": 2, "adamw": 2, "lion": 1, "sgd": 0}
"""Numbers that an optimizer keeps for each that is trained, of the same type; for others no checkpoint is foretold."""


def learn(whole: PartResult, tokens: TokenReport | None) -> LearntFigures:
    """Return figures for `plan`.

    Args:
        whole: The part that went the whole path.
        tokens: How long the script's rows are.
    """
    training, model, trained = (whole.first(about) for about in ("training", "model", "trained"))
    arguments: Fact = training.get("arguments", {})
    figures: dict[str, Any] = {}
    if arguments.get("per_device_train_batch_size") and arguments.get("gradient_accumulation_steps"):
        figures |= _step_figures(arguments, _rows(whole), tokens)
    steps = [step.elapsed_s for step in whole.happened(StepDone) if step.elapsed_s]
    if steps:
        figures["twin_step_s"] = sorted(steps)[len(steps) // 2]
    if model.get("parameters"):
        figures["parameters"] = model["parameters"]
        figures |= _checkpoint_figures(arguments, model, trained)
    return LearntFigures(**figures)


def _step_figures(fact: Fact, rows: int | None, tokens: TokenReport | None) -> dict[str, Any]:
    """Return rows, tokens and number of the optimizer steps."""
    each = fact["per_device_train_batch_size"] * fact["gradient_accumulation_steps"]
    group = fact.get("num_generations")
    figures: dict[str, Any] = (
        {"completions_per_step": each, "rows_per_step": each / group} if group else {"rows_per_step": each}
    )
    if tokens and not group:
        figures |= _token_figures(each, fact, tokens)
    return figures | _step_counts(each, fact, rows, tokens)


def _step_counts(each: int, fact: Fact, rows: int | None, tokens: TokenReport | None) -> dict[str, int]:
    """Return the number of steps in all, and of an epoch, as far as they are known.

    Args:
        each: Rows, or completions, of a step.
        fact: The trainer's arguments.
        rows: The number of rows.
        tokens: How long they are.
    """
    limit = {"steps": fact["max_steps"]} if fact["max_steps"] > 0 else {}
    if not rows:
        return limit
    epoch = _epoch_of_groups(fact, rows) if fact.get("num_generations") else ceil(_units(rows, tokens) / each)
    return {"steps_per_epoch": epoch, **(limit or {"steps": ceil(epoch * fact["num_train_epochs"])})}


def _token_figures(rows: int, fact: Fact, tokens: TokenReport) -> dict[str, TokenFigures]:
    """Return tokens of a row, cut where the trainer cuts, and of a step: with the rows' own tokens, and padded at worst."""
    most = tokens.max_length or inf
    mean, p95, longest = (min(each, most) for each in (tokens.mean, tokens.p95, tokens.max))
    step = TokenFigures(mean=rows * mean, p95=rows * p95, max=rows * longest)
    if fact.get("packing") and tokens.packed and most < inf:
        step = TokenFigures(mean=rows * most * tokens.packed, max=rows * most)
    return {"tokens_per_row": TokenFigures(mean=mean, p95=p95, max=longest), "tokens_per_step": step}


def _units(rows: int, tokens: TokenReport | None) -> float:
    """Return the number of units in an epoch: rows, or the packs or pairs that they make."""
    if tokens and tokens.units and tokens.of:
        return rows * tokens.units / tokens.of
    return rows


def _epoch_of_groups(fact: Fact, prompts: int) -> int:
    """Return the steps of an epoch in which each prompt gets several completions; prompts that fill no batch are left out."""
    batch = fact.get("generation_batch_size") or fact["per_device_train_batch_size"] * (
        fact.get("steps_per_generation") or 1
    )
    at_once: int = max(1, batch // fact["num_generations"])
    turns: int = (prompts // at_once) * (fact.get("num_iterations") or 1) * (fact.get("steps_per_generation") or 1)
    return max(1, ceil(turns / int(fact["gradient_accumulation_steps"])))


def _checkpoint_figures(fact: Fact, model: Fact, trained: Fact) -> dict[str, Any]:
    """Return the number of trained parameters, and the bytes of a checkpoint: its model or adapter, and its optimizer."""
    states, counted = STATES.get(str(fact.get("optim"))), _trained(model, trained)
    if counted is None:
        return {}
    count, width = counted
    facts: dict[str, Any] = {"trained_parameters": count}
    if width and states is not None:
        facts["checkpoint_bytes"] = count * width * (1 if fact.get("save_only_model") else 1 + states)
    return facts


def _trained(model: Fact, trained: Fact) -> tuple[int, int | None] | None:
    """Return the number of trained parameters, and the bytes of each; None if the number is not known."""
    if trained.get("whole"):
        return model["parameters"], BYTES.get(model["dtype"])
    kind, linear = trained.get("lora"), model.get("linear")
    if kind and linear and all(name in linear for name in kind["modules"]):
        return kind["r"] * sum(linear[name] for name in kind["modules"]), BYTES.get(kind["dtype"])
    return None


def _rows(whole: PartResult) -> int | None:
    """Return the number of rows that the script trains on; None if it is unknown."""
    return next((each["rows"] for each in whole.facts("rows") if str(each["role"]).startswith("train")), None)
