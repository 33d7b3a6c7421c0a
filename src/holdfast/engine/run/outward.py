"""Whether a source may push to the Hub, or start a job elsewhere.

A push through an object of unknown origin cannot be resolved (`def finish(model): model.push_to_hub(…)`). So the words of the
source decide: whoever has to ask a person asks rather once too often.
"""

import re
from collections.abc import Iterator
from typing import Final

PUSHES: Final = re.compile(
    r"""\b(?:push_to_hub\w*|upload_file|upload_folder|upload_large_folder|create_commit|CommitScheduler|HfFileSystem)\b
    |\b(?:hf|huggingface-cli)\s+upload|["'](?:hf|huggingface-cli)["']\s*,\s*["']upload|\bgit\s+push\b
    |\b(?:to_\w+|put|open|save\w*)\([^)\n]*hf://""",
    re.VERBOSE,
)
SUBMITS: Final = re.compile(
    r"\b(?:run_job|run_uv_job|create_scheduled_\w*job|create_inference_endpoint)\b|\bhf\s+jobs\b"
)
OFF: Final = re.compile(r"\bpush_to_hub[\"']?\s*[=:]\s*(?:False|None|false|no|off|null|0)\b")
COMMENT: Final = re.compile(r"(?m)(?:^|\s)#.*$")
IMPORT: Final = re.compile(r"(?m)^\s*(?:from\s+([\w.]+)\s+import\s+([\w, ]+)|import\s+([\w., ]+))")


def may_push(source: str) -> bool:
    r"""True if a source has words of a push that it does not switch off.

    >>> may_push("def finish(model):\n    model.push_to_hub('me/x')")
    True
    >>> may_push("SFTConfig(push_to_hub=False)  # no push_to_hub")
    False
    """
    return bool(PUSHES.search(OFF.sub("", COMMENT.sub("", source))))


def may_submit(source: str) -> bool:
    """True if a source has words of a job that it starts elsewhere."""
    return bool(SUBMITS.search(COMMENT.sub("", source)))


def imported_names(source: str) -> Iterator[str]:
    r"""Yield the names of the modules that a source may import, also of those that are relative.

    >>> list(imported_names("import os, helper\nfrom .parts import a\nfrom . import b"))
    ['os', 'helper', '.parts', '.parts.a', '.', '.b']
    """
    for module, names, plain in IMPORT.findall(source):
        if module:
            yield module
            dot = "" if module.endswith(".") else "."
            yield from (f"{module}{dot}{name.split()[0]}" for name in names.split(",") if name.split())
        yield from (name.split()[0] for name in plain.split(",") if name.split())
