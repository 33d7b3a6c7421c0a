"""What is said of a model's folder without its libraries: whole ones, damaged ones, and ones that are no models."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.adapters.local.model_files import model_of, wanted
from holdfast.adapters.local.models import LocalModels
from holdfast.adapters.local.weights import LONGEST_HEADER, read_tensor_header
from holdfast.core.check.facts import ModelFacts
from holdfast.core.errors import SourceError
from holdfast.core.job_file.job import Model as BaseModel

SHAPES = {"model.embed_tokens.weight": ("BF16", [10, 4]), "model.norm.weight": ("F32", [4])}
WIDTHS = {"BF16": 2, "F32": 4}


def safetensors(tensors: dict[str, tuple[str, list[int]]]) -> bytes:
    """The bytes of a file with these tensors, all zero."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (dtype, shape) in tensors.items():
        start, count = end, 1
        for size in shape:
            count *= size
        end = start + count * WIDTHS[dtype]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + b"\0" * end


def make(folder: Path, **files: object) -> Path:
    """A model's folder with some files more, or others; dots are written as two underscores."""
    given: dict[str, object] = {
        "config__json": {"model_type": "qwen2"},
        "model__safetensors": safetensors(SHAPES),
        **files,
    }
    folder.mkdir(exist_ok=True)
    for name, content in given.items():
        path = folder / name.replace("__", ".")
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif content is not None:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


def look(folder: Path) -> ModelFacts:
    found = LocalModels().find(str(folder))
    assert found is not None
    return found


class TestWholeFolders:
    """What is told of a model that is as it should be."""

    def test_everything_is_told(self, tmp_path: Path) -> None:
        """Names, configs, the chat template, and how many parameters of each type."""
        folder = make(
            tmp_path / "m",
            tokenizer_config__json={"eos_token": "</s>"},
            generation_config__json={"eos_token_id": 2},
            adapter_config__json={"peft_type": "LORA"},
            chat_template__jinja="{{ messages }}",
        )
        model = look(folder)

        assert model.files == frozenset(path.name for path in folder.iterdir())
        assert model.config == {"model_type": "qwen2"}
        assert model.tokenizer == {"eos_token": "</s>"}
        assert model.generation == {"eos_token_id": 2}
        assert model.adapter == {"peft_type": "LORA"}
        assert model.chat_template == "{{ messages }}"
        assert model.parameters == {"BF16": 40, "F32": 4}
        assert model.problem == ""
        assert LocalModels().tensors(str(folder)) == SHAPES.keys()

    def test_several_files_of_weights(self, tmp_path: Path) -> None:
        """Those that the index names are counted together; one that is not there is told by the index alone."""
        index = {"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}
        folder = make(
            tmp_path / "m",
            model__safetensors=None,
            model__safetensors__index__json=index,
            one__safetensors=safetensors({"a": ("F32", [3])}),
        )
        model = look(folder)

        assert model.shards == {"one.safetensors", "two.safetensors"}
        assert model.parameters == {"F32": 3}
        assert LocalModels().tensors(str(folder)) == {"a"}

    def test_the_whole_file_counts_before_the_index(self, tmp_path: Path) -> None:
        """Transformers looks for `model.safetensors` first, whatever an index beside it says."""
        folder = make(tmp_path / "m", model__safetensors__index__json={"weight_map": {"a": "gone.safetensors"}})

        assert look(folder).shards == frozenset()
        assert look(folder).parameters == {"BF16": 40, "F32": 4}

    def test_links_are_followed(self, tmp_path: Path) -> None:
        """A folder of links, as the Hub's cache has them, is a model like any other; a broken link is no file."""
        blobs, folder = make(tmp_path / "blobs"), tmp_path / "snapshot"
        folder.mkdir()
        for blob in blobs.iterdir():
            (folder / blob.name).symlink_to(blob)
        (folder / "tokenizer.json").symlink_to(tmp_path / "gone")
        (folder / "loop").symlink_to(folder)

        assert look(folder).parameters == {"BF16": 40, "F32": 4}
        assert look(folder).files == frozenset({"config.json", "model.safetensors"})

    def test_what_is_made_on_the_spot(self) -> None:
        """A model that holdfast makes lacks nothing."""
        model = LocalModels().fetch(BaseModel(path="builtin:tiny-chat"))

        assert model.files is not None
        assert {"config.json", "model.safetensors", "tokenizer.json"} <= model.files


class TestTemplates:
    """Where a chat template may stand. `tests/rules/test_model_rules_true.py` compares with transformers itself."""

    @pytest.mark.parametrize(
        ("files", "template"),
        [
            ({"chat_template__jinja": "A", "tokenizer_config__json": {"chat_template": "B"}}, "A"),
            ({"tokenizer_config__json": {"chat_template": "B"}}, "B"),
            ({"tokenizer_config__json": {"chat_template": [{"name": "default", "template": "B"}]}}, "B"),
            ({"tokenizer_config__json": {"chat_template": [{"name": "tool_use", "template": "B"}]}}, None),
            ({"tokenizer_config__json": {"chat_template": [None, 3, "x"]}}, None),
            ({"tokenizer_config__json": {"chat_template": [{"name": []}, {"name": "default", "template": "B"}]}}, "B"),
            ({"chat_template__json": {"chat_template": "C"}}, None),
            ({"chat_template__json": {"chat_template": "C"}, "preprocessor_config__json": {}}, "C"),
            ({}, None),
        ],
    )
    def test_the_one_that_counts(self, tmp_path: Path, files: dict[str, object], template: str | None) -> None:
        """The file counts before the config, of several the one called `default`, and a processor's for processors alone."""
        assert look(make(tmp_path / "m", **files)).chat_template == template

    def test_further_ones_are_no_default(self, tmp_path: Path) -> None:
        """What lies in `additional_chat_templates` is for who asks for it by name."""
        folder = make(tmp_path / "m")
        (folder / "additional_chat_templates").mkdir()
        (folder / "additional_chat_templates" / "tool_use.jinja").write_text("T")

        assert look(folder).chat_template is None
        assert "additional_chat_templates/tool_use.jinja" in (look(folder).files or ())


WHOLE = safetensors(SHAPES)
LENGTH = int.from_bytes(WHOLE[:8], "little")
DAMAGED = {
    "cut short": (WHOLE[:-10], "truncated"),
    "cut in the header": (WHOLE[: 8 + LENGTH // 2], "no header"),
    "empty": (b"", "is empty"),
    "a few bytes": (WHOLE[:4], "no header"),
    "a page": (b"<!DOCTYPE html>" * 40, "no header"),
    "a pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "git lfs pull"),
    "a huge header": ((10**15).to_bytes(8, "little") + WHOLE[8:], "no header"),
    "something behind": (WHOLE + b"xx", "too long"),
    "no JSON": (WHOLE[:8] + b"x" * LENGTH + WHOLE[8 + LENGTH :], "no header"),
    "a list": ((2).to_bytes(8, "little") + b"[]", "no header"),
    "a tensor without a shape": ((18).to_bytes(8, "little") + b'{"a":{"dtype":1}} ', "no header"),
    "a deep header": ((400_000).to_bytes(8, "little") + b"[" * 400_000, "no header"),
}


class TestDamage:
    """What keeps a model from being loaded is told, and nothing raises."""

    @pytest.mark.parametrize(("content", "words"), DAMAGED.values(), ids=DAMAGED)
    def test_weights(self, tmp_path: Path, content: bytes, words: str) -> None:
        """Weights that cannot be read are the model's problem, and their names are not known."""
        folder = make(tmp_path / "m", model__safetensors=content)

        assert words in look(folder).problem
        assert "model.safetensors" in look(folder).problem
        with pytest.raises(SourceError, match=words):
            LocalModels().tensors(str(folder))

    @pytest.mark.parametrize("name", ["config__json", "tokenizer_config__json", "adapter_config__json"])
    @pytest.mark.parametrize(
        ("content", "words"), [('{"a": ', "not valid JSON"), ("", "is empty"), ("[1]", "not valid JSON")]
    )
    def test_configs(self, tmp_path: Path, name: str, content: str, words: str) -> None:
        """A config that is not a JSON object is told by its name."""
        problem = look(make(tmp_path / "m", **{name: content})).problem

        assert words in problem
        assert name.replace("__", ".") in problem

    def test_a_broken_generation_config_is_none(self, tmp_path: Path) -> None:
        """Transformers goes on without it."""
        model = look(make(tmp_path / "m", generation_config__json="{"))

        assert (model.problem, model.generation) == ("", None)

    def test_a_config_that_is_no_text(self, tmp_path: Path) -> None:
        """Bytes that are no UTF-8 are nobody's config."""
        assert look(make(tmp_path / "m", config__json=b"\xff\xfe\x00")).config is None

    def test_a_header_of_many_megabytes(self, tmp_path: Path) -> None:
        """A header that says that it is longer than safetensors takes is not read."""
        path = tmp_path / "m.safetensors"
        with path.open("wb") as file:
            file.write((LONGEST_HEADER + 1).to_bytes(8, "little"))
            file.truncate(LONGEST_HEADER + 100)

        with pytest.raises(SourceError, match="no header"):
            read_tensor_header(path)

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
    def test_a_folder_that_may_not_be_read(self, tmp_path: Path) -> None:
        """It is said that it cannot be listed."""
        folder = make(tmp_path / "m")
        folder.chmod(0)
        with pytest.raises(SourceError, match="cannot be listed"):
            look(folder)

    @settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    @given(content=st.binary(max_size=300), prefix=st.booleans())
    def test_any_bytes(self, tmp_path: Path, content: bytes, *, prefix: bool) -> None:
        """Whatever stands in a file of weights, it is read or refused."""
        path = tmp_path / "m.safetensors"
        path.write_bytes((len(content).to_bytes(8, "little") if prefix else b"") + content)
        with suppress(SourceError):
            assert isinstance(read_tensor_header(path), dict)


class TestNames:
    """Which names are folders, and which may be the Hub's."""

    @pytest.mark.parametrize(
        "name", ["./nowhere", "/nowhere/at/all", "~/nowhere", "a/b/c", "models/nowhere", "x" * 300]
    )
    def test_paths_that_are_not_there(self, tmp_path: Path, name: str) -> None:
        """A path that nobody can mistake for a repository has no files."""
        assert LocalModels(tmp_path).find(name) == ModelFacts(files=None)

    @pytest.mark.parametrize("name", ["Qwen/Qwen2.5-0.5B", "gpt2", "~nobody-of-that-name"])
    def test_names_of_the_hub(self, tmp_path: Path, name: str) -> None:
        """Any other name is to be asked about there."""
        found = LocalModels(tmp_path).find(name)
        assert found is None or (name.startswith("~") and found.files is None)

    def test_a_folder_with_the_name_of_a_repository(self, tmp_path: Path) -> None:
        """A folder counts before the Hub, as it does for transformers."""
        (tmp_path / "acme").mkdir()
        make(tmp_path / "acme" / "small")

        found = LocalModels(tmp_path).find("acme/small")
        assert found is not None
        assert found.parameters == {"BF16": 40, "F32": 4}

    def test_weights_in_another_format(self, tmp_path: Path) -> None:
        """Their names are not known, and the model is no worse for it."""
        folder = make(tmp_path / "m", model__safetensors=None, pytorch_model__bin=b"\x80\x02")

        assert look(folder).problem == ""
        assert look(folder).parameters == {}
        with pytest.raises(SourceError, match="not known"):
            LocalModels().tensors(str(folder))


def test_only_small_files_are_wanted() -> None:
    """Of a repository the files are asked for that say something, and the index only where there is no whole file."""
    names = {"config.json", "model.safetensors", "model.safetensors.index.json", "tokenizer.json", "onnx/config.json"}

    assert wanted(names) == ("config.json",)
    assert wanted(names - {"model.safetensors"}) == ("config.json", "model.safetensors.index.json")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(index=json_values, tokenizer=json_values)
def test_any_json_is_read(index: object, tokenizer: object) -> None:
    """Whatever stands in the small files, something is told of the model."""
    texts = {
        "model.safetensors.index.json": json.dumps({"weight_map": index}),
        "tokenizer_config.json": json.dumps({"chat_template": tokenizer}),
    }
    assert model_of(texts, texts).files == texts.keys()


def test_a_token_is_absent_where_no_file_of_the_tokenizer_spells_it(tmp_path: Path) -> None:
    """In either spelling of what is not ASCII, and among those that are added when it is loaded."""
    folder = make(
        tmp_path / "m",
        tokenizer__json='{"model": {"vocab": {"<s>": 0, "\\u2581a": 1, "\u2581b": 2}}}',
        special_tokens_map__json={"pad_token": "[PAD]"},
    )
    tokens = ("<s>", "\u2581a", "\u2581b", "[PAD]", "<|im_end|>", "s")

    assert LocalModels().absent_tokens(str(folder), tokens) == {"<|im_end|>", "s"}


def test_nothing_is_absent_from_a_tokenizer_that_cannot_be_read(tmp_path: Path) -> None:
    """A folder without `tokenizer.json`, and one that is not there, raise."""
    for folder in (make(tmp_path / "m"), tmp_path / "none"):
        with pytest.raises(SourceError):
            LocalModels().absent_tokens(str(folder), ("<s>",))
