"""A user's own function that fails in a real trainer is named by what it is there; frames of libraries tell, and change."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import rehearse
from holdfast.adapters.rehearsal.warm import WarmServer
from tests.helpers.tiny import quiet_environment, tiny_model  # noqa: F401 - the fixture `tiny`

pytestmark = [pytest.mark.train, pytest.mark.long]
TOP = """\
from datasets import load_dataset
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

rows = load_dataset("json", data_files="rows.jsonl", split="train")
usual = dict(output_dir="out", max_steps=4, report_to="none", bf16=False)


"""
SFT = """\
trainer = SFTTrainer(model={tiny!r}, args=SFTConfig(**usual, {settings}), train_dataset=rows, {given})
trainer.train()
"""
GRPO = """\
grpo = dict(num_generations=2, per_device_train_batch_size=2, max_completion_length=8)
rows = rows.rename_columns({{"text": "prompt"}})
trainer = GRPOTrainer(model={tiny!r}, args=GRPOConfig(**usual, **grpo), train_dataset=rows, {given})
trainer.train()
"""
EVALUATES = 'eval_strategy="steps", eval_steps=2'
CASES = {
    "callback": (
        "class Log(TrainerCallback):\n    def on_log(self, args, state, control, logs=None, **kwargs):\n        logs[7]\n",
        SFT,
        {"given": "callbacks=[Log()]"},
        "Log.on_log",
    ),
    "reward function": (
        "def score(completions, **kwargs):\n    return missing\n",
        GRPO,
        {"given": "reward_funcs=score"},
        "score",
    ),
    "collator": ("def collate(rows):\n    return rows[99]\n", SFT, {"given": "data_collator=collate"}, "collate"),
    "formatting function": (
        "def form(row):\n    return row['nothing']\n",
        SFT,
        {"given": "formatting_func=form"},
        "form",
    ),
    "metric function": (
        "def measure(given):\n    return given[7]\n",
        SFT,
        {"given": "eval_dataset=rows, compute_metrics=measure", "settings": EVALUATES},
        "measure",
    ),
    "`map` function": (
        "def to_text(row):\n    return {'text': row[7]}\n\n\nrows = rows.map(to_text)\n",
        SFT,
        {"given": ""},
        "to_text",
    ),
    "`filter` function": (
        "def keep(row):\n    return row[7]\n\n\nrows = rows.filter(keep)\n",
        SFT,
        {"given": ""},
        "keep",
    ),
}


@pytest.fixture(scope="module", name="warm")
def kept_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServer]:
    """One process for all, in a folder with rows, which imports the libraries once."""
    folder = tmp_path_factory.mktemp("functions")
    rows = ({"text": f"{n} plus 1 equals {n + 1}."} for n in range(24))
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.MonkeyPatch.context() as patch, WarmServer() as warm:
        for name, value in quiet_environment().items():
            patch.setenv(name, value)
        patch.chdir(folder)
        yield warm


@pytest.mark.parametrize("role", CASES)
def test_function_is_named_with_its_role(role: str, warm: WarmServer, tiny: Path) -> None:
    """And its line, whatever stands between it and the script's own call."""
    function, body, given, named = CASES[role]
    told: dict[str, Any] = {"settings": "", **given, "tiny": str(tiny)}
    Path("train.py").write_text(f"{TOP}{function}\n\n{body.format(**told)}")

    failure = rehearse("train.py", here=True, offline=True, warm=warm)["failure"]

    assert (failure["role"], failure["function"]) == (role, named)
    first = TOP.count("\n") + 1
    assert failure["where"] in {f"train.py:{first + line}" for line in range(1, function.count("\n"))}
