"""Names of columns and roles that mean something to trainers, or to people who make data for them."""

from typing import Final

ANSWERS: Final = ("completion", "chosen", "rejected")
"""Columns with what the model is to say."""
CONVERSATIONS: Final = ("messages", "conversations")
"""Columns with whole conversations."""
IMAGES: Final = ("image", "images")
ROLES: Final = ("system", "user", "assistant", "tool", "developer")
"""Roles that chat templates write. `developer` is gpt-oss's word for a system turn."""
CALLS: Final = ("tool_calls", "function_call")
THOUGHTS: Final = ("reasoning_content", "thinking", "reasoning", "thought")
"""Fields of messages. A message that has one of these or of `CALLS` may have no content."""
