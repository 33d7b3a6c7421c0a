"""Signs of trouble: each is seen in the numbers of a training that has it, and not in those of one that only looks like it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import exp
from random import Random
from typing import Any, get_args

import pytest

from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.event import Event, Reported, Starting
from holdfast.core.run.run_state import fold
from holdfast.core.run.trouble import Trouble, TroubleKind
from holdfast.engine.run.troubles import SIGNS, new_troubles
from tests.engine.run.test_supervise import said

STEPS = 120
MIB = 1 << 20


def training(steps: Iterable[Mapping[str, Any]], hardware: str = "A100") -> AttemptState:
    """Return an attempt whose steps reported these numbers; evaluations stand among them."""
    events: list[Event] = [
        Starting(at_s=0.0, attempt=1, backend="local"),
        said("start", max_steps=STEPS, hardware=[hardware]),
    ]
    number = 0
    for fields in steps:
        number += "metrics" not in fields or not any(name.startswith("eval_") for name in fields["metrics"])
        events.append(_report(number, fields))
    current = fold(events).current
    assert current is not None
    return current


def _report(number: int, fields: Mapping[str, Any]) -> Reported:
    is_evaluation = any(name.startswith("eval_") for name in fields.get("metrics", {}))
    usual = {} if is_evaluation else {"elapsed_s": 1.0, "activity": "step"}
    return said("evaluate" if is_evaluation else "step", step=number, max_steps=STEPS, **{**usual, **fields})


def losses(values: Iterable[float]) -> list[Mapping[str, Any]]:
    return [{"loss": value} for value in values]


def evaluated(training_loss: float, *values: float) -> list[Mapping[str, Any]]:
    """Return steps whose loss falls to a value, with evaluations among the last of them, five steps apart."""
    steps: list[Mapping[str, Any]] = [{"loss": training_loss * (1.4 - 0.01 * step)} for step in range(40)]
    for number, value in enumerate(values):
        steps.insert(20 + 6 * number, {"metrics": {"eval_loss": value}})
    return steps


def rewarded(**metrics: float) -> Mapping[str, Any]:
    return {"loss": 0.0, "metrics": {"reward": 0.5, **metrics}}


@dataclass(frozen=True, kw_only=True)
class Case:
    """Numbers that have a sign, and numbers that only look like it."""

    kind: TroubleKind
    seen: list[Mapping[str, Any]]
    alike: Mapping[str, list[Mapping[str, Any]]] = field(default_factory=dict[str, list[Mapping[str, Any]]])


def wobble(seed: int, level: Iterable[float], spread: float) -> list[float]:
    dice = Random(seed)  # noqa: S311 - no secret
    return [value * exp(dice.gauss(0, spread)) for value in level]


FALLING = [2.0 * 0.5 ** (step / STEPS) for step in range(STEPS)]
CASES = (
    Case(
        kind="loss-rising",
        seen=losses(wobble(0, [*FALLING[:60], *(1.4 + 0.05 * step for step in range(60))], 0.03)),
        alike={
            "one that falls": losses(wobble(1, FALLING, 0.05)),
            "single batches that are hard": losses(wobble(2, [1.0] * STEPS, 0.5)),
            "losses near zero": losses(wobble(3, [0.01] * 60 + [0.03] * 60, 0.05)),
        },
    ),
    Case(
        kind="loss-flat",
        seen=losses(wobble(4, [2.3] * STEPS, 0.002)),
        alike={
            "one that falls by little": losses(wobble(5, [2.3 - 0.002 * step for step in range(STEPS)], 0.01)),
            "one that varies more than it falls": losses(wobble(6, [2.3 - 0.001 * step for step in range(STEPS)], 0.3)),
            "the beginning, while the rate still rises": losses([2.3] * 20),
            "one of GRPO": [rewarded(reward_std=0.3)] * STEPS,
        },
    ),
    Case(
        kind="evaluation-rising",
        seen=evaluated(0.4, 1.2, 1.0, 1.1, 1.3),
        alike={
            "rows that are harder than those of the training": evaluated(0.4, 1.3, 1.3, 1.29, 1.28),
            "one that rose once": evaluated(0.4, 1.2, 1.0, 1.3),
            "one that rises by little": evaluated(0.4, 1.2, 1.20, 1.21, 1.22),
        },
    ),
    Case(
        kind="rewards-alike",
        seen=[rewarded(reward_std=0.0)] * 12,
        alike={
            "one step with a difference": [
                *[rewarded(reward_std=0.0)] * 8,
                rewarded(reward_std=0.1),
                *[rewarded(reward_std=0.0)] * 8,
            ]
        },
    ),
    Case(
        kind="completions-cut",
        seen=[rewarded(**{"reward_std": 0.2, "completions/clipped_ratio": 0.97})] * 12,
        alike={"half of them": [rewarded(**{"reward_std": 0.2, "completions/clipped_ratio": 0.5})] * 12},
    ),
    Case(
        kind="slower",
        seen=[{"elapsed_s": value} for value in wobble(7, [1.0] * 60 + [2.6] * 60, 0.05)],
        alike={
            "a slow step now and then": [{"elapsed_s": 30.0 if step % 10 == 0 else 1.0} for step in range(STEPS)],
            "a slow beginning": [{"elapsed_s": value} for value in wobble(8, [5.0] * 40 + [1.0] * 80, 0.05)],
            "lengths that vary": [{"elapsed_s": value} for value in wobble(9, [1.0] * STEPS, 0.5)],
            "steps of milliseconds": [{"elapsed_s": value} for value in (*[0.01] * 60, *[0.05] * 60)],
            "completions that grow": [
                {**rewarded(reward_std=0.2), "elapsed_s": 1.0 + step / 20} for step in range(STEPS)
            ],
        },
    ),
    Case(
        kind="memory-grows",
        seen=[{"memory_bytes": (2000 + 10 * step) * MIB} for step in range(STEPS)],
        alike={
            "a longer row": [{"memory_bytes": (2000 if step < 60 else 3000) * MIB} for step in range(STEPS)],
            "growth that comes to rest": [{"memory_bytes": (2000 + 10 * min(step, 80)) * MIB} for step in range(STEPS)],
            "a little": [{"memory_bytes": (2000 + step) * MIB} for step in range(STEPS)],
        },
    ),
)


def kinds(attempt: AttemptState) -> list[str]:
    return [each.kind for each in new_troubles(attempt)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_a_sign_of_trouble_is_seen(case: Case) -> None:
    """With its numbers, and alone."""
    (trouble,) = new_troubles(training(case.seen))

    assert trouble.kind == case.kind
    assert any(character.isdigit() for character in trouble.text)
    assert trouble.step > 0


@pytest.mark.parametrize(("kind", "name"), [(case.kind, name) for case in CASES for name in case.alike])
def test_what_only_looks_like_it_stays_quiet(kind: str, name: str) -> None:
    """A false alarm is worse than a miss."""
    alike = next(case.alike[name] for case in CASES if case.kind == kind)

    assert kinds(training(alike)) == []


@pytest.mark.parametrize("seed", range(20))
def test_a_healthy_training_shows_no_sign(seed: int) -> None:
    """However much its losses and its steps vary."""
    dice = Random(seed)  # noqa: S311 - no secret
    spread, fall = dice.uniform(0.01, 0.4), dice.uniform(0.2, 0.9)
    steps = [
        {
            "loss": 2.0 * fall ** (step / STEPS) * exp(dice.gauss(0, spread)),
            "elapsed_s": exp(dice.gauss(0, spread)),
            "memory_bytes": int((2000 + 300 * min(step, 30) ** 0.5) * MIB),
        }
        for step in range(STEPS)
    ]

    assert kinds(training(steps)) == []


@pytest.mark.parametrize(
    ("free_mib", "keeps", "kept", "step", "text"),
    [
        (900, None, 1, 10, "11 more checkpoints of"),
        (2000, None, 1, 10, ""),
        (150, 3, 2, 20, "2 more checkpoints"),
        (150, 3, 3, 30, ""),  # one more, then one is deleted for each
        (50, 3, 3, 30, "1 more checkpoint of 105 MB is to be kept"),
        (50, 3, 4, 40, ""),  # one is about to be deleted
        (50, None, 12, 120, ""),  # the last one
        (None, None, 1, 10, ""),
    ],
)
def test_a_disk_that_will_be_full_is_seen_early(
    free_mib: int | None, keeps: int | None, kept: int, step: int, text: str
) -> None:
    """By the checkpoints that are to come, and not if older ones are deleted for them."""
    free = None if free_mib is None else free_mib * MIB
    events: list[Event] = [
        Starting(at_s=0.0, attempt=1, backend="local"),
        said("start", step=step - 10, max_steps=STEPS, config={"save_total_limit": keeps}),
        said("checkpoint", step=step, bytes=100 * MIB, free_bytes=free, kept=kept),
    ]
    current = fold(events).current
    assert current is not None
    found = [each.text for each in new_troubles(current)]

    assert (len(found), text in "".join(found)) == (int(bool(text)), True)


def test_pages_of_files_are_no_leak() -> None:
    """On a CPU, the memory of a process counts what it has read of its dataset."""
    growing = [{"memory_bytes": (2000 + 10 * step) * MIB} for step in range(STEPS)]

    assert kinds(training(growing, hardware="cpu")) == []


def test_a_push_that_failed_is_seen_and_one_that_began_is_not() -> None:
    """It stops no training, and transformers says nothing of it."""
    begun: list[Event] = [Starting(at_s=0.0, attempt=1, backend="local"), said("push", repository="me/model")]
    failed = said("push_failed", because="HTTPError: 403 Forbidden")
    before, after = (fold(events).current for events in (begun, [*begun, failed]))
    assert before is not None
    assert after is not None

    assert kinds(before) == []
    assert [each.text for each in new_troubles(after)] == ["a push to the Hub failed: HTTPError: 403 Forbidden"]


def test_each_sign_is_noted_once() -> None:
    """It is no news at the next step."""
    attempt = training(CASES[0].seen)
    (trouble,) = new_troubles(attempt)

    assert trouble == Trouble(kind="loss-rising", text=trouble.text, step=attempt.steps)
    assert not [*new_troubles(replace(attempt, troubles=(trouble,)))]


def test_every_sign_has_a_case() -> None:
    """Silence is tested where it is judged."""
    assert {*(case.kind for case in CASES), "push-failed", "disk-fills"} == SIGNS.keys()
    assert {*SIGNS, "no-progress"} == set(get_args(TroubleKind))


@pytest.mark.parametrize(
    ("spreads", "limit", "is_seen"),
    [([0.0] * 4, 4, True), ([0.0] * 4, 40, False), ([0.0, 0.1, 0.0, 0.0], 4, False), ([0.0], 1, False)],
)
def test_a_short_training_whose_rewards_never_varied_says_so_when_it_is_done(
    spreads: list[float], limit: int, is_seen: bool
) -> None:
    """It has no ten steps; before its end, the next ones may differ."""
    attempt = training([rewarded(reward_std=spread) for spread in spreads])

    texts = [each.text for each in new_troubles(replace(attempt, max_steps=limit))]

    told = "all completions of a prompt had the same reward in all 4 logged steps: nothing is learnt from them"
    assert texts == ([told] if is_seen else [])
