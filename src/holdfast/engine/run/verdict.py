"""How a run ended, and why, in words."""

import re
from signal import Signals
from typing import Final

from holdfast.core.exit_codes import KILLED
from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.event import EndReason, RunStage, Stopper
from holdfast.core.run.run_state import RunState
from holdfast.core.run.training_event import TrainingEnded
from holdfast.engine.recover.promises import broken_promises
from holdfast.engine.recover.spoilt_steps import describe_spike
from holdfast.engine.run.resuming import describe_resumption
from holdfast.engine.run.stalls import describe_silence
from holdfast.engine.units import render_counted, render_duration

LONGEST: Final = 120
"""Characters of an exception's message in one sentence about a run; the log and the report have all of it."""
SENTENCE_END: Final = re.compile(r"(?<=\.) ")


def verdict(state: RunState, stall_limit_s: float | None) -> tuple[RunStage, str]:
    """Return how a run ended whose newest attempt has ended, and why, in one sentence.

    Args:
        state: The run's state.
        stall_limit_s: The user's own limit of a silence in seconds; None if there is none.
    """
    current = state.current
    if current is None:
        return RunStage.FAILED, "it was never started"
    if current.stage is RunStage.SUCCEEDED:
        lost = [found.because for found in state.deliveries.values() if found.verdict == "missing"]
        return (
            (RunStage.FAILED, f"training reached its end, but {'; '.join(lost)}") if lost else (RunStage.SUCCEEDED, "")
        )
    if state.stop:
        stage = RunStage.CANCELLED if state.stop in (Stopper.PERSON, Stopper.STUDY) else RunStage.FAILED
        why = (
            f": {state.stop_because}" if state.stop_because else "",
            _lost_words(current) or _spike_words(state, current),
            _stalled_words(state, current, stall_limit_s),
            _stops(current),
            _broken_words(state),
            _killed_words(state, current),
        )
        return stage, f"stopped by {state.stop} {_reached(current)}{''.join(why)}"
    return RunStage.FAILED, f"{how_it_failed(current)}{_stops(current)}"


def _stops(attempt: AttemptState) -> str:
    return f"; no other attempt: {attempt.diagnosed.stops}" if attempt.diagnosed and attempt.diagnosed.stops else ""


def _broken_words(state: RunState) -> str:
    return f": {', '.join(broken_promises(state))}" if state.stop is Stopper.PROMISE else ""


def _stalled_words(state: RunState, attempt: AttemptState, limit_s: float | None) -> str:
    if state.stop is not Stopper.STALL:
        return ""
    noted = [each.text for each in attempt.troubles if each.kind == "no-progress"]
    where = f"; {attempt.diagnosed.where}" if attempt.diagnosed and attempt.diagnosed.where else ""
    silence = describe_silence(attempt) if attempt.idle_s else noted[-1] if noted else "no sign of life"
    limit = "" if limit_s is None else f"; `where.stall_timeout` is {render_duration(limit_s)}"
    return f": {silence}{limit}{where}"


def _killed_words(state: RunState, attempt: AttemptState) -> str:
    """Return what a kill has cost an attempt that did not save and end as it was asked to; empty if it did."""
    ended_before = attempt.ended_s < state.stop_s  # by itself, or by what was not sent for the stop
    if attempt.end or ended_before or not (state.stop_kills or attempt.exit_code in KILLED):
        return ""
    how = "killed at once" if state.stop_kills else "it did not end, and was killed"
    if not attempt.max_steps:
        return f"; {how}"
    spoilt = {Stopper.NAN: attempt.lost, Stopper.SPIKE: attempt.loss_range.spike}.get(state.stop or Stopper.PERSON)
    if spoilt:
        return f"; {how}: `resume` continues from step {spoilt.after} or before"
    step = attempt.checkpoint_step
    lost = render_counted(max(attempt.steps - step, 0), "step")
    goes_on = f"`resume` continues from checkpoint-{step}" if step else "`resume` starts over"
    return f"; {how}, without a checkpoint: {lost} lost, {goes_on}"


def _lost_words(attempt: AttemptState) -> str:
    if attempt.lost is None or not attempt.lost.is_proven:
        return ""
    return f": since step {attempt.lost.first}, neither the gradients nor the loss are finite"


def _spike_words(state: RunState, attempt: AttemptState) -> str:
    spike = attempt.loss_range.spike
    return f": {describe_spike(spike)}" if state.stop is Stopper.SPIKE and spike else ""


def how_it_failed(attempt: AttemptState) -> str:
    """Return why an attempt failed, if no stop was requested."""
    if attempt.because:
        return attempt.because
    if attempt.resumed and attempt.resumed.verdict == "refused":
        return describe_resumption(attempt.resumed)
    if (
        attempt.diagnosed and attempt.diagnosed.rank is not None
    ):  # the last event is that of rank 0, which may be a victim
        return f"{attempt.diagnosed.where} ({_reached(attempt)})"
    return _last_event(attempt) or _how_it_exited(attempt)


def _last_event(attempt: AttemptState) -> str:
    """Return what the training process said of its own end; empty if it said nothing of a failure."""
    end = attempt.end or TrainingEnded()
    if end.reason in (EndReason.LAUNCHER_DIED, EndReason.TIMEOUT):
        return f"{end.because} {_reached(attempt)}"
    if end.status == "stopped":
        return f"{end.because or 'a signal'}, which holdfast did not send, stopped it {_reached(attempt)}"
    if end.status == "failed":
        because = first_sentences(end.because or "it raised an error")
        return f"{because} ({_reached(attempt)})" if attempt.max_steps else because
    return ""


def _how_it_exited(attempt: AttemptState) -> str:
    if attempt.exit_code is None:
        return f"it disappeared {_reached(attempt)}; its exit code is unknown"
    if attempt.exit_code < 0:
        return f"{_name_signal(-attempt.exit_code)} killed it {_reached(attempt)}"
    return f"exit code {attempt.exit_code} {_reached(attempt)}"


def first_sentences(message: str) -> str:
    """Return the first line of an exception's message without its last full stop; of a long one, the sentences that fit.

    >>> first_sentences("ValueError: use_cpu is missing.")
    'ValueError: use_cpu is missing'
    >>> first_sentences("OutOfMemoryError: CUDA out of memory. " + 30 * "GPU 0 has no room. ")
    'OutOfMemoryError: CUDA out of memory. GPU 0 has no room. GPU 0 has no room. GPU 0 has no room. GPU 0 has no room. …'
    """
    line = next(iter(message.splitlines()), "").strip()
    if len(line) <= LONGEST:
        return line.removesuffix(".")
    sentences = SENTENCE_END.split(line)
    kept, *others = sentences
    for sentence in others:
        if len(kept) + len(sentence) >= LONGEST:
            break
        kept = f"{kept} {sentence}"
    return f"{kept[:LONGEST]} …"


def _name_signal(number: int) -> str:
    """Return the name of a signal; real-time signals, and those of other systems, have none here.

    >>> _name_signal(9), _name_signal(35)
    ('SIGKILL', 'signal 35')
    """
    try:
        return Signals(number).name
    except ValueError:
        return f"signal {number}"


def _reached(attempt: AttemptState) -> str:
    """Return the step that an attempt reached: `at step 4 of 9`; empty before its trainer reported one."""
    return f"at step {attempt.steps} of {attempt.max_steps}" if attempt.max_steps else "before its first reported step"
