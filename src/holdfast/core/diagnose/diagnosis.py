"""Diagnoses: what made a job fail, by which lines of its log, and what is to be done."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Phase = Literal[
    "environment", "auth", "dataset", "config", "model", "memory", "distributed", "numerics", "checkpoint", "eval",
    "generation", "kernels", "platform", "gguf", "user",
]  # fmt: skip
Retry = Literal["yes", "after-change", "no"]
PatternRole = Literal["root", "hint", "echo"]
"""What a line is to a class: `root` says the cause itself; `hint` speaks for it beside other lines; `echo` is what follows
from it elsewhere, such as a launcher's table, and never a cause alone."""

HEALTHY: Final = "healthy-run-misread"
"""The class of what looks like a fault and is none."""
GUESS_BELOW: Final = 0.7
"""Confidence below which an answer is called a guess: on unseen logs, a third of the answers given with 0.5 to 0.7 was right."""
SURE: Final = 0.9
"""Confidence from which a cause is stated as a fact: on unseen logs, 97 of 100 answers given with this confidence were right."""
NOT_IN_LOG: Final = "cause-not-in-log"
"""The class of what only follows from a cause that stands elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A kind of line that speaks for a class.

    Attributes:
        line: Regular expression, searched in one line without escapes, progress bars and prefixes; its named groups are the
            numbers and names that cause and fix speak of.
        role: What such a line is to the class.
        weight: How sure the class is where this line alone is found: of a hundred such logs, in how many it is the cause.
        near: Expression that some line around must match; empty if none is needed.
        not_near: Expression that no line around may match.
        frame: Expression that a frame of the same traceback must match: `File "…/site-packages/trl/…", line 3, in f`.
        not_frame: Expression that no frame of it may match.
        raised_in: Expression that the innermost frame of it must match: the one that raised.
        log: Expression that some line of the log must match, wherever it stands.
        not_log: Expression that no line of the log may match.
        when: Condition on the named groups, as Python writes it: `total - allocated < tried`. Sizes are bytes, times are
            seconds, counts are numbers; a group that does not take part is None. Beside groups it may ask for `step` and `steps`, how far training
            got; `phase`, in which the line's exception was raised (`train`, `evaluate`, `save`, `sync`); how ranks waited (`rank_0_waits`); and
            which share a GPU (`shared_gpus`).
        last: Whether it counts only as the last line of a traceback, the exception itself.
        versions: The releases whose code writes this line, by package: `{"trl": ">=0.15,<0.17"}`. Told, not required.
    """

    line: str
    role: PatternRole = "root"
    weight: float = 0.9
    near: str = ""
    not_near: str = ""
    frame: str = ""
    not_frame: str = ""
    raised_in: str = ""
    log: str = ""
    not_log: str = ""
    when: str = ""
    last: bool = False
    versions: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A change of the job that fixes the cause and keeps what the user asked for.

    Attributes:
        key: Dotted key of a job file: `train.per_device_train_batch_size`.
        action: `halve` and `double` keep the effective batch size with gradient accumulation; `set` gives a value; `add` adds one
            to a list; `rename` gives the key another name; `remove` takes it away.
        value: The value, or the new name; `{name}` in it is a group of the decisive line.
        cures: True if a job that already has this setting cannot have this failure. A change that only helps does not cure.
    """

    key: str
    action: Literal["halve", "double", "set", "add", "rename", "remove"]
    value: Any = None
    cures: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """One class of failure: how it is recognized, why it happens, what fixes it.

    Attributes:
        name: The class, as `diagnose` tells it: `cuda-oom-train-step`.
        title: What is wrong, in one line.
        phase: Which part of a job it strikes.
        cause: Why, in a sentence or two for whoever reads this log, with `{group}` for the values of the decisive line. A
            sentence with a value that the line does not give is left out, and one that begins with `{!group}` where it does; one that begins
            with `{?group}` needs the value and does not show it.
        fix: What to do, in the imperative, likewise.
        page: What it is, why it happens and how it is prevented, in Markdown.
        retry: Whether another attempt can help as things are.
        remedy: What can be changed without asking anybody.
        prevented_by: Codes of the rules that find faults of this class before launch.
        found_by: Those of them that report the very case of a log, each with the condition on the log's values under which it does, as `when` of
            a pattern; empty if it reports every case of the class. A value that the log does not give is None.
        source: Where this is known from, and how it was tried.
        patterns: The lines that speak for it.
        covers: Classes that are only its echo when both are found: a rank that died covers the timeout of its peers.
        needs: What else would have to be read where only echoes of it are found: `the log of the vLLM server`.
        seen: Texts in which it must be found first.
        not_seen: Near misses, in which it must not be found.
    """

    name: str
    title: str
    phase: Phase
    cause: str
    fix: str
    page: str
    retry: Retry = "after-change"
    remedy: tuple[Remedy, ...] = ()
    prevented_by: tuple[str, ...] = ()
    found_by: Mapping[str, str] = field(default_factory=dict[str, str])
    source: str
    patterns: tuple[Pattern, ...] = ()
    covers: tuple[str, ...] = ()
    needs: str = ""
    seen: tuple[str, ...] = ()
    not_seen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A line that speaks for a cause.

    Attributes:
        path: The log it stands in.
        line: Counted from 1, by line feeds alone.
        text: As people read it: without escapes and progress bars.
        rank: The rank that wrote it, if the log says so.
    """

    path: str
    line: int
    text: str
    rank: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One answer to why a job failed.

    Attributes:
        signature: The class.
        confidence: Between 0 and 1; of answers given with 0.9, nine in ten are right.
        evidence: The decisive line first.
        cause: The signature's words with the log's own values.
        fix: Likewise.
        remedy: Its changes, likewise.
        found_by: Codes of the rules that report this very case before launch.
    """

    signature: Signature
    confidence: float
    evidence: tuple[Evidence, ...]
    cause: str
    fix: str
    remedy: tuple[Remedy, ...] = ()
    found_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What a log says of a job.

    Attributes:
        verdict: `unknown` where the cause does not stand in what was read.
        causes: The likeliest first; none of a healthy log.
        missing: What would have to be read to know: `the log of rank 3`, `dmesg of the node`.
        versions: Releases of the libraries that the log tells of, or that alone write such lines, by package.
        lines: How many lines were read.
        is_quiet: Whether nothing in them tells of a failure, where the verdict is `unknown`.
    """

    verdict: Literal["diagnosed", "healthy", "unknown"]
    causes: tuple[Cause, ...] = ()
    missing: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    lines: int = 0
    is_quiet: bool = False
