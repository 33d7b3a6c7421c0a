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
STANDARD: Final = frozenset(("system", "user", "assistant", "tool", "developer"))
ROLE_KEYS: Final = ("role", "from", "speaker")
CONTENT_KEYS: Final = ("content", "value", "text", "message", "utterance")
