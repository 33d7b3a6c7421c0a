"""What `from_pretrained` gives: a tokenizer or a model whose class the script does not name, and the methods that all of them lost.

Source: the history of transformers 4.36 to 5.23. In the wheel of 5.23.0 each method that the base classes lost was looked for in all
models: those below keep some of their own. Tried with 5.23.0: AttributeError.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, Literal

from holdfast.catalog.api import Api, load_history
from holdfast.core.job.api import Span
from holdfast.core.job.calls import Call

LoadedKind = Literal["tokenizer", "model"]
LOADERS: Final[tuple[tuple[LoadedKind, re.Pattern[str]], ...]] = (
    ("tokenizer", re.compile(r"transformers\.\w*Tokenizer(Fast)?\.from_pretrained\(\)")),
    ("model", re.compile(r"transformers\.(AutoModel\w*|\w+For\w+|\w+LMHeadModel)\.from_pretrained\(\)")),
)
HOMES: Final[dict[LoadedKind, tuple[str, ...]]] = {
    "tokenizer": (
        "transformers.tokenization_utils_base.PreTrainedTokenizerBase",
        "transformers.tokenization_utils_base.SpecialTokensMixin",
    ),
    "model": ("transformers.modeling_utils.PreTrainedModel", "transformers.modeling_utils.ModuleUtilsMixin"),
}
"""Classes that they are derived from, or were in earlier releases."""
DERIVED: Final[dict[LoadedKind, tuple[str, ...]]] = {
    "tokenizer": ("PreTrainedTokenizerBase", "PreTrainedTokenizer", "PreTrainedTokenizerFast"),
    "model": ("PreTrainedModel",),
}
"""Classes that they may be of: what one of these has is not lost."""
EMBEDDINGS: Final = re.compile(r"[gs]et_(in|out)put_embeddings")
"""Methods of `EmbeddingAccessMixin`, a base of models whose methods the history does not hold."""
OWN_METHODS: Final = re.compile(
    r"cpm|layoutlm|layoutxlm|luke|m2m|markuplm|mbart|mistral|mixtral|nllb|plbart|pop2piano|roc_?bert|seamless|tapas",
    re.IGNORECASE,
)
"""Models whose tokenizers have methods of their own that others lost."""


def loaded_kind(owner: str) -> LoadedKind | None:
    """Return the kind of object that a call returns.

    >>> loaded_kind("transformers.AutoTokenizer.from_pretrained()"), loaded_kind("datasets.load_dataset()")
    ('tokenizer', None)
    """
    return next((kind for kind, loader in LOADERS if loader.fullmatch(owner)), None)


def lost_method_spans(api: Api, kind: LoadedKind, name: str) -> tuple[Span, ...]:
    """Return in which releases all tokenizers, or models, had a method; nothing where some may have it at these versions."""
    if EMBEDDINGS.fullmatch(name) or any(api.signature(f"transformers.{each}.{name}") for each in DERIVED[kind]):
        return ()
    return tuple(_spans(HOMES[kind], name))


def _spans(homes: tuple[str, ...], name: str) -> Iterator[Span]:
    history = load_history("transformers")
    if history is None:
        return
    for home in homes:
        method = (history.entry(f"c {home}") or {}).get("m", {}).get(name)
        if method:
            yield from history.spans(history.releases(method["r"]))


def has_own_methods(call: Call, loader: Call | None) -> bool | None:
    """True if what a method is called on may have methods of its own; None if it is not known which model is loaded.

    Args:
        call: The call of the method.
        loader: The call that loaded what it is called on.
    """
    named: Any = None
    if loader is not None and loader.arguments.get("trust_remote_code", False) is False:
        named = next(iter(loader.positional), loader.arguments.get("pretrained_model_name_or_path"))
    if OWN_METHODS.search(call.path) or (isinstance(named, str) and OWN_METHODS.search(named)):
        return True
    return False if isinstance(named, str) else None
