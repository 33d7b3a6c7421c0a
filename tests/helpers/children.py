"""Child processes that tests ask about the libraries: many cases in one, since importing TRL takes seconds.

answers = ask_each("trained", cases)        # in a test: what `tests/helpers/trained.py` says of each case, by its name
answer_each(train)                          # in the child: what `train` returns of each, or what refuses it
"""

import json
import logging
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.helpers.forked import Done, fork
from tests.helpers.tiny import quiet_environment

ROOT = Path(__file__).parents[2]
EVERYWHERE = {"report_to": "none", "use_cpu": True, "bf16": False, "save_strategy": "no", "disable_tqdm": True}
"""Settings of trainers that are to leave nothing behind."""
Answer = dict[str, Any]


def ask(program: Sequence[str], question: Any, **variables: str) -> Any:
    """Return what a program of Python answers, both in JSON.

    It runs in a fork of a process that has imported TRL; with variables, which imports may read, in a fresh interpreter.
    """
    done = (_start if variables else fork)(program, ROOT, quiet_environment(**variables), json.dumps(question))
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def _start(program: Sequence[str], folder: Path, environment: Mapping[str, str], stdin: str) -> Done:
    """Run a program in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *program],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=dict(environment),
    )
    return Done(done.returncode, done.stdout, done.stderr)


def ask_each(module: str, cases: Sequence[Mapping[str, Any]], **variables: str) -> dict[str, Answer]:
    """Return what a module of the tests answers to each case by its name; `refused` is what raised, or None."""
    answers: dict[str, Answer] = ask(["-m", f"tests.helpers.{module}"], cases, **variables)
    return answers


def refusals(answers: Mapping[str, Answer]) -> dict[str, str | None]:
    """Return what refused each case, or None."""
    return {name: answer["refused"] for name, answer in answers.items()}


def side_by_side(asked: Callable[..., dict[str, Answer]], *questions: Sequence[Any]) -> list[dict[str, Answer]]:
    """Return the answers to several questions, asked at the same time."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda question: asked(*question), questions))


def answer_each(do: Callable[[dict[str, Any]], Answer | None]) -> None:
    """Read cases from standard input, and write what became of each."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    cases = json.load(sys.stdin)
    answers, sys.stdout = sys.stdout, sys.stderr  # trainers print
    told: dict[str, Answer] = {}
    for case in cases:
        try:
            told[case["name"]] = {"refused": None, **(do(case) or {})}
        except Exception as error:  # noqa: BLE001 - whatever refuses a case is the answer
            told[case["name"]] = {"refused": f"{type(error).__name__}: {error}"}
    json.dump(told, answers)


def title_of(method: str) -> str:
    """Return what stands before `Config` and `Trainer` in TRL's names."""
    return "Reward" if method == "reward" else method.upper()
