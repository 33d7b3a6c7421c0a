"""What holdfast says of a reward function is what real TRL does with it: one step of grpo and of rloo with each."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.rehearsal.rewards import call_rewards
from holdfast.catalog.trl_rewards import TRL_REWARDS
from holdfast.core.check.finding import Finding
from holdfast.core.job.document import Document
from holdfast.engine.check.rule_runner import run_rules, select
from holdfast.engine.inspect.made_completions import make_question
from holdfast.rules import all_rules
from tests.helpers.children import ask_each
from tests.helpers.sampling import asked, sampled
from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`

pytestmark = pytest.mark.train

ROWS: list[dict[str, Any]] = [{"prompt": f"{n} plus 1 equals?", "answer": str(n + 1)} for n in range(8)]
HEAD = "def score(completions, **kwargs):\n    return "
SMALL = {"num_generations": 4, "per_device_train_batch_size": 8, "max_completion_length": 4, "max_steps": 1}
# For each function: the rule that objects to it, and what real TRL makes of it: the error that ends it, or its gradients.
FUNCTIONS = {
    "fine": (None, r"[1-9]", HEAD + "[float(i) for i in range(len(completions))]"),
    "bools": (None, r"[1-9]", HEAD + "[i % 2 == 0 for i in range(len(completions))]"),
    "generator": (None, r"[1-9]", HEAD + "(1.0 * i for i in range(len(completions)))"),
    "async": (None, r"[1-9]", "async " + HEAD + "[float(i) for i in range(len(completions))]"),
    "column": (
        None,
        r"[1-9]",
        "def score(completions, answer, **_):\n    return [len(c) + i for i, c in enumerate(answer)]",
    ),
    "few": ("RWD109", "ValueError", HEAD + "[0.5]"),
    "texts": ("RWD109", "ValueError", HEAD + "['1.0'] * len(completions)"),
    "lists": ("RWD109", "RuntimeError", HEAD + "[[1.0]] * len(completions)"),
    "nothing": ("RWD109", "TypeError", HEAD + "None"),
    "strict": ("RWD109", "TypeError", "def score(completions):\n    return [1.0] * len(completions)"),
    "asking": ("RWD109", "TypeError", "def score(completions, solution, **_):\n    return [1.0] * len(completions)"),
    "raising": ("RWD109", "KeyError", HEAD + "[{}['x'] for _ in completions]"),
    "infinite": ("RWD110", r"^(0\.0|nan)$", HEAD + "[float('inf')] + [1.0] * (len(completions) - 1)"),
    "too-high": ("RWD110", r"^(0\.0|nan)$", HEAD + "[1e39] + [1.0] * (len(completions) - 1)"),
    "none": ("RWD111", r"^0\.0$", HEAD + "[None] * len(completions)"),
    "nan": ("RWD111", r"^0\.0$", HEAD + "[float('nan')] * len(completions)"),
    "constant": ("RWD112", r"^0\.0$", HEAD + "[0.5] * len(completions)"),
}


@pytest.fixture(scope="module", name="stepped")
def step_with_all(request: pytest.FixtureRequest, tiny: Path) -> dict[str, Any]:
    """What real TRL does with each function."""
    names = asked(request)
    cases = [
        {"name": f"{method}-{name}", "method": method, "model": str(tiny), "rows": ROWS, "train": SMALL}
        | {"trains": True, "rewards": source}
        for name, (_, _, source) in FUNCTIONS.items()
        if name in names
        for method in ("grpo", "rloo")
    ]
    return ask_each("prepared_by_trl", cases)


@pytest.mark.parametrize("name", sampled(FUNCTIONS, 3))
def test_rules_say_what_trl_does(name: str, stepped: dict[str, Any], tmp_path: Path) -> None:
    """A function that TRL trains on gets no finding; one that ends or idles training gets the rule's."""
    code, outcome, source = FUNCTIONS[name]
    for method in ("grpo", "rloo"):
        real = stepped[f"{method}-{name}"]
        assert re.search(outcome, real["refused"] or real["grad_norms"][0]), real
    (tmp_path / "rewards.py").write_text(source)
    rewarded = call_rewards(["rewards.py:score"], asdict(make_question(ROWS[:2])), folder=tmp_path)

    job = Document(path="job.yaml", kind="job", values={"method": "grpo", "rewards": ["rewards.py:score"]})
    results = run_rules(select(all_rules(), only=("RWD109", "RWD11")), job, {"rewarded": rewarded})
    found = [each for each in results if isinstance(each, Finding)]
    assert [each.rule.code for each in found if each.rule] == ([code] if code else []), rewarded
    assert [each.key for each in found] == (["rewards.0"] if code else [])


def test_trls_own_rewards_are_found_by_name() -> None:
    """TRL's own are called by name; one that needs a package says so."""
    chats = [{"prompt": [{"role": "user", "content": "2 + 2?"}], "solution": "4"}]
    told = {each.name: each for each in call_rewards(TRL_REWARDS, asdict(make_question(chats)))}

    assert set(told["think_format_reward"].rewards) == {0.0, 1.0}
    for name in ("accuracy_reward", "reasoning_accuracy_reward"):
        assert told[name].rewards or "math_verify" in told[name].problem
