"""What a job trains, by which method and with which head, as its log or its script names them: a fix speaks of that alone."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

from holdfast.core.diagnose.log import Log, Traceback
from holdfast.engine.diagnose.declared import DeclaredTraining

METHODS: Final = ("sft", "dpo", "kto", "grpo", "rloo", "reward")
METHOD: Final = re.compile(rf"(?i)(?:^|[^a-z])({'|'.join(METHODS)})(?:_?trainer|_?config)(?![a-z])")
"""A trainer or its config, as a class or as a file of TRL's: `SFTTrainer`, `trl/trainer/dpo_trainer.py`."""
HEADS: Final = {
    "ForSequenceClassification": "classifier",
    "ForImageClassification": "classifier",
    "ForAudioClassification": "classifier",
    "ForTokenClassification": "tagger",
    "ForSeq2SeqLM": "seq2seq",
    "T5ForConditionalGeneration": "seq2seq",
    "BartForConditionalGeneration": "seq2seq",
    "ForCausalLM": "causal",
    "LMHeadModel": "causal",
    "ForMaskedLM": "masked",
}
"""Kinds of heads, by the ends of the names of transformers' classes. Models that see images are `ForConditionalGeneration` too."""
HEAD: Final = re.compile(rf"(?<!\w)\w*?({'|'.join(HEADS)})(?:Loss)?\b")


def subject_of(log: Log, declared: DeclaredTraining | None) -> dict[str, str]:
    """Return the method and the head of a job, each as a value of its own name, and `unsaved` if it has no checkpoint.

    There is nothing of what is not known, or of which several are named.

    >>> subject_of(Log(), DeclaredTraining(path="train.py", text="AutoModelForSequenceClassification", method="reward"))
    {'reward': 'reward', 'method': 'reward', 'classifier': 'AutoModelForSequenceClassification', 'head': 'AutoModelForSequenceClassification'}
    """
    declared = declared or DeclaredTraining(path="")
    methods = _methods(log, declared)
    models = _models([declared.text]) or _models(_texts(log))
    subjects: dict[str, str] = {}
    if len(methods) == 1:
        (method,) = methods
        subjects |= {method: method, "method": method}
    if len(models) == 1:
        ((head, name),) = models.items()
        subjects |= {head: name, "head": name}
    if declared.saves_nothing:
        subjects["unsaved"] = "no checkpoint was saved"
    return subjects


def _methods(log: Log, declared: DeclaredTraining) -> set[str]:
    """Return the training methods that are declared, else those that a script names, else those that a log names."""
    if declared.method:
        return {declared.method}
    return _only(METHOD, [declared.text]) or _only(METHOD, _texts(log))


def _only(expression: re.Pattern[str], texts: Iterable[str]) -> set[str]:
    return {found.lower() for text in texts for found in expression.findall(text)}


def _models(texts: Iterable[str]) -> Mapping[str, str]:
    """Return the names of classes with a head, by its kind."""
    return {HEADS[found[1]]: found[0] for text in texts for found in HEAD.finditer(text)}


def _texts(log: Log) -> Iterator[str]:
    """Yield the frames of a log's tracebacks with their code, and the lines that were kept."""
    for part in _tracebacks(log):
        yield from (f"{frame.file}\n{frame.function}\n{frame.code}" for frame in part.frames)
        yield from (line.text for line in part.error)
    yield from (line.text for line in chain(log.head, (hit.line for hit in log.hits), log.tail))


def _tracebacks(log: Log) -> Iterator[Traceback]:
    for last in chain(log.tracebacks, (hit.traceback for hit in log.hits if hit.traceback)):
        yield from last.chain
