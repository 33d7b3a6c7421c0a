"""Which methods can train on which data is what real TRL does: one step of each, side by side with what `judge` says.

All cases go through two processes, since importing TRL takes seconds. Their sets of names are ordered differently, for TRL
asks one column of such a set whether a row is a conversation: what it accepts by chance is not ready.
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from holdfast.catalog.formats import ColumnSettings, judge, recognise, types_of_rows
from holdfast.cli.main import run_command
from holdfast.core.check.finding import Severity
from holdfast.core.job.methods import Method
from holdfast.rules import all_rules
from tests.helpers.children import Answer, ask_each, side_by_side
from tests.helpers.sampling import asked, sampled
from tests.helpers.shapes_of_data import DATA, GOOD, TOOLS, USER
from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`

pytestmark = pytest.mark.train

# With these two seeds, each column that TRL may ask by chance is asked once, and is passed over once.
SEEDS = ("2", "14")
# What the columns of a row have to do with a method, so that the case tells more than "no `chosen`".
ABOUT = {
    "sft": ("text", "messages", "conversations", "prompt", "completion", "input_ids", "instruction", "chosen"),
    "dpo": ("chosen", "prompt_ids", "image", "images"),
    "reward": ("chosen", "chosen_ids", "chosen_input_ids"),
    "kto": ("chosen", "label"),
    "grpo": (),
    "rloo": (),
}
# One of each of the others' kinds, where a method's own columns are not among them.
STRANGERS = {
    "dpo": ("messages", "prompt and completion"),
    "reward": ("messages", "prompt and completion"),
    "kto": ("messages", "prompt and completion", "completion"),
    "grpo": (
        "messages",
        "question and answer",
        "prompt",
        "prompt of messages",
        "prompt of one message",
        "prompt by from",
        "prompt that ends with the assistant",
        "null prompt",
        "number as prompt",
        "prompt and solution",
        "prompt and messages",
        "prompt and completion of messages",
        "prompt, completion of messages",
        "pair with prompt",
        "pair with tools",
        "label",
        "steps",
        "prompt and prompts",
        "prompt and completions",
        "prompt and names of the trainer",
        "prompt with images by name",
        "prompt of text with images by name",
    ),
    "rloo": ("prompt", "prompt of messages", "prompt and completions", "prompt and prompts", "messages", "null prompt"),
}


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A method, a row that the data is made of, and settings, for TRL and for holdfast."""

    method: str
    row: dict[str, Any]
    train: dict[str, Any] = field(default_factory=dict)
    rewards: tuple[str, ...] = ()
    template: bool = True
    more: dict[str, Any] = field(default_factory=dict)

    def as_settings(self) -> ColumnSettings:
        return ColumnSettings(
            text_field=self.train.get("dataset_text_field", "text"),
            assistant_only_loss=self.train.get("assistant_only_loss", False),
            rewards=self.rewards,
            chat_template=self.template,
            vision=False,
        )


BODY = {"dataset_text_field": "body"}
ASSISTANT = {"assistant_only_loss": True}
SPECIAL = {
    "sft, the text under another name": Tried(method="sft", row=DATA["body"], train=BODY),
    "sft, no text under the other name": Tried(method="sft", row=DATA["text"], train=BODY),
    "sft, messages and no template": Tried(method="sft", row=DATA["messages"], template=False),
    "sft, text and no template": Tried(method="sft", row=DATA["text"], template=False),
    "sft, from and value and no template": Tried(method="sft", row=DATA["conversations by from"], template=False),
    "dpo, messages and no template": Tried(method="dpo", row=DATA["pair of messages"], template=False),
    "kto, messages and no template": Tried(method="kto", row=DATA["label of messages"], template=False),
    "reward, messages and no template": Tried(method="reward", row=DATA["pair of messages"], template=False),
    "grpo, messages and no template": Tried(method="grpo", row=DATA["prompt of messages"], template=False),
    "grpo, text and no template": Tried(method="grpo", row=DATA["prompt"], template=False),
    "sft, the assistant's text": Tried(method="sft", row=DATA["text"], train=ASSISTANT),
    "sft, the assistant's by from": Tried(method="sft", row=DATA["conversations by from"], train=ASSISTANT),
    "grpo, text and TRL's reward": Tried(method="grpo", row=DATA["prompt"], rewards=("think_format_reward",)),
    "rloo, text and TRL's reward": Tried(method="rloo", row=DATA["prompt"], rewards=("think_format_reward",)),
    "grpo, messages and TRL's reward": Tried(
        method="grpo", row=DATA["prompt of messages"], rewards=("think_format_reward",)
    ),
    "grpo, no solution": Tried(method="grpo", row=DATA["prompt of messages"], rewards=("accuracy_reward",)),
    "grpo, tools": Tried(method="grpo", row={"prompt": USER, "tools": TOOLS}),
    "kto, tools": Tried(method="kto", row={"prompt": USER, "completion": GOOD, "label": True, "tools": TOOLS}),
}


EPOCHS = {"max_steps": -1, "num_train_epochs": 1}
# Rows of what each trainer accepts that columns do not tell, and the rule that says so.
ELSEWHERE = {
    "an empty dataset": ("DAT202", Tried(method="sft", row={}, more={"rows": []})),
    "a split of one row": ("DAT117", Tried(method="sft", row={}, more={"rows": [DATA["text"]], "held_out": 0.1})),
    "a stream and epochs": ("CMB102", Tried(method="sft", row=DATA["text"], train=EPOCHS, more={"streaming": True})),
    "a stream that is split": (
        "CMB102",
        Tried(method="sft", row=DATA["text"], more={"streaming": True, "held_out": 0.1}),
    ),
    "a batch of half a group": (
        "CMB101",
        Tried(method="grpo", row=DATA["prompt"], train={"per_device_train_batch_size": 4, "num_generations": 8}),
    ),
    "no markers for the assistant": ("MOD122", Tried(method="sft", row=DATA["messages"], train=ASSISTANT)),
    "no chat template": ("MOD121", Tried(method="sft", row=DATA["messages"], template=False)),
    "wrong targets": (
        "MOD123",
        Tried(method="sft", row=DATA["text"], more={"peft": {"target_modules": ["c_attn"]}}),
    ),
    "a tracker without its package": ("DEP106", Tried(method="sft", row=DATA["text"], train={"report_to": "wandb"})),
}


def pairs() -> Iterator[tuple[str, Tried]]:
    for method, about in ABOUT.items():
        for name, row in DATA.items():
            if set(about) & row.keys() or name in STRANGERS.get(method, ()):
                yield f"{method} | {name}", Tried(method=method, row=row)
    yield from SPECIAL.items()


CASES = dict(pairs())
EVERYTHING = CASES | {name: tried for name, (_, tried) in ELSEWHERE.items()}


def by_chance(tried: Tried) -> bool:
    """Whether more than one column could be asked whether rows are conversations, and they differ."""
    values = [
        tried.row[name] for name in ("prompt", "chosen", "rejected", "completion", "messages") if name in tried.row
    ]
    return len({type(value) for value in values}) > 1


def ask(seed: str, names: list[str], tiny: Path) -> dict[str, Answer]:
    cases = [
        {
            "name": name,
            "model": str(tiny),
            "method": tried.method,
            "rows": [tried.row] * 4,
            "train": tried.train,
            "rewards": tried.rewards or ["length"],
            "template": tried.template,
            **tried.more,
        }
        for name in names
        for tried in [EVERYTHING[name]]
    ]
    return ask_each("trained", cases, PYTHONHASHSEED=seed)


@pytest.fixture(scope="module", name="refusals")
def train_all(tiny: Path, request: pytest.FixtureRequest) -> dict[str, list[str | None]]:
    """What refused each case, in each process that tried it."""
    wanted = asked(request)
    chance = [name for name, tried in CASES.items() if name in wanted and by_chance(tried)]
    certain = [name for name in EVERYTHING if name in wanted and name not in chance]
    shares = [chance + certain[index :: len(SEEDS)] for index in range(len(SEEDS))]
    told: dict[str, list[str | None]] = {}
    for answers in side_by_side(ask, *[(seed, names, tiny) for seed, names in zip(SEEDS, shares, strict=True)]):
        for name, answer in answers.items():
            told.setdefault(name, []).append(answer["refused"])
    return told


@pytest.mark.parametrize("name", sampled(CASES, 6))
def test_the_trainer_agrees(name: str, refusals: dict[str, list[str | None]]) -> None:
    """A method is ready for data if its trainer always trains a step on them, and for no other."""
    tried = CASES[name]
    rows = [tried.row] * 4
    columns = types_of_rows(rows)
    settings = tried.as_settings()

    told = judge(tried.method, columns, recognise(columns, rows, settings), settings)

    assert told.ready == (not any(refusals[name])), (told.because, refusals[name])
    assert told.ready == (not told.because)


# The same as job files, of what one can ask for; in the folder are a model, one without a template, and rows.
JOBS = {
    "an empty dataset": ("DAT102", "method: sft\nmodel: ./tiny\ndataset: empty.jsonl\n"),
    "a split of one row": ("DAT102", "method: sft\nmodel: ./tiny\ndataset: {path: one.jsonl, eval_fraction: 0.1}\n"),
    "a stream and epochs": ("CMB102", "method: sft\nmodel: ./tiny\ndataset: {path: text.jsonl, streaming: true}\n"),
    "a stream that is split": (
        "CMB102",
        (
            "method: sft\nmodel: ./tiny\ndataset: {path: text.jsonl, streaming: true, eval_fraction: 0.1}\n"
            "train: {max_steps: 1}\n"
        ),
    ),
    "a batch of half a group": (
        "CMB101",
        (
            "method: grpo\nmodel: ./tiny\ndataset: prompt.jsonl\nrewards: [think_format_reward]\n"
            "train: {per_device_train_batch_size: 4, gradient_accumulation_steps: 1, num_generations: 8}\n"
        ),
    ),
    "no markers for the assistant": (
        "MOD122",
        "method: sft\nmodel: ./tiny\ndataset: messages.jsonl\ntrain: {assistant_only_loss: true}\n",
    ),
    "no chat template": ("MOD121", "method: sft\nmodel: ./plain\ndataset: messages.jsonl\n"),
    "wrong targets": ("MOD123", "method: sft\nmodel: ./tiny\ndataset: text.jsonl\npeft: {target_modules: [c_attn]}\n"),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_columns_do_not_tell(name: str, refusals: dict[str, list[str | None]]) -> None:
    """What a trainer refuses for other reasons than its columns, a rule says with severity error."""
    code, _ = ELSEWHERE[name]
    (rule,) = (rule for rule in all_rules() if rule.code == code)

    assert all(refusals[name])
    assert rule.severity is Severity.ERROR


@pytest.mark.parametrize("name", JOBS)
def test_a_check_of_such_a_job_says_so(
    name: str, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As typed; a tracker's package is asked for by the job itself, so that there is no such job file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny").symlink_to(tiny)
    shutil.copytree(tiny, tmp_path / "plain", ignore=shutil.ignore_patterns("chat_template.jinja"))
    rows = {"text": DATA["text"], "prompt": DATA["prompt"], "messages": DATA["messages"], "one": DATA["text"]}
    for stem, row in rows.items():
        (tmp_path / f"{stem}.jsonl").write_text("".join([json.dumps(row) + "\n"] * (1 if stem == "one" else 16)))
    (tmp_path / "empty.jsonl").write_text("")
    code, job = JOBS[name]
    (tmp_path / "job.yaml").write_text(job)

    assert run_command(["check", "--offline", "job.yaml", "--format", "json"]) == 1

    (target,) = json.loads(capsys.readouterr().out)["targets"]
    assert code in {each["code"] for each in target["findings"] if each["severity"] == "error"}


def test_enough() -> None:
    """Every method and every kind of row is among the cases."""
    assert len(CASES) >= 60
    assert {tried.method for tried in CASES.values()} == {method.value for method in Method}
