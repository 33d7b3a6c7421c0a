"""Training loops of the script's own, without a `Trainer`: the stages that they are in, and whether they change anything.

A loop is known by its optimizers: those that are made, and that step, in the script's own lines. Source: hooks of
`torch.optim.Optimizer`, since torch 2.0. Covered: plain loops, accelerate's, and what else has an optimizer of torch step.
Not covered: the number of steps, which is the loop's own; whether its loss is the right one.
"""

import re
from dataclasses import dataclass
from functools import partial
from typing import Any

from .order import Order
from .telling import Tell
from .wrapping import when_imported, wrap

ENOUGH = 3
"""Steps after which a learning rate that was 0 in all of them is no warm-up."""
ROWS = "rows "
"""How the names of rows that were made fewer begin."""
LEAST = 2
"""Steps after which an optimizer that never saw a gradient was not only tried."""
SAVES = re.compile(r"save|push|upload|dump|write|export|checkpoint|to_|\.log\(|wandb|mlflow|trackio", re.IGNORECASE)
"""What a script says that keeps its model, or its figures, in whatever way."""
SAVING = (
    ("transformers.modeling_utils", "PreTrainedModel", ("save_pretrained",)),
    ("peft.peft_model", "PeftModel", ("save_pretrained",)),
    ("accelerate.accelerator", "Accelerator", ("save_state", "save_model")),
)
SHOWN_BY = "the job: a loop of its own decides by itself when it saves"
_loops: list["Loops"] = []


@dataclass
class Stepped:
    """What was seen of one optimizer.

    Attributes:
        steps: How many it took.
        tensors: How many it holds.
        reached: Whether any of them ever had a gradient.
        moves: Whether its learning rate ever was another than 0.
        asked: The learning rate that it was made with.
    """

    steps: int = 0
    tensors: int = 0
    reached: bool = False
    moves: bool = False
    asked: float = 0.0


class Loops:
    """Watches the optimizers of the script's own lines."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._made = False
        self._backward, self._lost = 0, 0  # passes, and those of a loss that was no number
        self._seen: dict[int, tuple[Any, Stepped]] = {}  # the optimizers too, so that no other gets their ids

    def watch(self, module: Any) -> None:
        """Watch all optimizers of torch."""
        if hasattr(module, "register_optimizer_step_pre_hook"):
            wrap(module.Optimizer, "__init__", self._make)
            module.register_optimizer_step_pre_hook(self._step)

    def watch_losses(self, module: Any) -> None:
        """Count the backward passes that the script's own lines ask for."""

        def backward(original: Any, loss: Any, *args: Any, **kwargs: Any) -> Any:
            if self._made and self._tell.is_outside:
                self._backward += 1
                self._lost += not bool(loss.detach().isfinite().all())
            return original(loss, *args, **kwargs)

        wrap(module.Tensor, "backward", backward)

    def watch_states(self, module: Any) -> None:
        """Tell of models that are made to checkpoint their activations."""

        def enable(original: Any, *args: Any, **kwargs: Any) -> Any:
            self._tell.fact("checkpoints")
            return original(*args, **kwargs)

        wrap(module.PreTrainedModel, "gradient_checkpointing_enable", enable)

    def watch_loaders(self, module: Any) -> None:
        """Take it that a loop begins where rows are asked for after an optimizer was made."""

        def begin(original: Any, loader: Any) -> Any:
            if self._made:
                self._tell.go_on("step")
            return original(loader)

        wrap(module.DataLoader, "__iter__", begin)

    def saving(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        """Take the place of what saves, which is a stage of its own in a loop."""
        if not self._seen or not self._tell.is_outside:
            return original(*args, **kwargs)
        with self._tell.during("save"):
            return original(*args, **kwargs)

    def judge(self) -> None:
        """Tell of loops that change nothing."""
        seen = [each for _, each in self._seen.values()]
        if self._backward >= LEAST and self._lost == self._backward:
            because = f"the loss is not a number in any of {self._backward} backward passes"
            self._tell.wrong("nan-loss-silent-success", "step", because)
        if not seen:
            self._judge_unstepped()
            return
        steps = max(each.steps for each in seen)
        if not any(each.reached for each in seen) and steps >= LEAST:
            held = sum(each.tensors for each in seen)
            because = f"none of the {held} tensors in the optimizer has a gradient in any step: nothing is trained"
            self._tell.wrong("no-trainable-parameters", "step", because)
        elif not any(each.moves for each in seen) and steps >= ENOUGH:
            self._tell_rate(max(each.asked for each in seen), steps)

    def _judge_unstepped(self) -> None:
        """Tell of a loop whose optimizer never steps; with few rows it may wait for more batches than there are."""
        if self._backward >= LEAST and not self._tell.has_shrunk(ROWS):
            because = f"there are {self._backward} backward passes, and no optimizer takes a step: nothing is trained"
            self._tell.doubt("no-trainable-parameters", "step", because)

    def _tell_rate(self, asked: float, steps: int) -> None:
        because = f"the learning rate is 0 in each of {steps} steps"
        if not asked:
            self._tell.wrong("lr-too-low-flat", "step", f"{because}, and was so from the beginning")
        elif self._tell.has_shrunk(ROWS):
            self._tell.not_rehearsed("the schedule of the learning rate", "the job: with few rows it is over at once")
        else:
            self._tell.wrong("lr-too-low-flat", "step", f"the schedule is over before it begins: {because}")

    @property
    def ran(self) -> bool:
        """Whether there was a loop."""
        return bool(self._seen or self._backward)

    def _make(self, original: Any, *args: Any, **kwargs: Any) -> None:
        self._made = self._made or self._tell.is_outside
        original(*args, **kwargs)

    def _step(self, optimizer: Any, args: Any = (), kwargs: Any = None) -> None:
        if not self._tell.is_outside:
            return
        self._tell.go_on("step")
        _, seen = self._seen.setdefault(id(optimizer), (optimizer, Stepped()))
        held = [each for group in optimizer.param_groups for each in group["params"]]
        rates = [_rate(group.get("lr")) for group in optimizer.param_groups]
        begun = [_rate(group.get("initial_lr", group.get("lr"))) for group in optimizer.param_groups]
        closure = any(map(callable, [*args[1:], *(kwargs or {}).values()]))  # which makes the gradients itself
        seen.steps, seen.tensors, seen.asked = seen.steps + 1, len(held), max([seen.asked, *begun])
        seen.moves = seen.moves or any(rates)
        seen.reached = seen.reached or closure or any(each.grad is not None for each in held)


def _rate(given: Any) -> float:
    """Return a learning rate; some optimizers have none, or find their own."""
    return 1.0 if given is None else float(given)


def install(_order: Order, tell: Tell) -> None:
    """Watch loops of the script's own."""
    loops = Loops(tell)
    _loops[:] = [loops]
    when_imported("torch.optim.optimizer", loops.watch)
    when_imported("torch._tensor", loops.watch_losses)
    when_imported("transformers.modeling_utils", loops.watch_states)
    when_imported("torch.utils.data.dataloader", loops.watch_loaders)
    for module, owner, names in SAVING:
        when_imported(module, partial(_watch_saving, owner=owner, names=names, loops=loops))


def _watch_saving(module: Any, *, owner: str, names: tuple[str, ...], loops: Loops) -> None:
    for name in names:
        wrap(getattr(module, owner), name, loops.saving)


def judge(order: Order, tell: Tell, *, saved: bool) -> None:
    """Judge the loops of a script that has come to its end.

    Args:
        order: Has the script's text.
        tell: Where it is told.
        saved: Whether anything was saved or pushed that may hold weights.
    """
    loops = next((each for each in _loops if each.ran), None)
    if loops is None:
        return
    loops.judge()
    if saved:
        return
    if SAVES.search(order.source):  # under a condition, mostly: every thousand steps, where it got better
        tell.not_rehearsed("saving", SHOWN_BY)
    else:
        because = "training came to its end, and nothing in the script saves or pushes what was trained"
        tell.doubt("no-checkpoint-saved", "save", because)  # a loop may be there to see what comes of it
