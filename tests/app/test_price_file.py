"""A price file of the user's own: its machines are options like those of Hugging Face Jobs, and every mistake in it is named."""

import json
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.adapters.price_file import load_price_file
from holdfast.app.check.target import check_rules, read_check_target
from holdfast.app.check.target_request import TargetRequest
from holdfast.app.hub_access import HubAccess
from holdfast.core.errors import GroupedError, HoldfastError, UsageError

PRICES = """
priced = 2026-11-20

[flavors]
pod-h100 = { provider = "RunPod", gpu = "h100", cpus = 16, memory_gb = 180, disk_gb = 500, usd_per_hour = 0.05, source = "https://example.com" }
big-a100 = { provider = "Lambda", gpu = "a100", gpus = 2, vram_gb = 80, usd_per_hour = 2.5 }
[flavors.dear-l4]
provider = "Home"
gpu = "l4"
usd_per_hour = 90
"""
JOB = """
method: sft
model: Qwen/Qwen3-0.6B
dataset: {path: trl-lib/Capybara, rows: 1000}
train: {max_length: 512, max_steps: 2000}
where: {backend: hf-jobs, hardware: %s, budget_usd: 0.01}
"""


@pytest.fixture(name="folder")
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a price file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOLDFAST_PRICES", raising=False)
    (tmp_path / "prices.toml").write_text(PRICES)
    (tmp_path / "job.yaml").write_text(JOB % "l4x1")
    return tmp_path


def plan(**options: Any) -> dict[str, Any]:
    return holdfast.plan("job.yaml", offline=True, **options)


def names(result: dict[str, Any]) -> list[str]:
    return [each["hardware"] for each in result["options"]]


def test_machines_of_the_file_are_options_with_their_provider_and_price(folder: Path) -> None:
    result = plan(prices=folder / "prices.toml")
    first = result["options"][0]
    assert (first["hardware"], first["provider"], first["usd_per_hour"]) == ("pod-h100", "RunPod", 0.05)
    assert first["priced"] == "2026-11-20"
    assert names(result)[-1] == "dear-l4", "the dearest comes last"
    assert "big-a100" not in names(result), "one process does not use two GPUs"
    assert names(plan()) == [name for name in names(result) if name not in {"pod-h100", "dear-l4"}]


@pytest.mark.parametrize("way", ["variable", "project", "folder above"])
def test_the_file_is_found_where_the_user_named_it(way: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "variable":
        monkeypatch.setenv("HOLDFAST_PRICES", str(folder / "prices.toml"))
    else:
        (folder / "holdfast.toml").write_text('prices = "prices.toml"\n')
    if way == "folder above":
        (folder / "deep").mkdir()
        (folder / "job.yaml").rename(folder / "deep/job.yaml")
        monkeypatch.chdir(folder / "deep")
    assert names(plan())[0] == "pod-h100"


@pytest.mark.usefixtures("folder")
def test_the_budget_is_compared_with_the_price_of_a_machine_of_the_file() -> None:
    cheap, dear = (plan(prices="prices.toml", hardware=name, budget=1.0) for name in ("pod-h100", "dear-l4"))
    assert "over_budget" not in cheap
    assert dear["over_budget"]
    assert dear["cost_usd"]["value"] == pytest.approx(dear["time_s"]["value"] * 90 / 3600)


@pytest.mark.parametrize(("hardware", "code"), [("dear-l4", "RES103"), ("l4x1", "RES105")])
def test_rules_use_it(hardware: str, code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget of a job on such a machine; and a machine of the file that does the same for much less."""
    monkeypatch.setenv("HOLDFAST_PRICES", "prices.toml")
    (folder / "job.yaml").write_text(JOB % hardware)
    request = TargetRequest(path="job.yaml", only=("RES",), hub=HubAccess.OFFLINE)
    found = {
        each.rule.code: each.message for each in check_rules(read_check_target(request), request).findings if each.rule
    }
    assert "pod-h100 (RunPod)" in found[code]


def test_apply_writes_no_hardware_that_no_backend_rents(folder: Path) -> None:
    (folder / "job.yaml").write_text((JOB % "l4x1").replace("hardware: l4x1, ", ""))
    result = plan(prices="prices.toml", apply=True)
    assert result["hardware"] == "pod-h100"
    assert result["applied"]["where.hardware"] == "l4x1"


@pytest.mark.usefixtures("folder")
def test_an_unknown_machine_names_the_nearest_of_the_file() -> None:
    with pytest.raises(UsageError, match="did you mean `pod-h100`"):
        plan(prices="prices.toml", hardware="pod-h10")


GOOD = {"provider": "RunPod", "gpu": "h100", "usd_per_hour": 2.4}


def row(**changes: object) -> str:
    values = {**GOOD, **changes}
    return (
        "[flavors]\npod = {"
        + ", ".join(
            f"{key} = {value if isinstance(value, float) else json.dumps(value)}"
            for key, value in values.items()
            if value is not None
        )
        + "}\n"
    )


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        (row(gpu="h10"), "`gpu` of `pod` cannot be 'h10'", "`h100`"),
        (row(gpu=100), "`gpu` of `pod` cannot be 100", 'gpu = "h100"'),
        (row(usd_per_hour=-1.0), "`usd_per_hour` of `pod` cannot be -1.0", "above 0"),
        (row(usd_per_hour=0), "`usd_per_hour` of `pod` cannot be 0", "above 0"),
        (row(usd_per_hour=float("nan")), "`usd_per_hour` of `pod` cannot be nan", "above 0"),
        (row(usd_per_hour=float("inf")), "`usd_per_hour` of `pod` cannot be inf", "above 0"),
        (row(usd_per_hour="2.4"), "`usd_per_hour` of `pod` cannot be '2.4'", "above 0"),
        (row(usd_per_hour=True), "`usd_per_hour` of `pod` cannot be True", "above 0"),
        (row(usd_per_hour=None), "`pod` lacks `usd_per_hour`", "add `usd_per_hour"),
        (row(provider=None), "`pod` lacks `provider`", "add `provider"),
        (row(provider=" "), "`provider` of `pod` cannot be ' '", "a name"),
        (row(gpus=0), "`gpus` of `pod` cannot be 0", "1 or more"),
        (row(gpus=1.5), "`gpus` of `pod` cannot be 1.5", "1 or more"),
        (row(vram_gb=-80), "`vram_gb` of `pod` cannot be -80", "in GB"),
        (row(price=3), "`pod` cannot have `price`", "usd_per_hour"),
        (row(memory=3), "`pod` cannot have `memory`", "`memory_gb`"),
        ("[flavors]\nh200 = {}\n", "`h200` is the name of a flavor", "another name"),
        ("[flavors]\nlocal = {}\n", "`local` is the name of this machine", "another name"),
        ("[flavors]\npod = 3\n", "`pod` is not a machine", "provider ="),
        ('[flavors]\n"my pod" = {}\n', "`my pod` cannot name a machine", "small letters"),
        ("[flavors]\n", "it lists no machines", "[flavors]"),
        ("", "it lists no machines", "[flavors]"),
        ("flavors = 3\n", "it lists no machines", "[flavors]"),
        ("[flavor]\n", "a price file has no key `flavor`", "`flavors`"),
        ("priced = 'today'\n" + row(), "`priced` cannot be 'today'", "write a date"),
    ],
)
def test_a_mistake_is_named_with_its_place_and_its_fix(text: str, what: str, fix: str, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(text)
    with pytest.raises(GroupedError) as caught:
        load_price_file(tmp_path / "prices.toml")
    errors = [each for each in caught.value.exceptions if isinstance(each, HoldfastError)]
    assert any(what in each.what and fix in each.fix for each in errors), [(each.what, each.fix) for each in errors]
    assert all(str(tmp_path / "prices.toml") in str(each.where) for each in errors)


def test_all_mistakes_are_reported_at_once_each_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(
        '[flavors]\na = { gpu = "h100", usd_per_hour = 1 }\n\nb = { provider = "x", gpu = "h1", usd_per_hour = 0 }\n'
    )
    with pytest.raises(GroupedError) as caught:
        load_price_file(tmp_path / "prices.toml")
    assert [str(each).count("prices.toml:4") for each in caught.value.exceptions] == [0, 1, 1]
    assert "prices.toml:2" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "what"), [(None, "cannot be read"), (b"a = [", "not valid TOML"), (b"\xff\xfe", "not valid TOML")]
)
def test_a_file_that_cannot_be_read_ends_the_command(content: bytes | None, what: str, folder: Path) -> None:
    if content is not None:
        (folder / "bad.toml").write_bytes(content)
    with pytest.raises(UsageError, match=what) as caught:
        plan(prices="bad.toml")
    assert "bad.toml" in str(caught.value.where)
