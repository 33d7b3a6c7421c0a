"""Asking reward functions, and a job's `map`, each in a child process that is ended with all that it started."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from holdfast.adapters.environment.extras import install_command
from holdfast.adapters.environment.marked_processes import marked_child
from holdfast.adapters.storage.scratch import scratch_folder
from holdfast.catalog.trl_rewards import MODULE, TRL_REWARDS
from holdfast.core.errors import UsageError
from holdfast.core.rows.scan import RewardResult
from holdfast.core.text.json_text import parse_json

LIMIT_S = 30.0
"""Time that a call may take."""
IMPORT_LIMIT_S = 120.0
"""Time that importing the function may take: torch alone takes many seconds where nothing is cached."""
LOOK_S = 0.02
MARK = "HOLDFAST_REWARD"
"""Variable by which processes are known that the function started, wherever they went."""


def call_rewards(
    names: Sequence[str], question: Mapping[str, Any], *, folder: Path = Path(), limit_s: float = LIMIT_S
) -> tuple[RewardResult, ...]:
    """Return the result of each reward function for some completions.

    Covered: functions of files and modules, async ones, and those of TRL by name. Not covered: reward models, which have
    to be loaded; functions that need the trainer's environments.

    Args:
        names: `file.py:function`, `module:function`, or the name of one of TRL's.
        question: `prompts`, `completions`, `completion_ids`, `columns`, and whether it is `answered`.
        folder: Folder that the files' paths start from.
        limit_s: Time that each call may take.
    """
    return tuple(_ask(name, question, folder, limit_s) for name in names)


def call_metric(
    name: str,
    predictions: Sequence[str],
    references: Sequence[str],
    columns: Mapping[str, Sequence[Any]],
    *,
    limit_s: float,
) -> RewardResult:
    """Return the result of a user's own metric, a value for each prediction.

    Args:
        name: `file.py:function` or `module:function`, which takes `predictions`, `references`, and whatever columns it names.
        predictions: The model's answers.
        references: The right ones.
        columns: The data's columns.
        limit_s: Time that the call may take.
    """
    question = {"predictions": predictions, "references": references, "columns": columns}
    return _ask(name, question, Path(), limit_s)


def rewrite_rows(name: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows as a job's `map` rewrites them.

    Args:
        name: `file.py:function` or `module:function`.
        rows: The rows.

    Raises:
        UsageError: The function fails for them.
    """
    answer, over = _call(name, {"rows": rows}, Path(), LIMIT_S)
    if "rows" not in answer:
        what = f"`map` cannot rewrite the rows: {answer.get('problem', over)}"
        raise UsageError(what, where=name, fix="correct the function; `holdfast rehearse` runs it too")
    return list(answer["rows"])


def _ask(name: str, question: Mapping[str, Any], folder: Path, limit_s: float) -> RewardResult:
    answer, over = _call(f"{MODULE}:{name}" if name in TRL_REWARDS else name, question, folder, limit_s)
    answered = bool(question.get("answered"))
    if "rewards" in answer:
        return RewardResult(name=name, rewards=tuple(answer["rewards"]), answered=answered)
    if "absent" in answer:
        return RewardResult(
            name=name, skipped=f"TRL is not installed here: {install_command('train')}", answered=answered
        )
    return RewardResult(name=name, problem=answer.get("problem", over), answered=answered)


def _call(function: str, question: Mapping[str, Any], folder: Path, limit_s: float) -> tuple[dict[str, Any], str]:
    """Return the result that a function's child process wrote, and a message where it wrote none."""
    with scratch_folder("holdfast-reward-") as box:
        question_path, answer = Path(box, "question.json"), Path(box, "answer.json")
        question_path.write_text(json.dumps({**question, "function": function}, default=str), encoding="utf-8")
        over = _run(question_path, answer, folder, limit_s)
        return _read(answer), over


def _run(request: Path, answer: Path, folder: Path, limit_s: float) -> str:
    """Run the child to its end or to the time limit; return what is to be said where it leaves no answer."""
    with (
        as_file(files("holdfast.payload") / "ask_reward.py") as program,
        marked_child(
            [sys.executable, "-P", str(program), str(request), str(answer)],
            MARK,
            variables={"TOKENIZERS_PARALLELISM": "false"},
            folder=folder,
        ) as child,
    ):
        return _wait(child, answer, limit_s)


def _wait(child: subprocess.Popen[bytes], answer: Path, limit_s: float) -> str:
    """Wait for the child: first for the import, then for the call."""
    until = time.monotonic() + IMPORT_LIMIT_S
    what = f"importing it takes longer than {IMPORT_LIMIT_S:g} seconds"
    imported = False
    while time.monotonic() < until:
        try:
            code = child.wait(LOOK_S)
        except subprocess.TimeoutExpired:
            if not imported and answer.exists():
                imported, until = True, time.monotonic() + limit_s
                what = f"it takes longer than {limit_s:g} seconds"
        else:
            return f"it ends the process, with exit code {code}"
    return what


def _read(answer: Path) -> dict[str, Any]:
    try:
        values: dict[str, Any] = parse_json(answer.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return values
