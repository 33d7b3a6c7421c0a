"""What the whole training would log: in a rehearsal each step is logged, in a job that logs too seldom for its steps none is.

A script that reads a loss of such a job, in a callback or after the training, finds none. So it does here: its own callbacks
do not see those losses, and do not find them in the state.
"""

from typing import Any

from .periodic import MAIN, OwnHandler
from .real_steps import BOUND

LOSS = "loss"
"""The key of a step's entry in the log, which that of an evaluation does not have."""


def logs_no_step(settings: Any) -> bool:
    """True if the whole training ends before its first step is logged, as far as its steps are known.

    Args:
        settings: The arguments of a trainer, with what was asked of it.
    """
    original, steps = getattr(settings, "_holdfast_asked", {}), getattr(settings, BOUND, None)
    every = original.get("logging_steps")
    by_steps = original.get("logging_strategy") == "steps" and not original.get("logging_first_step")
    return bool(by_steps and steps and isinstance(every, int | float) and every > steps)


def call_as_real(call: Any, handler: Any, event: str, args: Any, state: Any, control: Any, **more: Any) -> Any:
    """Tell callbacks of an event as the whole training would; the arguments are those of `CallbackHandler.call_event`.

    Args:
        call: That method.
        handler: Its handler.
        event: `on_log`, for one.
        args: The trainer's arguments.
        state: Its state.
        control: What callbacks say is to be done.
        more: What the event tells besides.
    """
    if not logs_no_step(args):
        return call(handler, event, args, state, control, **more)
    if event == "on_log" and LOSS in more.get("logs", {}):
        others = [each for each in handler.callbacks if type(each).__module__ != MAIN]
        handler = OwnHandler(handler, others)
    whole = state.log_history
    shown = state.log_history = [each for each in whole if LOSS not in each]
    count = len(shown)
    try:
        return call(handler, event, args, state, control, **more)
    finally:
        state.log_history = [*whole, *state.log_history[count:]]


def forget_steps(trainer: Any) -> None:
    """Leave in a trainer's log what the whole training would have logged."""
    if logs_no_step(trainer.args):
        trainer.state.log_history = [each for each in trainer.state.log_history if LOSS not in each]
