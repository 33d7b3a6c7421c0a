"""A tokenizer at work: many texts at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.core.check.facts import Positions

GARBLED = "\N{REPLACEMENT CHARACTER}"
LONGEST = 8
"""Tokens that one character may be made of; UTF-8 has four bytes, and some tokenizers spell each as a token."""
PLAIN = ("_encode_plus", "__call__", "prepare_for_tokenization")
"""Methods through which a tokenizer of transformers could change what its Rust part says."""


class LoadedTokenizer:
    """A tokenizer of transformers, behind the door `ports.Tokenizer`.

    The Rust part is asked directly for ids alone, where the class adds nothing of its own: transformers makes masks and
    offsets as well, and checks each batch.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        stops: Sequence[int],
        embedding: int | None,
        positions: Positions | None,
        template: str | None,
        marks: bool,
    ) -> None:
        """Take a tokenizer.

        Args:
            tokenizer: Of transformers.
            stops: Ids at which the model stops writing, beside the tokenizer's own.
            embedding: How many ids the model has an embedding for.
            positions: Those of the model.
            template: The chat template, where it is not the tokenizer's own.
            marks: Whether the template marks the assistant's turns.
        """
        self._tokenizer, self._template, self._embedding, self._marks = tokenizer, template, embedding, marks
        self._positions = positions
        own = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
        self._stops = {each: str(tokenizer.convert_ids_to_tokens(each)) for each in dict.fromkeys([*own, *stops])}
        tokenizer("")  # takes away the cut and the padding that the tokenizer's file may ask for
        self._rust = getattr(tokenizer, "_tokenizer", None) if _is_plain(tokenizer) else None

    @property
    def eos(self) -> str | None:
        """The token that the trainer appends to a text."""
        eos: str | None = self._tokenizer.eos_token
        return eos

    @property
    def bos_id(self) -> int | None:
        """Id of the token that begins a text."""
        bos: int | None = self._tokenizer.bos_token_id
        return bos

    @property
    def stops(self) -> Mapping[int, str]:
        """Tokens at which the model stops writing, by id."""
        return self._stops

    @property
    def special(self) -> Mapping[int, str]:
        """Tokens that stand for more than their letters, by id."""
        return {index: token for token, index in self._tokenizer.get_added_vocab().items()}

    @property
    def embedding(self) -> int | None:
        """How many ids the model has an embedding for; None if it is not known."""
        return self._embedding

    @property
    def positions(self) -> Positions | None:
        """How many positions the model has; None if it is not known."""
        return self._positions

    @property
    def marks(self) -> bool:
        """Whether the chat template tells which tokens are the assistant's."""
        return self._marks

    def render(self, conversations: Sequence[Any], options: Mapping[str, Any]) -> list[str]:
        """Return each conversation as the chat template writes it. Raises whatever the template does."""
        given = {"chat_template": self._template, **options}
        texts: list[str] = self._tokenizer.apply_chat_template(list(conversations), tokenize=False, **given)
        return texts

    def encode(self, texts: Sequence[str], *, special: bool) -> list[list[int]]:
        """Return the ids of each text, with the tokens that begin and end one if `special`."""
        if not texts:
            return []
        if self._rust is not None:
            encoded = self._rust.encode_batch_fast(list(texts), add_special_tokens=special)
            return [each.ids for each in encoded]
        ids: list[list[int]] = self._tokenizer(list(texts), add_special_tokens=special)["input_ids"]
        return ids

    def mark(self, conversations: Sequence[Any], options: Mapping[str, Any]) -> list[tuple[list[int], list[int]]]:
        """Return the ids of each conversation, and 1 for each that the template marks as the assistant's, else 0."""
        given = {"chat_template": self._template, **options}
        made = self._tokenizer.apply_chat_template(
            list(conversations), tokenize=True, return_dict=True, return_assistant_tokens_mask=True, **given
        )
        return list(zip(made["input_ids"], made["assistant_masks"], strict=True))

    def pieces(self, ids: Sequence[int]) -> list[tuple[str, int]]:
        """Return the text of each token, with the number of tokens that are one character only together."""
        counted: list[tuple[str, int]] = []
        at = 0
        while at < len(ids):
            text, count = self._piece(ids, at)
            counted.append((text, count))
            at += count
        return counted

    def _piece(self, ids: Sequence[int], at: int) -> tuple[str, int]:
        """Return the text of the fewest tokens from a place on that make whole characters."""
        for count in range(1, min(LONGEST, len(ids) - at) + 1):
            text = str(self._tokenizer.decode(list(ids[at : at + count]), clean_up_tokenization_spaces=False))
            if GARBLED not in text:
                return text, count
        return GARBLED, 1


def _is_plain(tokenizer: Any) -> bool:
    """Whether the class leaves the encoding of a text to its Rust part."""
    kind = next((each for each in type(tokenizer).__mro__ if each.__name__ == "TokenizersBackend"), None)
    return kind is not None and all(getattr(type(tokenizer), name, 0) is getattr(kind, name, 0) for name in PLAIN)
