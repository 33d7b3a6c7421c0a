"""What the supervisor knows of an attempt beside its logs, as evidence: who ended it, by what signal, with how much room left.

A process that is killed says nothing. Its ledger names the sender, its guard counts the kernel's kills, and its stacks show where it hung.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from signal import SIGKILL, Signals
from typing import Final

from holdfast.core.diagnose.log import Frame, Line
from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.backends import capabilities_of
from holdfast.core.run.event import Delivered, EndReason, Event, RunStage, Stopper, training_events
from holdfast.core.run.run_state import RunState
from holdfast.core.run.training_event import CheckpointSaved, ModelSaved, TrainingEnded, TrainingStarted
from holdfast.engine.diagnose.collectives import Collective
from holdfast.engine.diagnose.declared import DeclaredTraining
from holdfast.engine.diagnose.endings import KILLER, SIGNALS, EndingFact, as_log, ending_evidence, name_state, signal_of
from holdfast.engine.diagnose.hangs import Hang, find_called, find_hang
from holdfast.engine.diagnose.history import CHANGED, OpenedLogs
from holdfast.engine.diagnose.metric_history import ClassEvidence
from holdfast.engine.diagnose.rank_ends import FirstFailure, RankEnd, first_failure, has_lost_launcher
from holdfast.engine.diagnose.ranks import Standstill, find_standstill

LEDGER: Final = "the ledger"
"""In place of a log's path: what the supervisor knows."""
FULL_BYTES: Final = 16 << 20
"""Free disk below which a checkpoint of no model fits."""
REASONS: Final[Mapping[object, tuple[str, float]]] = {
    EndReason.LEFT_TRAINING: ("user-code-error", 0.65),
    EndReason.EXIT: ("user-code-error", 0.55),
    EndReason.DATA_EXHAUSTED: ("too-few-training-steps", 0.6),
    EndReason.SETTINGS_CHANGED: (CHANGED, 0.97),
    EndReason.TIMEOUT: ("job-time-limit", 0.97),
    EndReason.DISK_FULL: ("disk-full", 0.97),
}
"""Class and weight by the reason of a script that left without an error, before its training was over."""
STOPPED_BY: Final[Mapping[Stopper, str]] = {
    Stopper.PERSON: "job-cancelled-externally",
    Stopper.TIMEOUT: "job-time-limit",
    Stopper.NAN: "nan-loss-silent-success",
    Stopper.SPIKE: "loss-spike",
    Stopper.PROMISE: CHANGED,
    Stopper.STALL: "training-stalled",
}
"""Class by the reason for which the supervisor ended an attempt."""
PREPARING: Final = "its script was preparing the training, with libraries, data and a model"
STALLED: Final = 0.8
"""How sure it is that an attempt stalled for no cause that its stacks tell."""
HUNG: Final = 0.9
"""How sure a call is the cause in which an attempt stood still until the watch on progress ended it."""
UNCOUNTED_KILL: Final = "SIGKILL ended it"
"""A SIGKILL on a service's machine, where the kernel's kills are not counted. Its class has the text as a pattern, as `--ended 137` does."""
NO_MEMORY_KILL: Final = ("job-cancelled-externally", 0.6)
"""A SIGKILL of which the kernel says that it was not for lack of memory: a person, a script or a scheduler sent it."""
RANK_DIED: Final = "rank-died-peers-abort"
LAUNCHER_DIED: Final = "launcher-died"
SWALLOWED: Final = ("user-code-error", 0.55)
"""An exception that ended training, and that the script went on in spite of: no traceback stands in the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What was left of an attempt, beside what its processes wrote.

    Attributes:
        oom_kills: Processes that the kernel killed meanwhile for lack of memory; None if they were not counted.
        disk_free_bytes: Room left on the disk of the run; None if that was not measured.
        stacks: The stack of its main thread, each time that it seemed to hang; empty if it never did.
        stacks_path: Where they lie.
        stacks_of_ranks: The same of each rank, if there are several.
        collectives: The newest collectives of each rank when its stack was taken last.
        ranks: The processes that began, if there are several.
        ends: How each of them ended, where it could write that.
        launcher: The end of what their launcher printed.
    """

    oom_kills: int | None = None
    disk_free_bytes: int | None = None
    stacks: str = ""
    stacks_path: str = ""
    stacks_of_ranks: Mapping[int, str] = field(default_factory=dict[int, str])
    collectives: Mapping[int, Sequence[Collective]] = field(default_factory=dict[int, Sequence[Collective]])
    ranks: frozenset[int] = frozenset()
    ends: Mapping[int, RankEnd] = field(default_factory=dict[int, RankEnd])
    launcher: str = ""

    @property
    def standstill(self) -> Standstill | None:
        """Where its processes stood still; None if no stack was taken."""
        return find_standstill(self.stacks_of_ranks or {0: self.stacks}, self.collectives)

    @property
    def first_failure(self) -> FirstFailure | None:
        """Which of several processes failed first; None if that is not known."""
        return first_failure(self.ranks, self.ends, self.launcher)

    @property
    def is_of_victims(self) -> bool:
        """Whether its processes ended because another one, or their launcher, did."""
        return self.first_failure is not None or has_lost_launcher(self.ends)


def where_it_began(state: RunState, ending: Ending) -> str:
    """Return where the processes of a run's newest attempt stood still, or which of them failed first; empty if neither is known."""
    if state.stop is Stopper.STALL:
        return ending.standstill.text if ending.standstill else ""
    return ending.first_failure.text if ending.first_failure and not state.stop else ""


def failed_rank(state: RunState, ending: Ending) -> int | None:
    """Return the process that the failure of a run's newest attempt began in, of several; None if that is not known."""
    if state.stop is Stopper.STALL:
        return ending.standstill.rank if ending.standstill else None
    return ending.first_failure.rank if ending.first_failure and not state.stop else None


def attempt_facts(state: RunState, ending: Ending) -> list[EndingFact]:
    """Return the facts about how a run's newest attempt ended; empty if it ended well."""
    attempt = state.current
    if attempt is None:
        return [*_refused(state)]
    if attempt.stage is RunStage.SUCCEEDED:
        return [EndingFact(f"{name}: {found.because}", "model-not-pushed", 0.9) for name, found in _lost(state)]
    if not attempt.stage.ended:
        return []
    facts = [
        *_stopped(state, attempt, ending),
        *_died(attempt, ending),
        *_of_ranks(state, ending),
        *_last_words(attempt, ending),
    ]
    return list({fact.text: fact for fact in reversed(facts)}.values())[::-1]


def _refused(state: RunState) -> Iterator[EndingFact]:
    if state.because:
        yield EndingFact(state.because)


def refused_by(state: RunState) -> tuple[str, ...]:
    """Return the codes of the rules, or the classes of failures of its rehearsal, for which a run was never started."""
    return state.codes if state.refused_by else ()


def _lost(state: RunState) -> Iterator[tuple[str, Delivered]]:
    yield from ((name, found) for name, found in state.deliveries.items() if found.verdict == "missing")


def _stopped(state: RunState, attempt: AttemptState, ending: Ending) -> Iterator[EndingFact]:
    """Yield the reason for which holdfast stopped the attempt; of a signal that holdfast did not send, its meaning."""
    at = f"at step {attempt.steps}" + (f" of {attempt.max_steps}" if attempt.max_steps else "")
    run = PurePath(state.folder).name
    values = {"run": run} if run else {}
    if state.stop:
        yield _asked(state.stop, ending, at, {**values, **_lost_values(attempt), **_unbegun_values(attempt)})
    elif (signal := _signal(attempt)) and not has_lost_launcher(ending.ends):  # that signal is its launcher's
        yield from _signalled(signal, attempt, ending, at, values)


def _lost_values(attempt: AttemptState) -> dict[str, str]:
    """Return since when the weights of an attempt are lost, as values of its class; empty if they are not."""
    lost = attempt.lost
    if lost is None or not lost.is_proven:
        return {}
    return {"lost_step": str(lost.first), "finite_step": str(lost.after), "reached": str(attempt.steps)}


def _unbegun_values(attempt: AttemptState) -> dict[str, str]:
    """Return what an attempt did that reached no training, as values of its class."""
    if attempt.max_steps:
        return {}
    unsaved = {} if attempt.resume_from else {"unsaved": "yes"}
    return {"preparing": PREPARING, **unsaved}


def _signalled(
    signal: Signals, attempt: AttemptState, ending: Ending, at: str, values: Mapping[str, str]
) -> Iterator[EndingFact]:
    """Yield the meaning of a signal that holdfast did not send."""
    known, sender = SIGNALS.get(signal), "holdfast"
    if signal == SIGKILL and ending.oom_kills == 0:
        known, sender = NO_MEMORY_KILL, "holdfast and the kernel (oom_kill 0)"
    if known:
        text = f"{signal.name}, which {sender} did not send, ended it {at}"
        yield EndingFact(text, *known, {**values, "signal": signal.name})
    elif signal == SIGKILL and ending.oom_kills is None and not capabilities_of(attempt.backend).is_here:
        yield EndingFact(UNCOUNTED_KILL, values=values, needs=(KILLER,))


def _asked(stopper: Stopper, ending: Ending, at: str, values: Mapping[str, str]) -> EndingFact:
    """Return the reason for which the attempt was stopped. Of one that stalled, the call that it waited in is named."""
    text = f"{stopper} asked it to stop, and it ended {at}"
    if stopper in (Stopper.BUDGET, Stopper.STUDY):
        return EndingFact(text, values=values)
    if stopper is not Stopper.STALL:
        return EndingFact(text, STOPPED_BY[stopper], 0.97, values)
    where = f" ({ending.standstill.text})" if ending.standstill else ""
    if called := _called(ending):
        place = f"{PurePath(called.file).name}:{called.line}"
        text = f"{text}; the function `{called.function}` ({place}) did not return{where}"
        return EndingFact(text, STOPPED_BY[stopper], HUNG, {**values, "function": called.function, "place": place})
    if _hang(ending):
        return EndingFact(f"{text}{where}", values=values)
    return EndingFact(
        f"{text}; it stood still where nothing is known to hang{where}", STOPPED_BY[stopper], STALLED, values
    )


def _signal(attempt: AttemptState) -> Signals | None:
    """Return the signal that ended an attempt: by what it said when it was stopped, by its exit code, by a shell's."""
    end = attempt.end
    said = end.because or "" if end and end.status == "stopped" else ""
    name = said.partition(",")[0]
    if name in Signals.__members__:
        return Signals[name]
    return signal_of(attempt.exit_code or 0)


def _died(attempt: AttemptState, ending: Ending) -> Iterator[EndingFact]:
    """Yield the machine's evidence for a death: memory, disk, a signal."""
    if attempt.end and attempt.end.status == "stopped":
        return
    if ending.oom_kills:
        text = f"the kernel killed {ending.oom_kills} of its processes for lack of memory (oom_kill)"
        yield EndingFact(text, "cpu-ram-oom-kill", 0.95 if _signal(attempt) == SIGKILL else 0.85)
    if ending.disk_free_bytes is not None and ending.disk_free_bytes < FULL_BYTES:
        yield EndingFact(f"{ending.disk_free_bytes / 2**20:.1f} MiB are free on the disk of the run", "disk-full", 0.7)


def _of_ranks(state: RunState, ending: Ending) -> Iterator[EndingFact]:
    """Yield which of several processes failed first, or that their launcher did; what the others said is a consequence."""
    first = ending.first_failure
    if state.stop:
        return
    if has_lost_launcher(ending.ends):
        yield EndingFact("the launcher of the ranks died", LAUNCHER_DIED, 0.95)
    elif first and first.signal == SIGKILL and ending.oom_kills == 0:
        values = {"rank": str(first.rank), "code": str(first.code)}
        yield EndingFact(f"{first.text} (oom_kill 0)", RANK_DIED, 0.97, values)
    elif first:
        yield EndingFact(first.text)


def _last_words(attempt: AttemptState, ending: Ending) -> Iterator[EndingFact]:
    """Yield the last words of the launcher and of the process itself, as logs have them; of several, those of a victim say nothing."""
    if attempt.exit_code is not None:
        yield _exit_fact(attempt.exit_code)
    if attempt.because:
        yield name_state(attempt.because) or EndingFact(attempt.because)
    if attempt.end and not ending.is_of_victims:
        yield from _own_words(attempt.end)


def _own_words(end: TrainingEnded) -> Iterator[EndingFact]:
    """Yield why a process ended, as it said itself."""
    if end.because:
        is_swallowed = end.status == "failed" and not end.where
        yield EndingFact(end.because, *REASONS.get(end.reason, SWALLOWED if is_swallowed else ("", 0.0)))


def _exit_fact(code: int) -> EndingFact:
    """Return the words of a launcher for an exit code."""
    if code >= 0:
        return EndingFact(f"the training process ended with exit code {code}")
    signal = signal_of(code)
    return EndingFact(f"failed (exitcode: {code}){f' {signal.name}' if signal else ''}")


def _hang(ending: Ending) -> Hang | None:
    """Return the call that is known to hang: of the rank that held up the others, else of the first."""
    return find_hang(_outlier(ending)) or find_hang(ending.stacks)


def _called(ending: Ending) -> Frame | None:
    """Return the frame of the user's own function that did not return: of the rank that held up the others, else of the first."""
    stacks = _outlier(ending) or ending.stacks
    return find_called(stacks, find_hang(stacks))


def _outlier(ending: Ending) -> str:
    """Return the stacks of the rank that held up the others; empty if none is known to have."""
    found = ending.standstill
    return ending.stacks_of_ranks.get(found.rank, "") if found and found.rank is not None else ""


def attempt_evidence(state: RunState, ending: Ending) -> tuple[OpenedLogs, tuple[ClassEvidence, ...]]:
    """Return the facts about a run's newest attempt: as a log to be read beside the attempt's own, if there is any, and as evidence."""
    facts, current = attempt_facts(state, ending), state.current
    failed = current is not None and current.stage.ended and current.stage is not RunStage.SUCCEEDED
    hung = hang_evidence(ending, state.stop) if failed else []
    return [as_log(facts, LEDGER)] if facts else [], (*ending_evidence(facts, LEDGER), *hung)


def reported_training(
    events: Sequence[Event], text: str, method: str, *, has_model: bool = False
) -> DeclaredTraining | None:
    """Return the trainer's settings as it reported them, defaults included; None if no training reported any.

    Args:
        events: All events of the run.
        text: The script or job file.
        method: The training method; empty if it is not known.
        has_model: Whether the run's folder holds a model. With it, or with a checkpoint, `save_strategy` explains no failure.
    """
    started = next(training_events(reversed(events), TrainingStarted), TrainingStarted())
    has_checkpoint = any(training_events(events, CheckpointSaved))
    saved = has_model or has_checkpoint or any(training_events(events, ModelSaved))
    settings = {name: value for name, value in started.config.items() if not (saved and name == "save_strategy")}
    declared = DeclaredTraining(
        path=LEDGER, text=text, method=method, settings=settings, has_no_checkpoint=not has_checkpoint
    )
    return declared if settings else None


def hang_evidence(ending: Ending, stopper: Stopper | None) -> list[ClassEvidence]:
    """Return the class that the stacks of a hanging process speak for. If the watch on progress ended it, it is certain that it hung there."""
    hang = _hang(ending)
    if hang is None or (stopper is Stopper.STALL and _called(ending)):  # the ledger's fact names the function
        return []
    weight = max(hang.weight, HUNG) if stopper is Stopper.STALL else hang.weight
    return [ClassEvidence(name=hang.name, weight=weight, lines=(Line(hang.line, hang.text, ending.stacks_path),))]
