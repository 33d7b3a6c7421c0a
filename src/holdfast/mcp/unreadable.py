"""Answers to messages that cannot be read: the SDK drops these, and their client would wait for ever."""

from collections.abc import AsyncIterable, Awaitable, Callable
from contextlib import suppress
from json import JSONDecoder, dumps
from typing import Any, Final

from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, RequestId
from pydantic import TypeAdapter, ValidationError

Received = SessionMessage | Exception
ID: Final[TypeAdapter[RequestId]] = TypeAdapter(RequestId)
LONGEST_ID: Final = 20
"""Digits."""
TOLERANT: Final = JSONDecoder(parse_int=lambda digits: int(digits) if len(digits) <= LONGEST_ID else None)
"""Takes halves of characters, and numbers of any length, which are no ids."""
RESPONSE: Final = {"result", "error"}
"""What only a response has, which nobody waits to have answered."""


async def pass_readable(
    received: AsyncIterable[Received],
    passed: MemoryObjectSendStream[Received],
    answer: Callable[[SessionMessage], Awaitable[None]],
) -> None:
    """Pass on the messages that can be read, and answer the others with an error."""
    async with passed:
        async for message in received:
            if not isinstance(message, ValidationError):
                await passed.send(message)
            elif error := error_about(message):
                await answer(SessionMessage(error))


def error_about(problem: ValidationError) -> JSONRPCError | None:
    """The answer to a message that is not valid; None for a blank line and for a response."""
    first, *_ = errors = problem.errors(include_url=False)
    if first["type"] != "json_invalid":
        message = next((each["input"] for each in errors if each["type"] == "missing"), None)
        return _error(INVALID_REQUEST, "the message is not a request of JSON-RPC 2.0", message)
    if not first["input"].strip():
        return None
    message = None
    with suppress(ValueError, RecursionError):
        message = TOLERANT.decode(first["input"])
    return _error(PARSE_ERROR, first["msg"], message)


def _error(code: int, what: str, message: Any) -> JSONRPCError | None:
    known = message if isinstance(message, dict) else {}
    if not RESPONSE.isdisjoint(known):
        return None
    return JSONRPCError(jsonrpc="2.0", id=_readable_id(known.get("id")), error=ErrorData(code=code, message=what))


def _readable_id(given: Any) -> RequestId | None:
    """An id that can be sent back."""
    with suppress(ValidationError):
        return ID.validate_json(dumps(given))
    return None
