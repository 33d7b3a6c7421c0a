"""Learning rates that leave nothing of a model, by the optimizer that the trainer has and by what the loss does.

A twin is narrow, and takes higher rates than a wide model: where its loss doubles in a few steps, that of the model does too.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..events import EventWriter

ADAPTIVE = frozenset({"Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adafactor", "Adagrad", "RMSprop", "Lion"})
"""Optimizers that change each weight by about the rate in a step, by the names of their classes; others have scales of their own."""
NOTHING_LEFT = 1.0
"""Fifty times the size of a weight of a language model."""
WIPED = 0.1
"""Share of a weight that its decay takes in a step: after 20 steps an eighth is left."""
WORSE = 2.0
"""Times the first loss. Tried: with AdamW at 0.05 the loss falls, at 0.5 it is 3.6 times the first."""
NAME = "lr-too-high-divergence"
USUAL = "Set a usual rate: full fine-tuning 5e-6 to 2e-5, LoRA 1e-4 to 2e-4, with a weight decay of at most 0.1."


def judge(trainer: Any, events: EventWriter) -> None:
    """Report a rate that is too high for a trainer's optimizer, or of a loss that runs away."""
    optimizer = getattr(trainer.optimizer, "optimizer", trainer.optimizer)  # which accelerate wraps
    judge_optimizer(optimizer, events)
    if guesses_tokens(trainer):
        losses = [float(each["loss"]) for each in trainer.state.log_history if "loss" in each]
        judge_losses(losses, rate_of(optimizer), events)


def judge_optimizer(optimizer: Any, events: EventWriter) -> bool:
    """Report a rate, or a weight decay, that leaves nothing of the weights; return whether that is so."""
    rate, kind = rate_of(optimizer), type(optimizer).__name__
    decay = max(float(group.get("weight_decay", 0.0)) for group in _groups(optimizer))
    if kind in ADAPTIVE and rate >= NOTHING_LEFT:
        because = f"a learning rate of {rate:g} with {kind} leaves nothing of the weights: is an exponent missing?"
    elif kind in ADAPTIVE and decay * rate >= WIPED:
        because = f"a weight decay of {decay:g} with a learning rate of {rate:g} removes {decay * rate:.0%} of each weight per step"
    else:
        return False
    events.fault(NAME, "step", because, fix=USUAL)
    return True


def judge_losses(losses: Sequence[float], rate: float, events: EventWriter) -> None:
    """Report losses of guessing tokens that run away."""
    if losses and max(losses) > WORSE * losses[0] > 0:
        because = f"the loss rises from {losses[0]:.3g} to {max(losses):.3g} in {len(losses)} steps with a learning rate of {rate:g}"
        events.fault(NAME, "step", because, fix=USUAL)


def rate_of(optimizer: Any) -> float:
    """Return the highest learning rate that an optimizer was made with; 0 if it has none, or finds its own."""
    return max(float(group.get("initial_lr", group.get("lr")) or 0.0) for group in _groups(optimizer))


def _groups(optimizer: Any) -> Sequence[Mapping[str, Any]]:
    return getattr(optimizer, "param_groups", None) or [{}]


def guesses_tokens(trainer: Any) -> bool:
    """True if the loss is that of guessing the next token, which is alike in all rows of a model that knows nothing."""
    model = trainer.model.get_base_model() if hasattr(trainer.model, "get_base_model") else trainer.model
    causal = type(model).__name__.endswith(("ForCausalLM", "ForConditionalGeneration", "LMHeadModel"))
    kinds = [each.__name__ for each in type(trainer).__mro__]
    return causal and (kinds[0] == "Trainer" or "SFTTrainer" in kinds)
