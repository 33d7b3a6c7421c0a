"""The file or folder that was meant by a path where nothing is."""

from pathlib import Path

import pytest

from holdfast.app.evaluate.asking import read_metrics
from holdfast.app.models.near_files import suggest_path
from holdfast.core.errors import HoldfastError


def test_the_nearest_name_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "rewards.py").touch()
    (tmp_path / "reward.txt").touch()
    assert suggest_path(tmp_path / "reward.py", "name one", lambda each: each.suffix == ".py").endswith("rewards.py")
    assert suggest_path(tmp_path / "other", "name one") == "name one"
    assert suggest_path(tmp_path / "absent/reward.py", "name one") == "name one"


@pytest.mark.parametrize("refused", ["iterdir", "stat"])
def test_a_folder_that_may_not_be_read_has_no_near_names(
    refused: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mode 311, as another user: its files can be opened, and its names cannot be listed. Mode 0: nor can it be entered."""
    (tmp_path / "rewards.py").touch()

    def refuse(path: Path, **_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, refused, refuse)
    errors: list[HoldfastError] = []
    read_metrics((f"{tmp_path}/reward.py:f",), (), (), errors, benchmarks=False)
    assert [each.what for each in errors] == [f"no such file: {tmp_path}/reward.py"]
    assert refused == "stat" or errors[0].fix == "name a Python file"
