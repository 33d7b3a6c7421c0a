"""How datasets spell messages: the names of speakers, and the keys of a message."""

from collections.abc import Mapping
from typing import Final

ROLES: Final[Mapping[str, str]] = {
    "system": "system",
    "user": "user",
    "human": "user",
    "prompter": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "tool": "tool",
    "observation": "tool",
    "developer": "developer",
}
"""Names of speakers in small letters, and the role that each has; datasets write `Human` too."""
STANDARD: Final = frozenset(("system", "user", "assistant", "tool", "developer"))
ROLE_KEYS: Final = ("role", "from", "speaker")
CONTENT_KEYS: Final = ("content", "value", "text", "message", "utterance")


def role_of(speaker: object) -> str | None:
    """Return the role of a speaker, whatever its capitals; None of an unknown one, and of what is no text.

    >>> role_of("Human"), role_of("narrator"), role_of(None)
    ('user', None, None)
    """
    return ROLES.get(speaker.lower()) if isinstance(speaker, str) else None
