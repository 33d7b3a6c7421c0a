"""Ends of texts: a model that is never trained on the token that ends a text will not write it.

Mostly the padding token is the one that ends texts, and a collator masks all of it. Source: `DataCollatorForLanguageModeling`
of transformers 5.23, which masks every token that is padding's; the attention mask still tells the text's own end.
"""

import inspect
import site
from collections.abc import Sequence
from typing import Any

from .. import predictions
from ..events import EventWriter

NEAR = 3
"""Tokens at the end of a text among which its end is: chat templates write a line break after it."""
CUT = "_holdfast_cut_ends"
LEARNT = "_holdfast_learnt_ends"
BEGUN = "_holdfast_begun_texts"
MASKED = "completion-mask-drops-everything"
KEEP_ANSWERS = (
    "Mask the question and keep the answer: `labels = [-100] * len(prompt_ids) + input_ids[len(prompt_ids):]`."
)


def look_at_ends(inputs: Any, trained: Any, trainer: Any) -> None:
    """Count how many texts of a batch end, and how many of the ends are trained on.

    Args:
        inputs: A batch; one whose labels are not its own tokens is left out.
        trained: bool, (rows, tokens).
        trainer: Has the model, and keeps the counts.
    """
    ends = _ends(trainer)
    if not ends or not _are_own_labels(inputs, trained):
        return
    tokens, mask = inputs["input_ids"].tolist(), inputs["attention_mask"].tolist()
    for row, attended, taken in zip(tokens, mask, trained.tolist(), strict=True):
        places = zip(row, attended, taken, strict=True)
        _count_text([(token in ends, learnt) for token, kept, learnt in places if kept], trainer)


def _are_own_labels(inputs: Any, trained: Any) -> bool:
    """True of a batch with a mask whose labels are its own tokens."""
    tokens, labels, mask = (inputs.get(name) for name in ("input_ids", "labels", "attention_mask"))
    if tokens is None or labels is None or mask is None:
        return False
    return tokens.shape == labels.shape == mask.shape and not bool((labels[trained] != tokens[trained]).any())


def _count_text(tokens: Sequence[tuple[bool, bool]], trainer: Any) -> None:
    """Count a text: of each token, whether it ends texts and whether it is trained on."""
    ends, taken = zip(*tokens, strict=True) if tokens else ((), ())
    if any(map(all, tokens)):
        _count(trainer, LEARNT)
    elif any(taken) and any(ends[-NEAR:]):
        _count(trainer, CUT)
        if not any(taken[-NEAR - 1 :]):  # more is masked than the end
            _count(trainer, BEGUN)


def report_ends(trainer: Any, events: EventWriter) -> None:
    """Report a training that masked the end of every text."""
    cut, begun, learnt = (vars(trainer).get(name, 0) for name in (CUT, BEGUN, LEARNT))
    if not cut or learnt or events.has_reported(predictions.INVERTED) or events.has_reported(MASKED):
        return  # which hide where texts end
    if begun == cut:
        because = (
            f"{cut} rows in the batches train their first tokens, and mask all that follows, with the end of the text"
        )
        events.fault(MASKED, "tokenize", because, fix=KEEP_ANSWERS, at=place_of_collator(trainer))
    else:
        because = f"{cut} texts end with a token that ends texts, and in none is it trained on: its label is masked"
        fix = (
            "Give padding a token of its own, not the one that ends texts; or mask labels by `attention_mask`, which is 1 for "
            "the text's own end."
        )
        events.fault("eos-never-learned", "tokenize", because, fix=fix, at=place_of_collator(trainer))


def place_of_collator(trainer: Any) -> tuple[str, int] | None:
    """Return the file and the line of the collator that makes the labels; None if it is a library's."""
    collator = inspect.unwrap(getattr(trainer, "data_collator", None) or (lambda: None))
    if not hasattr(collator, "__code__"):
        kind = type(collator)
        collator = next((vars(kind)[name] for name in ("torch_call", "__call__") if name in vars(kind)), None)
    code = getattr(collator, "__code__", None)
    packages = (*site.getsitepackages(), inspect.__file__.rpartition("/")[0])
    return (code.co_filename, code.co_firstlineno) if code and not code.co_filename.startswith(packages) else None


def _ends(trainer: Any) -> set[int]:
    """Return the tokens that end a text of a model that writes from left to right; of others none."""
    model = trainer.model
    if not getattr(model, "can_generate", lambda: False)() or getattr(model.config, "is_encoder_decoder", False):
        return set()
    eos = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    own = getattr(getattr(trainer, "processing_class", None), "eos_token_id", None)
    ends = {*(eos if isinstance(eos, list) else [eos]), own}
    return {each for each in ends if isinstance(each, int)}


def _count(trainer: Any, name: str) -> None:
    setattr(trainer, name, vars(trainer).get(name, 0) + 1)
