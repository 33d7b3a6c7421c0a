"""A GGUF file in the runtime that it is made for: llama.cpp, through its C interface."""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from .errors import ExportError

PRE_TOKENIZER = b"tokenizer.ggml.pre"
TEXT = 128
MARGIN = 16
CONTEXT = 4096
HALF = 2


def library() -> Any:
    """Return the C interface. It is imported when it is needed, since few machines have it."""
    return import_module("llama_cpp.llama_cpp")


class Gguf:
    """A GGUF file that is loaded.

    Args:
        path: The file.
        pre_tokenizer: The pre-tokenizer to use in place of its own.
        vocabulary: Whether only its vocabulary is loaded.
        context: How many tokens it is to read at once.
    """

    def __init__(self, path: str, *, pre_tokenizer: str = "", vocabulary: bool = False, context: int = 512) -> None:
        self._c = library()
        settings = self._c.llama_model_default_params()
        settings.vocab_only = vocabulary
        settings.n_gpu_layers = 0
        settings.use_extra_bufts = False  # repacked weights are another program, which crashes on some processors
        self._kept = _overrides(pre_tokenizer)
        if self._kept is not None:
            settings.kv_overrides = self._kept
        self._model = self._c.llama_model_load_from_file(path.encode(), settings)
        if not self._model:
            raise ExportError("unloadable", f"the runtime does not load {path}")
        self._vocabulary = self._c.llama_model_get_vocab(self._model)
        self._size = context

    def close(self) -> None:
        """Free its memory."""
        self._c.llama_model_free(self._model)

    def ids(self, text: str, *, special: bool = False) -> list[int]:
        """Return the token ids of a text; with those that stand around every text, if that is requested."""
        given = text.encode()
        room = len(given) + MARGIN
        tokens = (self._c.llama_token * room)()
        count = self._c.llama_tokenize(self._vocabulary, given, len(given), tokens, room, special, True)  # noqa: FBT003 - C
        return [int(each) for each in tokens[: max(0, count)]]

    def ends(self, token: int) -> bool:
        """Whether a token ends an answer."""
        return bool(self._c.llama_vocab_is_eog(self._vocabulary, token))

    def text(self, tokens: Sequence[int]) -> str:
        """Return the text of some tokens."""
        room, parts = ctypes.create_string_buffer(TEXT), []
        for each in tokens:
            size = self._c.llama_token_to_piece(self._vocabulary, each, room, TEXT, 0, True)  # noqa: FBT003 - C
            parts.append(room.raw[: max(0, size)])
        return b"".join(parts).decode("utf-8", "replace")

    def memory_bytes(self) -> int:
        """Return what its weights and a cache of many tokens need."""
        heads = max(1, self._c.llama_model_n_head(self._model))
        width = self._c.llama_model_n_embd(self._model) // heads * self._c.llama_model_n_head_kv(self._model)
        tokens = min(CONTEXT, self._c.llama_model_n_ctx_train(self._model))
        cache = 2 * HALF * int(self._c.llama_model_n_layer(self._model)) * int(width) * int(tokens)
        return int(self._c.llama_model_size(self._model)) + cache

    def logits(self, tokens: Sequence[int]) -> Any:
        """Return the logits at every position, as an array."""
        with self._context() as context:
            return self._read(context, tokens, 0, whole=True)

    def answer(self, prompt: Sequence[int], limit: int) -> Iterator[int]:
        """Yield the likeliest tokens after a prompt, to the end of the answer, which is the last."""
        with self._context() as context:
            given, at = list(prompt), 0
            for _ in range(limit):
                token = int(self._read(context, given, at, whole=False)[-1].argmax())
                yield token
                if self.ends(token):
                    return
                at, given = at + len(given), [token]

    @contextmanager
    def _context(self) -> Iterator[Any]:
        settings = self._c.llama_context_default_params()
        settings.n_ctx = settings.n_batch = settings.n_ubatch = self._size
        context = self._c.llama_init_from_model(self._model, settings)
        if not context:
            raise ExportError("unloadable", "the runtime has no memory for a context")
        try:
            yield context
        finally:
            self._c.llama_free(context)

    def _read(self, context: Any, tokens: Sequence[int], start: int, *, whole: bool) -> Any:
        batch = self._c.llama_batch_init(len(tokens), 0, 1)
        try:
            batch.n_tokens = len(tokens)
            for at, token in enumerate(tokens):
                batch.token[at], batch.pos[at] = token, start + at
                batch.n_seq_id[at], batch.seq_id[at][0] = 1, 0
                batch.logits[at] = whole or at == len(tokens) - 1
            if code := self._c.llama_decode(context, batch):
                raise ExportError("unloadable", f"the runtime cannot read the tokens: llama_decode gives {code}")
            width = self._c.llama_vocab_n_tokens(self._vocabulary)
            rows = range(len(tokens)) if whole else [len(tokens) - 1]
            return np.stack(
                [np.ctypeslib.as_array(self._c.llama_get_logits_ith(context, row), (width,)).copy() for row in rows]
            )
        finally:
            self._c.llama_batch_free(batch)


def _overrides(pre_tokenizer: str) -> Any:
    """Return the metadata to use in place of a file's own; None if there is none."""
    if not pre_tokenizer:
        return None
    c = library()
    both = (c.llama_model_kv_override * 2)()
    both[0].key, both[0].tag = PRE_TOKENIZER, c.LLAMA_KV_OVERRIDE_TYPE_STR
    at = ctypes.addressof(both[0].value) + c.llama_model_kv_override_value.val_str.offset
    ctypes.memmove(at, pre_tokenizer.encode().ljust(TEXT, b"\0"), TEXT)
    both[1].key = b"\0"
    return both


def quantize(source: str, out: str, file_type: int) -> None:
    """Write a GGUF file with weights of another type."""
    c = library()
    settings = c.llama_model_quantize_default_params()
    settings.ftype = file_type
    if code := c.llama_model_quantize(source.encode(), out.encode(), settings):
        raise ExportError("quantizer", f"llama_model_quantize gives {code}")
