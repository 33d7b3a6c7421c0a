"""Results: what each command answers, as one frozen type.

The text that people read, JSON, SARIF and annotations are made from a result, and commands that build on one another pass
it on. Its fields have the names and the order of the JSON object, which `docs/contract.md` shows. A field that has a default
is absent from the object where it has that value.
"""

import json
from typing import Any

from msgspec import Struct, to_builtins

Json = dict[str, Any]


class ResultPart(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a result."""


class Result(ResultPart, frozen=True, kw_only=True, tag_field="schema", tag=1):
    """A result. `schema` is the version of its JSON object: it changes when a field changes its meaning or goes."""

    @property
    def exit_code(self) -> int:
        """What the command ends with: 0 if the answer is yes."""
        return 0


def to_json(result: Result) -> Json:
    """Return a result as the object that `--format json` prints."""
    values: Json = json.loads(json.dumps(to_builtins(result)))
    return values
