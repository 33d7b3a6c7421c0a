"""What is wrong with a training that nothing complains about: no gradient, no labels, rewards that are all the same.

Each is reported as a class of failure with what shows it, and only where the twin cannot be what causes it: its weights are
random, so losses are high, answers are nonsense, and neither is reported.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..events import EventWriter
from ..libraries import torch
from . import gradients, rates, tokens
from .batches import MATRIX
from .ends import look_at_ends, report_ends
from .regressions import look_at_classes, report_regression
from .saved_adapters import largest_moved, lora_of
from .targets import look_at_targets

IGNORED = -100
"""The label of tokens that no loss counts."""
MASKED_LM = ("ForMaskedLM", "ForPreTraining")
"""How classes of models end that guess masked tokens."""
KEEP_LABELS = (
    'Keep the labels of the answers: print `(batch["labels"] != -100).sum()` of one batch, and correct what masks them.'
)
NUMBERS = "Find what makes it so: a loss that divides by 0 or takes the logarithm of 0, rows without any label, or weights in float16."
USUAL_RATE = "Set a usual rate: full fine-tuning 1e-5, LoRA 1e-4 to 2e-4, DPO 5e-7 to 5e-6, GRPO 1e-6."
STILL = 1e-9
"""A learning rate that changes nothing of a weight as floats hold it."""


def look_at_trainer(trainer: Any, events: EventWriter) -> None:
    """Report a model that is about to be trained and cannot learn."""
    model, settings = getattr(trainer, "model", None), getattr(trainer, "args", None)
    if model is None or settings is None:
        return
    checkpointing = settings.gradient_checkpointing or getattr(model, "is_gradient_checkpointing", False)
    events.fact("trains", checkpointing=bool(checkpointing))
    if not any(each.requires_grad for each in model.parameters()):
        because = "no parameter of the model requires a gradient: all of them are frozen"
        fix = "Leave `requires_grad` of what is to be trained as it is, or give the trainer a `peft_config`; load an adapter with `is_trainable=True`."
        events.fault("no-trainable-parameters", "model", because, fix=fix)
    look_at_targets(model, events)
    if isinstance(settings.learning_rate, float) and settings.learning_rate <= STILL and trainer.optimizer is None:
        because = f"learning_rate={settings.learning_rate:g} changes no weight"
        events.fault("lr-too-low-flat", "step", because, fix=USUAL_RATE, learning_rate=settings.learning_rate)


def look_at_batch(inputs: Any, trainer: Any, events: EventWriter) -> None:
    """Remember how many tokens of a batch are trained on, and whether the ends of texts are among them."""
    look_at_classes(inputs, trainer)
    trained = _trained(inputs)
    if not torch.is_tensor(trained) or len(trained.shape) != MATRIX:
        return
    count = int(trained.sum())
    trainer._holdfast_cut = getattr(trainer, "_holdfast_cut", True) and _is_cut(inputs, trainer)
    trainer._holdfast_labels = getattr(trainer, "_holdfast_labels", 0) + count
    if inputs.get("labels") is not None and not events.has_shrunk("tokens") and not masks_at_random(trainer.model):
        unlearned = int((trained.sum(dim=1) == 0).sum())
        rows, seen = getattr(trainer, "_holdfast_unlearned", (0, 0))
        trainer._holdfast_unlearned = (rows + unlearned, seen + trained.shape[0])
    events.fact("batch", rows=trained.shape[0], tokens=trained.shape[1], trained=count)
    look_at_ends(inputs, trained, trainer)


def _is_cut(inputs: Any, trainer: Any) -> bool:
    """True if each row of a batch is as long as `max_length`, and the library masks all but the answers."""
    most, attended = getattr(trainer.args, "max_length", None), inputs.get("attention_mask")
    answers_only = inputs.get("labels") is None or getattr(trainer, "completion_only_loss", False)
    if not most or not answers_only or not torch.is_tensor(attended) or attended.dim() != MATRIX:
        return False
    return bool((attended.sum(dim=1) >= most).all())


def masks_at_random(model: Any) -> bool:
    """True of a model that is trained on tokens drawn at random: a short row may have none by chance."""
    return type(model).__name__.endswith(MASKED_LM)


def _trained(inputs: Any) -> Any:
    """Return which tokens of a batch are trained on: bool, (rows, tokens); None if nothing says so."""
    if not hasattr(inputs, "get"):
        return None
    labels = inputs.get("labels")
    return labels != IGNORED if labels is not None else inputs.get("completion_mask")


def look_at_training(trainer: Any, events: EventWriter) -> None:
    """Judge a training that ended by its metrics and by what it changed."""
    steps = [each for each in trainer.state.log_history if "loss" in each]
    _look_at_numbers(steps, events)
    _look_at_labels(trainer, events)
    _look_at_schedule(steps, trainer, events)
    rates.judge(trainer, events)
    report_regression(trainer, events)
    report_ends(trainer, events)
    if getattr(trainer, "_holdfast_labels", 1):  # else there is nothing that a gradient could come of
        gradients.judge(trainer, events)
    events.fact(
        "trained",
        steps=trainer.state.global_step,
        model=_class_of(trainer.model),
        base=getattr(trainer.model, "name_or_path", ""),
        adapter=largest_moved(trainer.model),
        lora=lora_of(trainer.model),
        whole=all(each.requires_grad for each in trainer.model.parameters()),
    )


def _look_at_numbers(steps: Sequence[Mapping[str, Any]], events: EventWriter) -> None:
    """Report logged losses and gradient norms that are not finite."""
    for name in ("loss", "grad_norm"):
        lost = [each["step"] for each in steps if not math.isfinite(float(each.get(name, 0.0)))]
        if lost:
            because = f"{name} is not a number at step {lost[0]}"
            events.fault("nan-loss-silent-success", "step", because, fix=NUMBERS, steps=lost)


def _look_at_labels(trainer: Any, events: EventWriter) -> None:
    """Report batches of which no token is trained on, and rows of which none is."""
    if getattr(trainer, "_holdfast_labels", 1) == 0:
        because, fix = "no token of any batch is trained on: all labels are masked", KEEP_LABELS
        if trainer._holdfast_cut and not events.has_shrunk("tokens"):
            most = trainer.args.max_length
            because = f"`max_length={most}` cuts every row before its answer: no token of any batch is trained on"
            fix = tokens.advise_length(most, getattr(trainer, "_holdfast_longest", 0))
        events.fault("completion-mask-drops-everything", "tokenize", because, fix=fix)
    unlearned, seen = getattr(trainer, "_holdfast_unlearned", (0, 0))
    if 0 < unlearned < seen:
        because = (
            f"{unlearned} of {seen} rows in the batches have no token that is trained on: all their labels are masked"
        )
        events.warning("completion-mask-drops-everything", "tokenize", because)


def _look_at_schedule(steps: Sequence[Mapping[str, Any]], trainer: Any, events: EventWriter) -> None:
    """Report a schedule that makes the learning rate 0 in every step."""
    scheduled = [float(each["learning_rate"]) for each in steps if each.get("learning_rate") is not None]
    if len(scheduled) > 1 and not any(scheduled) and trainer.args.learning_rate > STILL:
        because = (
            f"the schedule makes {trainer.args.learning_rate:g} a learning rate of 0 in each of {len(scheduled)} steps"
        )
        fix = "Give the schedule the number of steps that there are, and a warm-up shorter than that."
        events.fault("lr-too-low-flat", "step", because, fix=fix)


def _class_of(model: Any) -> str:
    """Return the name of a model's class, of the one that an adapter sits on where it has one."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return type(inner).__name__
