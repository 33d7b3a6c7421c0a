"""Whose code a frame of a traceback is: the user's own, or that of something installed, started or downloaded."""

import re
from collections.abc import Sequence
from typing import Final

from holdfast.core.diagnose.log import Frame

LAUNCHER: Final = re.compile(
    r"(?:^|/)(?:torchrun|accelerate|deepspeed|trl|ray|vllm|uv|pip|huggingface-cli|hf|axolotl|swift)$|modules/transformers_modules/"
    r"|(?:^|/)src/(?:axolotl|llamafactory|llmtuner|openrlhf|open_r1|lmflow|transformers|trl|peft|accelerate)/"
    r"|(?:^|/)(?:verl|llava|fastchat|megatron|xtuner|litgpt|torchtune|openrlhf|open_instruct|nemo_rl|gr00t|ms-swift/swift)/\w+/"
    r"|(?:^|/)unsloth_compiled_cache/|/holdfast/payload/"
)
"""Programs that start others, frameworks that run from a checkout, code that they write, and code that came with a model; ours, which calls
the user's."""
SHORTENED: Final = re.compile(
    r"^(?:\.{3}|…)[/\\](?:transformers|trl|peft|accelerate|datasets|torch|huggingface_hub|tokenizers|bitsandbytes|deepspeed|vllm|unsloth(?:_zoo)?)[/\\]"
)
"""A path that a person cut: what stands there is a package's folder."""
COMPREHENSIONS: Final = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"})
LOOKUPS: Final = frozenset({"__getattr__", "__getattribute__"})
COMPILED: Final = (".pyx", ".pxi", ".pxd")
"""Of Cython: its frames name a file within the package, such as `pyarrow/error.pxi`."""


def users_frame(frames: Sequence[Frame]) -> Frame | None:
    """Return the innermost frame of the user's own code; None if there is none.

    >>> users_frame([Frame("train.py", 3, "<module>"), Frame("train.py", 41, "score"), Frame("site-packages/numpy/x.py", 9, "f")]).function
    'score'
    """
    return next((frame for frame in reversed(frames) if is_users(frame)), None)


def called_frame(frames: Sequence[Frame]) -> Frame | None:
    """Return the innermost frame of the user's own code, if a library called it: a callback, a metric, a reward; None otherwise.

    Of a comprehension it is the frame of the function around it.

    >>> called_frame([Frame("train.py", 3, "<module>"), Frame("site-packages/trl/x.py", 9, "f")]) is None
    True
    >>> called_frame([Frame("site-packages/trl/x.py", 9, "f"), Frame("a.py", 5, "score"), Frame("a.py", 5, "<listcomp>")]).function
    'score'
    """
    named = [frame for frame in frames if frame.function not in COMPREHENSIONS]
    inner = users_frame(named)
    if inner is None:
        return None
    above = named[: [frame is inner for frame in named].index(True)]
    return inner if any(frame.is_library for frame in above) else None


def calling_frames(frames: Sequence[Frame]) -> Sequence[Frame]:
    """Return frames down to the one that reads an attribute: a library's own look-up, such as that of torch's modules, only says that there is none.

    >>> calling_frames([Frame("train.py", 3, "<module>"), Frame("site-packages/torch/nn/modules/module.py", 1931, "__getattr__")])[-1].file
    'train.py'
    """
    end = len(frames)
    while end > 1 and frames[end - 1].function in LOOKUPS and frames[end - 1].is_library:
        end -= 1
    return frames[:end]


def is_users(frame: Frame) -> bool:
    """True if a frame is of the user's own code: of no installed package, no launcher, and not of Python's own.

    >>> is_users(Frame("train.py", 3, "<module>")), is_users(Frame("lib/python3.11/json/decoder.py", 355, "raw_decode"))
    (True, False)
    """
    file = frame.file
    installed = (
        frame.is_library
        or file.startswith(("lib/python3", "site-packages/", "<frozen", "<string>"))
        or file.endswith(COMPILED)
        or SHORTENED.match(file) is not None
    )
    return bool(file) and not installed and not LAUNCHER.search(file)
