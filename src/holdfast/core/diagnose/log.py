"""What a log was read into: the lines that may decide, with what stands around them, tracebacks, and metrics."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Line:
    """A line as people read it: without escapes, boxes, progress bars, prefixes of launchers, and time stamps.

    Attributes:
        number: Counted from 1 by line feeds, in the decompressed file.
        text: What is left of it.
        path: The log it stands in.
        rank: The rank, or worker, that wrote it, where a prefix or the file's name tells.
        source: What else than a rank wrote it, if the log says so: `EngineCore_0 pid=7`, a pod, `slurmstepd`.
        at_s: Unix time of its time stamp, where it has one.
        bar: The progress bar that the text was glued to: it tells at which step, and how long after the start.
    """

    number: int
    text: str
    path: str = ""
    rank: int | None = None
    source: str = ""
    at_s: float | None = None
    bar: str = ""

    @property
    def place(self) -> tuple[str, int]:
        """Where it stands: the log, and the line's number."""
        return self.path, self.number

    @property
    def writer(self) -> tuple[int | None, str]:
        """What wrote it, as far as the log says: the rank, and the source."""
        return self.rank, self.source


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of a traceback.

    Attributes:
        file: As it is written there.
        line: In that file.
        function: Its name.
        code: The line of code, where it is shown.
        named_at: The line of the log that names it.
    """

    file: str
    line: int
    function: str
    code: str = ""
    named_at: Line | None = field(default=None, repr=False, compare=False)

    @property
    def is_library(self) -> bool:
        """Whether the code is an installed package's, or Python's own, and not the user's."""
        file = self.file.replace("\\", "/")
        return "site-packages/" in file or "dist-packages/" in file or "/lib/python3" in file

    def __str__(self) -> str:
        file = self.file.replace("\\", "/")  # expressions are written for one kind of slash
        return f'File "{file}", line {self.line}, in {self.function}'


ExceptionLink = Literal["cause", "context"]
"""`cause`: "direct cause of the following"; `context`: "During handling of the above"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traceback:
    """One exception with the way to it; those of a chain follow one another, the first raised first.

    Attributes:
        start: Where it begins.
        frames: The outermost call first.
        error: The lines of the exception itself, `ValueError: …` and what its message goes on with; none if the log was cut.
        before: The lines right before it, of the same rank or source, or without either.
        earlier: The tracebacks of the same chain that were raised before it, each with how they hang together.
        count: How often the same traceback stands in the log, of however many ranks.
    """

    start: Line
    frames: tuple[Frame, ...] = ()
    error: tuple[Line, ...] = ()
    before: tuple[Line, ...] = ()
    earlier: tuple[tuple["Traceback", ExceptionLink], ...] = ()
    count: int = 1

    @property
    def chain(self) -> tuple["Traceback", ...]:
        """Those of the same chain up to this one, the first raised first."""
        return (*(part for part, _ in self.earlier), self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A line that has one of the words which were looked for.

    Attributes:
        line: The line.
        around: Those of the same rank or source that stand around it, four before and six behind, and among them as many
            of which nobody tells who wrote them.
        words: Numbers of the words, in the order in which they were given.
        traceback: The traceback that it is part of.
    """

    line: Line
    around: tuple[Line, ...] = ()
    words: frozenset[int] = frozenset()
    traceback: Traceback | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """What the trainer logged of one step: `{'loss': 1.2, 'grad_norm': 0.3, …}`.

    Attributes:
        line: Where it stands.
        values: Numbers by name; `nan` and `inf` are floats too.
        progress: The step that the progress bar beside it shows, and how many there are; None if there is none.
    """

    line: Line
    values: Mapping[str, float] = field(default_factory=dict[str, float])
    progress: tuple[int, int] | None = None

    @property
    def at(self) -> str:
        """When it was logged, as the log itself tells it; empty if it tells of no step and no epoch.

        >>> values = {"loss": 1.0, "epoch": 0.5}
        >>> [Metrics(line=Line(9, ""), values=values, progress=bar).at for bar in ((40, 100), None)]
        ['step 40 of 100', 'epoch 0.5']
        """
        if self.progress:
            return "step {} of {}".format(*self.progress)
        step = next((self.values[name] for name in ("step", "global_step") if name in self.values), None)
        if step is not None:
            return f"step {step:g}"
        return f"epoch {self.values['epoch']:g}" if "epoch" in self.values else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What one or several files of one job were read into. Bounded, however long they are.

    Attributes:
        paths: The files.
        lines: How many lines were read.
        hits: Lines that have one of the words; the first and the last thousands where there are more, in order.
        tracebacks: Each different one once, in order, up to some hundreds.
        metrics: Steps that were logged: the first and the last hundreds, and every one with a value that is not finite.
        head: The first lines.
        tail: The last lines of each rank or source.
        cut: Whether the end, or the beginning, is missing: a line without its end, a traceback without its exception.
        ranks: Those that wrote anything.
        restarts: Lines with which another attempt of the same job began; the last ones.
        progress: The furthest step and how many there are, as progress bars tell; None if there is none.
    """

    paths: tuple[str, ...] = ()
    lines: int = 0
    hits: tuple[Hit, ...] = ()
    tracebacks: tuple[Traceback, ...] = ()
    metrics: tuple[Metrics, ...] = ()
    head: tuple[Line, ...] = ()
    tail: tuple[Line, ...] = ()
    cut: tuple[Literal["beginning", "end"], ...] = ()
    ranks: frozenset[int] = frozenset()
    progress: tuple[int, int] | None = None
    restarts: tuple[Line, ...] = ()
