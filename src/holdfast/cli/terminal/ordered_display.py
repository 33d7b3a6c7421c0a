"""What the displays of runs and of studies have in common: lines on standard error, and Ctrl-C."""

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from rich.console import Console

from holdfast.adapters.terminal.orders import SignalOrders
from holdfast.cli.output import shown
from holdfast.core.exit_codes import INTERRUPTED
from holdfast.ports import Order


class OrderedDisplay:
    """Shows something on standard error as it goes, and turns Ctrl-C into orders, from `with` to the end of its block.

    Args:
        quiet: Show nothing.
        listens: Whether signals become orders; if not, Ctrl-C only ends the display.
    """

    def __init__(self, *, quiet: bool = False, listens: bool = True) -> None:
        self._console = Console(stderr=True, quiet=quiet, highlight=False)
        self._listens = listens
        self._stack = ExitStack()
        self._orders = SignalOrders()

    def __enter__(self) -> Self:
        if self._listens:
            self._stack.enter_context(self._orders.listening())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def take(self) -> Order | None:
        """Return the person's order since the last call."""
        return self._orders.take()

    def exit_code(self, code: int) -> int:
        """Return 130 if the person interrupted, else the code."""
        return INTERRUPTED if self._orders.interrupted else code

    def _print(self, line: str, *, dim: bool = False) -> None:
        self._console.print(shown(line), style="dim" if dim else None, markup=False, soft_wrap=True)
