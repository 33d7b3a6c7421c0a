"""What the rules of `check` and `inspect` say of a rehearsed job, now that nothing about it is unknown: its rows, and its model's files.

A script that computes its dataset or its model's name cannot be read; once it runs, what it gave its trainer is there to see.
The rules check a job that names the same rows and the same model.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.targets import Target
from holdfast.app.check.target import check_rules, read_check_target
from holdfast.app.check.target_request import TargetRequest
from holdfast.app.hub_access import HubAccess
from holdfast.app.inspect.verb import look_at_local
from holdfast.app.row_measuring import measure_all_rows
from holdfast.core.check.finding import Finding, MissingFactError, Severity
from holdfast.core.errors import HoldfastError
from holdfast.core.job.document import Document
from holdfast.core.job.methods import Method
from holdfast.core.job.target_kind import TargetKind, target_kind
from holdfast.core.job_file.job import parse_job
from holdfast.core.rehearse.rehearsal import Objection, PartResult, StageName
from holdfast.core.rows.row_lengths import RowLengths
from holdfast.engine.check.rule_runner import severity_of
from holdfast.engine.inspect.inspection import Inspection, report_tokens
from holdfast.results.inspect import TokenReport
from holdfast.signatures import prevented_by

OF_ROWS: Final = (
    "max_length",
    "truncation_mode",
    "dataset_text_field",
    "chat_template_kwargs",
    "dataset_kwargs",
    "assistant_only_loss",
    "completion_only_loss",
    "eos_token",
    "pad_token",
    "packing",
    "packing_strategy",
)
"""Settings that decide what becomes of rows."""
OF_STEPS: Final = (
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "dataloader_drop_last",
    "num_generations",
    "generation_batch_size",  # and not `steps_per_generation`, which says the same: trl takes one of them
    "num_iterations",
)
"""Settings that decide how many rows a step takes."""
OF_MODEL: Final = "MOD"
OF_ENVIRONMENT: Final = "DEP"
NO_HEADER: Final = "DEP102"
"""The rule about a comment that was meant as a header and is not one: a warning, since the script may run all the same."""
LEAK: Final = "DAT220"
"""The rule about rows of the evaluation among those that are trained on."""
OBSERVED: Final = "what the script gave its trainer"
"""The path of the job that is made of it."""
EVERY_ROW: Final = Objection(
    code=LEAK,
    message="every row that is evaluated on is trained on too, so the evaluation says nothing of other rows",
    stage="data",
)
"""What is said of a trainer whose rows no rule finds it in."""
TRAINED, EVALUATED = "train.jsonl", "test.jsonl"
"""Files of the rows that a trainer was given, as `payload/rehearsal/trainers/observed.py` names them."""
NUMBERS: Final = "row_numbers.json"
"""A file with the number in the data of each row of `TRAINED`, if the script shuffled or divided the data."""
TEMPLATE: Final = "given.jinja"
"""A file of the chat template that the script gave its tokenizer."""
ROWS: Final = 500
"""Rows that are tokenized for the rules."""
MEASURED: Final = 2000
"""Rows whose lengths are measured, spread over all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What was found out about the rows and the model that a script gave its first trainer.

    Attributes:
        objections: The findings of the rules.
        tokens: How long the rows are; None if no tokenizer could count them.
        lengths: How many tokens the trainer keeps of them; None if not all rows were kept, or something else makes their tokens.
    """

    objections: tuple[Objection, ...] = ()
    tokens: TokenReport | None = None
    lengths: RowLengths | None = None


def prepare() -> Callable[..., Inspection]:
    """Import what looks at rows, and return it: that takes a while, in which the script's libraries can be imported, too."""
    return look_at_local


def observe(whole: PartResult, folder: Path) -> Observation:
    """Check with the rules what the script gave its first trainer.

    Args:
        whole: The part that went the whole path.
        folder: Its folder, where the rows were written down.
    """
    job = observed_job(whole, folder)
    observation = _check_job(job, whole, folder) if job else Observation()
    known = any(each.code == LEAK for each in observation.objections)
    if known or not whole.first("trained") or not evaluates_on_trained(whole, folder / "rows"):
        return observation
    return replace(observation, objections=(*observation.objections, EVERY_ROW))


def _check_job(job: Document, whole: PartResult, folder: Path) -> Observation:
    """Return what the rules say of a job, and the lengths of its rows."""
    inspected = _inspect(job, folder)
    tokens = inspected.tokens if inspected else None
    return Observation(
        objections=(*_row_objections(inspected), *_model_objections(job)),
        tokens=report_tokens(tokens) if tokens else None,
        lengths=_row_lengths(job, whole, folder / "rows" / TRAINED) if tokens else None,
    )


def _row_lengths(job: Document, whole: PartResult, kept: Path) -> RowLengths | None:
    """Return how long the rows are that the trainer keeps; None if not all were kept, or the script makes their tokens itself."""
    training, rows = whole.first("training"), whole.first("rows").get("rows")
    is_own = f"{_trainer(Method(job.get('method')))}Trainer" != training["trainer"][0]
    if is_own or training.get("formats") or rows is None:
        return None
    with kept.open("rb") as lines:
        if sum(1 for _ in lines) != rows:
            return None
    try:
        return measure_all_rows(job, limit=MEASURED, offline=True)
    except (HoldfastError, MissingFactError):
        return None


def observed_job(whole: PartResult, folder: Path) -> Document | None:
    """Return a job of what was seen; None if no trainer of a known method was made with rows and a model."""
    training, model = whole.first("training"), whole.first("model")
    method = next((m for m in Method for kind in training.get("trainer", ()) if kind == f"{_trainer(m)}Trainer"), None)
    rows = folder / "rows"
    if method is None or not (rows / TRAINED).is_file() or not model.get("path"):
        return None
    arguments = training["arguments"]
    settings = {name: arguments[name] for name in (*OF_ROWS, *OF_STEPS) if name in training["chosen"]}
    dataset = {"path": str(rows), "split": "train"}
    dataset |= {"eval_split": "test"} if (rows / EVALUATED).is_file() else {}
    named = {"path": model["path"], **_own_template(training.get("template"), folder)}
    values = {"method": method.value, "model": named, "dataset": dataset, "train": settings}
    return Document(path=OBSERVED, kind="job", values=values).with_own_calls()


def _own_template(template: str | None, folder: Path) -> dict[str, str]:
    """Return the setting that names the chat template that the script set on its tokenizer; empty if it set none."""
    if template is None:
        return {}
    path = folder / TEMPLATE
    path.write_text(template, encoding="utf-8")
    return {"chat_template": str(path)}


def _trainer(method: Method) -> str:
    return method.config.removeprefix("trl.").removesuffix("Config")


def find_environment_fault(path: str) -> tuple[str, str] | None:
    """Return the class of what is wrong with a script's own list of packages, and what shows it; None if nothing is.

    An environment that has more than the list would not show it.
    """
    if target_kind(path) is not TargetKind.SCRIPT or not Path(path).is_file():
        return None
    question = TargetRequest(path=path, only=(OF_ENVIRONMENT,), hub=HubAccess.OFFLINE)
    try:
        found = check_rules(read_check_target(question), question).findings
    except (HoldfastError, ExceptionGroup):  # the rehearsal itself says what is wrong with it
        return None
    for objection in _objections(found, "import"):
        if classes := _classes_of(objection):
            return classes[0], objection.message
    return None


def _classes_of(objection: Objection) -> Sequence[str]:
    """Return the classes of failure that an objection to a script's packages leads to."""
    if objection.code == NO_HEADER:
        return ("pep723-header-invalid",)
    return prevented_by(objection.code) if objection.fails else ()


def _inspect(job: Document, folder: Path) -> Inspection | None:
    """Return the inspection of its rows, with their numbers in the data; None if they cannot be read, which the rehearsal itself reports."""
    path = folder / NUMBERS
    numbers = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else ()
    try:
        return prepare()(job, limit=ROWS, numbers=numbers)
    except (HoldfastError, ExceptionGroup):
        return None


def _row_objections(inspected: Inspection | None) -> Iterator[Objection]:
    for finding in inspected.findings if inspected else ():
        if rule := finding.rule:
            every = inspected is not None and (finding.count or 0) >= inspected.scan.rows and not rule.may_be_meant
            stage: StageName = "tokenize" if "tokens" in rule.needs else "data"
            severity = Severity.ERROR if every else severity_of(finding)
            yield Objection(code=rule.code, message=finding.message, stage=stage, severity=severity)


def _model_objections(job: Document) -> Iterator[Objection]:
    with suppress(HoldfastError, ExceptionGroup):  # the rehearsal itself says what is wrong with it
        target = Target(documents=(job,), job=parse_job(job), place_edits=JobFileReader().place_edits)
        question = TargetRequest(path=job.path, only=(OF_MODEL,), hub=HubAccess.OFFLINE)
        yield from _objections(check_rules(target, question).findings, "model")


def _objections(findings: Iterable[Finding], stage: StageName) -> Iterator[Objection]:
    for finding in findings:
        code = finding.rule.code if finding.rule else ""
        yield Objection(code=code, message=finding.message, stage=stage, severity=severity_of(finding))


def evaluates_on_trained(whole: PartResult, rows: Path) -> bool:
    """True if every row of an evaluation is one that is trained on, as far as rows were kept.

    Args:
        whole: The part that went the whole path.
        rows: The folder of the rows that its trainer was given.
    """
    if whole.first("same_rows"):
        return True
    kept = [
        path.read_text(encoding="utf-8").splitlines() for path in (rows / TRAINED, rows / EVALUATED) if path.is_file()
    ]
    return len(kept) > 1 and bool(kept[1]) and set(kept[1]) <= set(kept[0])
