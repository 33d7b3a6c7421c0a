"""Modules beside a user's script are for the script alone: no process of holdfast's own imports them."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import holdfast
from tests.helpers.run_place import quiet_runs

SOURCE: Final = Path(holdfast.__file__).parent
STARTING: Final = {
    *(f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "getoutput", "Popen")),
    *(f"os.{name}" for name in dir(os) if name.startswith(("exec", "spawn", "posix_spawn", "popen", "system", "fork"))),
    "ProcessPoolExecutor",
    "multiprocessing.Process",
    "pty.spawn",
    "marked_child",
}
ISOLATED: Final = {"-I", "-P"}
LISTED: Final = {
    "adapters/declared/uv.py:_run": "uv is no Python",
    "adapters/environment/forked_pool.py:forked_pool": "forked: what it needs is imported",
    "adapters/environment/program_output.py:output_of": "nvidia-smi and uv are no Python, and what tries the sandbox is isolated",
    "adapters/environment/marked_processes.py:marked_child": "its words are those of its callers",
    "adapters/environment/marked_processes.py:_watcher": "sh is no Python",
    "adapters/environment/outside_stacks.py:outside_stack": "py-spy is no Python",
    "adapters/environment/registry.py:_run": "its words are those of `pip_command`, which are isolated, or uv's",
    "adapters/tracing.py:_run": "a file of ours, whose own folder is first on its path",
    "adapters/export/converter.py:open_converter": "its words are those of `pip_command`",
    "adapters/prepared_rows.py:_run": "the user's own function, in a script that lies in a folder of ours",
    "adapters/rehearsal/server.py:__init__": "a file of ours, whose own folder is first on its path",
    "payload/export/__main__.py:_forked": "forked: what it needs is imported",
    "payload/guard.py:main": "forked: what it needs is imported",
    "payload/guard.py:run": "the training process, which is the user's",
    "payload/rehearsal/__main__.py:main": "a file of ours, whose own folder is first on its path",
    "payload/rehearsal/__main__.py:start": "forked: the rehearsed script is the user's",
    "payload/rehearsal/guards/children.py:system": "what the rehearsed script starts",
    "payload/rehearsal/sandbox/__init__.py:why_none": "forked: it imports nothing",
    "payload/rehearsal/sandbox/__init__.py:_try_in_a_child": "forked: it imports nothing",
    "payload/rehearsal/sandbox/__init__.py:enter": "forked: the server itself, which imports its own files",
}


def starts() -> Iterator[tuple[str, bool]]:
    """The places that start a process, as `file:function`, and whether the words there isolate it."""
    for path in sorted(SOURCE.rglob("*.py")):
        if "rules" in path.relative_to(SOURCE).parts:
            continue  # texts of examples
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if ast.unparse(call.func) in STARTING:
                around = [each for each in functions if each.lineno <= call.lineno <= (each.end_lineno or 0)]
                function = max(around, key=lambda each: each.lineno)
                words = {each.value for each in ast.walk(function) if isinstance(each, ast.Constant)}
                yield f"{path.relative_to(SOURCE)}:{function.name}", bool(words & ISOLATED)


def test_each_child_process_is_isolated_or_listed_with_a_reason() -> None:
    """A list that is longer than the code is no list either."""
    found = list(starts())

    assert {name for name, isolated in found if not isolated} == set(LISTED)
    assert len([name for name, isolated in found if isolated]) >= 4


def test_pip_is_asked_from_no_user_s_folder(tmp_path: Path) -> None:
    """`-m` alone would take `pip.py` of the folder that one is in."""
    from holdfast.adapters.environment.registry import pip_command

    (tmp_path / "pip.py").write_text("print('trapped')")
    done = subprocess.run([*pip_command(), "--version"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "trapped" not in done.stdout


TRAPS: Final = ("click", "json", "msgspec", "psutil", "rich", "yaml", "pydantic", "jinja2", "packaging", "holdfast")
SCRIPT: Final = """
import pathlib, time
pathlib.Path("began").touch()
while not pathlib.Path("go").exists():
    time.sleep(0.05)
print("trained")
"""
ROWS: Final = json.dumps({"prompt": "a", "completion": "b"}) + "\n"
REWARD: Final = "def one(completions, **_):\n    return [1.0 for _ in completions]\n"


@pytest.fixture(name="trap")
def folder_of_traps(tmp_path: Path) -> Path:
    """A user's folder with modules that are called like ours, and say so when they are imported."""
    for name in TRAPS:
        (tmp_path / f"{name}.py").write_text(f"open('trapped-{name}', 'w').close()\nraise ImportError('trapped')\n")
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "rows.jsonl").write_text(ROWS)
    (tmp_path / "reward.py").write_text(REWARD)
    (tmp_path / "log.txt").write_text("Traceback (most recent call last):\nValueError: no loss\n")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").touch()
    (tmp_path / "job.yaml").write_text("method: sft\nmodel: builtin:tiny-chat\ndataset: rows.jsonl\n")
    return tmp_path


def type_in(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Type a command as a user does, by its installed program."""
    program = Path(sys.executable).with_name("holdfast")
    environment = quiet_runs(folder / "cache") | {"XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.run(
        [str(program), *words], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=500
    )


def trapped(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("trapped-*"))


@pytest.mark.parametrize(
    "words",
    [
        ["check", ".", "--offline"],
        ["inspect", "rows.jsonl", "--rewards", "reward.py:one", "--offline"],
        ["diagnose", "log.txt"],
        ["render", "job.yaml"],
        ["explain", "ARG101"],
        ["verify", "model"],
        ["runs"],
    ],
    ids=lambda words: words[0],
)
def test_no_verb_imports_a_user_s_module(trap: Path, words: list[str]) -> None:
    """Called like a library of ours, it lies where the command is typed."""
    done = type_in(trap, *words)

    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1)
    assert trapped(trap) == []


@pytest.mark.long
def test_no_supervisor_imports_a_user_s_module(trap: Path) -> None:
    """Of a run that is detached, stopped, resumed and looked at; the script alone may."""
    assert type_in(trap, "run", "train.py", "--detach", "--no-rehearse", "--offline").returncode == 0
    (name,) = (path.name for path in (trap / "runs").iterdir() if path.is_dir())
    for words in (["stop"], ["show"], ["logs"], ["diagnose"]):
        done = type_in(trap, *words, name)
        assert "Traceback" not in done.stderr, words
    (trap / "go").touch()
    assert type_in(trap, "resume", name, "--detach").returncode == 0
    assert type_in(trap, "watch", name).returncode == 0
    assert "trained" in type_in(trap, "logs", name).stdout
    assert trapped(trap) == []


@pytest.mark.long
@pytest.mark.train
@pytest.mark.parametrize("target", ["train.py", "job.yaml"])
def test_no_rehearsal_imports_a_user_s_module(trap: Path, target: str) -> None:
    """Its server imports the libraries before the script's folder is on the path."""
    (trap / "train.py").write_text("import trl\n\nprint(trl.SFTConfig)\n")
    done = type_in(trap, "rehearse", target, "--here", "--offline", "--limit", "60", "--set", "where.backend=local")

    assert "rehearsed in" in done.stdout, done.stderr
    assert not {f"trapped-{name}" for name in ("click", "json", "msgspec", "holdfast")} & {*trapped(trap)}
