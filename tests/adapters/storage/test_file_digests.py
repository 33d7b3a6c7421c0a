"""What a folder's digest follows: the files that a job reads, and nothing that a look at them leaves behind."""

from pathlib import Path

import pytest

from holdfast.adapters.storage.file_digests import digest_path
from tests.helpers.files import lay_out


@pytest.mark.parametrize(
    ("name", "is_seen"),
    [
        ("rows/__pycache__/helper.cpython-311.pyc", False),
        ("__pycache__/helper.cpython-311.pyc", False),
        (".cache/x", False),
        ("rows/more.jsonl", True),
        ("helper.py", True),
    ],
)
def test_a_folder_that_was_imported_from_has_the_same_digest(tmp_path: Path, name: str, *, is_seen: bool) -> None:
    """Python keeps what it compiled there; the job would be rehearsed again."""
    lay_out(tmp_path, {"rows/train.jsonl": "{}\n"})
    before = digest_path(tmp_path)
    lay_out(tmp_path, {name: "new"})

    assert (digest_path(tmp_path) != before) is is_seen
