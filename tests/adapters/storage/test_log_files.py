"""The bytes of logs: what is no log is refused before it is searched."""

import json
from pathlib import Path

import pytest

from holdfast.adapters.storage.log_files import open_logs
from holdfast.core.errors import UsageError

ROWS = [{"messages": [{"role": "user", "content": f"{number}"}]} for number in range(3)]
LINES = "".join(f"{json.dumps(row)}\n" for row in ROWS)


def read(path: Path, text: str) -> bytes:
    """Return what is read of a file."""
    path.write_text(text)
    return b"".join(piece for _, pieces in open_logs([str(path)]) for piece in pieces)


@pytest.mark.parametrize("text", [LINES, LINES * 5000, json.dumps(ROWS), json.dumps(ROWS * 5000, indent=1)])
def test_a_dataset_is_no_log(tmp_path: Path, text: str) -> None:
    """Whether its rows are lines or a list, and however many they are."""
    with pytest.raises(UsageError, match="this is a dataset with the columns messages, not a log") as caught:
        read(tmp_path / "my train.jsonl", text)
    assert f"holdfast inspect '{tmp_path / 'my train.jsonl'}'" in caught.value.fix


@pytest.mark.parametrize(
    "text",
    [
        f"{LINES}Traceback (most recent call last):\n",
        '{"text": "2026-11-27 | step 1", "record": {"level": "INFO"}}\n',
        '{"event": "step", "step": 1, "loss": 2.5}\n',
        '{"eval_loss": 1.5}\n',
        "[rank0]: ValueError: prompt\n",
        "",
    ],
)
def test_a_log_may_begin_with_rows_or_be_of_json(tmp_path: Path, text: str) -> None:
    """A script may print a row, and a logger may write JSON."""
    assert read(tmp_path / "train.log", text).decode() == text
