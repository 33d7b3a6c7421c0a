"""Answers in the words of the protocol."""

from collections.abc import Sequence
from json import dumps

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations

from holdfast.mcp.tools import VerbTool
from holdfast.results import Json


def describe_tool(tool: VerbTool) -> Tool:
    """Return a tool as clients list it."""
    return Tool(
        name=tool.verb,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=ToolAnnotations(read_only_hint=tool.reads_only, destructive_hint=tool.is_confirmed),
    )


def object_result(answer: Json) -> CallToolResult:
    """Return an answer that is an object: structured, and as text for clients that read no other."""
    return CallToolResult(content=[_text(dumps(answer, ensure_ascii=False))], structured_content=answer)


def text_result(answer: str) -> CallToolResult:
    """Return an answer that is a text."""
    return CallToolResult(content=[_text(answer)])


def error_result(verb: str, errors: Sequence[Json]) -> CallToolResult:
    """Return what was wrong with a call, as `--format json` has it; a model can read it and correct the call."""
    return CallToolResult(content=[_text(dumps({"schema": 1, "verb": verb, "errors": [*errors]}))], is_error=True)


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)
