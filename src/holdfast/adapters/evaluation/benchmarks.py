"""The process in which lm-eval finds benchmark tasks and scores responses; it is started by the first command, and ended at the end.

Covered: tasks whose code raises, and a process that dies. Not covered: other environments than this one; tasks with images.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from msgspec import Struct, convert, json

from holdfast.adapters.environment.marked_processes import marked_child
from holdfast.adapters.evaluation.process import MARK, SHOWN, VARIABLES, ModelSource
from holdfast.adapters.storage.scratch import scratch_folder
from holdfast.core.evaluation import Example, HarnessCall, HarnessMetric, ModelOutput

CODE_ALLOWED: Final = {"HF_ALLOW_CODE_EVAL": "1"}
"""Without it, the metric that runs code refuses to."""


class HarnessError(Exception):
    """lm-eval raised, or its process died."""


class TaskProblem(Struct, frozen=True):
    """What is wrong with a name. `kind` is `unknown`, `broken`, `none` or `code`; `near` are the nearest names."""

    name: str
    what: str
    kind: str
    near: Sequence[str] = ()


class FoundTasks(Struct, frozen=True):
    """What is wrong with names, and the version of lm-eval."""

    problems: Sequence[TaskProblem]
    version: str


class BenchmarkTask(Struct, frozen=True):
    """A task whose data is there. `spec` is what it was named by, `of` the number of its rows."""

    name: str
    spec: str
    version: str
    few_shot: int
    output_type: str
    split: str
    of: int
    generation: Mapping[str, Any]


class BenchmarkGroup(Struct, frozen=True):
    """A group of tasks with a value of its own. `by_rows` is true if a task weighs as much as it has rows."""

    name: str
    tasks: Sequence[str]
    version: str
    by_rows: bool


class FailedSpec(Struct, frozen=True):
    """Why what was named by `spec` cannot be loaded. `kind` is `hub` where its data cannot be downloaded, `few shot` where there are too few examples."""

    spec: str
    because: str
    kind: str


class LoadedBenchmarks(Struct, frozen=True):
    """The tasks and groups that can be evaluated, and those that cannot."""

    tasks: Sequence[BenchmarkTask]
    groups: Sequence[BenchmarkGroup]
    failed: Sequence[FailedSpec]


class ScoredRow(Struct, frozen=True):
    """A row, with the model's answer and the right one as texts."""

    row: int
    answer: str
    reference: str


class TaskScores(Struct, frozen=True):
    """What lm-eval makes of the responses of a model."""

    metrics: Sequence[HarnessMetric]
    rows: Sequence[ScoredRow]


class _Row(Struct, frozen=True):
    """A row of a task, as the process writes it."""

    row: int
    prompt: str
    calls: list[HarnessCall]
    columns: dict[str, Any]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBy:
    """By which model a task's requests are read: of a chat, they depend on its tokenizer.

    Attributes:
        key: Its name among the models of this evaluation.
        source: The model.
        chat: Whether the chat template is applied.
        limit: The first rows that are evaluated; None for all.
    """

    key: str
    source: ModelSource
    chat: bool
    limit: int | None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of commands about it."""
        return {
            "model": self.key,
            "tokenizer": self.source.tokenizer,
            "template": self.source.template,
            "chat": self.chat,
            "limit": self.limit,
        }


class BenchmarkSession:
    """The process, and its commands.

    Args:
        stack: Ends the process.
        offline: Whether the Hub is left alone.
        allow_code: Whether tasks may run code that the model writes.
    """

    def __init__(self, stack: ExitStack, *, offline: bool, allow_code: bool) -> None:
        self._stack = stack
        self._offline, self._allow_code = offline, allow_code
        self._child: subprocess.Popen[bytes] | None = None
        self._box = Path(stack.enter_context(scratch_folder("holdfast-benchmarks-")))

    def find(self, specs: Sequence[Mapping[str, str]]) -> FoundTasks:
        """Return what is wrong with names of tasks. Each spec has a `name`, and a `path` if it is a file or a folder."""
        return convert(self._ask("find", specs=specs, allow_code=self._allow_code), FoundTasks)

    def load(self, few_shot: int | None) -> LoadedBenchmarks:
        """Return the tasks that were found, with their data."""
        return convert(self._ask("load", few_shot=few_shot), LoadedBenchmarks)

    def prepare(self, task: str, model: ReadBy) -> tuple[Example, ...]:
        """Return the rows of a task, with what lm-eval requests for each."""
        out = self._box / "rows.jsonl"
        self._ask("prepare", task=task, out=str(out), **model.arguments())
        rows = [json.decode(line, type=_Row) for line in out.read_bytes().splitlines()]
        return tuple(
            Example(row=each.row, prompt=each.prompt, calls=tuple(each.calls), columns=each.columns, own_text=each.text)
            for each in rows
        )

    def score(self, task: str, model: ReadBy, outputs: Sequence[ModelOutput]) -> TaskScores:
        """Return the scores of a model's responses to a task."""
        given, out = self._box / "outputs.jsonl", self._box / "scores.json"
        lines = (json.encode({"row": each.row, "responses": each.responses}) for each in outputs)
        given.write_bytes(b"\n".join(lines))
        self._ask(
            "score", task=task, outputs=str(given), out=str(out), allow_code=self._allow_code, **model.arguments()
        )
        return json.decode(out.read_bytes(), type=TaskScores)

    def combine(self, model: str) -> Mapping[str, Mapping[str, float]]:
        """Return the values of the groups whose tasks a model has all done, by metric and filter."""
        return convert(self._ask("combine", model=model)["groups"], dict[str, dict[str, float]])

    def _ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer to a command.

        Raises:
            HarnessError: It raised, or the process died.
        """
        child = self._child or self._start()
        line = b""
        if child.stdin is not None and child.stdout is not None:
            try:
                child.stdin.write(json.encode({"command": command, **arguments}) + b"\n")
                child.stdin.flush()
                line = child.stdout.readline()
            except BrokenPipeError:
                line = b""
        if not line:
            last = (self._box / "stderr.log").read_text(encoding="utf-8", errors="replace").strip()[-SHOWN:]
            self._child = None
            raise HarnessError(f"the process of lm-eval ended with exit code {child.wait()}: {last}")
        answer: dict[str, Any] = json.decode(line)
        if "error" in answer:
            raise HarnessError(str(answer["error"]))
        return answer

    def _start(self) -> "subprocess.Popen[bytes]":
        words = [sys.executable, "-P", "-m", "holdfast.payload.benchmarks"]
        errors: IO[bytes] = self._stack.enter_context((self._box / "stderr.log").open("ab"))
        offline = {"HF_HUB_OFFLINE": "1"} if self._offline else {}
        variables = {**VARIABLES, **offline, **(CODE_ALLOWED if self._allow_code else {})}
        self._child = self._stack.enter_context(
            marked_child(words, MARK, variables=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        )
        return self._child


@contextmanager
def open_session(*, offline: bool, allow_code: bool) -> Iterator[BenchmarkSession]:
    """Yield a session; its process has ended after the block."""
    with ExitStack() as stack:
        yield BenchmarkSession(stack, offline=offline, allow_code=allow_code)
