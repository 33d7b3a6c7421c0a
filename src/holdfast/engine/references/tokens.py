"""Whether a program asks the Hub with a token of its own, rather than with the one that holdfast finds."""

from typing import Any, Final

from holdfast.core.job.calls import Call
from holdfast.core.job.document import ABSENT, FROM_ENVIRONMENT, Document, Unknown

ARGUMENTS: Final = ("token", "hub_token", "use_auth_token")
SET_BY_PROGRAM: Final = ("environment.variables.HF_TOKEN", "environment.variables.HUGGING_FACE_HUB_TOKEN")
LOGINS: Final = frozenset({"huggingface_hub.login", "huggingface_hub.HfFolder.save_token", "huggingface_hub.HfApi"})
ASKING: Final = frozenset({"huggingface_hub.notebook_login", "huggingface_hub.interpreter_login"})


def brings_token(document: Document) -> bool:
    """True if a program logs in with a token that may be another one than holdfast finds."""
    if document.kind == "job":
        return False
    if any(_is_own(document.get(key, None)) for key in SET_BY_PROGRAM):
        return True
    return any(call.path in ASKING or (call.path in LOGINS and _logs_in(call)) for call in document.calls)


def hands_token(call: Call) -> bool:
    """True if a call is given such a token."""
    return any(_is_own(call.arguments.get(name)) for name in ARGUMENTS)


def _logs_in(call: Call) -> bool:
    first = None if call.name == "HfApi" else next(iter(call.positional), None)  # an HfApi's first is an address
    return _is_own(call.arguments.get("token", first))


def _is_own(value: Any) -> bool:
    if isinstance(value, Unknown):
        return value != FROM_ENVIRONMENT  # in the environment, holdfast finds its own token too
    return value is not None and value is not True and value is not ABSENT
