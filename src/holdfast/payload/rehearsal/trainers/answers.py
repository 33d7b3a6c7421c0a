"""Labels the wrong way round: the questions are trained on, and the answers after them are masked.

Where a question ends is known of rows that the script loaded: of conversations that end with an answer, and of columns
`prompt` and `completion`. Their texts are looked for in what a batch trains on, and in what follows. Not covered: rows whose
texts the script makes anew, and trainings on the user's turns alone, which some want.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from ..events import EventWriter
from ..part_request import PartRequest
from ..rows.noting import FOLDER
from . import tokens
from .ends import KEEP_ANSWERS, MASKED, place_of_collator

IGNORED = -100
"""The label of tokens that no loss counts."""


class AnswerLabels:
    """Looks in batches for the questions and answers of the script's rows."""

    def __init__(self, part_request: PartRequest, events: EventWriter) -> None:
        self._part_request, self._events = part_request, events
        self._inverted = self._others = 0

    def look_at_batch(self, inputs: Any, trainer: Any) -> None:
        """Count the rows that train a question and mask the answer, and those that have other labels."""
        batch, tokenizer = _batch_of(inputs), tokens.tokenizer_of(trainer)
        if not self._others and batch and tokenizer is not None and self._pairs:
            self._count_rows(batch, tokenizer)

    def _count_rows(self, batch: list[Any], tokenizer: Any) -> None:
        """Count the rows of a batch, up to the first that has other labels."""
        for row, labels, mask in zip(*(each.tolist() for each in batch), strict=True):
            if set(labels) - {IGNORED}:
                begun, after = _split(row, labels, mask)
                if not begun or not after:
                    self._others += 1
                    return
                self._inverted += self._is_inverted(tokenizer.decode(begun), tokenizer.decode(after))

    def _is_inverted(self, begun: str, after: str) -> bool:
        """True if what is trained on holds a question, and what follows its answer."""
        begun, after = _plain(begun), _plain(after)
        return any(question in begun and answer in after for question, answer in self._pairs)

    def judge(self, trainer: Any) -> None:
        """Report labels of which none is an answer's, at the trainer's collator if it is the script's own."""
        if self._inverted and not self._others:
            because = (
                f"{self._inverted} rows in the batches train the question and mask the answer: "
                "the labels are the tokens of the prompt, and -100 for every token of the answer"
            )
            self._events.fault(MASKED, "tokenize", because, fix=KEEP_ANSWERS, at=place_of_collator(trainer))

    @cached_property
    def _pairs(self) -> list[tuple[str, str]]:
        """The questions and answers of the rows that the script got, without spaces."""
        return [pair for row in self._rows() if isinstance(row, Mapping) for pair in _pair(row)]

    def _rows(self) -> Iterator[Any]:
        """Yield the rows that the script got, or those that stood in for them."""
        if self._part_request.known_rows:
            known = Path(self._part_request.known_rows)
            for path in known.parent.glob(f"{known.stem}*.jsonl"):
                yield from map(json.loads, filter(str.strip, path.read_text(encoding="utf-8").splitlines()))
        for path in Path(self._part_request.folder, FOLDER).glob("*.json"):
            yield from json.loads(path.read_text(encoding="utf-8"))["rows"] or ()


def _batch_of(inputs: Any) -> list[Any]:
    """Return the tokens, labels and mask of a batch, all of one shape; none if it has not all of them."""
    names = ("input_ids", "labels", "attention_mask") if hasattr(inputs, "get") else ()
    batch = [inputs.get(name) for name in names]
    shapes = {getattr(each, "shape", None) for each in batch}
    return batch if len(shapes) == 1 and None not in shapes else []


def _split(row: list[int], labels: list[int], mask: list[int]) -> tuple[list[int], list[int]]:
    """Return the tokens that a row is trained on, and those after them; the first are none where labels are not one run of them."""
    trained = [place for place, label in enumerate(labels) if label != IGNORED]
    first, last = trained[0], trained[-1]
    is_run = len(trained) == last - first + 1 and labels[first : last + 1] == row[first : last + 1]
    after = [row[place] for place in range(last + 1, len(row)) if mask[place]]
    return row[first : last + 1] if is_run else [], after


def _pair(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the last question of a row and its answer, where both are known and the question does not hold the answer."""
    prompt, completion = row.get("prompt"), row.get("completion")
    if isinstance(turns := row.get("messages"), list) and len(turns) > 1:
        prompt, completion = turns[:-1], turns[-1:]
    question, answer = _text(prompt, "user"), _text(completion, "assistant")
    if question and answer and answer not in question:
        yield question, answer


def _text(part: Any, role: str) -> str:
    """Return a text, or that of the last turn of messages, if it is of a role; without spaces."""
    if isinstance(part, list) and part and isinstance(part[-1], Mapping) and part[-1].get("role") == role:
        part = part[-1].get("content")
    return _plain(part) if isinstance(part, str) else ""


def _plain(text: str) -> str:
    """Return a text without spaces, which tokenizers and templates add and leave out."""
    return "".join(text.split())
