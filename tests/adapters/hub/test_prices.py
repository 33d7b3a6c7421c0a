"""The prices of Hugging Face Jobs, as the loopback Hub lists them, and what stands in their place where it does not."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click import unstyle
from msgspec import convert

import holdfast
from holdfast.adapters.hub.answers import ResponseCache
from holdfast.app.run.costs import budget_of
from holdfast.app.run.preparing import CheckedJob, check_job
from holdfast.catalog.hub.flavors import load_flavors, table_prices
from holdfast.cli.text.plan import render_plan
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.run.plan import RunRequest
from holdfast.engine.plan.hardware import list_flavors, prices_of
from holdfast.results.plan import PlanResult
from tests.helpers.hub import LoopbackHub, loopback_hub
from tests.helpers.hub_asking import client

PATH = "^GET /api/jobs/hardware"
JOB = """\
method: sft
model: builtin:tiny-chat
dataset: {path: builtin:stdlib-docstrings, rows: 100}
train: {max_steps: 100000}
where: {backend: hf-jobs, hardware: a10g-small, timeout: 200h, budget_usd: 1}
"""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """A Hub that every part of this process asks, and of which nothing is known yet."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("holdfast.adapters.hub.client.ANSWERS", ResponseCache())
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with loopback_hub() as hub:
        for name, value in hub.variables.items():
            monkeypatch.setenv(name, value)
        yield hub


def listed(name: str, price: object, unit: object = "minute") -> dict[str, object]:
    return {"name": name, "unitCostMicroUSD": price, "unitLabel": unit}


@pytest.mark.parametrize("token", [None, "hf_me_write", "hf_nobody_has_this"])
def test_prices_are_those_of_an_hour_and_need_no_token(hub: LoopbackHub, token: str | None) -> None:
    """The Hub bills a minute in millionths of a dollar."""
    hub.hardware = [listed("a10g-large", 25_000), listed("l4x1", 13_333), listed("h200", 5_000_000, "hour")]
    found = client(hub, token).job_prices()

    assert found.live
    assert found.usd_per_hour == {"a10g-large": 1.5, "l4x1": 0.8, "h200": 5.0}


def test_prices_that_cannot_be_read_are_left_out(hub: LoopbackHub) -> None:
    odd: list[Any] = [
        listed("a", "free"),
        listed("b", -1),
        listed("c", 1, "fortnight"),
        {"name": "d"},
        7,
        listed("e", None),
    ]
    hub.hardware = [*odd, listed("l4x1", 13_333)]

    assert client(hub).job_prices().usd_per_hour == {"l4x1": 0.8}


@pytest.mark.parametrize("answer", [[], {"error": "none"}, [{"name": "l4x1"}], "prices"])
def test_an_answer_without_prices_is_none(hub: LoopbackHub, answer: Any) -> None:
    hub.hardware = answer
    with pytest.raises(SourceError, match="no prices"):
        client(hub).job_prices()


def test_prices_are_asked_for_once(hub: LoopbackHub) -> None:
    asked = client(hub)

    assert asked.job_prices() is asked.job_prices()
    assert len(hub.requests) == 1


def test_without_the_hub_the_table_stands_in_and_says_why(hub: LoopbackHub) -> None:
    hub.fail(PATH, status=503)
    found = prices_of(client(hub).job_prices)

    assert not found.live
    assert found.usd_per_hour == table_prices().usd_per_hour
    assert "503" in found.because


def test_what_the_hub_no_longer_offers_is_no_choice() -> None:
    prices = replace(table_prices(), usd_per_hour={"l4x1": 9.0, "new-gpu": 1.0})

    assert [(each.name, each.usd_per_hour) for each in list_flavors(prices)] == [("l4x1", 9.0)]


def test_a_plan_costs_what_the_hub_says(hub: LoopbackHub) -> None:
    """And it says whose prices it used, and of which day."""
    plain = holdfast.plan("examples/quickstart.yaml", offline=True)
    hub.hardware = [listed(name, 1_000_000) for name in load_flavors() if name != "l4x1"]
    live = holdfast.plan("examples/quickstart.yaml")

    assert {each["usd_per_hour"] for each in live["options"]} == {60.0}
    assert "l4x1" not in {each["hardware"] for each in live["options"]}
    assert (live["prices"]["source"], plain["prices"]["source"]) == ("hub", "catalog")
    assert plain["prices"]["day"] == "2026-11-23"
    assert "Prices: the Hub's, of 20" in unstyle(render_plan(convert(live, PlanResult)))
    assert "of 2026-11-23; the Hub was not contacted: --offline." in unstyle(render_plan(convert(plain, PlanResult)))


@pytest.mark.parametrize(("micro", "codes"), [(16_667, ["RES103"]), (1, [])])
def test_a_budget_is_compared_at_the_price_of_the_day(
    hub: LoopbackHub, micro: int, codes: list[str], tmp_path: Path
) -> None:
    hub.hardware = [listed("a10g-small", micro)]
    path = tmp_path / "job.yaml"
    path.write_text(JOB, encoding="utf-8")
    (target,) = holdfast.check(path)["targets"]
    found = [each for each in target["findings"] if each["code"] == "RES103"]

    assert [each["code"] for each in found] == codes
    assert all("at $1.00 an hour (the Hub's prices of 20" in each["message"] for each in found)


def test_a_run_keeps_the_prices_of_the_day_on_which_it_was_planned(hub: LoopbackHub, tmp_path: Path) -> None:
    """Of a script too; what it has cost does not change with the Hub's list."""
    hub.hardware = [listed("a10g-small", 50_000), listed("a100-large", 100_000)]
    path = tmp_path / "job.yaml"
    path.write_text(JOB.replace("budget_usd: 1", "budget_usd: 900"), encoding="utf-8")
    checked = check_job(RunRequest(target=str(path), cwd=str(tmp_path)), str(path))

    assert isinstance(checked, CheckedJob), checked.codes
    assert checked.plan.usd_per_hour == {"a10g-small": 3.0, "a100-large": 6.0}
    budget = budget_of(checked.plan)
    assert budget is not None
    assert budget.prices.usd_per_hour["a10g-small"] == 3.0
    assert "(the Hub's prices of 20" in checked.planned


@pytest.mark.parametrize("hardware", ["a10g-small", "new-gpu"])
def test_a_budget_is_kept_or_refused_where_the_hub_lists_no_price(
    hub: LoopbackHub, hardware: str, tmp_path: Path
) -> None:
    """The catalog's price is used for hardware that the Hub's list lacks; without any, the budget could not be kept."""
    hub.hardware = [listed("l4x1", 13_333), listed("new-gpu", 70_000, "fortnight")]
    path = tmp_path / "job.yaml"
    path.write_text(JOB.replace("a10g-small", hardware).replace("budget_usd: 1", "budget_usd: 900"), encoding="utf-8")
    request = RunRequest(target=str(path), cwd=str(tmp_path))
    if hardware == "new-gpu":
        with pytest.raises(UsageError, match=r"`where\.budget_usd` cannot be kept: the price of `new-gpu`"):
            check_job(request, str(path))
        return
    job = check_job(request, str(path))

    assert isinstance(job, CheckedJob)
    plan = job.plan
    assert plan.usd_per_hour == {"l4x1": 0.8, "a10g-small": table_prices().usd_per_hour["a10g-small"]}
    assert budget_of(plan) is not None


def test_a_study_costs_what_its_trials_cost(hub: LoopbackHub, tmp_path: Path) -> None:
    """By the Hub's prices, which are fetched once; without the Hub, by the catalog's."""
    hub.hardware = [listed("a10g-small", 1_000_000)]
    job = "".join(
        f"  {line}\n"
        for line in JOB.replace(", budget_usd: 1", "").replace("100}", "100, eval_fraction: 0.2}").splitlines()
    )
    path = tmp_path / "study.yaml"
    path.write_text(f"job:\n{job}metric: eval_loss\nseeds: [1, 2]\n", encoding="utf-8")
    live, plain = (holdfast.study(path, dry_run=True, runs=tmp_path, offline=offline) for offline in (False, True))
    (low, high), (low_plain, high_plain) = (
        (each["remaining"]["low_usd"], each["remaining"]["high_usd"]) for each in (live, plain)
    )

    ratio = 60.0 / table_prices().usd_per_hour["a10g-small"]
    assert low / low_plain == pytest.approx(ratio, rel=0.1)
    assert high / high_plain == pytest.approx(ratio, rel=0.1)
    assert sum("/api/jobs/hardware" in str(each) for each in hub.requests) == 1
