"""What the client makes of datasets and models: splits, columns, configurations, templates, names of weights."""

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from holdfast.adapters.hub.cards import parse_card, parse_types
from holdfast.core.check.facts import Split
from holdfast.core.errors import SourceError
from holdfast.core.rows.columns import NULL, STRING, ListOf, Scalar, Struct
from tests.helpers.hub import LoopbackHub, loopback_hub
from tests.helpers.hub_asking import client, reference

ROW = json.dumps({"messages": [{"role": "user", "content": "hello"}]}) + "\n"
CHATS = {"messages": ListOf(Struct({"role": STRING, "content": STRING}))}
CARD = """---
configs:
- config_name: chat
  default: true
  data_files:
  - split: train
    path: chat/train-*
  - split: test
    path: chat/test-*
- config_name: plain
  data_files: plain/*.jsonl
dataset_info:
- config_name: chat
  features:
  - name: messages
    list:
    - name: role
      dtype: string
    - name: content
      dtype: string
  splits:
  - name: train
    num_examples: 7
  - name: test
    num_examples: 2
---
"""
FILES = {
    "README.md": CARD,
    "chat/train-0.jsonl": ROW,
    "chat/test-0.jsonl": ROW,
    "plain/a.jsonl": '{"text": "a"}\n',
    "plain/b.jsonl": '{"text": "b"}\n',
}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """A Hub that this process may ask."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with loopback_hub() as hub:
        yield hub


def test_a_card_says_which_configurations_and_splits_there_are(hub: LoopbackHub) -> None:
    """Splits come with their rows and with the bytes of their files; columns with their types."""
    hub.add_dataset("acme/chats", FILES)

    found = client(hub).dataset(reference("dataset", "acme/chats", split="test"))

    assert found.default_config == "chat"
    assert found.configs["chat"] == {"train": Split(rows=7, bytes=len(ROW)), "test": Split(rows=2, bytes=len(ROW))}
    assert found.configs["plain"]["train"].bytes == 28
    assert (found.columns, found.types, found.rows) == (("messages",), CHATS, 2)


def test_what_the_card_leaves_open_the_viewer_tells(hub: LoopbackHub) -> None:
    """Rows and columns of the configuration that is asked for, which the card lists without saying more."""
    hub.add_dataset("acme/chats", FILES)

    found = client(hub).dataset(reference("dataset", "acme/chats", config="plain", split="train"))

    assert (found.columns, found.rows) == (("text",), 2)


def test_without_a_card_the_names_of_the_files_say_what_splits_there_are(hub: LoopbackHub) -> None:
    """As `load_dataset` finds them; the viewer adds the columns."""
    hub.add_dataset("acme/chats", {"my_train.jsonl": ROW, "dev.jsonl": ROW, "notes.md": "x", "LICENSE": "x"})

    found = client(hub).dataset(reference("dataset", "acme/chats", split="validation"))

    assert list(found.configs) == ["default"]
    assert set(found.configs["default"]) == {"train", "validation"}
    assert (found.types, found.rows) == (CHATS, 1)


@pytest.mark.parametrize("split", ["train[:10%]", "train+test", None])
def test_rows_of_a_slice_are_not_known(hub: LoopbackHub, split: str | None) -> None:
    """A number that nobody counted is not told."""
    hub.add_dataset("acme/chats", FILES)

    assert client(hub).dataset(reference("dataset", "acme/chats", split=split)).rows is None


def test_several_configurations_without_a_default_leave_the_columns_open(hub: LoopbackHub) -> None:
    """Which columns there are depends on the configuration that has to be named."""
    hub.add_dataset("acme/chats", {**FILES, "README.md": CARD.replace("  default: true\n", "")})

    found = client(hub).dataset(reference("dataset", "acme/chats"))

    assert (found.default_config, found.columns, set(found.configs)) == (None, (), {"chat", "plain"})


def test_a_script_of_the_datasets_own_name_is_told(hub: LoopbackHub) -> None:
    """`datasets` refuses a repository with such a file, whatever else is in it; other scripts are no matter."""
    hub.add_dataset("acme/chats", {"chats.py": "x", "train.jsonl": ROW}, viewer=False)
    hub.add_dataset("acme/others", {"prepare.py": "x", "train.jsonl": ROW}, viewer=False)

    assert client(hub).dataset(reference("dataset", "acme/chats")).scripted
    assert not client(hub).dataset(reference("dataset", "acme/others")).scripted


def test_another_revision_is_not_asked_of_the_viewer(hub: LoopbackHub) -> None:
    """The viewer knows the newest commit alone; the card of the revision is its own."""
    made = hub.add_dataset("acme/chats", {"train.jsonl": '{"text": "a"}\n'})
    made.commit({"dev.jsonl": ROW}, branch="dev")

    found = client(hub).dataset(reference("dataset", "acme/chats", revision="dev"))

    assert set(found.configs["default"]) == {"train", "validation"}
    assert found.columns == ()
    assert not hub.asked("^GET /(info|size)")


def test_a_renamed_dataset_is_viewed_under_its_name_of_today(hub: LoopbackHub) -> None:
    """The viewer knows no former names."""
    hub.add_dataset("old/chats", {"train.jsonl": ROW})
    hub.rename("dataset", "old/chats", "new/chats")

    assert client(hub).dataset(reference("dataset", "old/chats")).types == CHATS


def test_a_dataset_that_is_not_there_has_neither_columns_nor_splits(hub: LoopbackHub) -> None:
    """Only its repository is told, with the names that it may have meant."""
    hub.add_dataset("acme/chats", FILES)

    found = client(hub).dataset(reference("dataset", "acme/chatz"))

    assert found.repo is not None
    assert (found.repo.exists, found.repo.nearest) == (False, ("acme/chats",))
    assert (found.columns, found.configs, found.problem) == ((), {}, "")


def test_of_a_closed_dataset_the_card_is_known(hub: LoopbackHub) -> None:
    """What is public of a gated dataset is told, so that a wrong split is found before access is asked for."""
    hub.add_dataset("acme/chats", FILES, gated="manual")

    found = client(hub).dataset(reference("dataset", "acme/chats"))

    assert found.repo is not None
    assert (found.repo.readable, set(found.configs["chat"])) == (False, {"train", "test"})


def test_files_that_are_named_one_by_one_have_no_configurations(hub: LoopbackHub) -> None:
    """Their names are the repository's; what is in them is not known."""
    hub.add_dataset("acme/chats", FILES)

    found = client(hub).dataset(reference("dataset", "acme/chats", files=("plain/a.jsonl",)))

    assert found.repo is not None
    assert (found.configs, found.columns) == ({}, ())
    assert "plain/a.jsonl" in found.repo.files


@pytest.mark.parametrize(
    ("card", "configs", "default"),
    [
        (None, {"default": {"train", "test"}}, "default"),
        ({"configs": [{"config_name": "one"}]}, {"one": {"train", "test"}}, "one"),
        ({"configs": [{"config_name": "a"}, {"config_name": "default"}]}, {"a": {"train", "test"}, "default": {"train", "test"}}, "default"),
        ({"configs": [{"config_name": "a", "data_dir": "a"}, {"config_name": "b", "data_dir": "b"}]}, {"a": {"train"}, "b": {"test"}}, None),
        ({"configs": [{"config_name": "a", "data_files": ["a/*", "b/*"]}]}, {"a": {"train"}}, "a"),
        ({"configs": [{"config_name": "a", "data_files": [{"split": "eval", "path": ["b/**"]}]}]}, {"a": {"eval"}}, "a"),
        ({"configs": "odd", "dataset_info": "odd"}, {"default": {"train", "test"}}, "default"),
        ({"configs": [{"config_name": 3}, None]}, {"default": {"train", "test"}}, "default"),
    ],
)  # fmt: skip
def test_cards_are_read_as_datasets_reads_them(card: Any, configs: Mapping[str, set[str]], default: str | None) -> None:
    """With `configs` or without, by patterns, by folders, or by the names of the files."""
    found = parse_card(card, {"a/train.jsonl": 1, "b/test.jsonl": 2})

    assert {name: set(config.splits) for name, config in found.configs.items()} == configs
    assert found.default == default


@pytest.mark.train
def test_features_are_those_of_datasets() -> None:
    """Every kind of feature has the same type from the card as from JSON, as datasets itself writes the two."""
    datasets = pytest.importorskip("datasets")
    value, many = datasets.Value, datasets.List
    chat = many({"role": value("string"), "content": value("large_string")})
    features = datasets.Features(
        {
            "text": value("string"),
            "messages": chat,
            "label": datasets.ClassLabel(names=["bad", "good"]),
            "ids": many(value("int32")),
            "deep": datasets.LargeList(many(value("float64"))),
            "inner": {"a": value("bool"), "b": {"c": value("timestamp[s]")}},
            "spread": datasets.Sequence({"x": value("uint8")}),
            "image": datasets.Image(),
            "any": datasets.Json(),
            "nothing": value("null"),
            "raw": value("binary"),
        }
    )
    expected = {
        "text": STRING,
        "messages": ListOf(Struct({"role": STRING, "content": STRING})),
        "label": Scalar("integer", ("bad", "good")),
        "ids": ListOf(Scalar("integer")),
        "deep": ListOf(ListOf(Scalar("float"))),
        "inner": Struct({"a": Scalar("boolean"), "b": Struct({"c": Scalar("time")})}),
        "spread": Struct({"x": ListOf(Scalar("integer"))}),
        "image": Scalar("image"),
        "any": Scalar("json"),
        "nothing": NULL,
        "raw": Scalar("binary"),
    }

    assert parse_types(features.to_dict()) == expected
    assert parse_types(features._to_yaml_list()) == expected


@pytest.mark.train
def test_sequences_of_old_cards_are_mappings_of_lists() -> None:
    """As datasets reads them: such a column holds no list of messages."""
    datasets = pytest.importorskip("datasets")
    card = [{"name": "answers", "sequence": [{"name": "text", "dtype": "string"}]}]

    assert parse_types(card) == parse_types(datasets.Features._from_yaml_list(card).to_dict())
    assert parse_types(card) == {"answers": Struct({"text": ListOf(STRING)})}


@pytest.mark.parametrize(
    "odd",
    [None, 3, "text", [3], [{"dtype": {"class_label": {"names": 3}}}], {"a": {"_type": "ClassLabel", "names": 3}}],
)
def test_features_of_no_form_are_none(odd: Any) -> None:
    """A card may hold anything, and breaks nothing."""
    assert parse_types(odd) == {}


def test_features_without_end_are_given_up() -> None:
    """A card that was made to be in the way breaks nothing."""
    deep: Any = "string"
    for _ in range(5000):
        deep = {"list": deep}

    assert parse_types([{"name": "a", **deep}]) == {}


def test_a_model_tells_its_configurations_and_its_template(hub: LoopbackHub) -> None:
    """The small files are read, the weights are not; parameters are as the Hub counts them."""
    files: dict[str, bytes | str] = {
        "config.json": '{"model_type": "qwen2"}',
        "tokenizer_config.json": '{"chat_template": "old"}',
        "chat_template.jinja": "new",
        "model.safetensors": weights({"a": [2, 3]}),
    }
    hub.add_model("acme/small", files)

    found = client(hub).model(reference("model", "acme/small"))

    assert found.files == frozenset(files)
    assert found.config == {"model_type": "qwen2"}
    assert found.chat_template == "new"
    assert found.parameters == {"F32": 6}
    assert not hub.asked("resolve.*safetensors")


def test_an_adapter_tells_its_base(hub: LoopbackHub) -> None:
    """`adapter_config.json` is read like a model's own."""
    hub.add_model("acme/adapter", {"adapter_config.json": '{"base_model_name_or_path": "acme/small"}'})

    found = client(hub).model(reference("adapter", "acme/adapter"))

    assert found.adapter == {"base_model_name_or_path": "acme/small"}
    assert found.config is None


def test_a_model_is_read_at_its_revision(hub: LoopbackHub) -> None:
    """A branch has a configuration of its own."""
    made = hub.add_model("acme/small", {"config.json": '{"model_type": "a"}'})
    made.commit({"config.json": '{"model_type": "b"}'}, branch="dev")

    assert client(hub).model(reference("model", "acme/small", revision="dev")).config == {"model_type": "b"}
    assert client(hub).model(reference("model", "acme/small")).config == {"model_type": "a"}


def test_a_model_without_access_tells_its_files_alone(hub: LoopbackHub) -> None:
    """What is in them is for those with access; it is not asked for."""
    hub.add_model("acme/gated", {"config.json": "{}"}, gated="manual")

    found = client(hub).model(reference("model", "acme/gated"))

    assert (found.files, found.config) == (frozenset({"config.json"}), None)
    assert found.repo is not None
    assert not found.repo.readable
    assert not hub.asked("/resolve/")


def test_a_damaged_configuration_is_the_models_problem(hub: LoopbackHub) -> None:
    """It is there, and nobody could load it."""
    hub.add_model("acme/small", {"config.json": "{"})

    assert "config.json" in client(hub).model(reference("model", "acme/small")).problem


@pytest.mark.parametrize("padding", [0, 200_000])
def test_weights_of_one_file_are_named_by_its_header(hub: LoopbackHub, padding: int) -> None:
    """A header is read alone, however long it is; the numbers are left where they are."""
    hub.add_model("acme/small", {"model.safetensors": weights({"a.weight": [2], "b.bias": [1_000_000]}, padding)})

    assert client(hub).tensors(reference("model", "acme/small")) == {"a.weight", "b.bias"}
    assert len(hub.asked("/acme/small/resolve/")) == (2 if padding else 1)
    assert all("range" in each.headers for each in hub.asked("/acme/small/resolve/"))


def test_weights_of_several_files_are_named_by_their_index(hub: LoopbackHub) -> None:
    """One small file names them all."""
    index = {"weight_map": {"a.weight": "model-1.safetensors", "b.bias": "model-2.safetensors"}}
    hub.add_model("acme/large", {"model.safetensors.index.json": json.dumps(index)})

    assert client(hub).tensors(reference("model", "acme/large")) == {"a.weight", "b.bias"}


@pytest.mark.parametrize("content", [b"", b"\xff" * 100, struct.pack("<Q", 5) + b"[1,2", b"version https://git-lfs"])
def test_weights_that_are_damaged_are_told(hub: LoopbackHub, content: bytes) -> None:
    """No header, one that is too long, one that is not valid JSON, and a pointer in its place."""
    hub.add_model("acme/small", {"model.safetensors": content})

    with pytest.raises(SourceError, match="not known"):
        client(hub).tensors(reference("model", "acme/small"))


def weights(tensors: Mapping[str, list[int]], padding: int = 0) -> bytes:
    """Return a safetensors file; `padding` makes its header longer."""
    header: dict[str, Any] = {"__metadata__": {"padding": " " * padding}}
    end = 0
    for name, shape in tensors.items():
        begin, end = end, end + 4 * shape[0] * (shape[1] if shape[1:] else 1)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + b"\0" * end
