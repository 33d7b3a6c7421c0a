"""A script's header: the block of comments in which it names its own dependencies (PEP 723)."""

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from holdfast.core.errors import UsageError
from holdfast.core.text.toml_text import parse_toml

# The expression that PEP 723 itself gives, for blocks of the type `script`; lines may end as Windows ends them.
# What it begins with stands before the check of the line's start, so that a long text is searched for that.
BLOCK = re.compile(r"(?m)# /// script(?<=^# /// script)\r?$\s(?P<content>(^#(| .*)\r?$\s)+)^# ///(?=\r?$)")


def find_header(script: str) -> str:
    """Return the header as it is written, without the end of its last line; empty if there is none."""
    found = BLOCK.search(script)
    return found[0] if found else ""


def read_header(script: str, path: str) -> Mapping[str, Any]:
    r"""Return the content of a script's header; empty if it has none.

    Args:
        script: Its source.
        path: Its name, for messages.

    Raises:
        UsageError: The header is not valid TOML.

    >>> read_header('# /// script\n# dependencies = ["trl==1.16.0"]\n# ///\n', "train.py")
    {'dependencies': ['trl==1.16.0']}
    """
    found = BLOCK.search(script)
    content = found["content"] if found else ""
    try:
        return parse_toml("\n".join(line.removeprefix("#").removeprefix(" ") for line in content.splitlines()))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            f"the script header is not valid TOML: {error}", where=path, fix="correct the header"
        ) from error
