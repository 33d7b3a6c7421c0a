"""What callbacks of the script do every so many steps: a training of a few steps seldom comes to it, so they are called with a round one.

Such a call is made beside the real one, with copies of what it may change. What it raises is a warning, because the training
may never reach such a step.
"""

import copy
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from ..events import EventWriter
from ..part_request import PartRequest
from ..wrapping import raised_by
from .real_steps import BOUND

PERIODIC = re.compile(r"\bglobal_step\s*%\s*(\d*)")
"""How a script's text looks that does something every so many steps, and how many where that is a number."""
ROUND = 2_520_000
"""A number of steps that all usual intervals divide: those up to 10, and their multiples by powers of 10 up to 1000."""
EVENTS = ("on_step_end", "on_log", "on_evaluate", "on_save")
MAIN = "__main__"
"""The module of what the script itself defines."""


class Periodic:
    """Tells callbacks of the script, once for each event, of a round step."""

    def __init__(self, part_request: PartRequest, events: EventWriter) -> None:
        self._events = events
        self._every = (
            [int(each or 1) for each in PERIODIC.findall(part_request.source)] if part_request.part == "whole" else []
        )
        self._called: set[tuple[int, str]] = set()

    def report_round_step(
        self, call: Any, handler: Any, event: str, args: Any, state: Any, control: Any, **more: Any
    ) -> None:
        """Report it at the last step; everything else that callbacks receive is as in the real call.

        Args:
            call: transformers' own `CallbackHandler.call_event`.
            handler: Its handler.
            event: `on_step_end`, for one.
            args: The trainer's arguments.
            state: Its state.
            control: What callbacks say is to be done.
            more: What the event tells besides.
        """
        if event not in EVENTS or state.global_step < state.max_steps or not self._reaches_a_period(args):
            return
        there = copy.copy(state)
        there.global_step = there.max_steps = ROUND
        for callback in self._take_uncalled(handler.callbacks, event):
            own = OwnHandler(handler, [callback])
            error = raised_by(partial(call, own, event, args, there, copy.copy(control), **more))
            if error and not isinstance(error, OSError):  # of files that the real step would have made
                self._doubt(f"{type(callback).__name__}.{event}", error)

    def _reaches_a_period(self, args: Any) -> bool:
        """True if the script does something every so many steps, and its whole training has as many."""
        return bool(self._every) and min(self._every) <= (getattr(args, BOUND, None) or ROUND)

    def _take_uncalled(self, callbacks: Iterable[Any], event: str) -> Iterator[Any]:
        """Yield the script's own callbacks that were not called with a round step yet."""
        for callback in callbacks:
            key = (id(callback), event)
            if type(callback).__module__ == MAIN and key not in self._called:
                self._called.add(key)
                yield callback

    def _doubt(self, method: str, error: Exception) -> None:
        because = f"`{method}` fails at a step that it does something at: {type(error).__name__}: {error}"
        self._events.warning("user-code-error", "step", because)


class OwnHandler:
    """A handler of some callbacks alone, and of all else that another has."""

    def __init__(self, handler: Any, callbacks: list[Any]) -> None:
        self._handler, self.callbacks = handler, callbacks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handler, name)
