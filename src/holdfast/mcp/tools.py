"""The tools: which verbs an agent can call, with which of their arguments. Their schemas are made from the verbs' own signatures."""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from json import dumps
from typing import Any, Final, get_args, get_type_hints

from msgspec import json

from holdfast.app import load_verb
from holdfast.app.arguments import Overrides, PathName, PathNames, Texts
from holdfast.core.job.methods import Method
from holdfast.results import Json, Result
from holdfast.results.check import CheckResult
from holdfast.results.diagnose import DiagnoseResult
from holdfast.results.doctor import DoctorResult
from holdfast.results.evaluate import EvaluateResult
from holdfast.results.export import ExportResult
from holdfast.results.inspect import InspectResult
from holdfast.results.plan import PlanResult
from holdfast.results.rehearse import RehearseResult
from holdfast.results.run import LogsResult, RunResult, RunsResult, VerifyResult
from holdfast.results.study import StudyResult

FOLDER: Final = "folder"
"""The argument that every tool has beside those of its verb."""
OVERRIDES: Final = "set"
"""The argument with the overrides of a job file's keys."""
CONFIRMATION: Final = "confirmation"
"""The argument of tools that may have to be confirmed."""
OWN_ARGUMENTS: Final[Mapping[str, Json]] = {
    FOLDER: {"type": "string", "description": "Folder that relative paths start at. Default: that of the server."},
    CONFIRMATION: {
        "type": "string",
        "description": "The confirmation of a former answer, once the user has agreed to what it says.",
    },
}
TYPES: Final[tuple[tuple[Any, Json], ...]] = (
    (PathName, {"type": "string"}),
    (PathNames, {"type": "array", "items": {"type": "string"}}),
    (Texts, {"type": "array", "items": {"type": "string"}}),
    (Overrides, {"type": "object"}),
    (str | int, {"type": ["string", "integer"]}),
    (str, {"type": "string"}),
    (bool, {"type": "boolean"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
)
"""The types of arguments, and what JSON has for each."""
NESTED: Final = (CheckResult, RehearseResult)
"""Results that are also parts of others, whose schema would be four times as long with theirs."""
REFERENCE: Final = re.compile(r'"#/\$defs/(\w+)"')
ARGUMENT: Final = re.compile(r"^ {8}(\w+): (.*(?:\n {9,}.*)*)", re.MULTILINE)
INDENT: Final = re.compile(r"\n\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbTool:
    """A verb as a tool.

    Attributes:
        verb: The verb, which is the tool's name too.
        arguments: Those of the verb's arguments that an agent can give.
        result: The type of its result; None if it answers with text.
        fixed: Arguments that an agent does not choose.
        reads_only: It changes nothing.
        is_confirmed: It may cost money or push, and is confirmed before it does.
    """

    verb: str
    arguments: tuple[str, ...]
    result: type[Result] | None = None
    fixed: Mapping[str, Any]
    reads_only: bool = False
    is_confirmed: bool = False

    @property
    def description(self) -> str:
        """The first paragraph of the verb's docstring, and whatever a result does not show."""
        summary, _, _ = inspect.cleandoc(load_verb(self.verb).__doc__ or "").partition("\n\n")
        return " ".join([SUMMARIES.get(self.verb) or summary.replace("\n", " "), *NOTES.get(self.verb, ())])

    @property
    def input_schema(self) -> Json:
        """The JSON Schema of its arguments."""
        verb = load_verb(self.verb)
        parameters, hints = inspect.signature(verb).parameters, get_type_hints(verb)
        descriptions = dict(argument_descriptions(verb.__doc__ or ""))
        properties = {
            name: {
                **schema_of(hints[name]),
                **LIMITS.get(name, {}),
                "description": DESCRIPTIONS.get(name) or descriptions.get(name) or SHARED[name],
            }
            for name in self.arguments
        }
        required = [name for name in self.arguments if parameters[name].default is inspect.Parameter.empty]
        own = (FOLDER, CONFIRMATION) if self.is_confirmed else (FOLDER,)
        properties |= {name: OWN_ARGUMENTS[name] for name in own}
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    @property
    def output_schema(self) -> Json | None:
        """The JSON Schema of its result; None if it answers with text, or with what has to be confirmed."""
        if self.result is None or self.is_confirmed:
            return None
        parts: Json = {name: _concise(part) for name, part in json.schema(self.result)["$defs"].items()}
        parts |= {each.__name__: {"type": "object"} for each in NESTED if each is not self.result}
        return {
            **parts[self.result.__name__],
            "$defs": {name: parts[name] for name in sorted(_used(parts, self.result.__name__))},
        }


def _concise(part: Json) -> Json:
    """Return a schema without its title, which is its name, and without the indentation of its docstring."""
    described = {"description": INDENT.sub("\n", part["description"])} if "description" in part else {}
    return {name: value for name, value in part.items() if name != "title"} | described


def _used(parts: Json, name: str) -> set[str]:
    """Return the names of the schemas that one refers to, directly or through others; a result refers to none in a circle."""
    named = set(REFERENCE.findall(dumps(parts[name])))
    return named.union(*(_used(parts, each) for each in named))


def schema_of(hint: Any) -> Json:
    """Return the JSON Schema of an argument's type; where it may be None, it may be left out.

    >>> schema_of(str | None)
    {'type': 'string'}
    """
    kinds = [schema for kind, schema in TYPES if hint in (kind, kind | None)]
    if not kinds:
        raise TypeError(f"no JSON Schema for {hint}, of {get_args(hint)}")
    return kinds[0]


def argument_descriptions(doc: str) -> Iterator[tuple[str, str]]:
    r"""Yield each argument of a docstring with its description.

    >>> list(argument_descriptions("Look.\n\n    Args:\n        path: Where. It may\n            be long.\n"))
    [('path', 'Where. It may be long.')]
    """
    _, _, arguments = doc.partition("Args:\n")
    for name, description in ARGUMENT.findall(arguments.partition("Raises:")[0]):
        yield name, re.sub(r"\s+", " ", description).strip()


SHARED: Final[Mapping[str, str]] = {
    "run": "Name of the run, the beginning of it, or its folder.",
    "runs": "The runs folder. Default: HOLDFAST_RUNS, else `./runs`.",
    "checkpoint": "The folder of a checkpoint or of a model.",
}
"""Descriptions of arguments that the docstring of a verb leaves out."""
DESCRIPTIONS: Final[Mapping[str, str]] = {
    "targets": "A list of paths.",
    "set": 'Keys of the job file to override, as {"train.max_steps": 20}. Nested mappings are merged into the file\'s.',
}
"""Descriptions that a docstring would give wrongly: a tool takes fewer forms of an argument than the Python API."""
LIMITS: Final[Mapping[str, Json]] = {
    "limit_s": {"minimum": 1},
    "rows": {"minimum": 1},
    "attempt": {"minimum": 1},
    "method": {"enum": [method.value for method in Method]},
}
"""What values of an argument are restricted to."""
SUMMARIES: Final[Mapping[str, str]] = {
    "run": "Check and rehearse a job, and start it in the background.",
    "resume": "Continue a run from its newest complete checkpoint, in the background.",
    "study": "Run many settings of one job in the background, and find the best.",
}
"""Descriptions of verbs that behave differently as tools."""
NOTES: Final[Mapping[str, tuple[str, ...]]] = {
    "check": (
        "Checks against the library versions that the job will get, and runs none of its code.",
        "A rule that could not decide is in `skipped`; that is not a pass.",
    ),
    "rehearse": ("Takes 10 to 60 seconds. Nothing is pushed, and the job's folder is left as it is.",),
    "run": (
        "`show`, `logs` and `diagnose` follow it. `explain` with the code `job` lists the keys of a job file.",
        "A job that `check` or its rehearsal finds wrong is refused.",
        "What pushes or costs money has to be confirmed by the user first: the answer then says what it would do, and holds a confirmation.",
    ),
    "resume": ("It may have to be confirmed, as `run`; changed settings always are.",),
    "study": (
        "With `show`, it returns the results so far. Called again, it continues.",
        "`explain` with the code `study` lists the keys of a study file. It may have to be confirmed, as `run`.",
    ),
    "evaluate": (
        "Loads the model, so it may take minutes, and writes its results.",
        "A difference whose interval holds 0 is undecided: it shows neither better nor worse.",
    ),
    "export": ("Loads the model twice, so it may take minutes. A folder that is there already is not overwritten.",),
    "stop": ("The run can be resumed.",),
    "render": (
        "Answers with the script. The scripts of a study are files: `holdfast render STUDY --output FOLDER` writes them.",
    ),
}
TOOLS: Final = (
    VerbTool(
        verb="check",
        arguments=(
            "targets",
            "set",
            "arguments",
            "select",
            "ignore",
            "strict",
            "fix",
            "unsafe_fixes",
            "diff",
            "offline",
        ),
        result=CheckResult,
        fixed={"edits": False},
    ),
    VerbTool(
        verb="inspect",
        arguments=("data", "split", "eval_split", "config", "method", "model", "rewards", "set", "rows", "offline"),
        result=InspectResult,
        fixed={},
    ),
    VerbTool(
        verb="plan",
        arguments=(
            "target",
            "set",
            "arguments",
            "hardware",
            "budget",
            "processes",
            "strategy",
            "prices",
            "trace",
            "offline",
        ),
        result=PlanResult,
        fixed={},
        reads_only=True,
    ),
    VerbTool(
        verb="rehearse",
        arguments=("target", "set", "arguments", "here", "gpu", "limit_s", "isolate", "strict", "faults", "offline"),
        result=RehearseResult,
        fixed={},
    ),
    VerbTool(verb="render", arguments=("target", "set"), fixed={}, reads_only=True),
    VerbTool(verb="explain", arguments=("code",), fixed={}, reads_only=True),
    VerbTool(
        verb="run",
        arguments=("target", "set", "arguments", "resume_from", "runs", "despite", "rehearse", "offline"),
        result=RunResult,
        fixed={"detach": True},
        is_confirmed=True,
    ),
    VerbTool(
        verb="resume",
        arguments=("run", "accept_changes", "runs"),
        result=RunResult,
        fixed={"detach": True},
        is_confirmed=True,
    ),
    VerbTool(
        verb="study",
        arguments=("study", "show", "dry_run", "yes", "retry", "runs", "despite", "rehearse", "offline"),
        result=StudyResult,
        fixed={"detach": True},
        is_confirmed=True,
    ),
    VerbTool(verb="stop", arguments=("run", "runs"), result=RunResult, fixed={}),
    VerbTool(verb="runs", arguments=("runs",), result=RunsResult, fixed={}, reads_only=True),
    VerbTool(verb="show", arguments=("run", "runs"), result=RunResult, fixed={}, reads_only=True),
    VerbTool(verb="logs", arguments=("run", "attempt", "runs"), result=LogsResult, fixed={}, reads_only=True),
    VerbTool(
        verb="evaluate",
        arguments=(
            "model",
            "on",
            "task",
            "few_shot",
            "limit",
            "prompt",
            "split",
            "config",
            "rows",
            "metric",
            "rewards",
            "by",
            "cluster",
            "base",
            "no_base",
            "trained_on",
            "at_least",
            "not_worse_than",
            "max_new_tokens",
            "stop",
            "temperature",
            "top_p",
            "top_k",
            "seed",
            "batch_size",
            "results",
            "runs",
            "offline",
        ),
        result=EvaluateResult,
        fixed={},
    ),
    VerbTool(
        verb="export",
        arguments=(
            "model",
            "out",
            "base",
            "adapter",
            "dtype",
            "shard_size",
            "gguf",
            "sample",
            "max_loss",
            "runs",
            "offline",
        ),
        result=ExportResult,
        fixed={},
    ),
    VerbTool(verb="diagnose", arguments=("targets", "ended", "runs"), result=DiagnoseResult, fixed={}, reads_only=True),
    VerbTool(verb="doctor", arguments=("offline",), result=DoctorResult, fixed={}, reads_only=True),
    VerbTool(verb="verify", arguments=("checkpoint",), result=VerifyResult, fixed={}, reads_only=True),
)
