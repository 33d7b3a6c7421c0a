"""Learning rates that leave nothing of a model, by the optimizer that the trainer has and by what the loss does.

A twin is narrow, and takes higher rates than a wide model: where its loss doubles in a few steps, that of the model does too.
"""

from typing import Any

from ..telling import Tell

ADAPTIVE = frozenset({"Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adafactor", "Adagrad", "RMSprop", "Lion"})
"""Optimizers that change each weight by about the rate in a step, by the names of their classes; others have scales of their own."""
NOTHING_LEFT = 1.0
"""Fifty times the size of a weight of a language model."""
WIPED = 0.1
"""Share of a weight that its decay takes in a step: after 20 steps an eighth is left."""
WORSE = 2.0
"""Times the first loss. Tried: with AdamW at 0.05 the loss falls, at 0.5 it is 3.6 times the first."""
NAME = "lr-too-high-divergence"


def judge(trainer: Any, tell: Tell) -> None:
    """Tell of a rate that is too high for the optimizer, or of a loss that runs away."""
    optimizer = getattr(trainer.optimizer, "optimizer", trainer.optimizer)  # which accelerate wraps
    groups = getattr(optimizer, "param_groups", None) or [{}]
    rate = max(float(group.get("initial_lr", group.get("lr", 0.0))) for group in groups)
    kind = type(optimizer).__name__
    if kind in ADAPTIVE and rate >= NOTHING_LEFT:
        tell.wrong(
            NAME,
            "step",
            f"a learning rate of {rate:g} with {kind} leaves nothing of the weights: an exponent may be lost",
        )
    decay = max(float(group.get("weight_decay", 0.0)) for group in groups)
    if kind in ADAPTIVE and decay * rate >= WIPED:
        tell.wrong(
            NAME,
            "step",
            f"a weight decay of {decay:g} with a learning rate of {rate:g} takes {decay * rate:.0%} of each weight in each step",
        )
    losses = [float(each["loss"]) for each in trainer.state.log_history if "loss" in each]
    if losses and guesses_tokens(trainer) and max(losses) > WORSE * losses[0] > 0:
        because = f"the loss rises from {losses[0]:.3g} to {max(losses):.3g} in {len(losses)} steps with a learning rate of {rate:g}"
        tell.wrong(NAME, "step", because)


def guesses_tokens(trainer: Any) -> bool:
    """Return whether the loss is that of guessing the next token, which is alike in all rows of a model that knows nothing."""
    model = trainer.model.get_base_model() if hasattr(trainer.model, "get_base_model") else trainer.model
    causal = type(model).__name__.endswith(("ForCausalLM", "ForConditionalGeneration", "LMHeadModel"))
    kinds = [each.__name__ for each in type(trainer).__mro__]
    return causal and (kinds[0] == "Trainer" or "SFTTrainer" in kinds)
