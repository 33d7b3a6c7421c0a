"""Tokenizers of base models, loaded as training scripts load them. Needs the `data` extra, but not torch."""

from holdfast.adapters.tokens.encoding import LoadedTokenizer
from holdfast.adapters.tokens.loading import TokenizerRequest, load_tokenizer, want_tokenizer

__all__ = ["LoadedTokenizer", "TokenizerRequest", "load_tokenizer", "want_tokenizer"]
