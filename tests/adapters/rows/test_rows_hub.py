"""Rows of a dataset on the Hub are those of its files, fetched from a Hub on loopback by the real client."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.hub import LoopbackHub, loopback_hub
from tests.helpers.hub.client import Ask, client_of
from tests.helpers.hub.repositories import Signed

SETUP = """
from holdfast.adapters.rows.hub import open_hub_rows
from holdfast.core.errors import HoldfastError

def read(name, split="train", config=None, revision=None, files=None):
    try:
        rows = open_hub_rows(name, split, config=config, revision=revision, files=files)
        numbers = [row for batch in rows.batches() for row in batch.frame["a"].to_list()]
        return {"columns": {name: str(kind) for name, kind in rows.columns.items()}, "a": numbers,
                "broken": [broken.what for broken in rows.broken]}
    except HoldfastError as error:
        return {"error": error.what}
"""


@pytest.fixture(scope="module")
def hub() -> Iterator[LoopbackHub]:
    with loopback_hub() as started:
        yield started


@pytest.fixture(scope="module")
def ask(hub: LoopbackHub) -> Iterator[Ask]:
    with client_of(hub, SETUP) as asked:
        yield asked


def rows(*numbers: int) -> str:
    return "".join(f'{{"a": {number}}}\n' for number in numbers)


def told(ask: Ask, name: str, **asked: Any) -> Any:
    return ask("read(name, **asked)", name=name, asked=asked)


def test_files_of_a_repository(hub: LoopbackHub, ask: Ask) -> None:
    """Splits are told apart by names; only files of the split that is asked for, and the first that tells types, are fetched."""
    hub.add_dataset("acme/chats", {"train_0.jsonl": rows(0, 1), "train_1.jsonl": rows(2), "test.jsonl": rows(3)})

    assert told(ask, "acme/chats") == {"columns": {"a": "integer"}, "a": [0, 1, 2], "broken": []}
    assert not hub.asked("resolve/main/test.jsonl")
    assert told(ask, "acme/chats", split="test")["a"] == [3]
    assert told(ask, "acme/chats", split="train[1:]+test")["a"] == [1, 2, 3]
    assert "no split `dev`" in told(ask, "acme/chats", split="dev")["error"]


def test_configurations_of_a_repository(hub: LoopbackHub, ask: Ask) -> None:
    """The README tells which files a configuration is made of."""
    head = "---\nconfigs:\n- config_name: en\n  data_files: en.jsonl\n- config_name: fr\n  data_files: fr.jsonl\n---\n"
    hub.add_dataset("acme/both", {"README.md": head, "en.jsonl": rows(0), "fr.jsonl": rows(1)})

    assert told(ask, "acme/both", config="fr")["a"] == [1]
    assert "one must be named: en, fr" in told(ask, "acme/both")["error"]


def test_what_the_hub_made_of_other_files(hub: LoopbackHub, ask: Ask, tmp_path: Path) -> None:
    """Where the files are of another kind, the Parquet files are read that the Hub made of them; without these, it is said."""
    polars = pytest.importorskip("polars")
    polars.DataFrame({"a": [7, 8]}).write_parquet(tmp_path / "x.parquet")
    hub.add_dataset("acme/pictures", {"1.png": b"x"})
    hub.add_dataset("acme/others", {"1.png": b"x"})
    made = {"default/train/0000.parquet": (tmp_path / "x.parquet").read_bytes()}
    add_branch(hub, "acme/pictures", "refs/convert/parquet", made)

    assert told(ask, "acme/pictures")["a"] == [7, 8]
    assert "a kind that is not read here" in told(ask, "acme/others")["error"]


def add_branch(hub: LoopbackHub, name: str, revision: str, files: dict[str, bytes]) -> None:
    repository = hub.dataset(name)
    made = {path: repository.file(path, content, None) for path, content in files.items()}
    repository.hidden[revision] = repository.extend(None, made, (), Signed("Convert"), None)


def test_what_cannot_be_had(hub: LoopbackHub, ask: Ask) -> None:
    """A name that is not there, a file that breaks off, a Hub that fails: each is said."""
    hub.add_dataset("acme/lost", {"train_0.jsonl": rows(0), "train_1.jsonl": rows(1)})

    assert "the Hub does not give acme/nothing" in told(ask, "acme/nothing")["error"]
    hub.fail("resolve/.*train_1.jsonl", status=404, code="EntryNotFound")
    try:
        found = told(ask, "acme/lost")
    finally:
        hub.heal()
    assert found["a"] == [0]
    assert "the Hub does not give acme/lost" in found["broken"][0]
