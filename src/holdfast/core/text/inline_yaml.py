"""Values as YAML on one line, as messages and pages show what a job file may hold."""

import json
import re
from typing import Any, Final

PLAIN: Final = re.compile(r"[A-Za-z./][\w./ -]*")
"""Text that YAML reads as text without quotes, between braces too."""
READ_OTHERWISE: Final = frozenset({"true", "false", "yes", "no", "on", "off", "null"})


def render_inline_yaml(value: Any) -> str:
    """Return a value as YAML on one line.

    >>> render_inline_yaml({"r": 16, "names": ["a", ">=3.11"], "on": True})
    '{r: 16, names: [a, ">=3.11"], on: true}'
    """
    match value:
        case str():
            return _text(value)
        case list():
            return f"[{', '.join(map(render_inline_yaml, value))}]"
        case dict():
            return "{" + ", ".join(f"{name}: {render_inline_yaml(inner)}" for name, inner in value.items()) + "}"
        case float():
            return re.sub(r"^(\d+)e", r"\1.0e", repr(value))  # YAML 1.1 reads `2e-05` as text
        case _:
            return json.dumps(value)


def _text(value: str) -> str:
    return value if PLAIN.fullmatch(value) and value.lower() not in READ_OTHERWISE else json.dumps(value)
