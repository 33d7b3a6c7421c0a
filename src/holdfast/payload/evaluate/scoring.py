"""Log-likelihoods of texts, and the outputs of classification heads."""

from typing import Any

import torch

from .loading import LoadedModel
from .rendering import encode_answered, is_chat


class Scoring:
    """Gives the log-likelihood of each text of a batch of rows, whose texts are scored together."""

    def __init__(self, loaded: LoadedModel) -> None:
        """Take the model."""
        self._loaded = loaded

    def prepare(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row with the ids of its texts, and where each answer begins in them."""
        texts, cut = [], False
        for each in row["scored"]:
            before, answer = encode_answered(self._loaded.tokenizer, each["prompt"], each["answer"], row.get("tools"))
            ids = [*before, *answer]
            start = max(1, len(before))  # nothing comes before the first token, which has no likelihood
            lost = max(0, len(ids) - self._loaded.positions)
            cut = cut or lost > 0
            texts.append((ids[lost:], max(1, start - lost)))
        return {"row": row["row"], "texts": texts, "cut": cut}

    def length(self, row: dict[str, Any]) -> int:
        """Return the tokens that a prepared row needs, padded."""
        return max((len(ids) for ids, _ in row["texts"]), default=0) * len(row["texts"])

    def run(self, batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the scores of a batch of prepared rows."""
        texts = [text for row in batch for text in row["texts"]]
        values = iter(self._score(texts))
        return [{"row": row["row"], "cut": row["cut"], "scores": [next(values) for _ in row["texts"]]} for row in batch]

    def _score(self, texts: list[tuple[list[int], int]]) -> list[tuple[float, int]]:
        """Return each answer's log-likelihood in nats, and its number of tokens. Padding is on the right: no token sees it."""
        ids, mask = _padded(self._loaded, [row for row, _ in texts])
        with torch.inference_mode():
            logits = self._loaded.model(input_ids=ids, attention_mask=mask, use_cache=False).logits
            found = []
            for at, (row, start) in enumerate(texts):
                answered = logits[at, start - 1 : len(row) - 1].float().log_softmax(-1)
                chosen = answered.gather(1, ids[at, start : len(row), None])
                found.append((float(chosen.double().sum()), len(row) - start))
        return found


class Classifying:
    """Gives the logits of a classification head: of a row's text several, or of each of its texts one."""

    def __init__(self, loaded: LoadedModel) -> None:
        """Take the model."""
        self._loaded = loaded

    def prepare(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row with the ids of its texts."""
        given = [row["prompt"]] if self._loaded.model.config.num_labels > 1 else row["scored"]
        texts = [self._encode(each) for each in given]
        positions = self._loaded.positions
        cut = any(len(ids) > positions for ids in texts)
        return {"row": row["row"], "texts": [ids[:positions] for ids in texts], "cut": cut}

    def _encode(self, given: Any) -> list[int]:
        tokenizer = self._loaded.tokenizer
        if isinstance(given, dict) and (is_chat(given["answer"]) or is_chat(given["prompt"])):
            before, answer = encode_answered(tokenizer, given["prompt"], given["answer"])
            return [*before, *answer]
        text = f"{given['prompt']}{given['answer']}" if isinstance(given, dict) else given
        return list(tokenizer(text)["input_ids"])

    def length(self, row: dict[str, Any]) -> int:
        """Return the tokens that a prepared row needs, padded."""
        return max(map(len, row["texts"])) * len(row["texts"])

    def run(self, batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the outputs of a batch of prepared rows."""
        ids, mask = _padded(self._loaded, [ids for row in batch for ids in row["texts"]])
        with torch.inference_mode():
            logits = iter(self._loaded.model(input_ids=ids, attention_mask=mask).logits.double().tolist())
        return [self._answer(row, [next(logits) for _ in row["texts"]]) for row in batch]

    def _answer(self, row: dict[str, Any], logits: list[list[float]]) -> dict[str, Any]:
        """Return the output of a row: the logits of its text, or the score of each of its texts."""
        if self._loaded.model.config.num_labels > 1:
            return {"row": row["row"], "cut": row["cut"], "logits": logits[0]}
        return {"row": row["row"], "cut": row["cut"], "scores": [(each[0], 1) for each in logits]}


def _padded(loaded: LoadedModel, texts: list[list[int]]) -> tuple[Any, Any]:
    """Return the ids of texts, padded on the right, and their mask: int64, (texts, tokens)."""
    pad, width = loaded.tokenizer.pad_token_id, max(map(len, texts))
    ids = torch.tensor([text + [pad] * (width - len(text)) for text in texts], device=loaded.device)
    mask = torch.tensor([[1] * len(text) + [0] * (width - len(text)) for text in texts], device=loaded.device)
    return ids, mask
