"""What rules about rows say is what TRL does: it refuses what they call an error, and trains on what they warn of."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.check.finding import Severity
from holdfast.engine.check.rule_runner import severity_of
from tests.helpers.children import ask_each
from tests.helpers.sampling import asked, sampled
from tests.helpers.scanned import Row, assistant, findings, good, scan, user
from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`

pytestmark = pytest.mark.train
TOOLS = json.dumps([{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}])
STEP = {"max_steps": 1, "per_device_train_batch_size": 4}
GENERATED = {"max_completion_length": 4, "num_generations": 2}
NOTHING = 1e-5
"""A gradient below it teaches nothing; good rows give 0.1 and more."""


@dataclass(frozen=True)
class Tried:
    """Rows with a damage in the third, or in all, and what TRL is to do with them."""

    name: str
    method: str
    kind: str
    bad: Row
    refused: bool = True
    every: bool = False
    teaches: bool = True
    settings: dict[str, Any] | None = None

    @property
    def rows(self) -> list[Row]:
        beside = {"tools": TOOLS} if "tools" in self.bad else {}
        rows = [{**good(self.kind, index), **beside} for index in range(4)]
        return [{**row, **self.bad} if self.every or index == 2 else row for index, row in enumerate(rows)]


def passes(name: str, method: str, kind: str, bad: Row, **more: Any) -> Tried:
    return Tried(name, method, kind, bad, refused=False, **more)


TRIED = [
    Tried("null text", "sft", "text", {"text": None}),
    Tried("null messages", "sft", "messages", {"messages": None}),
    Tried("null prompt", "sft", "completion-chat", {"prompt": None}),
    Tried("null chosen", "dpo", "pair", {"chosen": None}),
    Tried("null rejected", "reward", "implicit-chat", {"rejected": None}),
    Tried("null label", "kto", "label", {"label": None}),
    Tried("null prompt to answer", "grpo", "prompt-chat", {"prompt": None}),
    Tried("empty messages", "sft", "messages", {"messages": []}),
    Tried("empty prompt", "kto", "label-chat", {"prompt": []}),
    passes("blank text", "sft", "text", {"text": ""}),
    Tried("number", "sft", "text", {"text": 7}, every=True),
    Tried("number for a prompt", "dpo", "pair", {"prompt": 7}, every=True),
    Tried("word for a label", "kto", "label", {"label": "good"}, every=True),
    Tried("messages as JSON", "sft", "messages", {"messages": json.dumps([user()])}, every=True),
    Tried("other questions", "dpo", "implicit-chat", {"chosen": [user("a"), assistant()]}),
    Tried("other questions of kto", "kto", "implicit-chat", {"chosen": [user("a"), assistant()]}),
    Tried("blank answer with its prompt", "dpo", "implicit", {"rejected": ""}),
    Tried("tools that are words", "sft", "messages", {"tools": "add(a, b)"}),
    Tried("no tools as text", "dpo", "pair-chat", {"tools": ""}),
    Tried("one tool and no list", "kto", "label-chat", {"tools": '{"name": "add"}'}),
    passes("tools that are null", "sft", "messages", {"tools": None}),
    passes("pairs as JSON", "dpo", "pair", {"chosen": json.dumps([assistant()])}),
    passes("other questions of reward", "reward", "implicit-chat", {"chosen": [user("a"), assistant()]}),
    passes("texts without a prompt", "dpo", "implicit", {"chosen": "Yes", "rejected": "No"}),
    passes("one equal pair", "dpo", "pair", {"chosen": "2", "rejected": "2"}),
    passes("the same row twice", "sft", "text", good("text", 0)),
    passes("all good", "kto", "label", {"label": True}, every=True),
    passes("no assistant", "sft", "messages", {"messages": [user()]}),
    passes("the user ends", "sft", "messages", {"messages": [user(), assistant(), user()]}),
    passes("two users", "sft", "messages", {"messages": [user(), user(), assistant()]}),
    passes("a null turn", "sft", "messages", {"messages": [user(None), assistant()]}),
    passes("damaged text", "sft", "text", {"text": "a\x00 caf\ufffd"}),
    passes("a prompt twice", "dpo", "pair-chat", {"prompt": [user()], "chosen": [user(), assistant()]}),
    Tried("equal pairs", "dpo", "pair-chat", {"chosen": [assistant()], "rejected": [assistant()]}, every=True, teaches=False),
    Tried("equal answers", "reward", "implicit", {"chosen": "a b", "rejected": "a b"}, every=True, teaches=False),
    Tried("blank texts", "sft", "text", {"text": ""}, every=True, teaches=False),
]  # fmt: skip


@pytest.fixture(scope="module", name="outcomes")
def train_on_all(request: pytest.FixtureRequest, tiny: Path) -> dict[str, dict[str, Any]]:
    """What became of each, all in one process, since importing TRL takes seconds."""
    names = asked(request)
    cases = [
        {"name": each.name, "method": each.method, "rows": each.rows, "model": str(tiny), "trains": True}
        | {"train": STEP | (GENERATED if each.method == "grpo" else {}) | (each.settings or {})}
        for each in TRIED
        if each.name in names
    ]
    return ask_each("prepared_by_trl", cases)


@pytest.mark.parametrize("name", sampled((each.name for each in TRIED), 2))
def test_the_library_agrees(name: str, outcomes: dict[str, dict[str, Any]]) -> None:
    """Errors are what raises or teaches nothing; what is milder trains."""
    (each,) = (each for each in TRIED if each.name == name)
    outcome = outcomes[each.name]
    told = findings(scan(each.rows, each.method), each.method)
    errors = [finding.message for finding in told if severity_of(finding) is Severity.ERROR]
    taught = outcome["refused"] is None and float(outcome["grad_norms"][0]) > NOTHING

    assert bool(errors) == (not taught), (errors, outcome)
    assert taught == (each.teaches and not each.refused), outcome
    assert told or each.name == "tools that are null"
