"""Plain values as YAML text, written by ruamel.yaml so that `compose` reads the same back."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from io import StringIO
from types import NoneType
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import SafeRepresenter

STEP = "  "
"""What one level is indented by."""
PLAIN = re.compile(r"[\w./](?:[\w./@+=-]|[: ](?=\w))*")
"""Text that needs no quotes, unless it reads as a number or the like."""
UNBROKEN = 2**30
"""Characters a line may have: as many as it needs."""


class _Representer(SafeRepresenter):
    """Writes repeated lists and mappings out, and text that does not print in escapes, on one line."""

    quote = ""

    def ignore_aliases(self, data: Any) -> bool:
        """Have no anchors: a job file does without."""
        del data
        return True

    def represent_text(self, text: str) -> ScalarNode:
        """Leave plain words plain and quote the rest; ruamel.yaml alone writes `{:x: 1}` and cannot read it."""
        quote = self.quote or ("" if PLAIN.fullmatch(text) else "'")
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=quote if text.isprintable() else '"')


_Representer.add_representer(str, _Representer.represent_text)


def render_inline(value: Any, quote: str = "") -> str:
    """Return a value on one line, its text in the given quotes if it can be.

    Raises:
        RepresenterError: It is no plain value.

    >>> render_inline({"r": 16, "modules": ["q", "no: way"], "dropout": 2e-5})
    "{r: 16, modules: [q, 'no: way'], dropout: 2e-05}"
    """
    return _render_word(value, quote) if isinstance(value, (str, int, NoneType)) else _render(value, quote)


@lru_cache(maxsize=4096, typed=True)
def _render_word(value: str | int | None, quote: str) -> str:
    """Return a name, a whole number, a truth value or null; jobs have the same ones again and again."""
    return _render(value, quote)


def _render(value: Any, quote: str) -> str:
    yaml = YAML(typ="safe", pure=True)
    yaml.Representer = type("Quoting", (_Representer,), {"quote": quote})
    yaml.default_flow_style, yaml.width = True, UNBROKEN
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]  # declared as None
    yaml.brace_single_entry_mapping_in_flow_sequence = True
    stream = StringIO()
    yaml.dump([value], stream)
    return stream.getvalue().rstrip("\n")[1:-1]


def render_entry(name: str, value: Any) -> list[str]:
    """Return the lines of one entry of a mapping: mappings below each other, lists in brackets.

    >>> render_entry("train", {"max_steps": 10, "betas": [0.9, 0.99]})
    ['train:', '  max_steps: 10', '  betas: [0.9, 0.99]']
    """
    if not isinstance(value, Mapping) or not value:
        return [f"{render_inline(name)}: {render_inline(value)}"]
    return [f"{render_inline(name)}:", *(STEP + line for line in render_lines(value))]


def render_lines(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a mapping's entries."""
    for name, value in values.items():
        yield from render_entry(name, value)
