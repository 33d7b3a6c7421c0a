r"""A real client of the Hub, in a process of its own.

    with client_of(hub, "from huggingface_hub import HfApi\napi = HfApi()") as ask:
        assert ask("api.whoami()['name']") == "me"

`huggingface_hub` and what builds on it read their environment when they are imported, which takes seconds for some; so tests share such a process.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import Any, Protocol

from tests.helpers.hub.server import LoopbackHub

# Takes a line of JSON with Python in it, and gives one back with the value of its last line, if that is an expression.
# Whatever the libraries print goes to stderr.
LOOP = """
import ast, json, os, sys
replies = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
space = {"__name__": "client"}
for line in sys.stdin:
    asked = json.loads(line)
    space.update(asked["values"])
    tree = ast.parse(asked["code"])
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    try:
        exec(compile(tree, "<test>", "exec"), space)
        value = eval(compile(ast.Expression(last.value), "<test>", "eval"), space) if last else None
        reply = {"value": json.loads(json.dumps(value, default=str))}
    except Exception as error:
        reply = {"error": [type(error).__name__, str(error)]}
    print(json.dumps(reply), file=replies, flush=True)
"""


class RaisedError(Exception):
    """What the client raised."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")


class Ask(Protocol):
    """Runs Python in the client's process, with some values under their names, and returns the value of its last line."""

    def __call__(self, code: str, **values: Any) -> Any: ...


@contextmanager
def client_of(hub: LoopbackHub, setup: str, **variables: str) -> Iterator[Ask]:
    """Start a process that takes `hub` for the Hub, and end it.

    Args:
        hub: Whose variables it gets.
        setup: Python that it runs first.
        variables: More of its environment.
    """
    environment = {**os.environ, **hub.variables, **variables}
    with (
        TemporaryFile("w+") as said,
        subprocess.Popen(
            [sys.executable, "-c", LOOP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            env=environment,
        ) as process,
    ):
        ask = _asking(process, lambda: (said.seek(0), said.read())[1])
        try:
            ask(setup)
            yield ask
        finally:
            process.kill()


def _asking(process: subprocess.Popen[str], said: Callable[[], str]) -> Ask:
    def ask(code: str, **values: Any) -> Any:
        if process.stdin is None or process.stdout is None:
            raise TypeError
        process.stdin.write(json.dumps({"code": code, "values": values}) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line, said()
        reply = json.loads(line)
        if "error" in reply:
            raise RaisedError(*reply["error"])
        return reply["value"]

    return ask
