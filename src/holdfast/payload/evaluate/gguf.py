"""A GGUF file in place of a model of transformers: its own tokens, its own chat template, and the runtime that it is made for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from types import SimpleNamespace
from typing import Any, Literal

import torch
from transformers.utils.chat_template_utils import render_jinja_template

from ..export.runtime import BatchToken, Gguf
from .loading import LIBRARIES, LoadedModel
from .scoring import Scoring
from .work_request import ModelRequest

RUNTIME = "llama-cpp-python"


class GgufTokenizer:
    """The vocabulary of a GGUF file, as the other modules use tokenizers of transformers.

    Attributes:
        chat_template: The template in the file, or the one that is given for a file without.
        eos_token_id: The token that ends a text.
        pad_token_id: The token that fills up the answers of a batch.
    """

    def __init__(self, gguf: Gguf, template: str | None) -> None:
        """Take the file."""
        self._gguf = gguf
        self.chat_template = template
        self.eos_token_id, self.pad_token_id = gguf.end, gguf.end or 0
        self.eos_token, self._begins = self._text_of(gguf.end), self._text_of(gguf.begin)

    def __call__(self, text: str, *, add_special_tokens: bool = True) -> dict[str, list[int]]:
        """Return the ids of a text."""
        return {"input_ids": self._gguf.ids(text, special=add_special_tokens)}

    def apply_chat_template(
        self,
        messages: list[dict[str, Any]],
        *,
        tools: Any = None,
        tokenize: Literal[False],
        add_generation_prompt: bool = False,
    ) -> str:
        """Return the text of messages; ids are never requested."""
        del tokenize
        (text,), _ = render_jinja_template(
            [messages],
            tools=tools,
            chat_template=self.chat_template,
            add_generation_prompt=add_generation_prompt,
            bos_token=self._begins,
            eos_token=self.eos_token,
        )
        return str(text)

    def _text_of(self, token: int | None) -> str:
        return "" if token is None else self._gguf.text([token])

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool) -> str:
        """Return the text of an answer."""
        return self._gguf.text(ids, special=not skip_special_tokens)


class GgufModel:
    """The weights of a GGUF file, as `Generating` uses a model of transformers.

    Attributes:
        gguf: The file.
        dtype: The architecture, the size and the quantization.
        generation_config: The tokens that end an answer.
    """

    def __init__(self, gguf: Gguf) -> None:
        """Take the file."""
        self.gguf = gguf
        self.dtype = gguf.description
        self.generation_config = SimpleNamespace(eos_token_id=gguf.ending_tokens())

    def generate(
        self,
        input_ids: torch.Tensor,
        *,
        attention_mask: torch.Tensor,
        generation_config: Any,
        logits_processor: Any,
        tokenizer: GgufTokenizer,
    ) -> torch.Tensor:
        """Return the ids of a batch with those of the answers behind them, padded on both sides."""
        batch = _Batch.of(input_ids, attention_mask, generation_config, self.gguf)
        most = generation_config.max_new_tokens
        with self.gguf.context(input_ids.shape[1] + most, len(batch.prompts)) as context:
            logits = torch.zeros(len(batch.prompts), self.gguf.vocabulary_size)
            for _ in range(most):
                logits[batch.open] = torch.from_numpy(self.gguf.read(context, batch.unread()))
                batch.add(logits_processor(input_ids, logits).argmax(-1).tolist())
                if not batch.open:
                    break
        width = max(map(len, batch.answers))
        padded = [answer + [tokenizer.pad_token_id] * (width - len(answer)) for answer in batch.answers]
        return torch.cat([input_ids, torch.tensor(padded)], dim=1)


@dataclass
class _Batch:
    """Answers on their way.

    Attributes:
        prompts: The ids of the prompts.
        answers: The ids of the answers, as far as they are written.
        open: The rows whose answers have not ended.
        ends: The tokens that end an answer.
        stops: The texts that do.
        gguf: The file.
    """

    prompts: list[list[int]]
    answers: list[list[int]]
    open: list[int]
    ends: Sequence[int]
    stops: Sequence[str]
    gguf: Gguf

    @classmethod
    def of(cls, ids: torch.Tensor, mask: torch.Tensor, config: Any, gguf: Gguf) -> "_Batch":
        """Return the answers to prompts, before their first token."""
        prompts = [row[kept == 1].tolist() for row, kept in zip(ids, mask, strict=True)]
        rows = list(range(len(prompts)))
        return cls(prompts, [[] for _ in rows], rows, config.eos_token_id, config.stop_strings or (), gguf)

    def unread(self) -> list[BatchToken]:
        """Return the tokens that the model has not read: the prompts, then the last token of each answer."""
        return [token for row in self.open for token in self._unread_of(row)]

    def _unread_of(self, row: int) -> Iterator[BatchToken]:
        prompt, answer = self.prompts[row], self.answers[row]
        new = answer[-1:] or prompt
        end = len(prompt) + len(answer)
        for position, token in enumerate(new, end - len(new)):
            yield BatchToken(token, position, row, wanted=position == end - 1)

    def add(self, tokens: Sequence[int]) -> None:
        """Add a token to each answer that has not ended."""
        for row in self.open:
            self.answers[row].append(tokens[row])
        self.open = [row for row in self.open if not self._is_ended(self.answers[row])]

    def _is_ended(self, answer: Sequence[int]) -> bool:
        return answer[-1] in self.ends or any(stop in self.gguf.text(answer, special=False) for stop in self.stops)


class GgufScoring(Scoring):
    """Gives the log-likelihood of each text of a row, one after the other."""

    def _score(self, texts: list[tuple[list[int], int]]) -> list[tuple[float, int]]:
        with self._loaded.model.gguf.context(max(len(ids) for ids, _ in texts)) as context:
            return [(self._likelihood(context, ids, start), len(ids) - start) for ids, start in texts]

    def _likelihood(self, context: Any, ids: list[int], start: int) -> float:
        """Return the log-likelihood of the ids from a position on, in nats."""
        gguf, total, answered = self._loaded.model.gguf, 0.0, iter(ids[start:])
        unread = [BatchToken(token, at, wanted=at >= start - 1) for at, token in enumerate(ids[:-1])]
        gguf.forget(context)
        for logits in gguf.read_parts(context, unread):
            chosen = torch.tensor(list(islice(answered, len(logits))), dtype=torch.int64)
            scores = torch.from_numpy(logits).log_softmax(-1).gather(1, chosen[:, None])
            total += float(scores.double().sum())
        return total


def load_gguf(request: ModelRequest) -> LoadedModel:
    """Load a GGUF file."""
    gguf = Gguf(request.path, threads=request.threads)
    tokenizer = GgufTokenizer(gguf, request.template)
    return LoadedModel(GgufModel(gguf), tokenizer, torch.device("cpu"), gguf.positions, libraries=(*LIBRARIES, RUNTIME))
