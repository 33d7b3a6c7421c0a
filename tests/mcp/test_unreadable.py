"""Each message that a client sends gets an answer, whatever is in it; and each answer can be read."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from holdfast.mcp.messages import VerbAnswer
from holdfast.mcp.verb_process import sender

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
REQUEST = '{{"jsonrpc": "2.0", "id": {}, "method": "prompts/get", "params": {{"name": "train", "arguments": {{"target": {}}}}}}}'
LINES = {
    "half a character": (REQUEST.format(1, r'"\ud800.yaml"'), 1, PARSE_ERROR),
    "the other half": (REQUEST.format('"b"', r'"\udfff"'), "b", PARSE_ERROR),
    "half a character as id": (REQUEST.format(r'"\ud800"', '"a"'), None, PARSE_ERROR),
    "an endless number": (REQUEST.format(2, "9" * 6000), 2, PARSE_ERROR),
    "deep": (REQUEST.format(3, "[" * 250 + "]" * 250), 3, PARSE_ERROR),
    "deeper": (REQUEST.format(4, "[" * 9000 + "]" * 9000), None, PARSE_ERROR),
    "no JSON": ("{prompt", None, PARSE_ERROR),
    "no method": ('{"jsonrpc": "2.0", "id": 5}', 5, INVALID_REQUEST),
    "no arguments": ('{"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": 7}', 6, INVALID_REQUEST),
    "another version": ('{"jsonrpc": "1.0", "id": 7, "method": "tools/list"}', 7, INVALID_REQUEST),
    "no object": ("[]", None, INVALID_REQUEST),
}
SILENT = ("", "  ", r'{"jsonrpc": "2.0", "id": 8, "result": "\ud800"}')
"""What nobody waits to have answered."""
START: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": "start",
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def test_each_message_that_cannot_be_read_gets_an_error(tmp_path: Path) -> None:
    """The SDK drops them: their client waited for ever. A message after them is answered as always."""
    sent = [json.dumps(START), *SILENT, *(line for line, _, _ in LINES.values()), REQUEST.format('"end"', '"a.yaml"')]
    answers = answers_to(sent, tmp_path)

    assert [(each.get("id"), each.get("error", {}).get("code")) for each in answers[1:-1]] == [
        (number, code) for _, number, code in LINES.values()
    ]
    assert answers[-1]["id"] == "end"
    assert "a.yaml" in answers[-1]["result"]["messages"][0]["content"]["text"]


def answers_to(lines: list[str], folder: Path) -> list[dict[str, Any]]:
    """What a server answers to lines on its standard input, up to the answer to `end`."""
    words = [sys.executable, "-P", "-m", "holdfast", "mcp"]
    with subprocess.Popen(words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("".join(f"{line}\n" for line in lines))
        server.stdin.flush()
        answers = []
        for line in server.stdout:
            answers.append(json.loads(line))
            if answers[-1].get("id") == "end":
                server.stdin.close()
    return answers


def test_an_answer_holds_no_half_of_a_character() -> None:
    """The name of a file that is no UTF-8 has one: the verb had no answer, and one in JSON would be refused by the client."""
    out = io.BytesIO()
    sender(out)(VerbAnswer(answer={"path": "bad\udcff.py", "message": "\ud83d"}))

    assert json.loads(out.getvalue().decode())["answer"] == {"path": "bad?.py", "message": "?"}
