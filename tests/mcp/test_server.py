"""The tools as an agent's client sees them: the SDK's own client, and the real verbs in their processes."""

import inspect
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import jsonschema
import psutil
import pytest
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from holdfast.app import VERBS, load_verb
from holdfast.cli.main import run_command
from holdfast.core.errors import UsageError
from holdfast.mcp.confirmations import Confirmations
from holdfast.mcp.server import VerbServer, require_valid
from holdfast.mcp.tools import TOOLS, VerbTool
from tests.helpers.sampling import sampled

SCRIPT = "import pathlib, sys\nprint('hello from', sys.argv[1:])\npathlib.Path('done.txt').write_text('yes')\n"
RENAMED = """\
from trl import SFTConfig, SFTTrainer
settings = SFTConfig(output_dir="out", max_seq_length=512)
trainer = SFTTrainer("model", args=settings, train_dataset=rows)
trainer.train()
"""
PUSHING = """\
import os
from huggingface_hub import HfApi
if os.environ.get("SURELY"):
    HfApi().upload_folder(folder_path=".", repo_id="{repository}")
"""
SLOW_REWARD = "import time\n\ndef reward(completions, **given):\n    time.sleep(300)\n"
PATIENCE_S = 240.0


def talk(
    folder: Path, conversation: Callable[[Client], Awaitable[None]], *, allow_push: bool = False, allow_usd: float = 0.0
) -> None:
    """Have a client talk to a server."""

    async def main() -> None:
        server = VerbServer(str(folder), Confirmations(allow_push=allow_push, allow_usd=allow_usd)).make()
        with anyio.fail_after(PATIENCE_S):
            async with Client(server) as client:
                await conversation(client)

    anyio.run(main)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def until(condition: Callable[[], object]) -> None:
    """Wait until something holds."""
    with anyio.fail_after(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - nothing says when a real process is there
            await anyio.sleep(0.05)


async def until_ended(client: Client, run: str, folder: str = ".") -> None:
    """Follow a run until it has succeeded."""

    async def stage() -> str:
        shown = await client.call_tool("show", {"run": run, "folder": folder})
        return str(shown.structured_content["stage"])

    with anyio.fail_after(PATIENCE_S):
        while (now := await stage()) in ("queued", "running"):
            pass
    assert now == "succeeded"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HOLDFAST_RUNS", raising=False)


WITHHELD = {
    "catalog": "it changes the installed catalog",
    "watch": "it ends when the run ends; `show` answers at once",
}
"""Verbs that agents do not get, each with the reason."""


def test_every_verb_is_a_tool_unless_there_is_a_reason() -> None:
    """A new verb is added to `TOOLS`, or here."""
    assert VERBS.keys() - {tool.verb for tool in TOOLS} == WITHHELD.keys()


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.verb)
def test_every_argument_is_described(tool: Any) -> None:
    """Models know of a tool what its schema says."""
    schema = tool.input_schema

    jsonschema.Draft202012Validator.check_schema(schema)
    assert all(each["description"] for each in schema["properties"].values())
    assert {*tool.arguments, "folder"} <= schema["properties"].keys()
    if tool.output_schema:
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        assert len(json.dumps(tool.output_schema)) < 20_000


PERSONS: Final = {"on_progress", "observer", "confirm"}
"""Arguments that are functions of the caller."""


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.verb)
def test_the_page_names_each_argument_that_a_tool_lacks(tool: VerbTool) -> None:
    """All others are those of the Python API."""
    there = inspect.signature(load_verb(tool.verb)).parameters.keys() - {*tool.arguments, *tool.fixed} - PERSONS
    page = Path("docs/agents.md").read_text(encoding="utf-8")
    said = " ".join(page.partition("tools lack")[2].partition("The answers")[0].split())
    mine = re.search(rf"((?:`\w+`(?:, | and )?)+) of `{tool.verb}`", re.sub(r"(of `\w+`),", r"\1;", said))

    assert {*re.findall(r"`(\w+)`", mine[1] if mine else "")} == there


@pytest.mark.parametrize(
    ("verb", "given"),
    [
        ("plan", {"target": "train.py", "hardware": "h100x8", "processes": 8, "strategy": "fsdp", "budget": 20}),
        ("plan", {"arguments": ["trl", "sft"], "hardware": "a100", "prices": "prices.toml"}),
        ("evaluate", {"model": "run", "on": ["a.jsonl"]}),
    ],
)
def test_tools_take_what_the_python_api_takes(verb: str, given: dict[str, Any]) -> None:
    require_valid(next(each for each in TOOLS if each.verb == verb), given)


@pytest.mark.parametrize(("verb", "name"), [("evaluate", "on"), ("check", "targets"), ("plan", "arguments")])
def test_one_value_in_place_of_a_list_is_said_to_be_put_in_one(verb: str, name: str) -> None:
    required = {"evaluate": {"model": "run"}}.get(verb, {})

    with pytest.raises(UsageError) as refused:
        require_valid(next(each for each in TOOLS if each.verb == verb), {**required, name: "one"})

    assert refused.value.fix.startswith("Give a list")


def test_a_job_is_checked_fixed_and_run(tmp_path: Path) -> None:
    """Each answer has the shape that the tool declares; the run is followed to its end."""
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "train.py").write_text(RENAMED)
    (tmp_path / "job" / "small.py").write_text(SCRIPT)

    async def conversation(client: Client) -> None:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}

        async def call(name: str, **arguments: Any) -> dict[str, Any]:
            result = await client.call_tool(name, {"folder": "job", **arguments})
            assert not result.is_error, text_of(result)
            answer: dict[str, Any] = result.structured_content
            if schema := schemas[name]:
                jsonschema.validate(answer, schema)
            assert json.loads(text_of(result)) == answer
            return answer

        checked = await call("check", targets=["train.py"], select=["ARG101"])
        assert [each["code"] for each in checked["targets"][0]["findings"]] == ["ARG101"]
        await call("check", targets=["train.py"], select=["ARG101"], fix=True)
        assert "max_length=512" in (tmp_path / "job" / "train.py").read_text()

        run = (await call("run", target="small.py", arguments=["5"], rehearse=False))["run"]
        await until_ended(client, run, "job")
        assert "hello from ['5']" in (await call("logs", run=run))["stdout"]
        assert [each["run"] for each in (await call("runs"))["runs"]] == [run]
        assert (tmp_path / "job" / "done.txt").exists()

    talk(tmp_path, conversation)


WRONG_CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("check", {"target": ["train.py"]}, "it takes targets, set"),
    ("check", {"targets": "train.py"}, "is not of type 'array'"),
    ("check", {"targets": ["absent.py"]}, "no such file: absent.py"),
    ("check", {"targets": ["train.py"], "folder": "nowhere"}, "nowhere"),
    ("rehearse", {}, "'target' is a required property"),
    ("show", {"run": "none"}, "no run is called"),
    ("explain", {"code": "ARG11x"}, "nothing is called"),
    ("run", {"target": "absent.yaml"}, "no such file"),
    ("check", {"targets": ["a" * 300]}, "no file can have a name of 300 characters"),
    ("run", {"target": "train.py", "confirmation": "made-up"}, "ask the user again"),
    ("resume", {"run": "none"}, "no run is called"),
    ("diagnose", {"targets": ["absent.log"]}, "absent.log"),
    ("check", {"targets": ["-"]}, "standard input belongs to the protocol"),
    ("check", {"targets": ["train.py"], "folder": "\0"}, "the folder cannot be used"),
    ("check", {"targets": ["train.py"], "folder": "~nobody-at-all/x"}, "the folder cannot be used"),
    ("rehearse", {"target": "train.py", "limit_s": -1}, "minimum"),
    ("inspect", {"data": "rows.jsonl", "method": "magic"}, "is not one of"),
]


@pytest.mark.parametrize("case", sampled(WRONG_CALLS, 2))
def test_what_is_wrong_with_a_call_is_its_result(tmp_path: Path, case: tuple[str, dict[str, Any], str]) -> None:
    """A model reads what, where and how to fix it; the protocol's own errors it never sees."""
    tool, arguments, told = case
    (tmp_path / "train.py").write_text(SCRIPT)

    async def conversation(client: Client) -> None:
        result = await client.call_tool(tool, arguments)
        (error,) = json.loads(text_of(result))["errors"]
        assert result.is_error
        assert told in " ".join([error["what"], error["where"], error["fix"]])

    talk(tmp_path, conversation)


def test_a_push_is_confirmed_once_and_for_one_content(tmp_path: Path) -> None:
    """A confirmation is of no use twice, nor after the script changed; what pushes nothing needs none."""
    script = tmp_path / "train.py"
    script.write_text(PUSHING.format(repository="me/mine"))

    async def conversation(client: Client) -> None:
        async def run(**more: str) -> tuple[bool, dict[str, Any]]:
            result = await client.call_tool("run", {"target": "train.py", "rehearse": False, "offline": True, **more})
            return bool(result.is_error), json.loads(text_of(result))

        _, asked = await run()
        assert asked["needs_confirmation"]["will"] == ["push to the Hub: me/mine"]
        assert not (tmp_path / "runs").exists()

        script.write_text(PUSHING.format(repository="me/other"))
        refused, answer = await run(confirmation=asked["needs_confirmation"]["confirmation"])
        assert refused
        assert "for something else" in answer["errors"][0]["what"]

        _, asked = await run()
        confirmation = asked["needs_confirmation"]["confirmation"]
        refused, started = await run(confirmation=confirmation)
        assert not refused, started
        assert started["verb"] == "run"
        refused, answer = await run(confirmation=confirmation)
        assert refused
        assert "used before" in answer["errors"][0]["what"]

        (tmp_path / "train.py").write_text(SCRIPT)
        refused, started = await run()
        assert "needs_confirmation" not in started

    talk(tmp_path, conversation)


REFUSED = """\
import sys
from holdfast_runtime import attempt
attempt.write("start", step=4)
change = {"key": "learning_rate", "before": 0.001, "after": 0.002}
attempt.write("resume", checkpoint="out/checkpoint-4", verdict="refused", changes=[change])
sys.exit(1)
"""


def test_changed_settings_are_accepted_by_a_person_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is asked hears which they are; that pushes need no confirmation does not extend to them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(REFUSED)
    run_command(["run", "train.py", "--no-rehearse", "--offline", "--quiet"])

    async def conversation(client: Client) -> None:
        asked = json.loads(text_of(await client.call_tool("resume", {"run": "train", "accept_changes": True})))
        (will,) = asked["needs_confirmation"]["will"]
        assert will.endswith("saved with other settings: `learning_rate` from 0.001 to 0.002")

    talk(tmp_path, conversation, allow_push=True)


def test_a_run_starts_from_a_checkpoint_that_an_agent_names(tmp_path: Path) -> None:
    """One that is not there is refused, as on the command line."""
    (tmp_path / "train.py").write_text(SCRIPT)

    async def conversation(client: Client) -> None:
        asked = {"target": "train.py", "rehearse": False, "offline": True, "resume_from": "nowhere"}
        result = await client.call_tool("run", asked)
        assert result.is_error
        assert "no such checkpoint: nowhere" in text_of(result)
        assert not (tmp_path / "runs").exists()

    talk(tmp_path, conversation)


def test_a_confirmation_is_for_one_call(tmp_path: Path) -> None:
    """Not for the same script with other arguments, or without its rehearsal."""
    (tmp_path / "train.py").write_text(PUSHING.format(repository="me/mine"))

    async def conversation(client: Client) -> None:
        asked = json.loads(text_of(await client.call_tool("run", {"target": "train.py", "offline": True})))
        confirmation = asked["needs_confirmation"]["confirmation"]
        more = {"rehearse": False, "confirmation": confirmation}
        result = await client.call_tool("run", {"target": "train.py", "offline": True, **more})
        assert result.is_error
        assert "for something else" in text_of(result)

    talk(tmp_path, conversation)


@pytest.mark.long
def test_a_run_goes_into_the_folder_that_is_named(tmp_path: Path) -> None:
    """The folder of runs is an argument as any other."""
    (tmp_path / "train.py").write_text(SCRIPT)

    async def conversation(client: Client) -> None:
        asked = {"target": "train.py", "rehearse": False, "offline": True, "runs": "others"}
        result = await client.call_tool("run", asked)
        assert not result.is_error, text_of(result)
        assert (tmp_path / "others").is_dir()

    talk(tmp_path, conversation)


def test_nested_overrides_are_merged(tmp_path: Path) -> None:
    """A model writes them as the file is written; what it does not name stays."""
    (tmp_path / "job.yaml").write_text(
        "method: sft\nmodel: builtin:tiny-chat\ndataset: rows.jsonl\ntrain: {max_steps: 9, learning_rate: 0.5}\n"
    )

    async def conversation(client: Client) -> None:
        rendered = await client.call_tool("render", {"target": "job.yaml", "set": {"train": {"max_steps": 3}}})
        assert '"max_steps": 3' in text_of(rendered)
        assert '"learning_rate": 0.5' in text_of(rendered)

    talk(tmp_path, conversation)


@pytest.mark.long
def test_long_texts_are_short_too(tmp_path: Path) -> None:
    """With the address of the whole."""

    async def conversation(client: Client) -> None:
        page = text_of(await client.call_tool("explain", {}))
        assert len(page) < 33_000
        address = page.rpartition("[the whole text: ")[2].removesuffix("]")
        (resource,) = (await client.read_resource(address)).contents
        assert len(resource.text) > 33_000  # type: ignore[union-attr]  # it is text

    talk(tmp_path, conversation)


@pytest.mark.parametrize("how", sampled([signal.SIGTERM, signal.SIGINT, signal.SIGKILL], 3))
def test_calls_end_with_the_server(tmp_path: Path, how: signal.Signals) -> None:
    """However it ends, with its client still there."""
    (tmp_path / "rows.jsonl").write_text('{"prompt": "2+2="}\n' * 4)
    (tmp_path / "slow.py").write_text(SLOW_REWARD)
    asked = {"data": "rows.jsonl", "method": "grpo", "rewards": ["slow.py:reward"], "offline": True}
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    lines: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "inspect", "arguments": asked}},
    ]
    command = [sys.executable, "-P", "-m", "holdfast", "mcp", "--folder", str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdin is not None
        for line in lines:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n")
        server.stdin.flush()
        anyio.run(until, lambda: processes(tmp_path))
        server.send_signal(how)
        anyio.run(until, lambda: server.poll() is not None)
        anyio.run(until, lambda: not processes(tmp_path))


def test_a_port_that_is_taken_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    """With what to do, and exit code 2."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code = run_command(["mcp", "--http", "--port", str(taken.getsockname()[1])])

    assert code == 2
    assert "choose another port" in capfd.readouterr().err


@pytest.mark.long
def test_pushes_may_be_allowed(tmp_path: Path) -> None:
    """By whoever starts the server."""
    (tmp_path / "train.py").write_text(PUSHING.format(repository="me/mine"))

    async def conversation(client: Client) -> None:
        result = await client.call_tool("run", {"target": "train.py", "rehearse": False, "offline": True})
        assert json.loads(text_of(result))["verb"] == "run"
        assert "needs_confirmation" not in text_of(result)

    talk(tmp_path, conversation, allow_push=True)


def test_a_call_that_is_cancelled_leaves_no_process(tmp_path: Path) -> None:
    """The client has given up; what the verb had started is ended."""
    (tmp_path / "rows.jsonl").write_text('{"prompt": "2+2="}\n' * 4)
    (tmp_path / "slow.py").write_text(SLOW_REWARD)

    async def conversation(client: Client) -> None:
        async with anyio.create_task_group() as group:
            asked = {"data": "rows.jsonl", "method": "grpo", "rewards": ["slow.py:reward"], "offline": True}
            group.start_soon(client.call_tool, "inspect", asked)
            await until(lambda: processes(tmp_path))
            group.cancel_scope.cancel()
        await until(lambda: not processes(tmp_path))

    talk(tmp_path, conversation)


def processes(folder: Path) -> list[int]:
    """Return the processes that work in a folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and Path(process.cwd()).is_relative_to(folder):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


@pytest.mark.long
def test_long_answers_are_short_and_whole_elsewhere(tmp_path: Path) -> None:
    """A model reads the beginning and the end; the whole is a resource."""
    (tmp_path / "noisy.py").write_text("for number in range(20_000):\n    print('line', number)\n")

    async def conversation(client: Client) -> None:
        started = json.loads(text_of(await client.call_tool("run", {"target": "noisy.py", "rehearse": False})))
        await until_ended(client, started["run"])
        short = (await client.call_tool("logs", {"run": started["run"]})).structured_content
        assert len(json.dumps(short)) < 21_000
        assert short["stdout"].startswith("line 0\n")
        assert short["stdout"].endswith("line 19999\n")
        (resource,) = (await client.read_resource(short["shortened"]["whole"])).contents
        assert json.loads(resource.text)["stdout"].count("\n") == 20_000  # type: ignore[union-attr]  # it is text
        (report,) = (await client.read_resource(f"holdfast://reports/{started['run']}")).contents
        assert "<html" in report.text  # type: ignore[union-attr]

    talk(tmp_path, conversation)


def test_pages_and_prompts(tmp_path: Path) -> None:
    """Each resource that is listed can be read, and each prompt filled in."""

    async def conversation(client: Client) -> None:
        for resource in (await client.list_resources()).resources:
            assert (await client.read_resource(resource.uri)).contents
        (page,) = (await client.read_resource("holdfast://explain/cuda-oom-eval")).contents
        assert "cuda-oom-eval" in page.text  # type: ignore[union-attr]
        for prompt in (await client.list_prompts()).prompts:
            (argument,) = prompt.arguments or []
            (message,) = (await client.get_prompt(prompt.name, {argument.name: "train.py"})).messages
            assert "train.py" in str(message.content)
        for address in ("holdfast://explain/NONE", "holdfast://results/none", "holdfast://reports/none"):
            with pytest.raises(MCPError, match="cannot be read"):
                await client.read_resource(address)

    talk(tmp_path, conversation)


@asynccontextmanager
async def started(*words: str, folder: Path) -> AsyncIterator[Client]:
    """A client of `holdfast mcp`, over its standard input and output."""
    command = ["-P", "-m", "holdfast", "mcp", "--folder", str(folder), *words]
    async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=command))) as client:
        yield client


@pytest.mark.long
def test_what_a_script_prints_does_not_reach_the_protocol(tmp_path: Path) -> None:
    """Standard output is the protocol's: what a user's code prints in a rehearsal or a reward must not break it."""
    (tmp_path / "rows.jsonl").write_text('{"prompt": "2+2="}\n' * 4)
    (tmp_path / "loud.py").write_text(
        "import os\nprint('{not json')\nos.write(1, b'loud')\n\ndef reward(completions, **given):\n"
        "    print('louder')\n    return [1.0] * len(completions)\n"
    )

    async def main() -> None:
        with anyio.fail_after(PATIENCE_S):
            async with started(folder=tmp_path) as client:
                asked = {"data": "rows.jsonl", "method": "grpo", "rewards": ["loud.py:reward"], "offline": True}
                assert not (await client.call_tool("inspect", asked)).is_error

    anyio.run(main)


def test_http_wants_the_token(tmp_path: Path) -> None:
    """On this machine alone, and for those who know the token."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}/mcp"
    command = [sys.executable, "-P", "-m", "holdfast", "mcp", "--folder", str(tmp_path), "--http"]
    environment = {**os.environ, "HOLDFAST_MCP_TOKEN": "open-sesame"}

    async def main() -> None:
        await until(lambda: answers(port))
        async with httpx2.AsyncClient(timeout=PATIENCE_S) as stranger:
            for headers in ({}, {"Authorization": "Bearer guess"}):
                assert (await stranger.post(address, json={}, headers=headers)).status_code == 401
        async with (
            httpx2.AsyncClient(headers={"Authorization": "Bearer open-sesame"}, timeout=PATIENCE_S) as known,
            Client(streamable_http_client(address, http_client=known)) as client,
        ):
            assert "ARG101" in text_of(await client.call_tool("explain", {"code": "ARG101"}))

    with subprocess.Popen([*command, "--port", str(port)], env=environment, stderr=subprocess.PIPE) as server:
        try:
            anyio.run(main)
        finally:
            server.terminate()


def answers(port: int) -> bool:
    """Whether something listens on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
