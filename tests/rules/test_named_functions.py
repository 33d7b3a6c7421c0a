"""Functions that a job names are looked for when it is checked, and what its rewards need among its columns."""

import json
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core.errors import UsageError
from holdfast.rules.rwd114_unfed_reward import PASSED

ROWS = (json.dumps({"prompt": "Two?", "answer": "2"}) + "\n") * 8
SCORES = """
def right(completions, answer, **kwargs):
    return [1.0 for _ in completions]


def lost(completions, solution, **kwargs):
    return [1.0 for _ in completions]
"""
JOB = """method: grpo
model: builtin:tiny-chat
dataset: {{path: rows.jsonl{map}}}
rewards: ["{reward}"]
train: {{num_generations: 2, per_device_train_batch_size: 2}}
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with rows and functions, in which holdfast runs."""
    (tmp_path / "rows.jsonl").write_text(ROWS)
    (tmp_path / "scores.py").write_text(SCORES)
    monkeypatch.chdir(tmp_path)


def findings(reward: str, mapped: str = "") -> list[tuple[str, int, str]]:
    """Return code, line and message of each finding of a job."""
    Path("job.yaml").write_text(JOB.format(reward=reward, map=f', map: "{mapped}"' if mapped else ""))
    answer: dict[str, Any] = holdfast.check("job.yaml", offline=True)["targets"][0]
    return [(each["code"], each["line"], each["message"]) for each in answer["findings"]]


def test_what_is_there_is_not_reported() -> None:
    """A function of a file, with the columns that it needs."""
    assert findings("scores.py:right") == []


@pytest.mark.parametrize(
    ("reward", "mapped", "line", "words"),
    [
        ("score.py:right", "", 4, "did you mean `scores.py`?"),
        ("scores.py:rigth", "", 4, "did you mean `right`?"),
        ("acuracy_reward", "", 4, "did you mean `accuracy_reward`?"),
        ("scores.py:right", "rows.py:shorten", 3, "`rows.py` is neither in the job file"),
        ("scores.py:right", "scores.py:shorten", 3, "`scores.py` defines no `shorten`"),
    ],
)
def test_what_is_missing_is_reported_with_what_may_be_meant(reward: str, mapped: str, line: int, words: str) -> None:
    """At the line that names it; `render` refuses the same as a wrong question."""
    (found,) = [each for each in findings(reward, mapped) if each[0] == "JOB120"]

    assert found[1] == line
    assert words in found[2]
    with pytest.raises(UsageError):
        holdfast.render("job.yaml")


def test_a_file_that_is_no_python_is_reported_with_its_line() -> None:
    """The line is that of the mistake."""
    Path("scores.py").write_text("def right(completions:\n    pass\n")

    assert any(
        code == "JOB120" and "is not valid Python, line 1" in message
        for code, _, message in findings("scores.py:right")
    )


def test_what_a_reward_needs_is_a_column() -> None:
    """Of data whose columns are known; what a function makes of them is skipped."""
    (found,) = findings("scores.py:lost")

    assert found[0] == "RWD114"
    assert "`lost` needs `solution`" in found[2]
    assert "RWD114" not in [code for code, _, _ in findings("scores.py:lost", "scores.py:right")]
    assert "RWD114" in {skip["code"] for skip in holdfast.check("job.yaml", offline=True)["targets"][0]["skipped"]}


def test_a_reward_is_called_with_the_columns_alone() -> None:
    """As the trainer passes them, a parameter that no column gives is missing."""
    namespace: dict[str, Any] = {}
    exec(SCORES, namespace)
    passed = {**dict.fromkeys((*PASSED[:6], "answer"), ()), "completions": ["2"]}

    assert namespace["right"](**passed) == [1.0]
    with pytest.raises(TypeError, match="'solution'"):
        namespace["lost"](**passed)


SCRIPT = """from trl import GRPOConfig, GRPOTrainer
from beside import hidden


def short(completions, **kwargs):
    return [-len(each) for each in completions]


def mean(completions, **kwargs):
    return 1.0


trainer = GRPOTrainer(
    "m",
    reward_funcs=[short, {rewards}],
    args=GRPOConfig("out"{settings}),
    train_dataset=rows,
)
"""


@pytest.mark.parametrize(("rewards", "line"), [("mean", 9), ("hidden", 15), ("lambda completions, **_: 1.0", 15)])
def test_a_reward_at_fault_is_shown_where_it_is_defined(rewards: str, line: int) -> None:
    """Of several rewards, that one; one that is not in this file is shown where it is given."""
    Path("beside.py").write_text("def hidden(completions, **kwargs):\n    return 1.0\n")
    Path("train.py").write_text(SCRIPT.format(rewards=rewards, settings=""))

    answer: dict[str, Any] = holdfast.check("train.py", offline=True, select=["RWD113"])["targets"][0]

    assert [each["line"] for each in answer["findings"]] in ([line], [] if rewards.startswith("lambda") else [line])


def test_weights_that_do_not_match_are_reported_once() -> None:
    """The trainer refuses them; the rule that counts them says so."""
    Path("train.py").write_text(SCRIPT.format(rewards="short", settings=", reward_weights=[1.0]"))

    answer: dict[str, Any] = holdfast.check("train.py", offline=True, select=["CMB", "RWD"])["targets"][0]

    assert [each["code"] for each in answer["findings"]] == ["RWD115"]
