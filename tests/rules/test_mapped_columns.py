"""Columns that a `map` with a literal dict makes: the rules about columns and rewards know them, wherever the rows come from."""

import pytest

from holdfast import check

SCRIPT = """# /// script
# requires-python = ">=3.10"
# dependencies = ["trl==1.16.0", "transformers==5.23.0"]
# ///
from datasets import load_dataset
from trl import {method}Config, {method}Trainer


def right(completions, solution, **kwargs):
    return [float(one == two) for one, two in zip(completions, solution)]


rows = load_dataset("acme/chats", split="train")
rows = rows.map({function}, remove_columns=rows.column_names)
trainer = {method}Trainer("acme/tiny", args={method}Config(output_dir="out"), train_dataset=rows{more})
"""
REWARDED = ", reward_funcs=right"


@pytest.mark.parametrize(
    ("method", "function", "more", "expected"),
    [
        ("SFT", 'lambda row: {"message": [{"role": "user", "content": row["q"]}]}', "", ["DAT101"]),
        ("SFT", 'lambda row: {"messages": [{"from": "user", "value": row["q"]}]}', "", ["DAT101"]),
        ("SFT", 'lambda row: {"messages": [{"speaker": "user", "content": row["q"]}]}', "", ["DAT101"]),
        ("SFT", 'lambda row: {"messages": [{"role": "user", "content": row["q"]}]}', "", []),
        ("SFT", 'lambda row: {"messages": write(row)}', "", []),
        ("SFT", 'lambda row: {"message": row["q"], **row}', "", []),
        ("SFT", "write", "", []),
        ("DPO", 'lambda row: {"prompt": row["q"], "choosen": row["a"], "rejected": row["b"]}', "", ["DAT101"]),
        ("GRPO", 'lambda row: {"prompt": row["q"], "answer": row["a"]}', REWARDED, ["RWD114"]),
        ("GRPO", 'lambda row: {"prompt": row["q"], "solution": row["a"]}', REWARDED, []),
        ("GRPO", 'lambda rows: {"prompt": rows["q"], "answer": rows["a"]}, batched=True', REWARDED, ["RWD114"]),
    ],
)
def test_columns_of_a_literal_map_are_known(
    method: str, function: str, more: str, expected: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A name that the trainer or a reward does not read is reported; what is computed is not guessed at."""
    script = tmp_path_factory.mktemp("mapped") / "train.py"
    script.write_text(SCRIPT.format(method=method, function=function, more=more))
    (target,) = check(str(script), select=["DAT1", "RWD114"], offline=True)["targets"]
    assert [each["code"] for each in target["findings"]] == expected
