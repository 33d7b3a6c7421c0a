"""Lines of training processes that are of no use to a user. They are left out on screen; the files keep them.

Every entry was seen in a run of trl 1.16, transformers 5.23 and torch 2.13, and says why it is noise. A line that names an
error is never noise, whatever else it matches.
"""

import re
from dataclasses import dataclass

METER = re.compile(r"\[(?:\d+:)+\d+[<,][^\]]*\]")  # the end of a tqdm bar: [elapsed<left, rate]
ERROR = re.compile(r"\b\w*(?:Error|Exception)\b|\bTraceback\b|\bFAILED\b", re.ASCII)


@dataclass(frozen=True, slots=True)
class Noise:
    """A kind of line that is left out.

    Attributes:
        pattern: Found anywhere in the line.
        because: Why it is noise.
        seen: A real line of this kind.
        echoes: Whether Python adds the line of source code that warned, indented, as it does for `warnings.warn`.
    """

    pattern: re.Pattern[str]
    because: str
    seen: str
    echoes: bool = False


NOISE = (
    Noise(
        re.compile(r"torch/distributed/run\.py:\d+\]( \*+| Setting OMP_NUM_THREADS .*)?$"),
        "torchrun boxes its choice of one thread a process, which is the right one",
        "W1121 19:03:38.591000 8128 torch/distributed/run.py:874] *****************************************",
    ),
    Noise(
        re.compile(r"FutureWarning: `(is_)?gradient_checkpointing(_enable|_disable)?` is deprecated"),
        "TRL's own default sets it, not the user",
        "transformers/training_args.py:1541: FutureWarning: `gradient_checkpointing` is deprecated and will be removed "
        "in v6. Use `activation_checkpointing` instead.",
        echoes=True,
    ),
    Noise(
        re.compile(r"UserWarning: 'pin_memory' argument is set as true but no accelerator"),
        "pinning has no effect without a GPU, and does no harm",
        "torch/utils/data/dataloader.py:759: UserWarning: 'pin_memory' argument is set as true but no accelerator is "
        "found, then device pinned memory won't be used.",
        echoes=True,
    ),
    Noise(
        re.compile(r"missing keys in the checkpoint model loaded: \['lm_head\.weight'\]\.$"),
        "a head tied to the embeddings is never saved twice",
        "[transformers] There were missing keys in the checkpoint model loaded: ['lm_head.weight'].",
    ),
    Noise(
        re.compile(r"^\[transformers\] The tokenizer has new PAD/BOS/EOS tokens that differ from the model config"),
        "the trainer aligned them by itself",
        "[transformers] The tokenizer has new PAD/BOS/EOS tokens that differ from the model config and generation "
        "config. The model config and generation config were aligned accordingly, being updated with the tokenizer's "
        "values. Updated tokens: {'eos_token_id': 2}.",
    ),
    Noise(
        re.compile(r"^\[transformers\] mtime may not be reliable on this filesystem"),
        "checkpoints are ordered by their numbers then, which is right",
        "[transformers] mtime may not be reliable on this filesystem, falling back to numerical ordering",
    ),
    Noise(
        re.compile(r"^\{'(?:loss|eval_\w+|train_runtime)': .*\}$"),
        "the trainer's log of a step; the events tell the same, and the view shows it",
        "{'loss': '8.158', 'grad_norm': '3.343', 'learning_rate': '0.0004', 'num_tokens': '1825', 'epoch': '0.01272'}",
    ),
    Noise(
        re.compile(rf"^ *\d+%\|[^|]*\| \d+/\d+ {METER.pattern}$"),
        "the trainer's own bar, which has no name; the view's bar shows the same",
        " 40%|████      | 120/300 [00:26<00:39,  4.55it/s]",
    ),
    Noise(
        re.compile(rf"^Writing model shards: 100%\|[^|]*\| 1/1 {METER.pattern}$"),
        "a model of one file has no shards to wait for; the view names each checkpoint",
        "Writing model shards: 100%|██████████| 1/1 [00:00<00:00, 30.56it/s]",
    ),
    Noise(
        re.compile(r": 100%\|[^|]*\| (\d+)/\1 \[00:00<00:00,[^\]]*\]$"),
        "what ended within a second needs no bar; of slow ones, the bar stays",
        "Dropping fully masked examples from train dataset: 100%|██████████| 200/200 [00:00<00:00, 62018.39 examples/s]",
    ),
)


def match_noise(line: str) -> Noise | None:
    """Return the kind of noise that a line is; None if it should be shown."""
    if ERROR.search(line):
        return None
    return next((noise for noise in NOISE if noise.pattern.search(line)), None)
