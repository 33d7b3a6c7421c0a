"""The result of `explain`."""

from collections.abc import Mapping
from typing import Any, Literal

from holdfast.results import Result


class ExplainResult(Result, frozen=True, kw_only=True):
    """The explanation of a name.

    Attributes:
        about: A rule, an area of rules, a class of failure, an argument, or the JSON Schema of a job file, as an object;
            `--format json` prints it alone.
        text: The page, in Markdown.
    """

    verb: Literal["explain"]
    about: Mapping[str, Any]
    text: str
