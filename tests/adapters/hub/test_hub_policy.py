"""When `holdfast check` asks the Hub: about files that are named, unless it shall not; and what of that is kept."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import check
from holdfast.adapters.hub.client import ANSWERS
from holdfast.cli.main import main
from tests.helpers.hub import LoopbackHub, loopback_hub

SCRIPT = """# /// script
# dependencies = ["trl==1.16.0", "transformers==5.23.0", "datasets==5.2.0", "torch"]
# ///
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

rows = load_dataset("trl-lib/Capibara", split="train")
trainer = SFTTrainer("acme/small", args=SFTConfig(output_dir="out", report_to="none"), train_dataset=rows)
trainer.train()
"""
JOB = """
method: sft
model: acme/small
dataset: {path: trl-lib/Capybara, split: trian}
"""
WRONG_NAME = ["DAT107"]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LoopbackHub]:
    """A Hub that every client of this process takes for the real one, and a folder to work in."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("holdfast.adapters.hub.client.ANSWERS._known", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "train.py").write_text(SCRIPT)
    (folder / "other.py").write_text(SCRIPT)
    (folder / "job.yaml").write_text(JOB)
    with loopback_hub() as hub:
        for name, value in {**hub.variables, "HOLDFAST_VIEWER": hub.viewer}.items():
            monkeypatch.setenv(name, value)
        hub.add_dataset("trl-lib/Capybara", {"train.jsonl": '{"messages": [{"role": "user", "content": "a"}]}\n'})
        hub.add_model(
            "acme/small", {"config.json": '{"model_type": "qwen2"}', "model.safetensors": b"", "tokenizer.json": "{}"}
        )
        yield hub


def codes(answer: dict[str, Any]) -> list[str]:
    """Return the codes of the findings about data of each target; the model is a poor one."""
    found = [finding["code"] for target in answer["targets"] for finding in target["findings"]]
    return [code for code in found if code.startswith("DAT")]


def skips(answer: dict[str, Any]) -> set[str]:
    """Return why rules were skipped."""
    return {skip["because"] for target in answer["targets"] for skip in target["skipped"]}


def test_a_named_script_is_asked_about(hub: LoopbackHub) -> None:
    """A wrong name is found, and nothing is skipped for want of the Hub."""
    answer = check(["train.py"])

    assert codes(answer) == WRONG_NAME
    assert not [because for because in skips(answer) if "asked" in because]
    assert hub.asked("/api/datasets/trl-lib/Capibara")


def test_offline_nothing_is_asked_and_each_rule_says_so(hub: LoopbackHub) -> None:
    """Neither by the option nor by the variable; the rules are not checked."""
    answer = check(["train.py"], offline=True)

    assert codes(answer) == []
    assert "the Hub was not contacted: --offline" in skips(answer)
    assert hub.requests == []


def test_the_variable_forbids_as_the_option_does(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """What every client of the Hub heeds, a check heeds too."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    assert "the Hub was not contacted: HF_HUB_OFFLINE is set" in skips(check(["train.py"]))
    assert hub.requests == []


def test_files_of_a_folder_are_not_asked_about(hub: LoopbackHub) -> None:
    """A walk of a thousand scripts asks nobody; the reason says how to have one asked about."""
    answer = check(["."])

    assert codes(answer) == []
    assert all("you name" in target["unasked"] for target in answer["targets"] if target["kind"] == "script")
    assert not [because for because in skips(answer) if "not contacted" in because and "job" not in because]
    assert hub.requests == []


def test_files_that_a_hook_names_are_not_asked_about(hub: LoopbackHub) -> None:
    """With `--force-exclude`, files come from a hook, by the hundred."""
    check(["train.py", "other.py"], force_exclude=True)

    assert hub.requests == []


def test_what_the_hub_said_is_not_kept(hub: LoopbackHub) -> None:
    """When the dataset is there, the finding is gone, though no file has changed."""
    assert codes(check(["train.py", "other.py"])) == WRONG_NAME * 2
    hub.add_dataset("trl-lib/Capibara", {"train.jsonl": '{"text": "a"}\n'})
    forget()

    assert codes(check(["train.py", "other.py"])) == []


@pytest.mark.usefixtures("hub")
def test_what_a_walk_found_is_not_told_of_a_named_file() -> None:
    """The cache of the one is none for the other, though the files are the same."""
    assert codes(check(["."])) == []
    assert codes(check(["train.py", "other.py"])) == WRONG_NAME * 2
    assert codes(check(["train.py", "other.py"], offline=True)) == []
    assert codes(check(["."])) == []


@pytest.mark.usefixtures("hub")
def test_a_job_file_has_facts_of_the_hub() -> None:
    """The split that is not there is found, and the columns that are there are no finding."""
    assert "DAT111" in codes(check(["job.yaml"]))
    Path("job.yaml").write_text(JOB.replace("trian", "train"))
    forget()
    assert not {"DAT101", "DAT107", "DAT111"} & set(codes(check(["job.yaml"])))
    Path("job.yaml").write_text(JOB.replace("trian", "train").replace("sft", "dpo"))
    assert "DAT101" in codes(check(["job.yaml"]))


def test_a_hub_that_is_down_is_a_skip(hub: LoopbackHub) -> None:
    """No finding, no error: the reason, and the exit code of a pass unless it is strict."""
    hub.fail(".", status=503)

    answer = check(["train.py"])
    assert answer["verdict"] == "pass"
    assert "the Hub answered 503" in skips(answer)
    assert check(["train.py"], strict=True)["verdict"] == "fail"


@pytest.mark.usefixtures("hub")
def test_many_skips_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Offline, people read one line of it."""
    with pytest.raises(SystemExit):
        main(["check", "train.py", "--offline"])
    told = capsys.readouterr().out

    assert told.count("--offline") == 1


@pytest.mark.usefixtures("hub")
def test_a_wrong_time_limit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable is named, and the exit code is that of a wrong question."""
    monkeypatch.setenv("HOLDFAST_HUB_TIMEOUT_S", "soon")
    with pytest.raises(SystemExit) as ended:
        main(["check", "train.py"])

    assert ended.value.code == 2


@pytest.mark.usefixtures("hub")
def test_offline_nothing_of_the_hub_is_imported() -> None:
    """What asks takes as long to import as a script to check; nor does a script that names nothing need it."""
    Path("plain.py").write_text("from trl import SFTConfig\nSFTConfig(output_dir='x')\n")
    program = (
        "import json, sys; from holdfast import check;"
        "check(['train.py'], offline=True); check(['plain.py']);"
        "print(json.dumps([name for name in ('huggingface_hub', 'httpx', 'httpx2', 'pydantic', 'polars') if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert json.loads(done.stdout) == []


def forget() -> None:
    """Forget what this process was told, as another would not know it."""
    ANSWERS._known.clear()
