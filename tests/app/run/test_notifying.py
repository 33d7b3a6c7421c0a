"""What happens to a run is told once, by whoever supervises it; a webhook that is wrong refuses no run that already goes on."""

from collections.abc import Sequence

import pytest

from holdfast.app.run import notifying
from holdfast.app.run.notifying import check_webhook, telling
from holdfast.core.errors import UsageError
from holdfast.core.run.event import (
    Closed,
    Diagnosed,
    Event,
    Liveness,
    Polled,
    RunStage,
    Stopper,
    StopRequested,
    TroubleNoted,
)
from holdfast.core.run.notice import RunNotice
from holdfast.core.run.plan import Plan
from holdfast.core.run.run_state import fold
from holdfast.core.run.trouble import Trouble
from tests.engine.run.test_supervise import ASKED, STARTED, said

PLAN = Plan(name="a", script="", script_name="a.py", cwd="/", webhook="$HOOK")
SLACK = "https://hooks.slack.com/services/T0/B0/x"


class FakeWebhook:
    """Keeps what it is told."""

    told: list[RunNotice]

    def __init__(self, address: str, style: str) -> None:
        self.told, self.address, self.style, self.closed = [], address, style, False
        FakeWebhook.newest = self  # type: ignore[attr-defined]

    def tell(self, notice: RunNotice) -> None:
        self.told.append(notice)

    def close(self) -> None:
        self.closed = True


def told(monkeypatch: pytest.MonkeyPatch, *batches: Sequence[Event]) -> list[RunNotice]:
    """Return the messages about batches of events, of which the first was there before."""
    monkeypatch.setattr(notifying, "Webhook", FakeWebhook)
    state = fold([])
    with telling(PLAN, {"HOOK": SLACK}) as tell:
        for batch in batches:
            state = fold(batch, state)
            tell(state, batch)
    hook: FakeWebhook = FakeWebhook.newest  # type: ignore[attr-defined]
    assert hook.closed
    return hook.told


def test_people_are_told_what_they_would_want_to_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts, signs of trouble, failures, the end; neither steps nor polls."""
    trouble = TroubleNoted(
        at_s=4.0, attempt=1, trouble=Trouble(kind="slower", text="steps take 3 times as long", step=5)
    )
    notices = told(
        monkeypatch,
        [ASKED],
        [*STARTED, said("step", step=5, max_steps=9)],
        [trouble, Polled(at_s=5.0, attempt=1, answer=Liveness.UNKNOWN, because="no route")],
        [StopRequested(at_s=6.0, by=Stopper.STALL)],
        [
            Diagnosed(
                at_s=7.0,
                attempt=1,
                title="it hung",
                confidence=0.9,
                where="it is in `score` (rewards.py:3)",
                stops="it came no further",
            )
        ],
        [Closed(at_s=8.0, stage=RunStage.FAILED, because="stopped by the watch on progress")],
    )

    assert [(each.kind, each.text) for each in notices] == [
        ("started", "attempt 1 begins on fake"),
        ("trouble", "steps take 3 times as long"),
        ("stopping", "the watch on progress asked it to stop"),
        ("failed", "attempt 1 failed: it hung; it is in `score` (rewards.py:3); no other attempt: it came no further"),
        ("ended", "failed: stopped by the watch on progress"),
    ]
    assert {(each.run, each.step) for each in notices[1:]} == {("r", 5)}


def test_a_supervisor_that_takes_over_tells_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one before it has told what is in the ledger already."""
    assert told(monkeypatch, [ASKED, *STARTED], []) == []


def test_a_run_goes_on_without_its_webhook() -> None:
    """The variable may be gone when the run is resumed in another shell."""
    with telling(PLAN, {}) as tell:
        tell(fold([ASKED]), [])
        tell(fold([ASKED, *STARTED]), STARTED)


def test_a_secret_address_has_to_be_given_by_the_environment() -> None:
    """A run keeps its plan, and nothing that it keeps holds a secret."""
    check_webhook("", {})
    check_webhook("$HOOK", {"HOOK": SLACK})
    check_webhook("https://example.org/hook", {})
    with pytest.raises(UsageError) as refused:
        check_webhook(SLACK, {})

    assert "export HOLDFAST_WEBHOOK" in (refused.value.fix or "")
    assert "services/T0" not in str(refused.value)
