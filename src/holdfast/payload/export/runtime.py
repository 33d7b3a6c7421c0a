"""A GGUF file in the runtime that it is made for: llama.cpp, through its C interface."""

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from .errors import ExportError

PRE_TOKENIZER = b"tokenizer.ggml.pre"
SPECIAL = "tokenizer.ggml.{}_token_id"
TEXT = 128
MARGIN = 16
CONTEXT = 4096
HALF = 2
ERROR = 4
"""A level of the runtime's log (`ggml_log_level`)."""
REASON = "error loading model: "
BATCH = 512
"""The most tokens that are read at once."""


class BatchToken(NamedTuple):
    """A token that a model reads: its id, its position, the sequence that it is part of, and whether its logits are wanted."""

    id: int
    position: int
    sequence: int = 0
    wanted: bool = True


def library() -> Any:
    """Return the C interface. It is imported when it is needed, since few machines have it."""
    return import_module("llama_cpp.llama_cpp")


@contextmanager
def heard_errors(c: Any) -> Iterator[list[str]]:
    """Collect the errors that the runtime reports; they are its only explanation."""
    errors: list[str] = []

    @c.llama_log_callback  # type: ignore[untyped-decorator]  # a C type, which has no types here
    def hear(level: int, text: bytes, _data: Any) -> None:
        if level == ERROR:
            errors.append(text.decode("utf-8", "replace").strip().rpartition(REASON)[2])

    c.llama_log_set(hear, None)
    try:
        yield errors
    finally:
        c.llama_log_set(c.llama_log_callback(), None)  # none: to standard error, as before


class Gguf:
    """A GGUF file that is loaded.

    Args:
        path: The file.
        threads: How many threads read.
        pre_tokenizer: The pre-tokenizer to use in place of its own.
        vocabulary: Whether only its vocabulary is loaded.
    """

    def __init__(self, path: str, *, threads: int, pre_tokenizer: str = "", vocabulary: bool = False) -> None:
        self._c, self._threads = library(), threads
        settings = self._c.llama_model_default_params()
        settings.vocab_only = vocabulary
        settings.n_gpu_layers = 0
        settings.use_extra_bufts = False  # repacked weights are another program, which crashes on some processors
        self._kept = _overrides(pre_tokenizer)
        if self._kept is not None:
            settings.kv_overrides = self._kept
        with heard_errors(self._c) as errors:
            self._model = self._c.llama_model_load_from_file(path.encode(), settings)
        if not self._model:
            raise ExportError("unloadable", ": ".join([f"the runtime does not load {path}", *errors[:1]]))
        self._vocabulary = self._c.llama_model_get_vocab(self._model)

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

    def text(self, tokens: Sequence[int], *, special: bool = True) -> str:
        """Return the text of some tokens."""
        given = (self._c.llama_token * len(tokens))(*tokens)
        room = ctypes.create_string_buffer(TEXT * (1 + len(tokens)))
        size = self._c.llama_detokenize(self._vocabulary, given, len(tokens), room, len(room), False, special)  # noqa: FBT003 - C
        return room.raw[: max(0, size)].decode("utf-8", "replace")

    def ending_tokens(self) -> list[int]:
        """Return all tokens that end an answer."""
        return [token for token in range(self.vocabulary_size) if self.ends(token)]

    @property
    def vocabulary_size(self) -> int:
        """The number of tokens."""
        return int(self._c.llama_vocab_n_tokens(self._vocabulary))

    @property
    def positions(self) -> int:
        """The most tokens that the model was trained to read."""
        return int(self._c.llama_model_n_ctx_train(self._model))

    @property
    def begin(self) -> int | None:
        """The token that begins a text; None if there is none."""
        return self._special("bos")

    @property
    def end(self) -> int | None:
        """The token that ends a text; None if there is none."""
        return self._special("eos")

    def _special(self, name: str) -> int | None:
        """Return a token that the metadata name; the runtime's own default for others is any token."""
        room = ctypes.create_string_buffer(TEXT)
        size = self._c.llama_model_meta_val_str(self._model, SPECIAL.format(name).encode(), room, TEXT)
        return int(room.value) if size > 0 else None

    @property
    def description(self) -> str:
        """The architecture, the size and the quantization."""
        room = ctypes.create_string_buffer(TEXT)
        self._c.llama_model_desc(self._model, room, TEXT)
        return room.value.decode("utf-8", "replace")

    def memory_bytes(self) -> int:
        """Return what its weights and a cache of many tokens need."""
        heads = max(1, self._c.llama_model_n_head(self._model))
        width = self._c.llama_model_n_embd(self._model) // heads * self._c.llama_model_n_head_kv(self._model)
        tokens = min(CONTEXT, self._c.llama_model_n_ctx_train(self._model))
        cache = 2 * HALF * int(self._c.llama_model_n_layer(self._model)) * int(width) * int(tokens)
        return int(self._c.llama_model_size(self._model)) + cache

    def logits(self, tokens: Sequence[int]) -> Any:
        """Return the logits at every position, as an array."""
        with self.context(len(tokens)) as context:
            return self.read(context, [BatchToken(token, at) for at, token in enumerate(tokens)])

    def answer(self, prompt: Sequence[int], limit: int) -> Iterator[int]:
        """Yield the likeliest tokens after a prompt, to the end of the answer, which is the last."""
        given = [BatchToken(token, at, wanted=at == len(prompt) - 1) for at, token in enumerate(prompt)]
        with self.context(len(prompt) + limit) as context:
            for at in range(len(prompt), len(prompt) + limit):
                token = int(self.read(context, given)[-1].argmax())
                yield token
                if self.ends(token):
                    return
                given = [BatchToken(token, at)]

    @contextmanager
    def context(self, tokens: int, sequences: int = 1) -> Iterator[Any]:
        """Yield the memory in which some sequences are read.

        Args:
            tokens: The most tokens of a sequence.
            sequences: How many there are.

        Raises:
            MemoryError: There is not enough memory.
        """
        settings = self._c.llama_context_default_params()
        settings.n_ctx, settings.n_seq_max = tokens * sequences, sequences
        settings.n_batch = settings.n_ubatch = BATCH
        settings.n_threads = settings.n_threads_batch = self._threads
        context = self._c.llama_init_from_model(self._model, settings)
        if not context:
            raise MemoryError(f"the runtime has no memory for {sequences} sequences of {tokens} tokens")
        try:
            yield context
        finally:
            self._c.llama_free(context)

    def forget(self, context: Any) -> None:
        """Forget what was read."""
        self._c.llama_memory_clear(self._c.llama_get_memory(context), True)  # noqa: FBT003 - C

    def read(self, context: Any, tokens: Sequence[BatchToken]) -> Any:
        """Return the logits that are wanted, as an array: float32, (tokens, vocabulary)."""
        return np.concatenate(list(self.read_parts(context, tokens)))

    def read_parts(self, context: Any, tokens: Sequence[BatchToken]) -> Iterator[Any]:
        """Yield the logits that are wanted, part by part, since those of a long text may fill the memory."""
        for start in range(0, len(tokens), BATCH):
            part = tokens[start : start + BATCH]
            self._decode(context, part)
            yield self._wanted(context, part)

    def _decode(self, context: Any, tokens: Sequence[BatchToken]) -> None:
        batch = self._c.llama_batch_init(len(tokens), 0, 1)
        try:
            batch.n_tokens = len(tokens)
            for at, token in enumerate(tokens):
                batch.token[at], batch.pos[at], batch.logits[at] = token.id, token.position, token.wanted
                batch.n_seq_id[at], batch.seq_id[at][0] = 1, token.sequence
            if code := self._c.llama_decode(context, batch):
                raise ExportError("unloadable", f"the runtime cannot read the tokens: llama_decode gives {code}")
        finally:
            self._c.llama_batch_free(batch)

    def _wanted(self, context: Any, tokens: Iterable[BatchToken]) -> Any:
        width = self.vocabulary_size
        rows = [
            np.ctypeslib.as_array(self._c.llama_get_logits_ith(context, at), (width,)).copy()
            for at, token in enumerate(tokens)
            if token.wanted
        ]
        return np.stack(rows) if rows else np.empty((0, width), np.float32)


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
