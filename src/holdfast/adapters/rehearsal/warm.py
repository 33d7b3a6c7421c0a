"""A server of rehearsals that is kept for the next one: nine tenths of a rehearsal's time are imports.

It lives as long as the block that it is used in; nothing is left behind. A rehearsal that needs another environment, or more
imports, gets a server of its own, and the one before is ended. What changes in an installed library is not noticed.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from holdfast.adapters.rehearsal.server import RehearsalServer
from holdfast.adapters.storage.scratch import scratch_folder


class WarmServer:
    """Keeps one server, for as long as it is the right one."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._server: RehearsalServer | None = None
        self._key: tuple[Any, ...] = ()
        self._wanted: frozenset[str] = frozenset()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def server(
        self, words: Sequence[str], *, header: str, wanted: Sequence[str], variables: Mapping[str, str]
    ) -> RehearsalServer:
        """Return a server, the one of before if it serves; the arguments are those of `RehearsalServer`."""
        key = (tuple(words), header, tuple(sorted(variables.items())), Path.cwd())
        if self._server is None or not self._server.alive or key != self._key or not self._wanted >= set(wanted):
            self._stack.close()
            own = Path(self._stack.enter_context(scratch_folder("holdfast-rehearsals-")))
            server = RehearsalServer(words, header=header, wanted=wanted, folder=own, variables=variables)
            self._server = self._stack.enter_context(server)
            self._key, self._wanted = key, frozenset(wanted)
        return self._server
