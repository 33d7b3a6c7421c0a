"""What a function of the program gives back and reads, as far as its own lines say so."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from holdfast.adapters.readers.script.row_keys import element_keys_read, keys_read
from holdfast.catalog.calls.completion_use import CompletionUse, completion_use
from holdfast.catalog.calls.returned_values import (
    CallableNode,
    ReturnKind,
    keys_returned,
    kind_returned,
    types_returned,
)
from holdfast.core.columns import Type


class FunctionBehaviour(NamedTuple):
    """What a function gives back and reads; `core.calls.LocalName` describes each field."""

    returns: ReturnKind
    keys: tuple[str, ...]
    types: Mapping[str, Type]
    reads: tuple[str, ...]
    element_reads: tuple[str, ...]
    completions: CompletionUse


@lru_cache(maxsize=64)  # a function is given to several calls, and each document of a program names it
def describe_behaviour(node: CallableNode) -> FunctionBehaviour:
    """Return the kinds of values that a function returns, and the keys that it reads."""
    return FunctionBehaviour(
        kind_returned(node),
        keys_returned(node),
        types_returned(node),
        keys_read(node),
        element_keys_read(node),
        completion_use(node),
    )
