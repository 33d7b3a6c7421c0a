"""Loading a job's tokenizer: from folders and built-in models, with the template, the end and the marks that it asks for."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.environment.extras import install_command
from holdfast.adapters.tokens import (
    LoadedTokenizer,
    TokenizerRequest,
    load_tokenizer,
    loading,
    training_templates,
    want_tokenizer,
)
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.job.document import Document, Unknown
from tests.helpers.tiny import CHAT_TEMPLATE, tiny_model  # noqa: F401 - the fixture `tiny`

pytestmark = pytest.mark.train

MARKED = "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}"
CHAT = [{"role": "user", "content": "1 plus 1 equals?"}, {"role": "assistant", "content": "2"}]


def job(**values: Any) -> Document:
    return Document(path="job.yaml", kind="job", values=values)


def copied(tiny: Path, tmp_path: Path, **config: Any) -> Path:
    folder = shutil.copytree(tiny, tmp_path / "model")
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | config))
    return folder


def test_a_folder_is_loaded(tiny: Path) -> None:
    """The tokenizer knows its end, the ids at which the model stops, and how many the model embeds."""
    tokenizer = load_tokenizer(TokenizerRequest(path=tiny.name, folder=tiny.parent))
    config = json.loads((tiny / "config.json").read_text())

    assert tokenizer.eos == "<|im_end|>"
    assert list(tokenizer.stops.values()) == ["<|im_end|>"]
    assert tokenizer.embedding == config["vocab_size"]
    assert tokenizer.bos_id is None
    assert not tokenizer.marks
    assert set(tokenizer.special.values()) == {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}


def test_ids_are_the_tokenizers_own(tiny: Path) -> None:
    """What the Rust part says is what transformers says, one text at a time."""
    from transformers import AutoTokenizer

    tokenizer, theirs = load_tokenizer(TokenizerRequest(path=str(tiny))), AutoTokenizer.from_pretrained(tiny)
    texts = ["", " a\n\tb", "1 plus 1<|im_end|>", "Kött \N{SLICE OF PIZZA}", "word " * 500]

    assert tokenizer.encode(texts, special=True) == [theirs(text)["input_ids"] for text in texts]
    assert tokenizer.encode([], special=True) == []
    assert tokenizer.render([CHAT], {"add_generation_prompt": True}) == [
        theirs.apply_chat_template(CHAT, tokenize=False, add_generation_prompt=True)
    ]
    for text, ids in zip(texts, tokenizer.encode(texts, special=False), strict=True):
        pieces = tokenizer.pieces(ids)
        assert "".join(piece for piece, _ in pieces) == text
        assert sum(count for _, count in pieces) == len(ids)


def test_a_tokenizer_with_a_way_of_its_own_is_asked_itself(tiny: Path) -> None:
    """A class that changes how a text is encoded is not passed by."""
    from transformers import PreTrainedTokenizerFast

    class Shouting(PreTrainedTokenizerFast):  # type: ignore[misc]  # a base without types
        def _encode_plus(self, text: Any, **more: Any) -> Any:
            return super()._encode_plus([each.upper() for each in text] if isinstance(text, list) else text, **more)

    theirs = Shouting.from_pretrained(tiny)
    tokenizer = LoadedTokenizer(theirs, marks=False, template=None, positions=None, embedding=None, stops=())

    assert tokenizer.encode(["abc"], special=True) == [theirs("ABC")["input_ids"]]


def test_the_template_may_be_a_file_or_another_models(tiny: Path, tmp_path: Path) -> None:
    """A file's template is taken as it stands; sft takes another model's tokens along, and the embedding grows."""
    (tmp_path / "own.jinja").write_text("{% for m in messages %}[{{ m.content }}]{% endfor %}")
    other = copied(tiny, tmp_path)
    (other / "chat_template.jinja").write_text("{% for m in messages %}<{{ m.content }}>{% endfor %}")
    path = {"path": str(tiny)}

    def written(method: str, template: str) -> LoadedTokenizer:
        return load_tokenizer(
            want_tokenizer(job(method=method, model=path | {"chat_template": template}), folder=tmp_path, offline=False)
        )

    assert written("dpo", "own.jinja").render([CHAT], {}) == ["[1 plus 1 equals?][2]"]
    assert written("dpo", "./model").render([CHAT], {}) == ["<1 plus 1 equals?><2>"]
    assert written("dpo", "./model").embedding is not None
    assert written("sft", "./model").render([CHAT], {}) == ["<1 plus 1 equals?><2>"]
    assert written("sft", "./model").embedding is None
    with pytest.raises(SourceError, match=r"no chat template in gone\.jinja"):
        written("sft", "gone.jinja")


def test_the_end_may_be_named(tiny: Path, tmp_path: Path) -> None:
    """`eos_token` replaces the tokenizer's own; the model still stops where its generation config says."""
    folder = copied(tiny, tmp_path)
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [2, 0]}))
    tokenizer = load_tokenizer(TokenizerRequest(path=str(folder), eos_token="<|im_start|>"))  # noqa: S106 - no secret

    assert tokenizer.eos == "<|im_start|>"
    assert list(tokenizer.stops.values()) == ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
    with pytest.raises(SourceError, match="no token '<end>'"):
        load_tokenizer(TokenizerRequest(path=str(folder), eos_token="<end>"))  # noqa: S106 - no secret


def test_marks_are_the_templates_own_or_trls(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A template with marks is kept; for one without, TRL is asked, and without TRL nobody knows."""
    folder = copied(tiny, tmp_path)
    (folder / "chat_template.jinja").write_text(MARKED)
    marked = load_tokenizer(TokenizerRequest(path=str(folder), marks=True))
    assert marked.marks
    ((ids, mask),) = marked.mark([CHAT], {})
    assert mask == [1] * len(ids)

    assert not load_tokenizer(TokenizerRequest(path=str(tiny), marks=True)).marks

    def without(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(training_templates, "import_module", without)
    with pytest.raises(SourceError, match="TRL, which knows which one it would take, is not here"):
        load_tokenizer(TokenizerRequest(path=str(tiny), marks=True))


def test_the_built_in_model_has_a_tokenizer_without_being_made() -> None:
    """Its tokenizer is trained on the spot, and marks the assistant's turns."""
    tokenizer = load_tokenizer(TokenizerRequest(path="builtin:tiny-chat", marks=True))

    assert tokenizer.marks
    assert tokenizer.embedding == 2048
    with pytest.raises(SourceError, match="no model"):
        load_tokenizer(TokenizerRequest(path="builtin:huge"))


def test_a_processor_is_no_tokenizer(tiny: Path, tmp_path: Path) -> None:
    """Vision-language models have their rows made tokens of by a processor, of which nothing is said."""
    with pytest.raises(SourceError, match="a processor"):
        load_tokenizer(TokenizerRequest(path=str(copied(tiny, tmp_path, vision_config={}))))


@pytest.mark.parametrize("damage", ["{", '{"version": "1.0"}', ""])
def test_a_damaged_tokenizer_is_one_sentence(tiny: Path, tmp_path: Path, damage: str) -> None:
    """Whatever transformers raises on the files is told on one line."""
    folder = copied(tiny, tmp_path)
    (folder / "tokenizer.json").write_text(damage)

    with pytest.raises(SourceError, match="cannot be loaded") as raised:
        load_tokenizer(TokenizerRequest(path=str(folder)))
    assert "\n" not in raised.value.what


def test_a_missing_folder_is_told_without_asking_the_hub() -> None:
    """A path that can only be a folder is none of the Hub's."""
    with pytest.raises(SourceError, match=r"no such folder: \./gone"):
        load_tokenizer(TokenizerRequest(path="./gone"))


def test_without_the_extra_it_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without transformers, the command that installs it is named."""

    def without(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(loading, "import_module", without)
    with pytest.raises(UsageError, match="transformers") as raised:
        load_tokenizer(TokenizerRequest(path="./tiny"))
    assert raised.value.fix == install_command("data")


def test_nothing_is_guessed_of_a_hidden_setting() -> None:
    """A template that the source hides keeps the tokenizer from being chosen."""
    with pytest.raises(SourceError, match="computed"):
        want_tokenizer(job(method="sft", model={"path": "m", "chat_template": Unknown()}), offline=False)
    wanted = want_tokenizer(
        job(method="sft", model="m", train={"chat_template_path": "other", "eos_token": "<e>"}), offline=False
    )
    assert (wanted.template, wanted.clones, wanted.eos_token) == ("other", True, "<e>")
    assert not want_tokenizer(job(method="sft", model="m"), offline=False).clones
