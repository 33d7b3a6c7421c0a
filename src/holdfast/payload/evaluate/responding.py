"""Responses to the requests of lm-eval's tasks, by its own model class for transformers."""

from types import SimpleNamespace
from typing import Any

import torch
from lm_eval.models.huggingface import HFLM

from .loading import LoadedModel

SEED = 1234
"""lm-eval's own, for tasks that sample."""


class Responding:
    """Gives lm-eval's responses to the requests of a batch of rows."""

    def __init__(self, loaded: LoadedModel, batch_size: int) -> None:
        """Take the model, and the most rows of a batch."""
        self._model: Any = HFLM(pretrained=loaded.model, tokenizer=loaded.tokenizer, batch_size=batch_size)
        torch.manual_seed(SEED)

    def prepare(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row with the tokens of its longest request, and whether the model reads all of it."""
        lengths = [self._length(call) for call in row["calls"]]
        return {**row, "length": max(tokens for tokens, _ in lengths), "cut": any(lost for _, lost in lengths)}

    def _length(self, call: dict[str, Any]) -> tuple[int, bool]:
        texts = [each for each in call["args"] if isinstance(each, str)]
        tokens = len(self._model.tok_encode("".join(texts)))
        if call["type"] == "loglikelihood_rolling":
            return tokens, False  # read in windows
        settings = call["args"][1] if call["type"] == "generate_until" else {}
        written = settings.get("max_gen_toks", self._model.max_gen_toks) if call["type"] == "generate_until" else -1
        return tokens, tokens > self._model.max_length - written

    def length(self, row: dict[str, Any]) -> int:
        """Return the tokens that a prepared row needs, padded."""
        return int(row["length"])

    def run(self, batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the responses to a batch of prepared rows: for each request, one or as many as the task repeats it."""
        self._model.batch_size_per_gpu = len(batch)
        asked: dict[str, list[Any]] = {}
        for row in batch:
            for call in row["calls"]:
                request = SimpleNamespace(args=tuple(call["args"]), task_name="")
                asked.setdefault(call["type"], []).extend([request] * call["repeats"])
        given = {
            kind: iter(getattr(self._model, kind)(requests, disable_tqdm=True)) for kind, requests in asked.items()
        }
        return [
            {
                "row": row["row"],
                "cut": row["cut"],
                "responses": [
                    [_plain(next(given[call["type"]])) for _ in range(call["repeats"])] for call in row["calls"]
                ],
            }
            for row in batch
        ]


def _plain(response: Any) -> Any:
    """Return a response as JSON has it: a text, a log-likelihood, or that and whether the model would have written it."""
    if isinstance(response, tuple):
        return [float(response[0]), bool(response[1])]
    return response if isinstance(response, str) else float(response)
