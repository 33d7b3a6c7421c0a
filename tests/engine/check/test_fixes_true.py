"""What a fix gives is what the real libraries take. All of it in one process, since importing TRL takes seconds."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.readers.script import read_script
from holdfast.catalog.api import released
from holdfast.core.check.finding import Finding, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document
from holdfast.core.job_file.job import Job, parse_job
from holdfast.engine.check.rule_runner import severity_of
from holdfast.engine.script.carried_files import map_function, metric_functions, referred_files, reward_functions
from holdfast.engine.script.render import render_script
from tests.helpers.fixes import FIXED, Example, ask, read
from tests.helpers.forked import fork
from tests.helpers.tiny import quiet_environment

pytestmark = pytest.mark.train

REFUSED_LATER = ("loss_type", "init_lora_weights")
"""Arguments of `ARG110` of which a config takes any word. The first step, or putting the adapter on a model, does not:
`tests/rules/test_rules_true.py`."""
OWN_ERRORS = {"ARG101", "ARG105", "ARG106", "ARG107", "ARG110", "IMP101", "IMP102", "IMP103", "IMP105"}
"""Rules whose bad examples the newest libraries refuse by what is asked here; others say what comes later."""
PROGRAM = """
import importlib.metadata, inspect, json, sys, warnings
warnings.simplefilter("ignore")
def named(path):
    module, _, rest = path.partition(".")
    found = importlib.import_module(module)
    for name in rest.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            if not inspect.ismodule(found):
                return lambda *_, **__: None  # something that an object has
            module = f"{found.__name__}.{name}"
            found = importlib.import_module(module)
    return found
def refusal(example):
    try:
        for module, name in example["imports"]:
            found = importlib.import_module(module)
            if name and not hasattr(found, name):
                raise ImportError(f"{module} has no {name}")
        for call in example["calls"]:
            what = named(call["path"])
            if inspect.isbuiltin(what):
                continue  # torch's functions in C have no signature
            if call["plain"]:
                if "use_cpu" in inspect.signature(what).parameters:
                    call["arguments"].setdefault("use_cpu", True)
                what(*call["positional"], **call["arguments"])
            else:
                itself = [None] * (inspect.isfunction(what) and "." in what.__qualname__)
                inspect.signature(what).bind_partial(*itself, *call["positional"], **call["arguments"])
    except importlib.metadata.PackageNotFoundError:
        return None  # such as DeepSpeed, which is not at hand
    except Exception as error:
        return f"{type(error).__name__}: {error}"
print(json.dumps([refusal(example) for example in json.load(sys.stdin)]))
"""
LIBRARIES = ("trl", "transformers", "peft", "datasets", "huggingface_hub", "torch")


def fixed_program(each: Example) -> tuple[Document, ...]:
    """The program that a fix gives; of a job file, the one that is rendered."""
    text = each.case.fixed or ""
    if each.case.kind == "script":
        return read(each.case, text)
    job = parse_job(read(each.case, text)[0])
    return read_script(render_script(job, name="job", sources=_sources(job)), "train.py")


def _sources(job: Job) -> dict[str, str]:
    """The files that a job names, which hold the functions that it names."""
    functions = [*reward_functions(job), *metric_functions(job), *filter(None, [map_function(job)])]
    return {
        file: "".join(f"def {each.name}(*_, **__): ...\n" for each in functions if each.module == file)
        for file in referred_files(job)
    }


def told(documents: Iterable[Document]) -> dict[str, Any]:
    """What a program imports and calls of the libraries, as JSON."""
    (document, *_) = documents
    imports = [(each.module, each.name) for each in document.imports if each.module.partition(".")[0] in LIBRARIES]
    return {"imports": imports, "calls": [_call(call) for call in document.calls if _can_be_called(call)]}


def _can_be_called(call: Call) -> bool:
    return call.package in LIBRARIES and "()" not in call.path and not call.open and call.via in ("call", "file")


def _call(call: Call) -> dict[str, Any]:
    config = call.name.endswith(("Config", "TrainingArguments"))
    values = [*call.positional, *call.arguments.values()]
    plain = config and all(map(_is_plain, values))
    needed = {"output_dir": "out"} if plain and call.via == "file" and call.key == "train" else {}
    return {
        "path": call.path,
        "plain": plain,
        "positional": [_plain(value) for value in call.positional],
        "arguments": needed | {name: _plain(value) for name, value in call.arguments.items()},
    }


def _is_plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except TypeError:  # a class, what another call made, or nobody knows what
        return False
    return True


def _plain(value: Any) -> Any:
    return value if _is_plain(value) else None


def newest(each: Example) -> bool:
    versions = each.case.versions.items()
    return each.case.kind != "command" and all(released(package)[-1] == version for package, version in versions)


@pytest.fixture(scope="module", name="refusals")
def ask_libraries() -> dict[str, tuple[str | None, str | None]]:
    """Why the libraries refuse each example, and what its fix made of it."""
    asked = [each for each in FIXED if newest(each)]
    programs = [told(program) for each in asked for program in (read(each.case, each.case.source), fixed_program(each))]
    done = fork(["-c", PROGRAM], Path.cwd(), quiet_environment(), json.dumps(programs))
    assert done.exit_code == 0, done.stderr
    answers = json.loads(done.stdout.splitlines()[-1])
    return {each.name: (answers[2 * at], answers[2 * at + 1]) for at, each in enumerate(asked)}


@pytest.mark.parametrize("each", [each for each in FIXED if newest(each)], ids=lambda each: each.name)
def test_the_library_takes_what_a_fix_gives(
    each: Example, refusals: Mapping[str, tuple[str | None, str | None]]
) -> None:
    """The fixed example's imports are there, its configs are built, and its other calls fit; the bad one's do not."""
    before, after = refusals[each.name]

    assert after is None
    if each.rule.code == "ARG110" and (each.case.at or "").endswith(REFUSED_LATER):
        return
    if each.rule.code in OWN_ERRORS and severity_of(findings_before(each)) is Severity.ERROR:
        assert before is not None


def findings_before(each: Example) -> Finding:
    return next(iter(ask([each.rule], read(each.case, each.case.source), each.case)))
