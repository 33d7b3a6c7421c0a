"""A part that local data lacks is reported at the key that asks for it."""

from pathlib import Path
from typing import Any

import pytest

import holdfast

ROWS = '{"text": "One and one is two."}\n' * 8
README = "---\nconfigs:\n- config_name: small\n  data_files: rows.jsonl\n---\n"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of rows and a folder with a configuration, in which holdfast runs."""
    (tmp_path / "rows.jsonl").write_text(ROWS)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "rows.jsonl").write_text(ROWS)
    (tmp_path / "folder" / "README.md").write_text(README)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("key", "dataset"),
    [
        ("dataset.split", {"path": "rows.jsonl", "split": "trian"}),
        ("dataset.split", {"path": "rows.jsonl", "split": "train[:5"}),
        ("dataset.eval_split", {"path": "rows.jsonl", "eval_split": "test"}),
        ("dataset.eval_split", {"path": "builtin:stdlib-docstrings", "eval_split": "validation"}),
        ("dataset.config", {"path": "folder", "config": "large"}),
        ("dataset", {"path": "nowhere.jsonl"}),
    ],
)
def test_the_finding_stands_at_the_key_that_is_wrong(key: str, dataset: dict[str, str]) -> None:
    """The split, the one to evaluate on, or the configuration; the dataset itself where the whole of it is missing."""
    lines = [f"  {name}: {value!r}" for name, value in dataset.items()]
    job = "\n".join(["method: sft", "model: builtin:tiny-chat", "dataset:", *lines, ""])
    Path("job.yaml").write_text(job)
    answer: dict[str, Any] = holdfast.check("job.yaml", offline=True, select="DAT102")["targets"][0]
    (finding,) = answer["findings"]
    assert finding["key"] == key
    assert finding["line"] == (3 if key == "dataset" else 5)
