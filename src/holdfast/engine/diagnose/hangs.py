"""Where a process waits that does not go on: the calls in the stacks that it wrote before it was ended, and what that means."""

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from holdfast.core.diagnose.log import Frame
from holdfast.engine.diagnose.owners import COMPREHENSIONS, is_users

STACK: Final = re.compile(r"^(?:Stack|(?:Current thread|Thread) 0x[0-9a-f]+.*) \(most recent call first\):$")
FRAME: Final = re.compile(r'^  File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>\S+)')
HANGS: Final = tuple(
    (re.compile(call), name, weight)
    for call, name, weight in (
        (r"trl/.* _calculate_rewards$", "grpo-reward-function-error", 0.8),
        (r"trl/.*vllm_client\.py ", "vllm-server-unreachable", 0.6),
        (r"huggingface_hub/(?:_commit_api|_upload|lfs|.*upload)\S* ", "hub-upload-transient", 0.75),
        (r"huggingface_hub/hf_api\.py (?:create|upload|preupload|delete|update)_\w+$", "hub-upload-transient", 0.75),
        (r"huggingface_hub/(?:file_download|_snapshot_download|hf_api)\.py ", "hub-download-transient", 0.75),
        (r"datasets/load\.py load_dataset$|transformers/utils/hub\.py cached_files?$", "hub-download-transient", 0.6),
        (r"torch/utils/data/dataloader\.py _(?:try_)?get_data$", "dataloader-worker-died-or-hung", 0.75),
        (r"/multiprocess/\w+\.py ", "dataloader-worker-died-or-hung", 0.6),
        (r"torch/distributed/rendezvous\.py |distributed_c10d\.py init_process_group$", "rendezvous-timeout", 0.6),
        (r"torch/distributed/distributed_c10d\.py ", "nccl-timeout-rank-desync", 0.5),
    )
)
"""Calls that a hanging process waits in, as `file function`; the innermost that is among them counts."""

CALLERS: Final = re.compile(r"/(?:transformers|trl|torch|datasets|accelerate)/")
"""Libraries that call functions of the user's; others, such as those for command lines, call a script's main function."""
RUNTIME: Final = "attempt.py"
"""The file that an attempt is: its functions call the script's."""


@dataclass(frozen=True, slots=True)
class Hang:
    """A call that a process waits in.

    Attributes:
        name: The class that it speaks for.
        weight: How sure that is, from 0 to 1.
        function: The function that was called.
        line: Where its frame stands in the stacks, from 1.
        text: That line.
    """

    name: str
    weight: float
    function: str
    line: int
    text: str


def find_hang(stacks: str) -> Hang | None:
    """Return the innermost call of the main thread that waits for something known; None if there is none.

    >>> find_hang('''Thread 0x01 (most recent call first):
    ...   File "/v/trl/trainer/grpo_trainer.py", line 1 in _calculate_rewards
    ...   File "/home/me/train.py", line 9 in <module>''').name
    'grpo-reward-function-error'
    """
    found = ((call, number, frame) for number, frame in main_stack(stacks) for call in HANGS)
    for (call, name, weight), number, frame in found:
        if call.search(f"{frame['file']} {frame['function']}"):
            return Hang(name, weight, frame["function"], number, frame.string.strip())
    return None


def find_called(stacks: str, hang: Hang | None) -> Frame | None:
    """Return the frame of the user's own function that a library called and that does not return; None if there is none.

    Args:
        stacks: The stacks.
        hang: The call that is known to hang: a function that waits in it is not at fault itself.

    >>> stacks = '''Thread 0x01 (most recent call first):
    ...   File "/home/me/rewards.py", line 3 in score
    ...   File "/v/site-packages/trl/trainer/grpo_trainer.py", line 1 in _calculate_rewards
    ...   File "/home/me/train.py", line 9 in <module>'''
    >>> find_called(stacks, find_hang(stacks)).function
    'score'
    """
    frames = [
        (number, Frame(found["file"], int(found["line"]), found["function"])) for number, found in main_stack(stacks)
    ]
    own = next((index for index, (_, frame) in enumerate(frames) if _is_scripts(frame)), len(frames))
    called = any(CALLERS.search(frame.file) for _, frame in frames[own + 1 :])
    return frames[own][1] if called and (hang is None or frames[own][0] < hang.line) else None


def _is_scripts(frame: Frame) -> bool:
    """True of a frame of the script, and of what lies beside it; the attempt's own file only leads to them."""
    return is_users(frame) and PurePath(frame.file).name != RUNTIME and frame.function not in COMPREHENSIONS


def main_stack(stacks: str) -> list[tuple[int, re.Match[str]]]:
    """Return the frames of the last stack of the main thread, the innermost first: the one that began with the script."""
    threads: list[list[tuple[int, re.Match[str]]]] = []
    for number, text in enumerate(stacks.splitlines(), start=1):
        if STACK.match(text):
            threads.append([])
        elif threads and (frame := FRAME.match(text)):
            threads[-1].append((number, frame))
    return next((each for each in reversed(threads) if each and each[-1][1]["function"] == "<module>"), [])
