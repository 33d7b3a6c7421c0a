"""The server: tools, resources and prompts, over standard input and output or over HTTP on this machine."""

import secrets
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import count
from json import dumps
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import anyio
import jsonschema
import mcp_types as types
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.adapters.secrets import redacted, redacted_parts
from holdfast.core.errors import HoldfastError, UsageError
from holdfast.mcp.answers import describe_tool, error_result, object_result, text_result
from holdfast.mcp.calls import CallError, ReportProgress, call_effects, call_verb
from holdfast.mcp.confirmations import Confirmations
from holdfast.mcp.messages import EffectsCall, VerbCall
from holdfast.mcp.prompts import PROMPTS
from holdfast.mcp.shortening import LONGEST, LONGEST_PAGE, shorten, shorten_text
from holdfast.mcp.tools import CONFIRMATION, FOLDER, OVERRIDES, TOOLS, VerbTool
from holdfast.mcp.unreadable import Received, pass_readable
from holdfast.results import Json

INSTRUCTIONS: Final = (
    "holdfast makes LLM fine-tuning jobs succeed the first time. Before a job is launched, `inspect` its data, `check` its "
    "script or job file, and `rehearse` it; then `run` it. When a job failed, `diagnose` its log. `explain` has a page for each "
    "rule and class of failure. A rule or a stage that was skipped did not pass. `explain` with the code `job` lists the keys of a job file. Paths start at the server's folder unless `folder` is given."
)
RESULTS: Final = "holdfast://results/"
PAGES: Final = "holdfast://explain/"
REPORTS: Final = "holdfast://reports/"
LONGEST_MESSAGE: Final = 500
KEPT: Final = 50
"""Whole results that are kept for a client to read."""
Context = ServerRequestContext[Any, Any]


@dataclass(slots=True)
class VerbServer:
    """Answers the requests of one client or several.

    Attributes:
        folder: The folder that paths start at.
        confirmations: The confirmations that were requested.
    """

    folder: str
    confirmations: Confirmations
    _results: OrderedDict[str, str] = field(default_factory=OrderedDict[str, str])

    def make(self) -> Server[Any]:
        """Return the server of the protocol's SDK."""
        return Server(
            "holdfast",
            version=version("holdfast"),
            instructions=INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
        )

    async def list_tools(self, _context: Context, _params: object) -> types.ListToolsResult:
        """List the tools."""
        return types.ListToolsResult(tools=[describe_tool(tool) for tool in TOOLS])

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Call a tool. What is wrong with the call is its result, so that a model can correct it."""
        numbers = count(1)

        async def on_progress(message: str) -> None:
            await context.session.report_progress(next(numbers), message=message)

        tool = next((each for each in TOOLS if each.verb == params.name), None)
        if tool is None:
            names = ", ".join(each.verb for each in TOOLS)
            raise MCPError(types.INVALID_PARAMS, f"no tool is called {params.name!r}; there are: {names}")
        try:
            return await self._call(tool, dict(params.arguments or {}), on_progress)
        except CallError as error:
            return error_result(tool.verb, error.errors)
        except HoldfastError as error:
            return error_result(tool.verb, [redacted_parts(error.as_json())])

    async def _call(self, tool: VerbTool, given: dict[str, Any], on_progress: ReportProgress) -> types.CallToolResult:
        require_valid(tool, given)
        folder = folder_at(self.folder, given.pop(FOLDER, "."))
        confirmation, digest = given.pop(CONFIRMATION, None), ""
        if OVERRIDES in given:
            given[OVERRIDES] = dict(flatten_keys(given[OVERRIDES]))
        if tool.is_confirmed:
            effects_call = EffectsCall(verb=tool.verb, arguments={**given, FOLDER: folder})
            effects = await call_effects(effects_call, folder, on_progress)
            digest = effects.digest
            if confirmation:
                self.confirmations.take(confirmation, effects_call, effects)
            elif demand := self.confirmations.demand(effects_call, effects):
                return object_result(demand)
        call = VerbCall(verb=tool.verb, arguments={**given, **tool.fixed}, digest=digest)
        answer = await call_verb(call, folder, on_progress)
        return (
            text_result(self._shortened_text(answer))
            if isinstance(answer, str)
            else object_result(self._shortened(answer))
        )

    def _shortened_text(self, answer: str) -> str:
        """Return a text that a model can read; keep the whole of one that is cut."""
        if len(answer) <= LONGEST_PAGE:
            return answer
        address = self._keep(answer)
        return f"{shorten_text(answer, LONGEST_PAGE)}\n[the whole text: {address}]"

    def _shortened(self, answer: Json) -> Json:
        """Return an answer that a model can read; keep the whole of one that is cut."""
        if len(whole := dumps(answer, ensure_ascii=False, indent=1)) <= LONGEST:
            return answer
        return shorten(answer, self._keep(whole))

    def _keep(self, whole: str) -> str:
        """Keep a whole answer, and return its address."""
        address = f"{RESULTS}{secrets.token_hex(4)}"
        self._results[address] = whole
        while len(self._results) > KEPT:
            self._results.popitem(last=False)
        return address

    async def list_resources(self, _context: Context, _params: object) -> types.ListResourcesResult:
        """List the pages that are always there, and the whole results of this session."""
        index = types.Resource(
            uri=f"{PAGES}all", name="rules", description="All rules and classes of failure.", mime_type="text/markdown"
        )
        job = types.Resource(
            uri=f"{PAGES}job", name="job file", description="All keys of a job file.", mime_type="text/markdown"
        )
        whole = [
            types.Resource(uri=each, name=each.removeprefix(RESULTS), mime_type="application/json")
            for each in self._results
        ]
        return types.ListResourcesResult(resources=[index, job, *whole])

    async def list_templates(self, _context: Context, _params: object) -> types.ListResourceTemplatesResult:
        """List the kinds of pages."""
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    uri_template=f"{PAGES}{{code}}",
                    name="page",
                    description="The page of a rule, an area of rules, a class of failure, or a key of a job file.",
                    mime_type="text/markdown",
                ),
                types.ResourceTemplate(
                    uri_template=f"{REPORTS}{{run}}",
                    name="report",
                    description="The report of a run.",
                    mime_type="text/html",
                ),
                types.ResourceTemplate(
                    uri_template=f"{RESULTS}{{id}}",
                    name="result",
                    description="A result that was too long for an answer.",
                    mime_type="application/json",
                ),
            ]
        )

    async def read_resource(
        self, _context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Read a page, a report or a whole result."""
        address = str(params.uri)
        try:
            kind, text = await self._read(address)
        except (CallError, HoldfastError) as error:
            why = "; ".join(each["what"] for each in error.errors) if isinstance(error, CallError) else error.what
            raise MCPError(types.INVALID_PARAMS, f"{address} cannot be read: {why}") from error
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=address, mime_type=kind, text=text)])

    async def _read(self, address: str) -> tuple[str, str]:
        """Return a resource's type and its text."""
        if address in self._results:
            return "application/json", self._results[address]
        if address.startswith(PAGES):
            code = unquote(address.removeprefix(PAGES))
            call = VerbCall(verb="explain", arguments={} if code == "all" else {"code": code})
            return "text/markdown", str(await call_verb(call, self.folder, ignore_progress))
        if address.startswith(REPORTS):
            call = VerbCall(verb="show", arguments={"run": unquote(address.removeprefix(REPORTS))})
            shown = await call_verb(call, self.folder, ignore_progress)
            report = Path(self.folder, shown["folder"], "report.html") if isinstance(shown, dict) else Path()
            if report.is_file():
                return "text/html", redacted(read_foreign_text(report))
        raise UsageError("there is no such resource", where=address, fix="list the resources and their templates")

    async def list_prompts(self, _context: Context, _params: object) -> types.ListPromptsResult:
        """List the prompts."""
        return types.ListPromptsResult(prompts=[each.as_prompt() for each in PROMPTS])

    async def get_prompt(self, _context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """Fill in a prompt."""
        steps = next((each for each in PROMPTS if each.name == params.name), None)
        if steps is None or steps.argument not in (params.arguments or {}):
            names = ", ".join(f"{each.name} ({each.argument})" for each in PROMPTS)
            raise MCPError(types.INVALID_PARAMS, f"no prompt {params.name!r} takes these arguments; there are: {names}")
        return steps.fill(params.arguments or {})


def folder_at(base: str, named: str) -> str:
    """Return a folder that is named from another.

    >>> folder_at("/work", "jobs")
    '/work/jobs'

    Raises:
        UsageError: It is the home of a user whom there is not.
    """
    try:
        return str(Path(base, Path(named).expanduser()))
    except RuntimeError as error:
        raise UsageError(f"the folder cannot be used: {error}", where=named, fix="name another folder") from error


def flatten_keys(overrides: Json, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield overrides by their dotted keys, so that one of a nested mapping replaces its value alone.

    >>> dict(flatten_keys({"train": {"max_steps": 3}, "peft": {}}))
    {'train.max_steps': 3, 'peft': {}}
    """
    for name, value in overrides.items():
        key = f"{above}.{name}" if above else name
        if isinstance(value, dict) and value:
            yield from flatten_keys(value, key)
        else:
            yield key, value


async def ignore_progress(_message: str) -> None:
    """Drop a message about progress."""


def require_valid(tool: VerbTool, given: Json) -> None:
    """Refuse arguments that a tool does not take.

    Raises:
        UsageError: One is unknown, missing, or of another type.
    """
    schema = tool.input_schema
    try:
        jsonschema.validate(given, schema)
    except jsonschema.ValidationError as error:
        where = ".".join([tool.verb, *map(str, error.absolute_path)])
        wanted = error.schema.get("description") if error.absolute_path and isinstance(error.schema, dict) else None
        fix = wanted or f"it takes {', '.join(schema['properties'])}"
        if error.validator_value == "array":
            fix = f"Give a list, also for a single one. {fix}"
        raise UsageError(error.message[:LONGEST_MESSAGE], where=where, fix=fix) from error
    if "-" in (given.get("target"), given.get("data"), *given.get("targets", ())):
        what = "standard input belongs to the protocol, and cannot be a target"
        raise UsageError(what, where=tool.verb, fix="write it to a file, and name that")


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client over standard input and output."""
    passed, readable = anyio.create_memory_object_stream[Received]()
    async with stdio_server() as (read, write), anyio.create_task_group() as tasks:
        tasks.start_soon(pass_readable, read, passed, write.send)
        await server.run(readable, write, server.create_initialization_options())
        tasks.cancel_scope.cancel()
