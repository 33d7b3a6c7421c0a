"""A price file of the user's own: its machines are options like those of Hugging Face Jobs, and every mistake in it is named."""

import json
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.adapters.price_file import KEYS, load_price_file
from holdfast.adapters.targets import read_target
from holdfast.app.check.target import check_rules, read_check_target
from holdfast.app.check.target_request import TargetRequest
from holdfast.app.hub_access import HubAccess
from holdfast.app.run.estimating import estimate_job
from holdfast.cli.main import run_command
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
        (row(usd_per_hour=-1.0), "`usd_per_hour` of `pod` cannot be -1.0", "from 0.001 to"),
        (row(usd_per_hour=0), "`usd_per_hour` of `pod` cannot be 0", "from 0.001 to"),
        (row(usd_per_hour=float("nan")), "`usd_per_hour` of `pod` cannot be nan", "from 0.001 to"),
        (row(usd_per_hour=float("inf")), "`usd_per_hour` of `pod` cannot be inf", "from 0.001 to"),
        (row(usd_per_hour="2.4"), "`usd_per_hour` of `pod` cannot be '2.4'", "from 0.001 to"),
        (row(usd_per_hour=True), "`usd_per_hour` of `pod` cannot be True", "from 0.001 to"),
        (row(usd_per_hour=None), "`pod` lacks `usd_per_hour`", "add `usd_per_hour"),
        (row(provider=None), "`pod` lacks `provider`", "add `provider"),
        (row(provider=" "), "`provider` of `pod` cannot be ' '", "a name"),
        (row(gpus=0), "`gpus` of `pod` cannot be 0", "from 1 to"),
        (row(gpus=1.5), "`gpus` of `pod` cannot be 1.5", "from 1 to"),
        (row(gpus=10**10), "`gpus` of `pod` cannot be 10000000000", "from 1 to"),
        (row(vram_gb=-80), "`vram_gb` of `pod` cannot be -80", "in GB"),
        (row(gpu=["h100"]), "`gpu` of `pod` cannot be a list", 'gpu = "h100"'),
        (row(gpu=True), "`gpu` of `pod` cannot be True", 'gpu = "h100"'),
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
        ("priced = 2026-11-28T10:00:00\n" + row(), "`priced` cannot be 2026-11-28 10:00:00", "write a date"),
    ],
)
def test_a_mistake_is_named_with_its_place_and_its_fix(text: str, what: str, fix: str, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(text)
    with pytest.raises(GroupedError) as caught:
        load_price_file(tmp_path / "prices.toml")
    errors = [each for each in caught.value.exceptions if isinstance(each, HoldfastError)]
    assert any(what in each.what and fix in each.fix for each in errors), [(each.what, each.fix) for each in errors]
    assert all(str(tmp_path / "prices.toml") in str(each.where) for each in errors)


ODD_VALUES = (
    '["h100"]', "{ a = 1 }", "[[[]]]", "2026-01-01", "10:00:00", "2026-01-01T10:00:00Z", "true", "nan", "-inf", "1e300",
    "1e-300", "-1", "0x" + "f" * 6000, "9" * 400, '""',
)  # fmt: skip


@pytest.mark.parametrize("key", [*KEYS, "priced", "flavors", "pod"])
def test_no_value_of_any_key_is_more_than_a_mistake(key: str, tmp_path: Path) -> None:
    """Lists, tables, dates, numbers that are none, and whole numbers of thousands of digits."""
    path = tmp_path / "prices.toml"
    for value in (*ODD_VALUES, "deep"):
        settings = f"{key}{'.a' * 1500} = 1" if value == "deep" else f"{key} = {value}"
        row = f'[flavors.pod]\n{settings}\n[flavors.other]\nprovider = "R"\ngpu = "h100"\nusd_per_hour = 1\n'
        path.write_text(row if key in KEYS else f"[flavors]\n{settings}\n" if key == "pod" else f"{settings}\n")
        with pytest.raises((GroupedError, UsageError)) as caught:  # the file, where TOML itself cannot be read
            load_price_file(path)
        assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    "values",
    [
        {"usd_per_hour": 0.001, "vram_gb": 0.001, "memory_gb": 0.001, "disk_gb": 0.001},
        {"usd_per_hour": 10**9, "vram_gb": 10**9, "memory_gb": 10**9, "disk_gb": 10**9, "cpus": 10_000},
        {"gpus": 10_000},
    ],
)
def test_the_least_and_the_most_that_a_file_may_say_are_planned_with(values: dict[str, Any], folder: Path) -> None:
    (folder / "prices.toml").write_text(row(**values))
    assert json.loads(json.dumps(plan(prices="prices.toml", hardware="pod")))["hardware"] == "pod"


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


@pytest.fixture(params=["variable", "project", "mistakes"])
def broken(request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A price file that cannot be used, however it is named; what is said of it."""
    if request.param == "project":
        (folder / "holdfast.toml").write_text('prices = "gone.toml"\n')
        return "gone.toml: the price file cannot be read"
    if request.param == "variable":
        monkeypatch.setenv("HOLDFAST_PRICES", "/nonexistent.toml")
        return "/nonexistent.toml: the price file cannot be read"
    monkeypatch.setenv("HOLDFAST_PRICES", "prices.toml")
    Path("prices.toml").write_text(row(gpu=["h100"]))
    return "prices.toml:2: `gpu` of `pod` cannot be a list"


def test_a_broken_price_file_takes_no_other_finding_away(broken: str, folder: Path) -> None:
    """Only the rules that compare with its machines are skipped, and only where a job names hardware."""
    (folder / "here.yaml").write_text("method: sft\nmodel: Qwen/Qwen3-0.6B\ndataset: trl-lib/Capybara\n")
    Path("job.yaml").write_text(
        (JOB % "l4x1").replace("max_steps: 2000", "max_steps: 2000, packing: true, padding_free: 3")
    )
    found = {
        each["path"]: each
        for each in holdfast.check(("job.yaml", "here.yaml"), offline=True, select="RES,SYN")["targets"]
    }
    assert not [each for target in found.values() for each in target["findings"] if each["code"] == "SYN001"]
    skipped = {each["code"]: each["because"] for each in found["job.yaml"]["skipped"]}
    assert set(skipped) >= {"RES101", "RES103", "RES105"}
    assert all(broken in because for because in skipped.values())
    assert not any(broken in each["because"] for each in found["here.yaml"]["skipped"])


def test_a_job_without_an_estimate_may_run_beside_a_broken_price_file(broken: str) -> None:
    estimated = estimate_job(read_target("job.yaml"), HubAccess.OFFLINE)
    assert estimated.estimate is None
    assert broken in estimated.because


@pytest.mark.usefixtures("broken")
def test_plan_itself_refuses_a_broken_price_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["plan", "job.yaml", "--offline"]) == 2
    assert "fix:" in capsys.readouterr().err


@pytest.mark.parametrize("way", ["option", "variable", "project"])
def test_a_home_that_is_nobodys_is_no_traceback(way: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "variable":
        monkeypatch.setenv("HOLDFAST_PRICES", "~nobodyx/p.toml")
    elif way == "project":
        (folder / "holdfast.toml").write_text('prices = "~nobodyx/p.toml"\n')
    with pytest.raises(UsageError, match="cannot be read") as caught:
        plan(**({"prices": "~nobodyx/p.toml"} if way == "option" else {}))
    assert "~nobodyx/p.toml" in str(caught.value.where)
