"""The phase of a job in which an exception was raised: training, evaluation, saving, or handing weights to vLLM.

Every library raises "out of memory" in the same words; the frames tell whose allocation it was. The innermost frame that belongs to a phase decides,
because an evaluation runs inside training, and a save inside either. Where no frame is left, the code that a traceback shows is looked at.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from holdfast.core.diagnose.log import Frame, Hit

FUNCTIONS: Final = (
    (
        "sync",
        re.compile(
            r"_?move_(?:\w+_)?model_to_vllm|_?sync_(?:fsdp\d?_params_to_vllm|weights?(?:_to_\w+)?)|update_named_param|update_weights?(?:_\w+)?"
            r"|_?broadcast_to_vllm|wake_up|resume_memory_occupation"
        ),
    ),
    (
        "save",
        re.compile(
            r"(?:\w*_)?save(?:_(?!for_backward|on_cpu)\w+)?|(?!\w*(?:load|set)_)(?:\w*_)?state_dict(?:_\w+)?|_gather_(?:all_)?orig_param_state"
            r"|export_model|merge_and_unload"
        ),
    ),
    (
        "evaluate",
        re.compile(
            r"_?evaluate(?:_\w+)?|evaluation_loop|prediction_(?:loop|step)|predict|run_eval\w*|run_validation|validat(?:e|ion)(?:_(?:step|epoch|loop))?"
            r"|test_step|test_epoch|eval_(?:step|epoch|model|loop)|nested_(?:concat|detach)|torch_pad_and_concatenate|compute_metrics"
            r"|preprocess_logits\w*"
        ),
    ),
    ("train", re.compile(r"training_step|_?train_(?:step|epoch|one_epoch)|_?inner_training_loop|backward")),
)
"""Functions of a phase, by their whole names: those of transformers, accelerate, torch, DeepSpeed and TRL, and what users call their own."""
CODE: Final = (
    ("sync", re.compile(r"_move_model_to_vllm\(|\.wake_up\(|update_named_param\(|\.collective_rpc\(\"wake_up\"")),
    (
        "save",
        re.compile(
            r"\bself\._?save(?:_model|_checkpoint)?\(|\.save_pretrained\(|\.state_dict\(\)|\bsave_(?:ckpt|checkpoint)\("
        ),
    ),
    (
        "evaluate",
        re.compile(
            r"\beval_loop\(|\b(?:trainer|self)\._?evaluate\(|\btrainer\.predict\(|preds_host = |\bnested_concat\(|\b_?validate\(|= evaluate\("
        ),
    ),
    ("train", re.compile(r"\btraining_step\(|\.backward\(")),
)
"""Calls that show a phase where only a piece of a traceback was kept."""

BAR: Final = re.compile(
    r"(?i)^[^|%]*?\b(?:valid(?:ation|ating)?|eval(?:uation|uating)?|predict(?:ion|ing))\b[^|%]*?\b(?!100%)\d+%.*\[\d+:\d\d"
)
"""A bar of an evaluation that has not come to its end."""


def phase_of(hit: Hit) -> str | None:
    """Return the phase in which the exception of a line was raised, `train`, `evaluate`, `save` or `sync`; None if no frame tells.

    Args:
        hit: The line, and the traceback that it ended.
    """
    frames = hit.traceback.frames if hit.traceback else ()
    phases = chain(_phases_of_frames(frames), _phases_of_code(_shown(hit)), _phases_of_bar(hit))
    return next(phases, None)


def _phases_of_frames(frames: Iterable[Frame]) -> Iterator[str]:
    for frame in reversed(tuple(frames)):
        yield from (phase for phase, names in FUNCTIONS if names.fullmatch(frame.function))
        yield from (phase for phase, calls in CODE if frame.code and calls.search(frame.code))


def _phases_of_code(texts: Iterable[str]) -> Iterator[str]:
    yield from (phase for text in texts for phase, calls in CODE if calls.search(text))


def _phases_of_bar(hit: Hit) -> Iterator[str]:
    """Yield the phase of the bar that a line was glued to, or that stands right before it and its traceback."""
    start = hit.traceback.start if hit.traceback else hit.line
    before = [each.text for each in hit.around if each.number < start.number][-1:]
    leading = [each.text for each in hit.traceback.before][-1:] if hit.traceback else []
    yield from ("evaluate" for text in (hit.line.bar, start.bar, *before, *leading) if BAR.search(text))


def _shown(hit: Hit) -> Iterator[str]:
    """Yield the lines of the same writer around one: those before it first, the nearest of them first."""
    own = [each for each in hit.around if each.writer == hit.line.writer]
    yield from (each.text for each in reversed(own) if each.number < hit.line.number)
    yield from (each.text for each in own if each.number > hit.line.number)
