"""Gradients: which of the trained weights get one, and whether the optimizer would change them."""

import re
from typing import Any

from ..events import EventWriter

LORA = re.compile(r"\.lora_(A|B|embedding_A|embedding_B)\.")
REACHED = "_holdfast_reached"
"""Attribute of a trainer: names of the weights that got a gradient other than 0, in any step."""
HELD = "_holdfast_held"
"""Attribute of a trainer: whether its optimizer held any of the weights that were trained, in any step."""
SHOWN = 3


def look_at_step(trainer: Any) -> None:
    """Remember which weights have a gradient, after a backward pass and before they are reset.

    So too whether the optimizer holds them: at the end of training the best checkpoint may have taken their place.
    """
    reached: set[str] = vars(trainer).setdefault(REACHED, set())
    setattr(trainer, HELD, getattr(trainer, HELD, False) or _holds_trained(trainer))
    for name, each in trainer.model.named_parameters():
        if name not in reached and each.grad is not None and bool(each.grad.ne(0).any()):
            reached.add(name)


def judge(trainer: Any, events: EventWriter) -> None:
    """Report a training that reaches none of its weights, or not its adapter."""
    reached: set[str] | None = vars(trainer).get(REACHED)
    if reached is None or hasattr(trainer, "reward_funcs"):  # rewards that are all the same give no gradient
        return
    trained = {name for name, each in trainer.model.named_parameters() if each.requires_grad}
    lora = set(filter(LORA.search, trained))
    if cause := _lack_of_gradients(trainer, trained, lora, reached):
        because, fix = cause
        events.fault("no-trainable-parameters", "step", because, fix=fix)
    elif missed := _groups(lora) - _groups(lora & reached):
        because = (
            f"the adapter on {', '.join(sorted(missed)[:SHOWN])} gets no gradient from the rows that were looked at"
        )
        events.warning("lora-wrong-target-modules", "step", because)


def _lack_of_gradients(trainer: Any, trained: set[str], lora: set[str], reached: set[str]) -> tuple[str, str] | None:
    """Return why weights or the adapter get no gradient, and the fix; None if they get one.

    Args:
        trainer: Has the model and the optimizer.
        trained: Names of all trained weights.
        lora: Those of the adapter's matrices.
        reached: Names of the weights that got a gradient.
    """
    is_adapter_idle = bool(lora) and lora.isdisjoint(reached)
    if is_adapter_idle and _is_scaled_away(trainer.model):
        because = "`lora_alpha` is 0, so what the adapter computes is multiplied by 0"
        return because, "Give `lora_alpha` a value above 0, such as twice `r`."
    if cause := _lack_of_updates(trainer, trained, reached):
        return cause
    if is_adapter_idle:
        others = ", ".join(sorted(reached)[:SHOWN])
        because = f"none of the {len(lora)} matrices of the adapter gets a gradient, only {others}"
        fix = "Compute the loss from what the adapter is part of: without `detach` and without `torch.no_grad()` around the model's body."
        return because, fix
    return None


def _lack_of_updates(trainer: Any, trained: set[str], reached: set[str]) -> tuple[str, str] | None:
    """Return why no trained weight is updated, and the fix; None if any is, or none is trained."""
    if trained and trained.isdisjoint(reached):
        if getattr(trainer.args, "beta", None) == 0:
            because = f"`beta` is 0, so the loss is the same whatever the model says: none of {len(trained)} tensors gets a gradient"
            return because, "Give `beta` a value above 0; 0.1 is the default."
        because = (
            f"none of the {len(trained)} tensors that are trained gets a gradient: the loss does not depend on them"
        )
        fix = "Compute the loss from the outputs of the model that the trainer passes, without `detach`, `item` or `torch.no_grad()`."
        return because, fix
    if trained and not getattr(trainer, HELD):
        because = f"the optimizer holds none of the {len(trained)} tensors that are trained"
        fix = "Make the optimizer of the parameters of the model that the trainer has, or leave `optimizers` to the trainer."
        return because, fix
    return None


def _holds_trained(trainer: Any) -> bool:
    """True if the optimizer has any of the weights that are trained; True where it is not known."""
    groups = getattr(trainer.optimizer, "param_groups", None)
    if not groups:
        return True
    held = {id(each) for group in groups for each in group["params"]}
    return any(id(each) in held for each in trainer.model.parameters() if each.requires_grad)


def _is_scaled_away(model: Any) -> bool:
    """True if every adapter of a model is multiplied by 0."""
    held = (getattr(each, "scaling", None) for each in model.modules())  # of attention it is a number
    scales = [scale for each in held if isinstance(each, dict) for scale in each.values()]
    return bool(scales) and not any(scales)


def _groups(names: set[str]) -> set[str]:
    """Return the modules of some matrices of adapters, numbers of layers left out; experts get rows by chance."""
    modules = {LORA.split(name)[0] for name in names if ".experts." not in name}
    return {".".join("*" if part.isdigit() else part for part in module.split(".")) for module in modules}
