"""What every tokenizer and model is said to have lost is looked for in the transformers that is installed."""

import re
from importlib import util
from pathlib import Path
from typing import get_args

import pytest

from holdfast.catalog.api import load_history
from holdfast.catalog.api.spans import span_before
from holdfast.catalog.calls.loaded import HOMES, OWN_METHODS, LoadedKind, lost_method_spans
from holdfast.catalog.calls.train_arguments import stack_api


def lost(kind: LoadedKind) -> list[str]:
    """Return the methods that are said to be lost at the versions that a job file gets."""
    history, api = load_history("transformers"), stack_api()
    assert history is not None
    names = {name for home in HOMES[kind] for name in (history.entry(f"c {home}") or {}).get("m", {})}
    return sorted(name for name in names if span_before(api, lost_method_spans(api, kind, name)))


def sources(kind: LoadedKind) -> dict[str, str]:
    """Return the text of each module of transformers that defines tokenizers, or models, by its path."""
    spec = util.find_spec("transformers")
    assert spec is not None
    assert spec.origin is not None
    root = Path(spec.origin).parent
    stem = {"tokenizer": "*tokenization_*.py", "model": "model*_*.py"}[kind]
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob(stem)}


@pytest.mark.parametrize("kind", get_args(LoadedKind))
def test_no_class_has_what_all_have_lost(kind: LoadedKind) -> None:
    """Only the models that are excepted, whose names tell it, define such a method."""
    names = lost(kind)
    defined = re.compile(rf"^    def ({'|'.join(names)})\(", re.MULTILINE)
    found = {path: defined.findall(text) for path, text in sources(kind).items()}

    assert len(names) > 3
    assert {path: each for path, each in found.items() if each and not OWN_METHODS.search(path)} == {}


def test_the_common_ones_are_among_them() -> None:
    """What scripts of transformers 4 call most."""
    assert {"encode_plus", "batch_encode_plus", "as_target_tokenizer", "prepare_seq2seq_batch"} <= set(
        lost("tokenizer")
    )
    assert {"prune_heads", "get_head_mask", "to_bettertransformer"} <= set(lost("model"))
