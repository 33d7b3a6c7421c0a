"""Answers that the model writes."""

from typing import Any

import torch
from transformers import GenerationConfig

from .loading import LoadedModel
from .rendering import encode_prompt
from .sampling import samplers
from .vision import batch_inputs, encode_with_images, joinable
from .work_request import GenerationRequest


class Generating:
    """Writes the answers of batches."""

    def __init__(self, loaded: LoadedModel, request: GenerationRequest) -> None:
        """Take the model and the settings."""
        self._loaded, self._request = loaded, request
        own, tokenizer = loaded.model.generation_config, loaded.tokenizer
        ends = own.eos_token_id if own.eos_token_id is not None else tokenizer.eos_token_id
        self._ends = set(ends) if isinstance(ends, list) else {ends}
        self._most = min(request.max_new_tokens, max(1, loaded.positions // 2))
        self._room = loaded.positions - self._most
        # Of the model's own settings only the tokens that end an answer count: greedy is greedy.
        self._config = GenerationConfig(
            max_new_tokens=self._most,
            do_sample=False,
            eos_token_id=ends,
            pad_token_id=tokenizer.pad_token_id,
            stop_strings=request.stop_strings or None,
        )

    def prepare(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row with the ids of its prompt, without its beginning if it is too long."""
        if self._loaded.processor is not None:
            encoded = encode_with_images(self._loaded, row["prompt"], row.get("images", []))
            return {"row": row["row"], "ids": encoded.ids, "inputs": encoded.inputs, "cut": False}
        ids = encode_prompt(self._loaded.tokenizer, row["prompt"], row.get("tools")) or [
            self._loaded.tokenizer.pad_token_id
        ]
        return {"row": row["row"], "ids": ids[-self._room :], "cut": len(ids) > self._room}

    def length(self, row: dict[str, Any]) -> int:
        """Return the most tokens that a prepared row can have with its answer."""
        return len(row["ids"]) + self._most

    def run(self, batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the answers to a batch of prepared rows."""
        return [answer for rows in joinable(batch) for answer in self._write(rows)]

    def _write(self, batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
        tokenizer, device = self._loaded.tokenizer, self._loaded.device
        width, pad = max(len(row["ids"]) for row in batch), tokenizer.pad_token_id
        ids = [[pad] * (width - len(row["ids"])) + row["ids"] for row in batch]
        mask = [[0] * (width - len(row["ids"])) + [1] * len(row["ids"]) for row in batch]
        with torch.inference_mode():
            written = self._loaded.model.generate(
                input_ids=torch.tensor(ids, device=device),
                attention_mask=torch.tensor(mask, device=device),
                generation_config=self._config,
                logits_processor=samplers(self._request, [row["row"] for row in batch]),
                tokenizer=tokenizer,
                **batch_inputs(batch, width, device),
            )[:, width:].tolist()
        return [
            {"row": row["row"], "cut": row["cut"], **self._answer(ids)} for row, ids in zip(batch, written, strict=True)
        ]

    def _answer(self, ids: list[int]) -> dict[str, Any]:
        """Return an answer without the token that ended it, and the stop string at its end."""
        end = next((at for at, token in enumerate(ids) if token in self._ends), None)
        kept = ids if end is None else ids[:end]
        while end is None and kept and kept[-1] == self._loaded.tokenizer.pad_token_id:
            kept = kept[:-1]
        text = self._loaded.tokenizer.decode(kept, skip_special_tokens=True)
        stop = min((text.find(each) for each in self._request.stop_strings if each in text), default=None)
        ended = end is not None or stop is not None or len(kept) < self._most
        return {"text": text if stop is None else text[:stop], "tokens": len(kept), "ended": ended}
