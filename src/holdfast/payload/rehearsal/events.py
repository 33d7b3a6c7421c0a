"""The events of a process of a rehearsal: one JSON object per line, each in a single write.

{"event": "stage", "name": "model", "elapsed_s": 0.12}                 a stretch of a stage was gone through
{"event": "enter", "name": "model"}                                    a stage is entered
{"event": "failed", "stage": "tokenize", "error": "KeyError: 'text'"}  an exception left the stage it was raised in
{"event": "fact", "about": "model", ...}                               what the script asked for, as it asked for it
{"event": "shrunk", "what": "max_steps", "asked": 1000, "given": 4}    what was made smaller; "unit": "rows" if rows were
{"event": "not_rehearsed", "what": "4-bit loading", "because": "…"}    what this machine cannot show
{"event": "out_of_reach", "because": "…"}                              a rehearsal does not go on here, and raises this
{"event": "fault", "class": "labels-missing", "stage": "step", ...}    what is wrong though nothing failed
{"event": "warning", "class": "labels-missing", "stage": "step", ...}    what may be wrong, and may be meant so
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

SHORT_S = 0.0005
"""Time that is not worth a line."""
TAIL = "push"
"""The stage of what a script does after its training: what is left is to deliver. It is not entered until something is pushed."""


class EventWriter:
    """Writes what happens, and knows the stage that the script is in."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._pid, self._home = os.getpid(), os.path.join(os.path.abspath("."), "")  # noqa: PTH118, PTH100 - pathlib is guarded
        self._open: list[str] = []  # stages that are being gone through, the innermost last
        self._said: set[str] = set()
        self._shrunk: set[str] = set()
        self._entered = ""
        self._heard: list[str] | None = None
        self._raised: BaseException | None = None
        self._mark_s = time.perf_counter()
        self.outside = "import"
        """The stage of the script's own lines, which no function of a library has taken over."""

    @property
    def stage(self) -> str:
        """The stage that the script is in."""
        return self._open[-1] if self._open else self.outside

    @property
    def is_outside(self) -> bool:
        """Whether the script's own lines are at work, and no function of a library that is watched."""
        return not self._open

    def go_on(self, stage: str) -> None:
        """Take it that the script's own lines are at a stage from now on, unless they deliver already."""
        if not self._open and self.outside not in (stage, TAIL):
            self._lap()
            self.outside = stage
            self._enter(stage)

    def has_shrunk(self, unit: str) -> bool:
        """True if there are fewer of a unit: of `rows`, or of `tokens` in a batch."""
        return unit in self._shrunk

    def has_reported(self, name: str) -> bool:
        """True if a class of failure was reported."""
        return name in self._said

    def write(self, event: str, **fields: Any) -> None:
        """Append one event, unless a child of this process would."""
        if os.getpid() == self._pid:
            self._append(event, fields)

    def _append(self, event: str, fields: Mapping[str, Any]) -> None:
        line = json.dumps({"event": event, "at": time.time(), **fields}, default=str)
        os.write(self._file, line.encode() + b"\n")

    @contextmanager
    def during(self, stage: str) -> Iterator[None]:
        """Go through a part of a stage; an exception that leaves it is reported once, as this stage's failure."""
        self._lap()
        self._open.append(stage)
        self._enter(stage)
        with ExitStack() as leaving:
            leaving.callback(self._leave, stage)
            leaving.push(lambda _kind, error, _trace: self.failed(error))
            yield

    def _leave(self, stage: str) -> None:
        self._lap()
        self._open.pop()
        if self.outside != TAIL:
            self.outside = stage

    @contextmanager
    def aside(self, stage: str) -> Iterator[None]:
        """Go through a part of a stage that the script's own lines come back from to where they were."""
        outside = self.outside
        try:
            with self.during(stage):
                yield
        finally:
            self.outside = outside

    def loading(self, stage: str) -> AbstractContextManager[None]:
        """Go through a part of a stage in which the script loads something: after its training, to deliver what it has.

        What a tokenizer loads, the configuration of its model, belongs to the tokenizer.
        """
        if self.outside == TAIL and set(self._open) <= {"export"}:
            return self.during("export")
        return self.during("tokenize" if self._open[-1:] == ["tokenize"] else stage)

    def failed(self, error: BaseException | None) -> None:
        """Record that an exception, if any, leaves the stage that the script is in, once for each exception."""
        if error is not self._raised and isinstance(error, Exception | KeyboardInterrupt):
            self._raised = error
            self.write("failed", stage=self.stage, error=f"{type(error).__name__}: {error}"[:2000])

    def fact(self, about: str, **fields: Any) -> None:
        """Record a request of the script to a library."""
        self.write("fact", about=about, stage=self.stage, **fields)

    def shrunk(self, what: str, requested: Any, given: Any, *, unit: str = "") -> None:
        """Record something that was made smaller, once; `unit` says of what there are fewer, where somebody asks for it."""
        self._shrunk.add(unit)
        self._once("shrunk", what, asked=requested, given=given, unit=unit)

    def not_rehearsed(self, what: str, because: str, **about: Any) -> None:
        """Record something that a rehearsal cannot show, and why, with what shows it, once."""
        if self._heard is not None:
            self._heard.append(what)
        self._once("not_rehearsed", what, because=because, **about)

    def out_of_reach(self, because: str) -> None:
        """Record, from a child of this process too, that a rehearsal does not go on here: the message is about to be raised."""
        if because not in self._said:
            self._said.add(because)
            self._append("out_of_reach", {"because": because})

    def not_run(self, command: str, because: str, *, makes: bool) -> None:
        """Record a program that is not run, and where it may make files, that the script may lack them."""
        self.not_rehearsed(f"`{command}`"[:200], because)
        if makes:
            self.fact("not_run", command=command[:500])

    def fault(
        self, name: str, stage: str, because: str, *, fix: str, at: tuple[str, int] | None = None, **evidence: Any
    ) -> None:
        """Report a class of failure although nothing failed, once for each class, with the fix of this very cause."""
        if name not in self._said:
            self._said.add(name)
            place = {"path": self._named(at[0]), "line": at[1]} if at else {}
            self.write("fault", **{"class": name}, stage=stage, because=because, fix=fix, evidence=evidence, **place)

    def warning(self, name: str, stage: str, because: str) -> None:
        """Report a class of failure that may be there, once for each class; nothing fails for it."""
        if f"doubt {name}" not in self._said:
            self._said.add(f"doubt {name}")
            self.write("warning", **{"class": name}, stage=stage, because=because)

    @contextmanager
    def listening(self) -> Iterator[list[str]]:
        """Give the list of what is reported as not rehearsed meanwhile, whether or not it was reported before."""
        before, self._heard = self._heard, []
        try:
            yield self._heard
        finally:
            self._heard = before

    def _enter(self, stage: str) -> None:
        """Tell which stage is entered, where it is another than was entered before: a part may not come out again."""
        if stage != self._entered:
            self._entered = stage
            self.write("enter", name=stage)

    def _named(self, path: str) -> str:
        """Return a path as a user names it who is in the folder that the script was started in."""
        return path.removeprefix(self._home)

    def _once(self, event: str, what: str, **fields: Any) -> None:
        if what not in self._said:
            self._said.add(what)
            self.write(event, what=what, **fields)

    def _lap(self) -> None:
        """Tell the time since the last mark as the stage's that it was spent in."""
        now_s = time.perf_counter()
        if now_s - self._mark_s > SHORT_S:
            self.write("stage", name=self.stage, elapsed_s=round(now_s - self._mark_s, 4))
        self._mark_s = now_s

    def close(self) -> None:
        """Tell the time of the last stretch."""
        self._lap()
