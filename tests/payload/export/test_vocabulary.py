"""A GGUF file reads texts as the tokenizer does, of whatever family it is; what it reads differently is refused before any weight is touched."""

import json
import shutil
from pathlib import Path

import pytest

from holdfast.adapters.export.process import FailedStage, StageProcess
from holdfast.core.export import VocabularyAnswer
from holdfast.payload.export.converter import Converter
from holdfast.payload.export.errors import ExportError
from tests.helpers.gguf_tools import kept_converter
from tests.helpers.tokenizer_families import FAMILIES, TEMPLATE, tokenizer_families  # noqa: F401 - the fixture `families`

pytestmark = pytest.mark.train
SAMPLE = 150
WHOLE = 2200
UNEQUAL = {("mistral", WHOLE): 1}
"""The runtime has no rule that is quite that of Mistral: `aÇa` is one word with one, and two with the other."""
SPLIT = {"qwen": "qwen2", "llama-3": "llama-bpe", "gpt-2": "gpt-2", "mistral": "tiny_aya"}
"""With tekken, the runtime splits Indic scripts otherwise than Mistral's own rule does."""


def look(model: Path, scratch: Path, texts: int) -> VocabularyAnswer | FailedStage:
    scratch.mkdir(exist_ok=True)
    asked = {
        "converter": str(kept_converter().folder),
        "path": str(model),
        "revision": None,
        "tokenizer": str(model),
        "template": None,
        "texts": texts,
        "scratch": str(scratch),
    }
    with StageProcess(offline=True) as process:
        return process.run("vocabulary", asked, VocabularyAnswer).answer


@pytest.mark.parametrize(
    ("family", "texts"),
    [
        *(pytest.param(family, SAMPLE, id=f"{family}-sample") for family in ("qwen", "sentencepiece-bpe")),
        *(pytest.param(family, WHOLE, id=family, marks=pytest.mark.long) for family in FAMILIES),
    ],
)
def test_token_ids_are_those_of_the_tokenizer(
    request: pytest.FixtureRequest, tmp_path: Path, family: str, texts: int
) -> None:
    """Many scripts, code, spaces, emoji, the chat template; no name of a pre-tokenizer is taken but by hash or proof."""
    kept_converter()
    answer = look(request.getfixturevalue("families") / family, tmp_path / "scratch", texts)

    assert isinstance(answer, VocabularyAnswer), answer
    assert answer.texts - answer.equal <= UNEQUAL.get((family, texts), 0), answer.first
    assert answer.texts >= texts
    assert answer.pre_tokenizer == SPLIT.get(family, "")
    assert answer.found_by == ("proof" if family in SPLIT else "none")
    assert bool(answer.composed) == (family == "qwen")
    assert bool(answer.unspaced) == family.startswith("sentencepiece")


@pytest.mark.long
def test_pieces_without_scores_are_merged_as_they_were_learnt(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Transformers 5 saves no tokenizer.model; the converter alone would merge all pieces from the left."""
    kept_converter()
    model = tmp_path / "model"
    shutil.copytree(request.getfixturevalue("families") / "sentencepiece-bpe", model)
    (model / "tokenizer.model").unlink()
    answer = look(model, tmp_path / "scratch", SAMPLE)

    assert isinstance(answer, VocabularyAnswer), answer
    assert answer.equal == answer.texts


@pytest.mark.parametrize("architecture", ["Gemma2ForCausalLM", "Phi3ForCausalLM", "InternLM2ForCausalLM"])
def test_a_file_of_the_tokenizer_that_the_converter_needs_is_missed_at_once(
    request: pytest.FixtureRequest, tmp_path: Path, architecture: str
) -> None:
    """Each of them says it in a way of its own, or only logs it."""
    converter = Converter(str(kept_converter().folder))
    model = tmp_path / "model"
    shutil.copytree(request.getfixturevalue("families") / "sentencepiece-bpe", model)
    (model / "tokenizer.model").unlink()
    config = json.loads((model / "config.json").read_text())
    sizes = {"head_dim": 16, "sliding_window": 16, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0}
    rope = {"rope_type": "default", "rope_theta": 10000.0, "original_max_position_embeddings": 64}
    config |= {"architectures": [architecture], "rope_parameters": rope, **sizes}
    (model / "config.json").write_text(json.dumps(config))

    with pytest.raises(ExportError, match=r"needs tokenizer\.model") as raised:
        converter.convert(model, tmp_path / "vocabulary.gguf", "--vocab-only")
    assert raised.value.kind == "tokenizer file"


def test_a_splitting_rule_that_no_runtime_has_is_refused(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """No name is forced: the best one is told, with the first text that it reads differently."""
    kept_converter()
    model = tmp_path / "model"
    shutil.copytree(request.getfixturevalue("families") / "gpt-2", model)
    file = model / "tokenizer.json"
    told = json.loads(file.read_text())
    rule = {"type": "Split", "pattern": {"Regex": "[aeiou]+|[^aeiou]"}, "behavior": "Isolated", "invert": False}
    told["pre_tokenizer"] = {
        "type": "Sequence",
        "pretokenizers": [rule, {**told["pre_tokenizer"]["pretokenizers"][-1], "use_regex": False}],
    }
    file.write_text(json.dumps(told))
    answer = look(model, tmp_path / "scratch", SAMPLE)

    assert isinstance(answer, VocabularyAnswer), answer
    assert answer.equal < answer.texts
    assert answer.first
    assert answer.pre_tokenizer


@pytest.mark.long
def test_a_chat_that_is_read_differently_is_refused(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Behind a special token, the runtime puts a space before sentencepiece, and transformers does not."""
    kept_converter()
    model = tmp_path / "model"
    shutil.copytree(request.getfixturevalue("families") / "sentencepiece-bpe", model)
    (model / "chat_template.jinja").write_text(TEMPLATE)
    answer = look(model, tmp_path / "scratch", SAMPLE)

    assert isinstance(answer, VocabularyAnswer), answer
    assert answer.texts - answer.equal == 3
    assert "im_start" in answer.first
