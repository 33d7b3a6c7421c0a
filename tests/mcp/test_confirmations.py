"""What a person is asked, and what the allowance of the server pays for."""

from collections.abc import Sequence

import pytest

from holdfast.mcp.confirmations import Confirmations
from holdfast.mcp.messages import EffectsCall
from holdfast.results.run import RunEffects

CALL = EffectsCall(verb="run", arguments={"target": "job.yaml"})


def effects(
    most_usd: float | None, *, pushes: Sequence[str] = (), backend: str = "hf-jobs", costs: bool = True
) -> RunEffects:
    """Return the effects of a job of Hugging Face Jobs."""
    return RunEffects(pushes=pushes, backend=backend, costs=costs, digest="d", most_usd=most_usd)


def asked(confirmations: Confirmations, wanted: RunEffects) -> list[str]:
    """Return what a person is asked to agree to."""
    demand = confirmations.demand(CALL, wanted)
    return list(demand["needs_confirmation"]["will"]) if demand else []


def test_jobs_within_the_allowance_start_until_it_is_used_up() -> None:
    """Each takes the most that it may cost; one that does not fit is asked about, with that figure, and takes nothing."""
    confirmations = Confirmations(allow_usd=5.0)

    assert asked(confirmations, effects(3.0)) == []
    assert asked(confirmations, effects(2.5)) == ["use hf-jobs, which costs money: at most about $2.50"]
    assert asked(confirmations, effects(2.0)) == []
    assert asked(confirmations, effects(0.01)) == ["use hf-jobs, which costs money: at most about $0.01"]


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (effects(None), ["use hf-jobs, which costs money: how much is not known"]),
        (effects(None, backend=""), ["start a job elsewhere, which may cost money"]),
        (
            effects(1.0, pushes=["me/x"]),
            ["use hf-jobs, which costs money: at most about $1.00", "push to the Hub: me/x"],
        ),
    ],
)
def test_an_allowance_of_money_is_for_nothing_else(wanted: RunEffects, told: list[str]) -> None:
    """What cannot be known, and pushes, are asked about, however much is allowed."""
    confirmations = Confirmations(allow_usd=1000.0)

    assert asked(confirmations, wanted) == told
    assert confirmations.allow_usd == 1000.0


def test_without_an_allowance_all_is_asked() -> None:
    """What costs nothing needs none."""
    assert asked(Confirmations(), effects(0.0, costs=False, backend="local")) == []
    assert asked(Confirmations(), effects(0.5))
    assert not Confirmations(allow_push=True, allow_usd=1.0).demand(CALL, effects(1.0, pushes=["me/x"]))


@pytest.mark.parametrize(("allowed", "cost"), [(float("nan"), 0.01), (float("nan"), 900.0), (5.0, float("nan"))])
def test_what_is_no_number_pays_for_nothing(allowed: float, cost: float) -> None:
    assert asked(Confirmations(allow_usd=allowed), effects(cost))
