"""Whether a source may push to the Hub, or start a job elsewhere.

A push through an object of unknown origin cannot be resolved (`def finish(model): model.push_to_hub(…)`). So the words of the
source decide: whoever has to ask a person asks rather once too often.
"""

import io
import re
import tokenize
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


def may_push(source: str) -> bool:
    r"""True if a source has words of a push that it does not switch off.

    >>> may_push("def finish(model):\n    model.push_to_hub('me/x')")
    True
    >>> may_push("SFTConfig(push_to_hub=False)  # no push_to_hub")
    False
    >>> may_push("print('run #', 1); trainer.push_to_hub()")
    True
    >>> may_push("a = 1  # \x0c\n#\ntrainer.push_to_hub('me/x')  # \u2028")
    True
    """
    return bool(PUSHES.search(OFF.sub("", _without_comments(source))))


def may_submit(source: str) -> bool:
    """True if a source has words of a job that it starts elsewhere."""
    return bool(SUBMITS.search(_without_comments(source)))


def _without_comments(source: str) -> str:
    """Return a source without its comments; one that is no Python, as it is."""
    lines = source.split("\n")  # as tokenize does: `splitlines` knows other ends of lines, too
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                (row, start), (_, end) = token.start, token.end
                lines[row - 1] = lines[row - 1][:start] + lines[row - 1][end:]
    except (tokenize.TokenError, SyntaxError):
        return source
    return "\n".join(lines)
